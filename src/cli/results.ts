/**
 * @file What is kept in the repository of an experiment's runs: docs/experiments/NAME.results.json. Tables, plots and
 * docs/results.md are made from these files, never from the runs themselves, so they can be made again without training.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readJsonl } from '../training/jsonl.ts';
import type { Settings } from '../training/settings.ts';
import { ExperimentError, type Experiment, type Lane } from './experiment-types.ts';
import { textIfThere } from './files.ts';
import { changesOf, filesOf, isFinished, modelSha, planOf, readSummary, RUN_FORMAT, runEnd, runFolder } from './run-plan.ts';
import type { Evaluation } from './run-training.ts';
import { foundAt, rounded, seriesOf, type Series, type SeriesName } from './series.ts';
import type { Cells, Cost, CurvePoint } from './summary.ts';

export const RESULTS_KIND = 'grpo-playground results';

export interface RunResult extends Cost {
  readonly seed: number;
  /** Name of its folder. */
  readonly run: string;
  readonly evaluationSeconds: number;
  readonly foundAt: number | null;
  readonly curve: readonly CurvePoint[];
  readonly series: Partial<Record<SeriesName, Series>>;
}

export interface LaneResult {
  readonly name: string;
  readonly model: string;
  /** m and n, and how the settings differ from the defaults. */
  readonly shape: Pick<Settings, 'variants' | 'responses'>;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly runs: readonly RunResult[];
}

export interface Results {
  readonly kind: typeof RESULTS_KIND;
  readonly format: number;
  readonly name: string;
  readonly steps: number;
  readonly evaluate: Evaluation;
  readonly lanes: readonly LaneResult[];
}

async function runResult(folder: string, seed: number, steps: number): Promise<RunResult | null> {
  const summary = await readSummary(folder);
  if (!summary || !isFinished(summary, steps)) return null;
  const records = readJsonl(await readFile(filesOf(folder).records, 'utf8'));
  const { samples, tokenPasses, tokens, seconds, evaluationSeconds, curve } = summary;
  return {
    seed,
    run: folder.split(/[\\/]/).at(-1) ?? folder,
    samples,
    tokenPasses,
    tokens,
    seconds: rounded(seconds),
    evaluationSeconds: rounded(evaluationSeconds),
    foundAt: foundAt(records),
    curve,
    series: seriesOf(records),
  };
}

/** Results by run, as `runEnd` names it. */
export type Published = ReadonlyMap<string, RunResult>;

/** The results of all runs that the results files of a folder hold: experiments share runs. Throws ExperimentError. */
export async function publishedRuns(folder: string): Promise<Published> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.results.json')).sort();
  const texts = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')));
  const runs = texts.flatMap((text, at) => resultsFromJson(text, files[at]).lanes.flatMap((lane) => lane.runs));
  return new Map(runs.map((run) => [runEnd(run.run), run]));
}

/** The results of the runs that are finished in `out`, else of those that are published. Throws ExperimentError. */
export async function collect(experiment: Experiment, out: string, published: Published): Promise<Results> {
  const lanes: LaneResult[] = [];
  for (const lane of experiment.lanes) {
    const sha = await modelSha(lane.model);
    const runs: RunResult[] = [];
    for (const seed of experiment.seeds) {
      const folder = await runFolder(out, planOf(experiment, lane, seed, sha));
      const run = (await runResult(folder, seed, experiment.steps)) ?? published.get(runEnd(folder));
      if (run) runs.push(run);
    }
    const { variants, responses } = lane.settings;
    if (runs.length > 0)
      lanes.push({ name: lane.name, model: lane.model, shape: { variants, responses }, settings: changesOf(lane.settings), runs });
  }
  const { name, steps, evaluate } = experiment;
  return { kind: RESULTS_KIND, format: RUN_FORMAT, name, steps, evaluate, lanes };
}

type Packed = (string | number)[];

/** A cell without the names of its fields. */
const pack = (cells: Cells): Packed[] =>
  cells.map(({ family, phrasing, n, right, careful, sampled: s }) => [
    family,
    phrasing,
    n,
    right,
    careful,
    ...(s ? [s.responses, s.right, s.careful] : []),
  ]);

const unpack = (cells: readonly Packed[]): Cells =>
  cells.map(([family, phrasing, n, right, careful, ...s]) => ({
    family: family as string,
    phrasing: phrasing as string,
    n: n as number,
    right: right as number,
    careful: careful as number,
    ...(s.length === 3 ? { sampled: { responses: s[0] as number, right: s[1] as number, careful: s[2] as number } } : {}),
  }));

/** As text: one line per run, so that a run that is made again changes one line. */
export function resultsToJson(results: Results): string {
  const { lanes, ...head } = results;
  const lines = lanes.map(({ runs, ...lane }) => {
    const packed = runs.map((run) => JSON.stringify({ ...run, curve: run.curve.map((p) => ({ ...p, cells: pack(p.cells) })) }));
    return `${JSON.stringify(lane).slice(0, -1)},"runs":[\n${packed.join(',\n')}\n]}`;
  });
  return `${JSON.stringify(head).slice(0, -1)},"lanes":[\n${lines.join(',\n')}\n]}\n`;
}

/** Throws ExperimentError on what is no results file. */
export function resultsFromJson(text: string, file: string): Results {
  let results: Results;
  try {
    results = JSON.parse(text) as Results;
  } catch (error) {
    throw new ExperimentError(`${file} is no JSON: ${(error as Error).message}.`);
  }
  if (results.kind !== RESULTS_KIND) throw new ExperimentError(`${file} holds no results of an experiment.`);
  const lanes = results.lanes.map((lane) => ({
    ...lane,
    runs: lane.runs.map((run) => ({
      ...run,
      curve: run.curve.map((p) => ({ ...p, cells: unpack(p.cells as unknown as readonly Packed[]) })),
    })),
  }));
  return { ...results, lanes };
}

/** Whether results were made with what the lane now asks for. */
const agrees = (lane: Lane, result: LaneResult): boolean =>
  lane.model === result.model && JSON.stringify(changesOf(lane.settings)) === JSON.stringify(result.settings);

/**
 * The results beside an experiment's file, as far as they are of what the file asks for now: results of a lane that was changed
 * since, or of seeds that it no longer has, are left out. Null if there are none.
 */
export async function readResults(experiment: Experiment, file: string): Promise<Results | null> {
  const text = await textIfThere(file);
  if (text === null) return null;
  const results = resultsFromJson(text, file);
  const same = results.steps === experiment.steps && JSON.stringify(results.evaluate) === JSON.stringify(experiment.evaluate);
  const lanes = same
    ? experiment.lanes.flatMap((lane) => {
        const mine = results.lanes.find((result) => result.name === lane.name);
        if (!mine || !agrees(lane, mine)) return [];
        return [{ ...mine, runs: mine.runs.filter((run) => experiment.seeds.includes(run.seed)) }];
      })
    : [];
  return { ...results, lanes };
}
