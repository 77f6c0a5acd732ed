/**
 * @file The session: the page's only door to the worker. It holds the run's history, the selection, the settings and what is
 * going on, and it turns presses into calls. Records are immutable and replaced whole.
 */
import type { Reply, WorkerEvent } from '../worker/protocol.ts';
import { Ask } from './ask.svelte.ts';
import { Bridge } from './bridge.ts';
import { runText, shippedRun, recordsOf } from './replay.ts';
import { History } from './history.svelte.ts';
import { Selection } from './selection.svelte.ts';
import { SettingsDraft } from './settings-draft.svelte.ts';
import type { LoadProgress, ModelInfo, Problem, Progress, RunState, Settings, StepRecord } from './types.ts';
import { settingsFromHash, settingsToHash } from './url-state.ts';

/** `lost` and `failed` wait for a restart; `replay` has no model and steps through a recorded run. */
export type Status = 'loading' | 'ready' | 'working' | 'lost' | 'failed' | 'replay';

const REPLAY_PACE = 900; // ms between phases of a recorded run that plays
const FOREVER = 1e9;

export class Session {
  readonly history = new History();
  readonly selection = new Selection();
  readonly draft = new SettingsDraft();
  readonly ask: Ask;
  status = $state<Status>('loading');
  playing = $state(false);
  loading = $state.raw<LoadProgress | null>(null);
  progress = $state.raw<Progress | null>(null);
  info = $state.raw<ModelInfo | null>(null);
  problem = $state.raw<Problem | null>(null);
  /** Why there is no model to train, when a recorded run is shown instead. */
  missing = $state.raw<Problem | null>(null);
  /** Steps that are finished. */
  finished = $state(0);
  /** The next update is asked to compare the published with the corrected gradient. */
  comparing = $state(false);

  readonly busy: boolean = $derived(this.status === 'working' || this.status === 'loading');
  readonly live: boolean = $derived(this.status === 'ready' || this.status === 'working');

  #bridge: Bridge | null = null;
  #checkpoint: RunState | null = null;
  #timer = 0;
  #running: Promise<void> = Promise.resolve();
  readonly #base: string;

  constructor(base: string) {
    this.#base = base;
    this.ask = new Ask({
      ask: (question) => this.#call((s) => s.ask(question, this.draft.applied.maxTokens)),
      trainOn: (question) => this.#call((s) => s.trainOn(question)),
      decodePicture: (file) => this.#call((s) => s.decodePicture(file)),
      triplet: (picture, seed) => this.#call((s) => s.triplet(picture, seed)),
    });
  }

  /** Loads the model; without WebGPU, the recorded run. */
  async start(hash: string): Promise<void> {
    this.draft.take(settingsFromHash(hash));
    // an address may hold settings that cannot be run; then the fields say so, and the run starts with the preset's
    if (!this.draft.valid) this.#useDefaults();
    if (!('gpu' in navigator)) {
      await this.#replayInstead({
        kind: 'no-webgpu',
        message: 'This browser has no WebGPU, which the model is trained with.',
        advice: 'Open the page in a current Chrome, Edge, Safari 26 or Firefox, over https or on localhost.',
      });
      return;
    }
    await this.#load();
  }

  #useDefaults(): void {
    const wanted = this.draft.settings;
    this.draft.take(settingsFromHash(''));
    for (const [key, value] of Object.entries(wanted))
      if (key !== 'preset') this.draft.edit(key, Array.isArray(value) ? value : String(value));
  }

  async #load(): Promise<void> {
    this.#bridge?.end();
    this.status = 'loading';
    this.problem = null;
    this.progress = null;
    this.comparing = false;
    const bridge = new Bridge((event) => bridge === this.#bridge && this.#on(event));
    this.#bridge = bridge;
    const reply = await this.#call((s) => s.load({ base: this.#base, settings: this.draft.applied, state: this.#checkpoint }));
    if (bridge !== this.#bridge) return;
    this.loading = null;
    if (reply.ok) {
      this.info = reply.value;
      this.finished = this.#checkpoint?.step ?? 0;
      this.status = 'ready';
      if (this.ask.training) await this.#call((s) => s.trainOn(this.ask.training));
    } else if (reply.problem.kind === 'no-webgpu' || reply.problem.kind === 'no-adapter') await this.#replayInstead(reply.problem);
    else {
      this.status = 'failed';
      this.problem = reply.problem;
    }
  }

  #call<T>(
    use: Parameters<Bridge['call']>[0] extends (service: infer S) => unknown ? (service: S) => Promise<Reply<T>> : never,
  ): Promise<Reply<T>> {
    if (this.#bridge) return this.#bridge.call(use);
    return Promise.resolve({
      ok: false,
      problem: {
        kind: 'no-webgpu',
        message: 'There is no model here, only a recorded run.',
        advice: 'Open the page in a browser with WebGPU.',
      },
    });
  }

  #on(event: WorkerEvent): void {
    switch (event.type) {
      case 'load':
        this.loading = event.progress;
        break;
      case 'progress':
        this.progress = event.progress;
        break;
      case 'phase':
        this.history.take(event.record);
        if (event.record.phase === 'update') this.comparing = false;
        this.#fit();
        break;
      case 'checkpoint':
        this.#checkpoint = event.state;
        this.finished = event.state.step;
        break;
      case 'asked':
        this.ask.streaming = { ...this.ask.streaming, [event.which]: event.text };
        break;
      case 'lost':
        this.#lost(event.problem);
        break;
    }
  }

  /** The begun step cannot be finished; what was finished is kept, and so is the state to go on from. */
  #lost(problem: Problem): void {
    this.status = 'lost';
    this.playing = false;
    this.progress = null;
    this.problem = problem;
    this.#dropBegun();
  }

  #dropBegun(): void {
    const last = this.history.records.at(-1);
    if (last && last.phase !== 'evaluate') this.history.drop(last.step);
  }

  #fit(): void {
    const record = this.history.current;
    if (record) this.selection.clamp(record);
  }

  #replayForward(): boolean {
    const moved = this.history.forward();
    this.#fit();
    return moved;
  }

  /** Does one thing if nothing else is going on; `#running` is there to be waited for. */
  #work(call: () => Promise<Reply<null>>): Promise<void> {
    if (this.status !== 'ready') return Promise.resolve();
    return (this.#running = this.#carryOut(call));
  }

  async #carryOut(call: () => Promise<Reply<null>>): Promise<void> {
    this.status = 'working';
    this.problem = null;
    this.history.follow();
    const reply = await call();
    this.progress = null;
    this.playing = false;
    if (this.status !== 'working') return; // the device was lost meanwhile
    this.status = 'ready';
    if (reply.ok) return;
    this.#dropBegun();
    if (reply.problem.kind === 'lost') this.#lost(reply.problem);
    else if (reply.problem.kind !== 'aborted') this.problem = reply.problem;
  }

  /** One phase further. */
  advance(): Promise<void> {
    if (this.status === 'replay') return Promise.resolve(void this.#replayForward());
    return this.#work(() => this.#call((s) => s.advance()));
  }

  /** To the end of the step. */
  stepOnce(): Promise<void> {
    if (this.status !== 'replay') return this.#work(() => this.#call((s) => s.run(1)));
    if (this.history.shown?.phase === 'evaluate') this.#replayForward();
    this.history.lookAt('evaluate');
    return Promise.resolve();
  }

  /** Step after step, until paused. */
  async play(): Promise<void> {
    this.playing = true;
    if (this.status === 'replay') this.#timer = window.setInterval(() => this.#replayForward() || this.pause(), REPLAY_PACE);
    else await this.#work(() => this.#call((s) => s.run(FOREVER)));
  }

  pause(): void {
    this.playing = false;
    window.clearInterval(this.#timer);
    if (this.status === 'working') void this.#bridge?.tell((s) => s.pause());
  }

  /** Gives up the begun step: the adapter is the one from before it. */
  async abort(): Promise<void> {
    this.playing = false;
    await this.#bridge?.tell((s) => s.abort());
    await this.#running;
    this.#dropBegun();
  }

  /** A fresh adapter and an empty history. */
  async reset(): Promise<void> {
    this.pause();
    if (this.status === 'replay') {
      this.history.rewind();
      return;
    }
    await this.abort();
    await this.#work(() => this.#call((s) => s.reset()));
    if (this.problem) return;
    this.#checkpoint = null;
    this.finished = 0;
    this.history.replaceAll([]);
  }

  /** The draft becomes the run's settings from the next step on; a new rank, alpha or seed starts over. */
  async applySettings(): Promise<void> {
    if (!this.draft.valid || !this.live) return;
    const before = this.draft.applied;
    const settings: Settings = { ...this.draft.settings };
    const otherModel = (settings.mico === 'off') !== (before.mico === 'off');
    const anew = otherModel || settings.rank !== before.rank || settings.alpha !== before.alpha || settings.seed !== before.seed;
    await this.abort();
    await this.#work(async () => {
      const reply = await this.#call((s) => s.configure(settings));
      this.loading = null;
      if (!reply.ok) return reply;
      this.info = reply.value;
      return { ok: true, value: null };
    });
    if (this.problem) {
      if (otherModel) this.draft.revert();
      return;
    }
    this.draft.take(settings);
    if (otherModel) this.ask.modelChanged();
    history.replaceState(null, '', `#${settingsToHash(settings)}`);
    if (anew) await this.reset();
  }

  /** The next update also compares the published with the corrected gradient. */
  async compareGradients(): Promise<void> {
    this.comparing = true;
    await this.#bridge?.tell((s) => s.compareGradients());
  }

  /** A new worker and a new device; training goes on from the last finished step. */
  restart(): Promise<void> {
    this.#dropBegun();
    return this.#load();
  }

  /** Loses the device as a driver reset would. */
  async loseDevice(): Promise<void> {
    await this.#bridge?.tell((s) => s.destroyDevice());
  }

  exportAdapter(): Promise<Reply<{ 'adapter_config.json': string; 'adapter_model.safetensors': Uint8Array }>> {
    return this.#call((s) => s.exportAdapter());
  }

  runText(): string {
    return runText(this.history.records);
  }

  async #replayInstead(missing: Problem): Promise<void> {
    this.#bridge?.end();
    this.#bridge = null;
    this.missing = missing;
    try {
      this.#show(await shippedRun(this.#base));
    } catch (error) {
      this.status = 'replay';
      this.problem = { kind: 'file', message: (error as Error).message, advice: '' };
    }
  }

  #show(records: readonly StepRecord[]): void {
    this.status = 'replay';
    this.history.replaceAll(records);
    this.draft.take(records[0].settings);
    this.history.rewind();
    this.#fit();
  }

  /** Steps through a recorded run of the visitor's. The model, if there is one, is put away. */
  async openRun(file: Blob): Promise<void> {
    this.pause();
    try {
      const records = await recordsOf(file);
      this.#bridge?.end();
      this.#bridge = null;
      this.#checkpoint = null;
      this.#show(records);
    } catch (error) {
      this.problem = { kind: 'file', message: (error as Error).message, advice: '' };
    }
  }

  /** Back from a recorded run to the model. */
  async leaveReplay(): Promise<void> {
    this.pause();
    this.history.replaceAll([]);
    this.finished = 0;
    await this.#load();
  }
}
