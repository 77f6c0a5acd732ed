/** @file Which lanes share a run, and which never may. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULTS, PRESETS } from '../training/presets.ts';
import type { Settings } from '../training/settings.ts';
import { experimentFile } from './experiment.fixture.ts';
import { type Experiment } from './experiment-types.ts';
import { readExperiment } from './experiment-file.ts';
import { replaceFile } from './files.ts';
import {
  changesOf,
  filesOf,
  isFinished,
  modelSha,
  PLAN_FILE,
  planKey,
  planOf,
  prepareFolder,
  readSummary,
  runFolder,
  untrainedFolder,
} from './run-plan.ts';
import { SUMMARY_KIND } from './summary.ts';

const read = (changes: Record<string, unknown> = {}): Experiment =>
  readExperiment(JSON.stringify({ ...experimentFile, ...changes }), 'tiny.json');
const plan = (changes: Record<string, unknown> = {}, lane = 1, seed = 1, sha = 'abc') =>
  planOf(read(changes), read(changes).lanes[lane], seed, sha);
const [grpo, share] = experimentFile.lanes;

let out: string;
beforeEach(async () => void (out = await mkdtemp(join(tmpdir(), 'run-plan-'))));
afterEach(() => rm(out, { recursive: true, force: true }));

describe('lanes share a run', () => {
  it('of any name, label, experiment and baseline, and by whichever way their settings came to be', () => {
    const other = { title: 'x', baseline: 'b', seeds: [1], conclusion: 'x', plots: [], base: { learningRate: 3e-3 } };
    const lanes = [
      { name: 'a', label: 'a', preset: 'grpo' },
      { name: 'b', label: 'b', preset: 'share-grpo' },
    ];
    expect(planKey(plan({ ...other, lanes }))).toBe(planKey(plan()));
  });

  it('whose presets differ in nothing but their name', async () => {
    const corrected = { lanes: [grpo, { ...share, settings: {}, preset: 'share-grpo-corrected' }] };
    const written = { lanes: [grpo, { ...share, settings: { crossVariant: 'sequence_truncate' } }] };
    expect(planKey(plan(corrected))).toBe(planKey(plan(written)));
    const folder = await runFolder(out, plan(corrected));
    await prepareFolder(folder, plan(corrected));
    expect(await runFolder(out, plan(written))).toBe(folder);
    await expect(prepareFolder(folder, plan(written))).resolves.toBeUndefined();
  });

  it('in a folder that says preset and seed, and holds the plan', async () => {
    const folder = await runFolder(out, plan({}, 0, 2));
    expect(folder.slice(out.length + 1)).toMatch(/^grpo-s2-[0-9a-f]{8}$/);
    await prepareFolder(folder, plan({}, 0, 2));
    expect(JSON.parse(await readFile(join(folder, PLAN_FILE), 'utf8'))).toEqual(plan({}, 0, 2));
  });
});

describe('lanes do not share a run', () => {
  it.each([
    ['other settings', { base: { clipHigh: 0.2 } }],
    ['other steps', { steps: 7 }],
    ['another measurement', { evaluate: { ...experimentFile.evaluate, samples: 3 } }],
  ])('with %s', (_, changes) => {
    expect(planKey(plan(changes))).not.toBe(planKey(plan()));
  });

  it('with another model, or seed', async () => {
    expect(planKey(plan({}, 1, 1, 'other'))).not.toBe(planKey(plan()));
    expect(await runFolder(out, plan({}, 1, 2))).not.toBe(await runFolder(out, plan()));
  });

  it('if a default has changed under a run that is there', async () => {
    const folder = join(out, 'x');
    await prepareFolder(folder, plan());
    const old = JSON.parse(await readFile(join(folder, PLAN_FILE), 'utf8'));
    await replaceFile(join(folder, PLAN_FILE), JSON.stringify({ ...old, settings: { ...old.settings, weightDecay: 0.5 } }));
    await expect(prepareFolder(folder, plan())).rejects.toThrow(
      'made with another weightDecay: a default has changed since. Raise RUN_FORMAT',
    );
  });
});

describe('the hash', () => {
  it('does not change when a setting is added that is at its default', () => {
    const { cosineEvery: _, ...older } = PRESETS['grpo'];
    expect(changesOf(older as Settings)).toEqual(changesOf(PRESETS['grpo']));
    expect(changesOf(DEFAULTS)).toEqual({});
  });

  it('is the same for all lanes before training, as long as they are asked the same', () => {
    expect(untrainedFolder(out, plan({}, 0))).toBe(untrainedFolder(out, plan({ steps: 9 }, 1, 3)));
    for (const changes of [
      { base: { maxTokens: 20 } },
      { base: { tasks: ['count'] } },
      { evaluate: { ...experimentFile.evaluate, test: 9 } },
    ])
      expect(untrainedFolder(out, plan(changes))).not.toBe(untrainedFolder(out, plan()));
  });
});

describe('a run', () => {
  it('is finished when all steps are trained and measured', async () => {
    expect(await readSummary(out)).toBeNull();
    const point = (step: number) => ({ step, samples: 0, tokenPasses: 0, cells: [] });
    const summary = {
      kind: SUMMARY_KIND,
      settings: DEFAULTS,
      steps: 6,
      samples: 0,
      tokenPasses: 0,
      tokens: 0,
      seconds: 0,
      evaluationSeconds: 0,
    } as const;
    await replaceFile(filesOf(out).summary, JSON.stringify({ ...summary, curve: [point(0), point(6)] }));
    const whole = await readSummary(out);
    expect([isFinished(whole, 6), isFinished(whole, 7), isFinished(null, 6)]).toEqual([true, false, false]);
    expect(isFinished({ ...summary, curve: [point(0), point(4)] }, 6)).toBe(false);
  });

  it('needs a model that is there', async () => {
    await expect(modelSha(out)).rejects.toThrow(`There is no model in ${out}`);
    expect(await modelSha('public/models/pico')).toMatch(/^[0-9a-f]{8}$/);
  });
});
