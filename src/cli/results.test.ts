/** @file Which results an experiment gathers: of runs on this machine, and of runs that another experiment has published. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { replaceFile } from './files.ts';
import { experiment, results } from './results.fixture.ts';
import { collect, publishedRuns, resultsFromJson, resultsToJson, type Results } from './results.ts';
import { filesOf, modelSha, planOf, prepareFolder, runFolder } from './run-plan.ts';
import { SUMMARY_KIND } from './summary.ts';

let out: string;
let published: string;

/** The made-up results under the names that the experiment's runs have. */
async function named(): Promise<Results> {
  const lanes = results.lanes.map(async (lane, at) => {
    const sha = await modelSha(lane.model);
    const runs = lane.runs.map(async (run) => ({
      ...run,
      run: (await runFolder('', planOf(experiment, experiment.lanes[at], run.seed, sha))).replace(/^[a-z-]+(?=-s\d)/, 'elsewhere'),
    }));
    return { ...lane, runs: await Promise.all(runs) };
  });
  return { ...results, lanes: await Promise.all(lanes) };
}

beforeEach(async () => {
  out = await mkdtemp(join(tmpdir(), 'runs-'));
  published = await mkdtemp(join(tmpdir(), 'published-'));
});

describe('results', () => {
  it('are the same after writing and reading', () => {
    expect(resultsFromJson(resultsToJson(results), 'x')).toEqual(results);
  });

  it('take runs that are not on this machine from those published, whatever preset led to them', async () => {
    const made = await named();
    await writeFile(join(published, 'other.results.json'), resultsToJson({ ...made, name: 'other', lanes: made.lanes.slice(1) }));
    const [lane, ...none] = (await collect(experiment, out, await publishedRuns(published))).lanes;
    expect(none).toEqual([]);
    expect([lane.name, lane.runs]).toEqual([made.lanes[1].name, made.lanes[1].runs]);
  });

  it('prefer the run on this machine, and are empty where there is none', async () => {
    expect((await collect(experiment, out, new Map())).lanes).toEqual([]);
    await writeFile(join(published, 'tiny.results.json'), resultsToJson(await named()));
    const lane = experiment.lanes[0];
    const plan = planOf(experiment, lane, 2, await modelSha(lane.model));
    const folder = await runFolder(out, plan);
    await prepareFolder(folder, plan);
    const point = { step: experiment.steps, samples: 7, tokenPasses: 7, cells: [] };
    const costs = { samples: 7, tokenPasses: 7, tokens: 7, seconds: 7, evaluationSeconds: 7 };
    const summary = { kind: SUMMARY_KIND, settings: plan.settings, steps: experiment.steps, ...costs, curve: [point] };
    await replaceFile(filesOf(folder).summary, JSON.stringify(summary));
    await writeFile(filesOf(folder).records, '');
    const found = (await collect(experiment, out, await publishedRuns(published))).lanes[0].runs;
    expect(found.map((run) => run.samples === 7)).toEqual([false, true, false]);
  });
});
