/** @file The order of work, the pool that does it, and the time that is left. */
import { describe, expect, it } from 'vitest';
import { runPool, timeLeft, wanted, type Outcome } from './schedule.ts';

const lanes = ['a', 'b'].map((name) => ({ name })) as never;

describe('the order of work', () => {
  it('is all lanes of a seed, then the next seed', () => {
    const order = (only: string[] | null, seeds: number[] | null) =>
      wanted({ lanes, seeds: [1, 2] }, { only, seeds }).map((w) => `${w.lane}${w.seed}`);
    expect(order(null, null)).toEqual(['a1', 'b1', 'a2', 'b2']);
    expect(order(['b'], [2, 5])).toEqual(['b2', 'b5']);
  });
});

describe('the pool', () => {
  /** Runs jobs whose outcomes are scripted; what was started when, and how many at once. */
  async function play(script: Record<string, Outcome[]>, parallel: number, stopAfter = Infinity) {
    const started: string[] = [];
    let [running, most, pauses] = [0, 0, 0];
    const outcomes = await runPool({
      jobs: Object.keys(script),
      parallel,
      stopping: () => started.length >= stopAfter,
      pause: async () => void pauses++,
      async start(job) {
        started.push(job);
        most = Math.max(most, ++running);
        await new Promise((done) => setTimeout(done, 1));
        running--;
        return script[job].shift() ?? 'done';
      },
    });
    return { started: started.join(''), most, pauses, outcomes: Object.fromEntries(outcomes) };
  }

  it('starts jobs in order, so many at once', async () => {
    expect(await play({ a: [], b: [], c: [], d: [], e: [] }, 2)).toMatchObject({ started: 'abcde', most: 2, pauses: 0 });
    expect(await play({ a: [] }, 3)).toMatchObject({ started: 'a', most: 1 });
  });

  it('goes on when one fails', async () => {
    expect((await play({ a: ['failed'], b: [] }, 1)).outcomes).toEqual({ a: 'failed', b: 'done' });
  });

  it('comes back to one that another process is working on', async () => {
    const p = await play({ a: ['busy', 'busy'], b: [] }, 1);
    expect(p).toMatchObject({ started: 'abaa', pauses: 2, outcomes: { a: 'done', b: 'done' } });
  });

  it('starts nothing more once it is to stop', async () => {
    expect((await play({ a: ['stopped'], b: [], c: [] }, 1, 1)).outcomes).toEqual({ a: 'stopped' });
  });
});

describe('the time left', () => {
  const run = (key: string, done: number, seconds: number | null = null) => ({ key, done, seconds });

  it('is unknown while nothing has been done, and none when all is', () => {
    expect(timeLeft([run('a', 0), run('b', 0)], 2)).toBeNull();
    expect(timeLeft([run('a', 1, 100)], 2)).toBe(0);
  });

  it('goes by finished runs of the same lane, then by one under way, then by any', () => {
    expect(timeLeft([run('a', 1, 100), run('a', 0)], 1)).toBe(100);
    expect(timeLeft([run('a', 1, 100), run('a', 0.5, 500)], 1)).toBe(50);
    expect(timeLeft([run('a', 0.25, 50), run('a', 0)], 1)).toBe(150 + 200);
    expect(timeLeft([run('a', 1, 100), run('b', 0)], 1)).toBe(100);
  });

  it('is shared among the processes, but a run is not cut in two', () => {
    expect(timeLeft([run('a', 1, 100), run('a', 0), run('a', 0), run('a', 0)], 2)).toBe(150);
    expect(timeLeft([run('a', 1, 100), run('a', 0)], 2)).toBe(100);
  });
});
