/** @file Made-up results of the small experiment: what tables, plots and the page are tested with. */
import { experimentFile } from './experiment.fixture.ts';
import { readExperiment } from './experiment-file.ts';
import { RESULTS_KIND, type Results, type RunResult } from './results.ts';
import { changesOf, RUN_FORMAT } from './run-plan.ts';
import type { Cells } from './summary.ts';

export const experiment = readExperiment(JSON.stringify(experimentFile), 'tiny.json');

/** 12 questions of two families in plain wording; 100·share of the samples right. */
const cells = (right: number, careful = 0): Cells =>
  ['count', 'compare'].map((family) => ({
    family,
    phrasing: 'plain',
    n: 6,
    right: Math.round(right * 6),
    careful,
    sampled: { responses: 100, right: Math.round(right * 100), careful: 0 },
  }));

/** A run that goes from 40 % to `end` of the samples right, in a straight line. */
function run(seed: number, end: number, perStep: number, foundAt: number | null): RunResult {
  const steps = [0, 2, 4, 6];
  return {
    seed,
    run: `run-s${seed}`,
    samples: 6 * perStep,
    tokenPasses: 600 * perStep,
    tokens: 60 * perStep,
    seconds: 1800,
    evaluationSeconds: 900,
    foundAt,
    curve: steps.map((step) => ({
      step,
      samples: step * perStep,
      tokenPasses: 100 * step * perStep,
      cells: cells(0.4 + ((end - 0.4) * step) / 6, step),
    })),
    series: {
      reward: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6].map((x) => x + seed / 100),
      'cost/samples': Array<number>(6).fill(perStep),
      'cost/token_passes': Array<number>(6).fill(100 * perStep),
      'share/gradient_cosine': [null, null, 0.5, null, null, 0.25],
    },
  };
}

export const results: Results = {
  kind: RESULTS_KIND,
  format: RUN_FORMAT,
  name: experiment.name,
  steps: experiment.steps,
  evaluate: experiment.evaluate,
  lanes: experiment.lanes.map(({ name, model, settings }, at) => ({
    name,
    model,
    shape: { variants: settings.variants, responses: settings.responses },
    settings: changesOf(settings),
    runs:
      at === 0
        ? [run(1, 0.5, 24, null), run(2, 0.6, 24, 6), run(3, 0.52, 24, null)]
        : [run(1, 0.8, 48, 3), run(2, 0.88, 48, 4), run(3, 0.81, 48, 2)],
  })),
};
