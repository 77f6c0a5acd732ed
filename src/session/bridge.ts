/**
 * @file The page's end of the worker: starts it, holds the one event callback for as long as it lives, and ends it. A worker
 * that crashes answers all open calls with a problem, so that nobody waits for ever.
 */
import * as Comlink from 'comlink';
import type { Problem, Reply, Service, WorkerEvent } from '../worker/protocol.ts';
import type { Connect } from '../worker/worker.ts';

const CRASHED: Problem = {
  kind: 'lost',
  message: 'The worker that trains the model has stopped.',
  advice: 'Press “Restart the model”: training goes on from the last finished step.',
};

export class Bridge {
  private readonly worker: Worker;
  private readonly service: Promise<Comlink.Remote<Service>>;
  private readonly crashed: Promise<Reply<never>>;

  constructor(onEvent: (event: WorkerEvent) => void) {
    this.worker = new Worker(new URL('../worker/worker.ts', import.meta.url), { type: 'module', name: 'trainer' });
    this.crashed = new Promise((resolve) => {
      const stop = (): void => {
        onEvent({ type: 'lost', problem: CRASHED });
        resolve({ ok: false, problem: CRASHED });
      };
      this.worker.addEventListener('error', stop, { once: true });
      this.worker.addEventListener('messageerror', stop, { once: true });
    });
    const connect = Comlink.wrap<Connect>(this.worker);
    this.service = connect(Comlink.proxy(onEvent)) as unknown as Promise<Comlink.Remote<Service>>;
  }

  /** Calls a method of the service; never throws. */
  async call<T>(use: (service: Comlink.Remote<Service>) => Promise<Reply<T>>): Promise<Reply<T>> {
    return Promise.race([this.service.then(use), this.crashed]);
  }

  /** For the methods that overtake and have no reply. */
  async tell(use: (service: Comlink.Remote<Service>) => Promise<void>): Promise<void> {
    await Promise.race([this.service.then(use), this.crashed]);
  }

  end(): void {
    this.worker.terminate();
  }
}
