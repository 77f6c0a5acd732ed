/**
 * @file One training run from its first step to its last, as `npm run train` and the experiments do it: a record per step as a
 * JSON line, a checkpoint after each step, a summary with the figures on held-out test questions.
 *
 * It can be killed at any moment. What the checkpoint holds is what has happened: records that it does not have yet are cut off
 * and made again, and everything that adds up over steps is added up from the records. So a run that was interrupted ends in
 * the same files as one that was not, but for the times. run-training.test.ts holds it to that.
 */
import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DigitSet } from '../tasks/index.ts';
import { evaluate } from '../training/evaluation.ts';
import { toJson } from '../training/jsonl.ts';
import type { StepRecord } from '../training/record.ts';
import { runFromJson, runToJson } from '../training/run.ts';
import type { Settings } from '../training/settings.ts';
import { Trainer, type RunState, type TrainablePolicy } from '../training/trainer.ts';
import { replaceFile, textIfThere } from './files.ts';
import { costOf, SUMMARY_KIND, type Cells, type Cost, type RunSummary } from './summary.ts';

/** How a run is measured on held-out test questions. */
export interface Evaluation {
  /** Steps between two points of the curve; 0: only before and after the run. */
  readonly every: number;
  /** Questions per wording at the points in between; they are the first of `test`. */
  readonly questions: number;
  /** Responses at temperature 1 per question beside the greedy one; 0 for none. */
  readonly samples: number;
  /** Questions per wording before and after the run. */
  readonly test: number;
}

export interface RunFiles {
  /** JSON lines. */
  readonly records: string;
  readonly checkpoint: string;
  readonly summary: string;
}

export interface TrainingOptions {
  readonly policy: TrainablePolicy;
  readonly digits: DigitSet | null;
  readonly settings: Settings;
  readonly steps: number;
  readonly files: RunFiles;
  /** Where to go on (`savedState`); null starts anew, over whatever the files held. */
  readonly saved: RunState | null;
  /** Records without what is per token, steps without what only describes them. */
  readonly light: boolean;
  /** Null measures nothing. */
  readonly evaluation: Evaluation | null;
  /** The figures before training, where they are known: a fresh adapter changes nothing. */
  readonly before?: Cells;
  readonly signal?: AbortSignal;
  /** After each step. */
  readonly onStep?: (record: StepRecord, summary: RunSummary) => void;
  /** After each measurement. */
  readonly onPoint?: (summary: RunSummary) => void;
}

/** Cells of held-out test questions, with the adapter as it is. */
export async function measure(
  o: Pick<TrainingOptions, 'policy' | 'digits' | 'settings' | 'signal'> & { readonly questions: number; readonly samples: number },
): Promise<Cells> {
  const { policy, digits, settings, questions, samples, signal } = o;
  return evaluate({
    policy,
    digits,
    settings: { ...settings, evaluateQuestions: questions, evaluateSamples: samples },
    split: 'test',
    ...(signal ? { signal } : {}),
  });
}

/** Lines of a record file that end in a line break: the last one may have been cut off. */
const wholeLines = (text: string): string[] => text.split('\n').slice(0, -1);

/**
 * The state to go on from, null if there is none: no checkpoint, or fewer records than it counts steps (the machine, not the
 * command, went down before all was on the disk). Throws RecordError or SettingsError on a checkpoint that cannot be used.
 */
export async function savedState(files: RunFiles): Promise<RunState | null> {
  const checkpoint = await textIfThere(files.checkpoint);
  if (checkpoint === null) return null;
  const state = runFromJson(checkpoint);
  const records = await textIfThere(files.records);
  return wholeLines(records ?? '').length >= state.step ? state : null;
}

const NOTHING: Cost = { samples: 0, tokenPasses: 0, tokens: 0, seconds: 0 };

const add = (a: Cost, b: Cost): Cost => ({
  samples: a.samples + b.samples,
  tokenPasses: a.tokenPasses + b.tokenPasses,
  tokens: a.tokens + b.tokens,
  seconds: a.seconds + b.seconds,
});

/** Cuts the records back to the checkpoint's steps; the summary of just those. */
async function reconcile(o: TrainingOptions, saved: RunState): Promise<RunSummary> {
  const lines = wholeLines((await textIfThere(o.files.records)) ?? '').slice(0, saved.step);
  await replaceFile(o.files.records, lines.map((line) => `${line}\n`).join(''));
  const cost = lines.map((line) => costOf(JSON.parse(line) as StepRecord)).reduce(add, NOTHING);
  const old = JSON.parse((await textIfThere(o.files.summary)) ?? '{}') as Partial<RunSummary>;
  return {
    kind: SUMMARY_KIND,
    settings: o.settings,
    steps: saved.step,
    ...cost,
    evaluationSeconds: old.evaluationSeconds ?? 0,
    curve: (old.curve ?? []).filter((point) => point.step <= saved.step),
  };
}

/** Trains to step `steps`. Throws the signal's reason when aborted; the files then hold everything up to the last finished step. */
export async function runTraining(o: TrainingOptions): Promise<RunSummary> {
  const { policy, settings, steps, files, evaluation, signal } = o;
  const trainer = new Trainer({ policy, settings, digits: o.digits, diagnostics: !o.light });
  let summary: RunSummary;
  if (o.saved) {
    trainer.restore(o.saved);
    summary = await reconcile(o, o.saved);
  } else {
    await mkdir(dirname(files.records), { recursive: true });
    await rm(files.checkpoint, { force: true });
    await writeFile(files.records, '');
    summary = { kind: SUMMARY_KIND, settings, steps: 0, ...NOTHING, evaluationSeconds: 0, curve: [] };
  }

  /** Questions to ask now, 0 if this step is not measured. */
  const due = (step: number): number => {
    if (!evaluation || summary.curve.some((point) => point.step === step)) return 0;
    if (step === 0 || step === steps) return evaluation.test;
    return evaluation.every > 0 && step % evaluation.every === 0 ? evaluation.questions : 0;
  };

  for (;;) {
    const questions = due(trainer.step);
    if (evaluation && questions > 0) {
      const start = performance.now();
      const known = trainer.step === 0 ? o.before : undefined;
      const cells = known ?? (await measure({ ...o, questions, samples: evaluation.samples }));
      const { samples, tokenPasses } = summary;
      summary = {
        ...summary,
        evaluationSeconds: summary.evaluationSeconds + (performance.now() - start) / 1000,
        curve: [...summary.curve, { step: trainer.step, samples, tokenPasses, cells }],
      };
      await replaceFile(files.summary, JSON.stringify(summary));
      o.onPoint?.(summary);
    }
    if (trainer.step >= steps) break;

    let record: StepRecord | undefined;
    for await (const r of trainer.run(signal ? { signal } : {})) record = r;
    if (!record) throw new Error('The step gave no record.');
    await appendFile(files.records, `${toJson(record, { light: o.light })}\n`);
    await replaceFile(files.checkpoint, runToJson(await trainer.state()));
    summary = { ...summary, steps: trainer.step, ...add(summary, costOf(record)) };
    await replaceFile(files.summary, JSON.stringify(summary));
    o.onStep?.(record, summary);
  }
  return summary;
}
