/** @file A run that is killed, wherever that happens, goes on to the same files as one that is not; with a scripted model. */
import { appendFile, mkdtemp, readFile, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PRESETS } from '../training/presets.ts';
import { ScriptedPolicy } from '../training/scripted-policy.fixture.ts';
import type { Settings } from '../training/settings.ts';
import { filesOf } from './run-plan.ts';
import { runTraining, savedState, type TrainingOptions } from './run-training.ts';

/** Writes left until the process dies in the middle of one; none dies at ∞. */
const disk = vi.hoisted(() => ({ writesLeft: Infinity }));

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof import('node:fs/promises')>();
  const dying =
    <T extends readonly unknown[]>(half: (...args: T) => Promise<void>, whole: (...args: T) => Promise<void>) =>
    async (...args: T) => {
      if (--disk.writesLeft > 0) return whole(...args);
      if (disk.writesLeft === 0) await half(...args);
      throw new Error('killed');
    };
  const halfOf = (text: string) => text.slice(0, text.length / 2);
  return {
    ...real,
    writeFile: dying(
      (path: string, text: string) => real.writeFile(path, halfOf(text)),
      real.writeFile as (path: string, text: string) => Promise<void>,
    ),
    appendFile: dying(
      (path: string, text: string) => real.appendFile(path, halfOf(text)),
      real.appendFile as (path: string, text: string) => Promise<void>,
    ),
    rename: dying(async (_from: string, _to: string) => undefined, real.rename as (from: string, to: string) => Promise<void>),
  };
});

const settings: Settings = {
  ...PRESETS['share-grpo'],
  questionsPerStep: 2,
  responses: 2,
  tasks: ['count', 'compare'],
  evaluateEvery: 1000,
};
const evaluation = { every: 2, questions: 2, samples: 2, test: 4 };
const STEPS = 4;

let folder: string;
beforeEach(async () => {
  disk.writesLeft = Infinity;
  folder = await mkdtemp(join(tmpdir(), 'run-training-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** As a new process would: fresh model, on from what lies in the folder. */
async function go(name: string, o: Partial<TrainingOptions> = {}) {
  const files = filesOf(join(folder, name));
  const saved = await savedState(files);
  const policy = new ScriptedPolicy();
  return runTraining({ policy, digits: null, settings, steps: STEPS, files, saved, light: true, evaluation, ...o });
}

/** Everything that a run left behind, but for times. */
async function left(name: string): Promise<string> {
  const files = filesOf(join(folder, name));
  const timeless = (text: string) =>
    JSON.stringify(JSON.parse(text), (key, value: unknown) =>
      /^(timing|step_time|seconds|evaluationSeconds)$/.test(key) ? undefined : value,
    );
  const records = (await readFile(files.records, 'utf8')).trimEnd().split('\n').map(timeless);
  return [...records, timeless(await readFile(files.summary, 'utf8')), await readFile(files.checkpoint, 'utf8')].join('\n');
}

describe('a run', () => {
  it('measures before, in between and after, and adds up what it cost', async () => {
    const summary = await go('whole');
    expect(summary.curve.map((p) => [p.step, p.samples, p.cells.map((c) => [c.phrasing, c.n, c.sampled?.responses])[0]])).toEqual([
      [0, 0, ['plain', 2, 4]],
      [2, 16, ['plain', 1, 2]],
      [4, 32, ['plain', 2, 4]],
    ]);
    expect(summary).toMatchObject({ steps: STEPS, samples: STEPS * 2 * 2 * 2, tokens: STEPS * 8 * 2 });
    expect(summary.tokenPasses).toBe(summary.curve.at(-1)?.tokenPasses);
    expect(summary.tokenPasses).toBeGreaterThan(0);
  });

  it('takes the figures before training from elsewhere, or measures nothing', async () => {
    const before = [{ family: 'count', phrasing: 'plain', n: 1, right: 1, careful: 0 }];
    expect((await go('a', { before })).curve[0].cells).toBe(before);
    expect((await go('b', { evaluation: null })).curve).toEqual([]);
  });

  it('ends in the same files when it is killed in the middle of any write', async () => {
    await go('unbroken');
    const unbroken = await left('unbroken');
    let kills = 0;
    for (let at = 1; ; at++) {
      disk.writesLeft = at;
      const end = await go(`killed-${at}`).then(
        () => 'finished',
        (error: Error) => error.message,
      );
      disk.writesLeft = Infinity;
      if (end === 'finished') break;
      expect(end).toBe('killed');
      kills++;
      await go(`killed-${at}`);
      expect(await left(`killed-${at}`), `killed in write ${at}`).toBe(unbroken);
    }
    // a record, and checkpoint and summary with their renames, in each step; the summary again at each measurement
    expect(kills).toBe(1 + STEPS * 5 + 3 * 2);
  });

  it('ends in the same files when it is stopped between two phases, again and again', async () => {
    await go('unbroken');
    for (let finished = 0; finished < STEPS;) {
      const abort = new AbortController();
      const policy = new ScriptedPolicy();
      const adamw = policy.adamw;
      let updates = 0;
      // stopped in the update phase of the second step of each session
      policy.adamw = async (o) => {
        if (++updates === 2) abort.abort(new Error('stopped'));
        return adamw(o);
      };
      await go('stopped', { policy, signal: abort.signal, onStep: (record) => void (finished = record.step) }).catch((error: Error) =>
        expect(error.message).toBe('stopped'),
      );
    }
    await go('stopped');
    expect(await left('stopped')).toBe(await left('unbroken'));
  });

  it('starts anew where records are missing that the checkpoint counts', async () => {
    await go('unbroken');
    await go('lost');
    const { records } = filesOf(join(folder, 'lost'));
    await truncate(records, 100);
    expect(await savedState(filesOf(join(folder, 'lost')))).toBeNull();
    await go('lost');
    expect(await left('lost')).toBe(await left('unbroken'));
  });

  it('does nothing when it is finished, and goes on when more steps are asked for', async () => {
    await go('run');
    const before = await left('run');
    await appendFile(filesOf(join(folder, 'run')).records, 'half a rec');
    await go('run');
    expect(await left('run')).toBe(before);
    expect((await go('run', { steps: STEPS + 1 })).steps).toBe(STEPS + 1);
  });
});
