/**
 * @file Which runs an experiment needs, in which order, how many at once, and how long it will still take.
 */
import type { Experiment } from './experiment-types.ts';

/** Exit status of a lane that another process is working on, and of one that was told to stop. */
export const BUSY = 75;
export const STOPPED = 130;

/** What a lane tells its parent: after a step, or of a measurement (shares under names made of wording and way). */
export interface Told {
  readonly step: number;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface Wanted {
  readonly lane: string;
  readonly seed: number;
}

export interface Choice {
  /** Null for all. */
  readonly only: readonly string[] | null;
  readonly seeds: readonly number[] | null;
}

/** Lanes and seeds in the order of work: all lanes of a seed, then the next seed, so that what is done at any time is balanced. */
export function wanted({ lanes, seeds }: Pick<Experiment, 'lanes' | 'seeds'>, choice: Choice): Wanted[] {
  const shown = lanes.filter(({ name }) => choice.only === null || choice.only.includes(name));
  return (choice.seeds ?? seeds).flatMap((seed) => shown.map(({ name }) => ({ lane: name, seed })));
}

export type Outcome = 'done' | 'busy' | 'stopped' | 'failed';

export interface Pool<T> {
  readonly jobs: readonly T[];
  readonly parallel: number;
  readonly start: (job: T) => Promise<Outcome>;
  /** No further job is started once this is true. */
  readonly stopping: () => boolean;
  /** Waits before a busy job is tried again. */
  readonly pause: () => Promise<void>;
}

/** Runs jobs in order, `parallel` at once; those that are busy elsewhere come again at the end. */
export async function runPool<T>({ jobs, parallel, start, stopping, pause }: Pool<T>): Promise<Map<T, Outcome>> {
  const outcomes = new Map<T, Outcome>();
  const queue = jobs.map((job) => ({ job, again: false }));
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next && !stopping(); next = queue.shift()) {
      if (next.again) await pause();
      const outcome = await start(next.job);
      outcomes.set(next.job, outcome);
      if (outcome === 'busy') queue.push({ job: next.job, again: true });
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return outcomes;
}

export interface Pace {
  /** Runs with the same key take about the same time. */
  readonly key: string;
  /** Share of the run that is done. */
  readonly done: number;
  /** Seconds that this share took; null if nobody knows. */
  readonly seconds: number | null;
}

const average = (values: readonly number[]): number | null =>
  values.length === 0 ? null : values.reduce((a, b) => a + b, 0) / values.length;

/**
 * Seconds until all runs are done, `parallel` at once: from finished runs of the same key, else from one under way, else from
 * all others. Null while nothing is known.
 */
export function timeLeft(runs: readonly Pace[], parallel: number): number | null {
  const lengths = (of: readonly Pace[]) => of.flatMap(({ done, seconds }) => (done > 0 && seconds !== null ? [seconds / done] : []));
  const anyone = average(lengths(runs));
  if (anyone === null) return null;
  const expected = ({ key }: Pace): number => {
    const same = runs.filter((run) => run.key === key);
    return average(lengths(same.filter((run) => run.done === 1))) ?? average(lengths(same)) ?? anyone;
  };
  const open = runs.filter((run) => run.done < 1);
  const left = open.map((run) => expected(run) * (1 - run.done));
  // the last runs cannot be cut in two
  return Math.max(left.reduce((a, b) => a + b, 0) / parallel, ...left, 0);
}
