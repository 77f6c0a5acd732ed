/** @file What an experiment's file may say, and what is said of one that may not; and that the files of the repository can be read. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { experimentFile } from './experiment.fixture.ts';
import { ExperimentError } from './experiment-types.ts';
import { readExperiment } from './experiment-file.ts';

const read = (changes: Record<string, unknown>) =>
  readExperiment(JSON.stringify({ ...experimentFile, ...changes }), 'some/where/tiny.json');

describe('an experiment', () => {
  it('is lanes of whole settings: preset, then base, then the lane’s own', () => {
    const [grpo, share] = read({ base: { responses: 5, learningRate: 2e-3 } }).lanes;
    expect(grpo.settings).toMatchObject({ preset: 'grpo', variants: 1, responses: 5, learningRate: 2e-3 });
    expect(share.settings).toMatchObject({ preset: 'share-grpo', variants: 2, responses: 5, learningRate: 3e-3 });
  });

  it('takes the model that the preset is made for, unless one is named', () => {
    const lanes = [
      { name: 'a', label: 'a', preset: 'grpo' },
      { name: 'b', label: 'b', preset: 'mico-weak' },
      { name: 'c', label: 'c', preset: 'grpo', model: 'models/other' },
    ];
    const models = (model?: string) => read({ lanes, baseline: 'a', plots: [], ...(model ? { model } : {}) }).lanes.map((l) => l.model);
    expect(models()).toEqual(['public/models/pico', 'public/models/pico-mico', 'models/other']);
    expect(models('models/all')).toEqual(['models/all', 'models/all', 'models/other']);
  });

  it('shows a table of everything unless told otherwise', () => {
    expect(read({ tables: undefined }).tables[0].columns).toContain('greedy.plain');
    expect(read({ tables: [] }).tables).toEqual([]);
  });

  const lane = experimentFile.lanes[0];
  const plot = experimentFile.plots[0];
  it.each([
    [{ name: 'other' }, 'some/where/tiny.json: name is "other"; it must be the name of the file without .json.'],
    [{ steps: 0 }, 'steps is 0; it must be a whole number of at least 1.'],
    [{ steps: undefined }, 'steps is missing; it must be a whole number of at least 1.'],
    [{ seed: 1 }, 'there is no field “seed”; there are name, title'],
    [{ seeds: [] }, 'seeds is []; it must be a list of whole numbers.'],
    [{ seeds: [1, 1] }, 'seeds has 1 twice'],
    [{ baseline: 'nobody' }, 'baseline is "nobody"; it must be one of grpo, share.'],
    [{ base: { lr: 1 } }, 'base: “lr” cannot be set here; there are questionsPerStep'],
    [{ base: { seed: 1 } }, 'base: “seed” cannot be set here; seeds stand in the experiment’s “seeds”.'],
    [
      { base: { evaluateEvery: 1 } },
      'base: “evaluateEvery” cannot be set here; how runs are measured stands in the experiment’s “evaluate”.',
    ],
    [{ lanes: [] }, 'lanes is []; it must be a list of lanes.'],
    [{ lanes: [lane, lane] }, 'lanes has grpo twice'],
    [{ lanes: [{ ...lane, preset: 'ppo' }] }, 'lanes[0]: preset is "ppo"; it must be one of share-grpo,'],
    [{ lanes: [{ ...lane, settings: { responses: 1 } }] }, 'lanes[0].settings: Responses per variant (n) is 1'],
    [{ lanes: [{ ...lane, settings: { responses: 'six' } }] }, 'lanes[0].settings: Responses per variant (n) is six'],
    [{ lanes: [{ ...lane, name: 'A lane' }] }, 'lanes[0]: name is "A lane"; it must be lower-case'],
    [{ evaluate: { ...experimentFile.evaluate, test: 0 } }, 'evaluate: test is 0; it must be a whole number of at least 1.'],
    [{ plots: [{ ...plot, y: 'greedy.loud' }] }, 'plots[0].y: there is no “greedy.loud” to draw over the run'],
    [{ plots: [{ ...plot, x: 'time' }] }, 'plots[0]: x is "time"; it must be one of step, samples, token-passes.'],
    [{ plots: [{ ...plot, lanes: ['x'] }] }, 'plots[0].lanes: there is no lane “x”; there are grpo, share.'],
    [{ plots: [plot, plot] }, 'plots has sampled twice'],
    [{ tables: [{ columns: ['happiness'] }] }, 'tables[0].columns[0]: there is no quantity “happiness”'],
    [{ tables: [{ columns: ['setting.x'] }] }, 'tables[0].columns[0]: there is no setting “x”.'],
  ])('with %j is refused: %s', (changes, message) => {
    expect(() => read(changes)).toThrow(ExperimentError);
    expect(() => read(changes)).toThrow(message);
  });

  it('must be JSON', () => {
    expect(() => readExperiment('{', 'x.json')).toThrow(/^x\.json is no JSON: /);
  });
});

describe('docs/experiments', () => {
  const files = readdirSync('docs/experiments').filter((file) => file.endsWith('.json') && !file.endsWith('.results.json'));
  it.each(files)('%s can be run', (file) => {
    expect(readExperiment(readFileSync(`docs/experiments/${file}`, 'utf8'), file).lanes.length).toBeGreaterThan(1);
  });
});
