/**
 * @file docs/results.md, made whole from docs/experiments: HEAD.md, then of each experiment its question, how to run it, its tables
 * and plots, what it cost and what follows. Every number comes from the results files. Prose may name one as {{lane.quantity}}:
 *
 *   {{share-grpo.greedy.plain}}              the mean over seeds
 *   {{share-grpo.greedy.plain|interval}}     with its 95 % interval; also |difference (paired, to the baseline), |each, |median
 *   {{lanes:share-grpo.greedy.plain}}        of another experiment
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { differenceTo, estimate, median, valuesOf } from './estimates.ts';
import { ExperimentError, type Experiment } from './experiment-types.ts';
import { readExperiment } from './experiment-file.ts';
import { textIfThere } from './files.ts';
import { bare, difference, duration, interval, value, whole } from './format.ts';
import { drawPlots } from './plots.ts';
import { quantity } from './quantities.ts';
import { readResults, type Results } from './results.ts';
import { markdownTable } from './tables.ts';

export interface Reported {
  readonly experiment: Experiment;
  readonly results: Results | null;
}

const NOT_YET = '(not run yet)';

/** The number that a placeholder names. Throws an Error on what cannot be named. */
function resolve(placeholder: string, own: Reported | null, all: readonly Reported[]): string {
  const [, other, laneName, name, form = 'mean'] = /^(?:([a-z0-9-]+):)?([a-z0-9-]+)\.([^|]+?)(?:\|([a-z]+))?$/.exec(placeholder) ?? [];
  const of = other === undefined ? own : all.find(({ experiment }) => experiment.name === other);
  if (!of || name === undefined) throw new Error('it must be lane.quantity, or experiment:lane.quantity');
  const { experiment, results } = of;
  if (!experiment.lanes.some((l) => l.name === laneName))
    throw new Error(`there is no lane “${laneName}” in ${experiment.name}; there are ${experiment.lanes.map((l) => l.name).join(', ')}`);
  const q = quantity(name);
  const laneOf = (wanted: string) => results?.lanes.find((l) => l.name === wanted && l.runs.length > 0);
  const lane = laneOf(laneName);
  if (!lane) return NOT_YET;
  const e = estimate(lane, q);
  switch (form) {
    case 'mean':
      return e ? value(e.mean, q.unit) : 'never';
    case 'interval':
      return e ? interval(e, q.unit) : 'never';
    case 'each':
      return [...valuesOf(lane, q).values()].map((x) => bare(x ?? Infinity, q.unit)).join(', ');
    case 'median':
      return value(median(lane, q), q.unit);
    case 'difference': {
      const baseline = laneOf(experiment.baseline);
      const d = baseline ? differenceTo(baseline, lane, q) : null;
      return d ? difference(d, q.unit) : NOT_YET;
    }
    default:
      throw new Error(`there is no form “${form}”; there are mean, interval, difference, each, median`);
  }
}

/** Text with its placeholders replaced. `where` is named in errors; `own` is the experiment whose lanes need no name in front. */
export function fillIn(text: string, where: string, own: Reported | null, all: readonly Reported[]): string {
  return text.replace(/\{\{\s*(.*?)\s*\}\}/g, (match, placeholder: string) => {
    try {
      return resolve(placeholder, own, all);
    } catch (error) {
      throw new ExperimentError(`${where}: ${match} cannot be filled in: ${(error as Error).message}.`);
    }
  });
}

const list = (numbers: readonly number[]): string => {
  const row = numbers.length > 2 && numbers.every((x, at) => at === 0 || x === numbers[at - 1] + 1);
  return row ? `${numbers[0]}–${numbers.at(-1)}` : numbers.join(', ');
};

function costLine({ lanes }: Results): string {
  const runs = lanes.flatMap((lane) => lane.runs);
  const sum = (of: (run: (typeof runs)[number]) => number) => runs.reduce((total, run) => total + of(run), 0);
  const [training, measuring] = [sum((r) => r.seconds), sum((r) => r.evaluationSeconds)];
  return `Cost: ${runs.length} runs, ${whole(sum((r) => r.samples))} samples, ${whole(sum((r) => r.tokenPasses))} token-passes; ${duration(training)} of training and ${duration(measuring)} of measuring, added up over runs (runs that experiments share count in each).`;
}

/** Tables, as `npm run experiment` prints them after the runs. */
export const tablesOf = ({ experiment, results }: Reported): string =>
  experiment.tables.map((table) => markdownTable(experiment, results, table)).join('\n\n');

function section(reported: Reported, all: readonly Reported[]): string {
  const { experiment: e, results } = reported;
  const { every, questions, samples, test } = e.evaluate;
  const between = every > 0 ? `, on the first ${questions} of them every ${every} steps` : '';
  const ways = samples > 0 ? `greedily and with ${samples} samples each` : 'greedily';
  const plots = results ? drawPlots(e, results) : [];
  return [
    `## ${e.title}`,
    `**${e.question}**`,
    `${e.steps} steps, ${e.seeds.length === 1 ? 'seed' : 'seeds'} ${list(e.seeds)}; measured on ${test} test questions per wording before and after${between}, ${ways}.`,
    `\`\`\`sh\nnpm run experiment -- docs/experiments/${e.name}.json\n\`\`\``,
    ...(results && results.lanes.length > 0 ? [tablesOf(reported)] : ['Not run yet.']),
    plots.map(({ plot, file }) => `![${plot.title}](experiments/${file})`).join('\n\n'),
    fillIn(e.conclusion, `docs/experiments/${e.name}.json: conclusion`, reported, all),
    results && results.lanes.length > 0 ? costLine(results) : '',
  ]
    .filter(Boolean)
    .join('\n\n');
}

/** Everything in a folder of experiments, in the order of docs/results.md. Throws ExperimentError. */
export async function readAll(folder: string): Promise<Reported[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json') && !name.endsWith('.results.json'));
  const all: Reported[] = [];
  for (const name of names) {
    const file = join(folder, name);
    const experiment = readExperiment(await readFile(file, 'utf8'), file);
    all.push({ experiment, results: await readResults(experiment, file.replace(/\.json$/, '.results.json')) });
  }
  return all.sort((a, b) => a.experiment.order - b.experiment.order || (a.experiment.name < b.experiment.name ? -1 : 1));
}

/** The files made from a folder of experiments: docs/results.md and the plots, by path. */
export async function report(folder: string): Promise<ReadonlyMap<string, string>> {
  const all = await readAll(folder);
  const head = (await textIfThere(join(folder, 'HEAD.md'))) ?? '# Results\n';
  const note = '<!-- Made by npm run experiment -- --results from docs/experiments; change it there. -->';
  const page = [note, fillIn(head.trim(), 'HEAD.md', null, all), ...all.map((reported) => section(reported, all))].join('\n\n');
  const files = new Map([[join(folder, '..', 'results.md'), `${page}\n`]]);
  for (const { experiment, results } of all)
    for (const { file, svg } of results ? drawPlots(experiment, results) : []) files.set(join(folder, file), svg);
  return files;
}
