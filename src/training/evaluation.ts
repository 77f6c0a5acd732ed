/**
 * @file Greedy answers on held-out questions: how many are right, and how many are given the careful way. The plain phrasing
 * is the headline; the step-by-step one shows what the model could do all along. Held-out questions are the same for every
 * run (their seed is fixed) and are never trained on (their scenes belong to another split).
 */
import { reward } from '../algorithm/reward.ts';
import { isCareful, makeQuestion, type DigitSet, type Phrasing, type Question, type Split } from '../tasks/index.ts';
import { aborting, responseText, type TrainablePolicy } from './rollout.ts';
import type { EvaluationRecord } from './record.ts';
import type { Settings } from './settings.ts';

const HELD_OUT_SEED = 1;
const BATCH = 64;

export type AnsweringPolicy = Pick<TrainablePolicy, 'eos' | 'encodeImages' | 'prompt' | 'decode' | 'sample'>;

export interface EvaluateOptions {
  readonly policy: AnsweringPolicy;
  readonly settings: Pick<Settings, 'tasks' | 'maxTokens' | 'evaluateQuestions'>;
  readonly digits: DigitSet | null;
  /** `validation` while training, `test` for figures that are published. */
  readonly split: Exclude<Split, 'train'>;
  readonly phrasings?: readonly Phrasing[];
  readonly adapter?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number, total: number) => void;
}

/** Greedy responses to questions, each with its own picture and wording. */
export async function answerAll(
  o: Omit<EvaluateOptions, 'settings' | 'digits' | 'split' | 'phrasings'>,
  questions: readonly Question[],
  maxTokens: number,
): Promise<string[]> {
  const texts: string[] = [];
  for (let at = 0; at < questions.length; at += BATCH) {
    o.signal?.throwIfAborted();
    const batch = questions.slice(at, at + BATCH);
    const images = await o.policy.encodeImages(batch.map((q) => q.picture));
    try {
      const prompts = batch.map((q, i) => o.policy.prompt({ text: q.text.text, image: images[i] }));
      const sampled = await o.policy.sample({
        prompts,
        n: 1,
        maxTokens,
        temperature: 0,
        topP: 1,
        seed: 0,
        step: 0,
        adapter: o.adapter ?? true,
        ...aborting(o.signal),
      });
      texts.push(...sampled.map(([s]) => responseText(o.policy, s.tokens)));
    } finally {
      for (const image of images) image.release();
    }
    o.onProgress?.(Math.min(questions.length, at + BATCH), questions.length);
  }
  return texts;
}

/** The held-out questions of one phrasing: `evaluateQuestions` of them, the tasks in turn. */
export function heldOut(o: Pick<EvaluateOptions, 'settings' | 'digits' | 'split'>, phrasing: Phrasing): Question[] {
  const { tasks, evaluateQuestions } = o.settings;
  return Array.from({ length: evaluateQuestions }, (_, index) =>
    makeQuestion({ seed: HELD_OUT_SEED, index, split: o.split, family: tasks[index % tasks.length], phrasing, digits: o.digits }),
  );
}

/** Right and careful answers per family and phrasing. */
export async function evaluate(o: EvaluateOptions): Promise<EvaluationRecord['cells']> {
  const phrasings = o.phrasings ?? ['plain', 'steps'];
  const questions = phrasings.flatMap((phrasing) => heldOut(o, phrasing));
  const texts = await answerAll(o, questions, o.settings.maxTokens);
  return phrasings.flatMap((phrasing) =>
    o.settings.tasks.map((family) => {
      const mine = questions
        .map((q, at) => ({ q, text: texts[at] }))
        .filter(({ q }) => q.family === family && q.text.phrasing === phrasing);
      return {
        family,
        phrasing,
        n: mine.length,
        right: mine.filter(
          ({ q, text }) => reward(text, { answer: q.answer, kind: q.answerKind, accuracyWeight: 1, formatWeight: 0 }).accuracy === 1,
        ).length,
        careful: mine.filter(({ q, text }) => isCareful(text, q.family)).length,
      };
    }),
  );
}

export interface Tally {
  readonly n: number;
  readonly right: number;
  readonly careful: number;
}

/** Cells of one phrasing added up. */
export function tally(cells: EvaluationRecord['cells'], phrasing: Phrasing, family?: string): Tally {
  const mine = cells.filter((c) => c.phrasing === phrasing && (family === undefined || c.family === family));
  const total = (key: 'n' | 'right' | 'careful') => mine.reduce((sum, c) => sum + c[key], 0);
  return { n: total('n'), right: total('right'), careful: total('careful') };
}
