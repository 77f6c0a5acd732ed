/**
 * @file What a run is, and where it lies. Two lanes that ask for the same run (of one experiment or of several) share it: a run's
 * folder is named by a hash of all that decides what comes out, `<preset>-s<seed>-<hash>`.
 *
 * The hash takes settings as differences from the defaults, so that a new setting, at the default that leaves everything as it
 * was, does not make old runs void. The plan in the folder holds all of them, and is compared when the run is used again.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DEFAULTS } from '../training/presets.ts';
import type { Settings } from '../training/settings.ts';
import { ExperimentError, type Experiment, type Lane } from './experiment-types.ts';
import { replaceFile, textIfThere } from './files.ts';
import type { Evaluation, RunFiles } from './run-training.ts';
import { SUMMARY_KIND, type Cells, type RunSummary } from './summary.ts';

/** Raised whenever the same settings come to mean another run: a changed default, another sampler, new questions. */
export const RUN_FORMAT = 1;

export interface RunPlan {
  readonly format: number;
  readonly model: { readonly folder: string; readonly sha: string };
  readonly settings: Settings;
  readonly steps: number;
  readonly evaluate: Evaluation;
}

const hash = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex').slice(0, 8);

/** Eight digits of the weights' SHA-256. Throws ExperimentError if there is no such model. */
export async function modelSha(folder: string): Promise<string> {
  try {
    return hash(await readFile(join(folder, 'model.safetensors')));
  } catch {
    throw new ExperimentError(`There is no model in ${folder} (model.safetensors). Put one there, or name another in the lane’s “model”.`);
  }
}

export function planOf({ steps, evaluate }: Pick<Experiment, 'steps' | 'evaluate'>, lane: Lane, seed: number, sha: string): RunPlan {
  return { format: RUN_FORMAT, model: { folder: lane.model, sha }, settings: { ...lane.settings, seed }, steps, evaluate };
}

/** Settings that decide nothing of what a run comes to, or stand in its folder's name. */
const APART: ReadonlySet<string> = new Set<keyof Settings>(['preset', 'seed', 'evaluateEvery', 'evaluateQuestions', 'evaluateSamples']);

/** How settings differ from the defaults, in the order of their names. */
export function changesOf(settings: Settings): Readonly<Record<string, unknown>> {
  const defaults = DEFAULTS as unknown as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(settings)
      .filter(([key, value]) => !APART.has(key) && JSON.stringify(value) !== JSON.stringify(defaults[key]))
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  );
}

/** The hash of everything but the seed. */
export function planKey({ format, model, settings, steps, evaluate }: RunPlan): string {
  const { every, questions, samples, test } = evaluate;
  return hash(JSON.stringify([format, model.sha, steps, [every, questions, samples, test], changesOf(settings)]));
}

/** The hash of all that decides the figures before training: the adapter adds nothing yet. */
function untrainedKey({ format, model, settings, evaluate }: RunPlan): string {
  const { tasks, maxTokens, mico, weakCrop, strongCrop, strongCropMost } = settings;
  const views = mico === 'off' ? null : [weakCrop, strongCrop, strongCropMost];
  return hash(JSON.stringify([format, model.sha, evaluate.test, evaluate.samples, tasks, maxTokens, views]));
}

export const PLAN_FILE = 'settings.json';
const UNTRAINED = 'untrained-';

export const untrainedFolder = (out: string, plan: RunPlan): string => join(out, `${UNTRAINED}${untrainedKey(plan)}`);
export const isUntrained = (folder: string): boolean => (folder.split(/[\\/]/).at(-1) ?? '').startsWith(UNTRAINED);
export const cellsFile = (folder: string): string => join(folder, 'cells.json');

export const filesOf = (folder: string): RunFiles => ({
  records: join(folder, 'run.jsonl'),
  checkpoint: join(folder, 'checkpoint.json'),
  summary: join(folder, 'summary.json'),
});

/** What a run's folder ends in: its seed and its hash, without the preset that led there. */
export const runEnd = (folder: string): string => /-s\d+-[0-9a-f]+$/.exec(folder)?.[0] ?? folder;

/** The folder of a run: the one that has it, whichever preset led there first, or the one that it will get. */
export async function runFolder(out: string, plan: RunPlan): Promise<string> {
  const end = `-s${plan.settings.seed}-${planKey(plan)}`;
  const names = await readdir(out).catch(() => []);
  return join(out, names.find((name) => name.endsWith(end)) ?? `${plan.settings.preset}${end}`);
}

/** Makes the folder with its plan in it. Throws ExperimentError if the run there was made with other settings. */
export async function prepareFolder(folder: string, plan: RunPlan): Promise<void> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, PLAN_FILE);
  const text = await textIfThere(path);
  if (text === null) return replaceFile(path, `${JSON.stringify(plan, null, 2)}\n`);
  const old = (JSON.parse(text) as RunPlan).settings as unknown as Readonly<Record<string, unknown>>;
  const now = plan.settings as unknown as Readonly<Record<string, unknown>>;
  const other = Object.keys(old).filter((key) => !APART.has(key) && JSON.stringify(old[key]) !== JSON.stringify(now[key]));
  if (other.length > 0)
    throw new ExperimentError(
      `The run in ${folder} was made with another ${other.join(', ')}: a default has changed since. Raise RUN_FORMAT in src/cli/run-plan.ts, or delete the folder.`,
    );
}

/** The run's summary, null before there is one. */
export async function readSummary(folder: string): Promise<RunSummary | null> {
  const text = await textIfThere(filesOf(folder).summary);
  if (text === null) return null;
  const summary = JSON.parse(text) as RunSummary;
  return summary.kind === SUMMARY_KIND ? summary : null;
}

/** All steps trained, and measured after the last. */
export const isFinished = (summary: RunSummary | null, steps: number): boolean =>
  summary !== null && summary.steps === steps && summary.curve.at(-1)?.step === steps;

/** The figures before training that an earlier run measured, null if none did. */
export async function untrainedCells(out: string, plan: RunPlan): Promise<Cells | null> {
  const text = await textIfThere(cellsFile(untrainedFolder(out, plan)));
  return text === null ? null : (JSON.parse(text) as Cells);
}
