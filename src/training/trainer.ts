/**
 * @file The trainer: one step of Share-GRPO as an async generator that yields after each of its seven phases (DESIGN §2), so
 * that a page can stop between any two and a command can run straight through. A step that is aborted, left or fails leaves
 * adapter and optimiser as they were before it. All chance is keyed by (seed, step, …): the same seed gives the same run.
 */
import type { AdapterState } from '../model/policy.ts';
import type { DigitSet, Question } from '../tasks/index.ts';
import { answerAll, evaluate, phrasingsOf, tally } from './evaluation.ts';
import { drawQuestions, drawVariants, redrawQuestion } from './expand.ts';
import { PHASES, SCHEMA, type EvaluationRecord, type Phase, type StepRecord } from './record.ts';
import {
  advantageAll,
  aborting,
  deadQuestions,
  expand,
  rewardAll,
  rollout,
  share,
  type Progress,
  type StepContext,
  type TrainablePolicy,
} from './rollout.ts';
import { checkSettings, type Settings } from './settings.ts';
import { update } from './update.ts';

export type { Progress, TrainablePolicy } from './rollout.ts';

/** Everything a run needs to go on from where it was. */
export interface RunState {
  readonly settings: Settings;
  /** Finished steps. */
  readonly step: number;
  readonly adapter: AdapterState;
}

export interface TrainerOptions {
  readonly policy: TrainablePolicy;
  readonly settings: Settings;
  /** Null if the task `digits` is not among the tasks. */
  readonly digits: DigitSet | null;
  /** False leaves out what only describes a step: ratios and loss after it, distance from the base, an answer before and after. Default true. */
  readonly diagnostics?: boolean;
}

export interface StepOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  /** The visitor's own questions; they take the first places of the step. */
  readonly own?: readonly Question[];
  /** Compare the published with the corrected gradient in this step, whatever the settings say: two more backwards. */
  readonly compareGradients?: boolean;
}

export class Trainer {
  private readonly policy: TrainablePolicy;
  private readonly digits: DigitSet | null;
  private readonly diagnostics: boolean;
  private running = false;
  private current: Settings;
  private finished = 0;
  private good: AdapterState | null = null;

  /** Throws SettingsError. The policy's adapter is taken as it is. */
  constructor(o: TrainerOptions) {
    checkSettings(o.settings);
    this.policy = o.policy;
    this.current = o.settings;
    this.digits = o.digits;
    this.diagnostics = o.diagnostics ?? true;
  }

  get settings(): Settings {
    return this.current;
  }

  /** Steps finished so far. */
  get step(): number {
    return this.finished;
  }

  /** New settings from the next step on. A new rank or alpha starts a new adapter. Throws SettingsError and changes nothing. */
  configure(settings: Settings): void {
    checkSettings(settings);
    const anew = settings.rank !== this.current.rank || settings.alpha !== this.current.alpha;
    this.current = settings;
    if (anew) this.reset();
  }

  /** A fresh adapter, step 0. */
  reset(): void {
    const { seed, rank, alpha } = this.current;
    this.policy.resetAdapter({ seed, rank, alpha });
    this.finished = 0;
    this.good = null;
  }

  /** The run as it stood after the last finished step. Answers without the device once a step has been started. */
  async state(): Promise<RunState> {
    this.good ??= await this.policy.readAdapter();
    return { settings: this.current, step: this.finished, adapter: this.good };
  }

  /** Goes on from a saved state; the policy's adapter must have its rank. Throws SettingsError. */
  restore(state: RunState): void {
    checkSettings(state.settings);
    this.policy.writeAdapter(state.adapter);
    this.current = state.settings;
    this.finished = state.step;
    this.good = state.adapter;
  }

  /**
   * Runs the next step, yielding the same growing record after each phase. Abort with the signal (throws its reason) or by
   * leaving the generator: both undo the step.
   */
  async *run(o: StepOptions = {}): AsyncGenerator<StepRecord, void, void> {
    if (this.running) throw new Error('A step is already under way: finish or abort it first.');
    this.running = true;
    const { policy, current: settings } = this;
    const step = this.finished + 1;
    const record: StepRecord = {
      schema: SCHEMA,
      step,
      phase: 'expand',
      settings,
      questions: [],
      redrawn: [],
      update: null,
      evaluation: null,
      metrics: {},
      timing: {},
    };
    const own = (o.own ?? []).slice(0, settings.questionsPerStep);
    const questions = drawQuestions({ settings, step, digits: this.digits, own });
    const all = questions.map((_, q) => q);
    const c: StepContext = {
      policy,
      settings,
      record,
      questions,
      prompts: [],
      images: [],
      ...aborting(o.signal),
      report: (progress) => o.onProgress?.({ step, ...progress }),
    };
    let complete = false;
    let before: AdapterState | null = null;
    try {
      before = await policy.readAdapter();
      this.good = before;
      const answers: { before: string | null; after: string | null } = { before: null, after: null };
      const first = questions[0];
      const answerFirst = async () =>
        this.diagnostics ? (await answerAll({ policy, ...aborting(o.signal) }, [first], settings.maxTokens))[0] : null;
      const phases: Record<Phase, () => void | Promise<void>> = {
        expand: () =>
          expand(
            c,
            all,
            questions.map((question, q) => drawVariants(question, { settings, step, q, digits: this.digits })),
          ),
        rollout: () => rollout(c, all),
        reward: () => rewardAll(c),
        advantage: async () => {
          advantageAll(c);
          await this.drawAnew(c, own.length);
        },
        share: () => share(c),
        update: async () => {
          answers.before = await answerFirst();
          const every = settings.cosineEvery;
          await update(c, {
            diagnostics: this.diagnostics,
            compareGradients: o.compareGradients ?? (every > 0 && step % every === 0),
            before: before as AdapterState,
          });
        },
        evaluate: async () => {
          answers.after = await answerFirst();
          record.evaluation = await this.evaluateStep(c, answers);
        },
      };
      for (const phase of PHASES) {
        o.signal?.throwIfAborted();
        c.report({ phase, done: 0, total: 1 });
        const start = performance.now();
        await phases[phase]();
        record.timing[phase] = performance.now() - start;
        record.phase = phase;
        if (phase === 'evaluate') {
          record.metrics.step_time = Object.values(record.timing).reduce((sum, ms) => sum + ms, 0) / 1000;
          this.good = await policy.readAdapter();
          this.finished = step;
          complete = true;
        }
        yield record;
      }
    } finally {
      this.running = false;
      for (const image of c.images) image.release();
      if (!complete && before) {
        this.good = before;
        this.undo(before);
      }
    }
  }

  /**
   * Dynamic sampling (DAPO §3.2), bounded: questions from which nothing can be learnt are dropped, and others drawn, asked and
   * rewarded in their places, for as many rounds as the settings allow. The visitor's own questions (the first `kept`) stay.
   */
  private async drawAnew(c: StepContext, kept: number): Promise<void> {
    const { settings, record } = c;
    const { step } = record;
    for (let round = 1; round <= settings.dynamicSampling; round++) {
      const dead = deadQuestions(c).filter((q) => q >= kept);
      if (dead.length === 0) break;
      c.signal?.throwIfAborted();
      for (const q of dead) {
        const { id, family, groups } = record.questions[q];
        record.redrawn.push({ id, family, state: groups?.pooled ?? 'alive' });
        c.questions[q] = redrawQuestion({ settings, step, digits: this.digits, q, round });
      }
      const variants = dead.map((q) => drawVariants(c.questions[q], { settings, step, q, round, digits: this.digits }));
      await expand(c, dead, variants);
      await rollout(c, dead, round);
      rewardAll(c);
      advantageAll(c);
      c.report({ phase: 'advantage', done: round, total: settings.dynamicSampling });
    }
    if (settings.dynamicSampling > 0) record.metrics['share/redrawn'] = record.redrawn.length;
  }

  /** Back to the weights from before the step. On a lost device that cannot be; they are kept in `state()`. */
  private undo(before: AdapterState): void {
    try {
      this.policy.writeAdapter(before);
    } catch {
      // the error that ended the step says more than this one, and is on its way to the caller
    }
  }

  private async evaluateStep(c: StepContext, answers: Pick<EvaluationRecord, 'before' | 'after'>): Promise<EvaluationRecord> {
    const { settings, record } = c;
    if (record.step % settings.evaluateEvery !== 0) return { cells: [], ...answers };
    const cells = await evaluate({
      policy: this.policy,
      settings,
      digits: this.digits,
      split: 'validation',
      ...aborting(c.signal),
      onProgress: (done, total) => c.report({ phase: 'evaluate', done, total }),
    });
    for (const phrasing of phrasingsOf(settings)) {
      const { n, right, careful } = tally(cells, phrasing);
      record.metrics[`eval_${phrasing}/accuracy`] = right / Math.max(1, n);
      record.metrics[`eval_${phrasing}/careful`] = careful / Math.max(1, n);
    }
    return { cells, ...answers };
  }
}
