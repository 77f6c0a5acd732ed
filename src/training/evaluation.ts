/**
 * @file Answers on held-out questions: how many are right, and how many are given the careful way. The plain phrasing is the
 * headline; the step-by-step one shows what the model could do all along. MiCo's triplets are asked in weak and in strong views.
 * Each question is answered greedily and, where asked for, several times at temperature 1, which is what the objective sees.
 * Held-out questions are the same for every run (their seed is fixed) and are never trained on (their scenes belong to another
 * split).
 */
import { reward } from '../algorithm/reward.ts';
import { drawViews, isCareful, makeQuestion, makeTriplet, type DigitSet, type Picture, type Question, type Split } from '../tasks/index.ts';
import { Rng } from '../tasks/random.ts';
import { aborting, responseText, type TrainablePolicy } from './rollout.ts';
import type { EvaluationRecord } from './record.ts';
import type { Settings } from './settings.ts';

const HELD_OUT_SEED = 1;
const BATCH = 64;

export type AnsweringPolicy = Pick<TrainablePolicy, 'eos' | 'encodeImages' | 'prompt' | 'decode' | 'sample'>;
type Cell = EvaluationRecord['cells'][number];

/** The settings that decide what is held out. */
export type EvaluationSettings = Pick<
  Settings,
  'tasks' | 'mico' | 'weakCrop' | 'strongCrop' | 'strongCropMost' | 'maxTokens' | 'evaluateQuestions' | 'evaluateSamples'
>;

export interface AnswerOptions {
  readonly policy: AnsweringPolicy;
  readonly adapter?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (done: number, total: number) => void;
}

export interface EvaluateOptions extends AnswerOptions {
  readonly settings: EvaluationSettings;
  readonly digits: DigitSet | null;
  /** `validation` while training, `test` for figures that are published. */
  readonly split: Exclude<Split, 'train'>;
  /** All of `phrasingsOf` unless said otherwise. */
  readonly phrasings?: readonly string[];
}

/** Asked as it stands: a question's own pictures and wording. */
interface Asked {
  readonly text: Question['text'];
  readonly pictures: readonly Picture[];
}

const asked = (q: Question): Asked => ({ text: q.text, pictures: q.pictures ?? [q.picture] });

/** Responses to questions, [question][n]; temperature 0 is greedy. */
async function answers(
  o: AnswerOptions,
  questions: readonly Asked[],
  how: { readonly maxTokens: number; readonly temperature: number; readonly n: number },
): Promise<string[][]> {
  const texts: string[][] = [];
  for (let at = 0; at < questions.length; at += BATCH) {
    o.signal?.throwIfAborted();
    const batch = questions.slice(at, at + BATCH);
    const images = await o.policy.encodeImages(batch.flatMap((q) => q.pictures));
    try {
      const rest = images.values();
      const prompts = batch.map((q) =>
        o.policy.prompt({ text: q.text.text, images: q.pictures.map(() => rest.next().value as (typeof images)[number]) }),
      );
      const sampled = await o.policy.sample({
        prompts,
        ...how,
        topP: 1,
        seed: HELD_OUT_SEED,
        step: at, // other batches draw other numbers
        adapter: o.adapter ?? true,
        ...aborting(o.signal),
      });
      texts.push(...sampled.map((group) => group.map((s) => responseText(o.policy, s.tokens))));
    } finally {
      for (const image of images) image.release();
    }
    o.onProgress?.(Math.min(questions.length, at + BATCH), questions.length);
  }
  return texts;
}

/** Greedy responses to questions, each with its own pictures and wording. */
export async function answerAll(o: AnswerOptions, questions: readonly Question[], maxTokens: number): Promise<string[]> {
  return (await answers(o, questions.map(asked), { maxTokens, temperature: 0, n: 1 })).map(([text]) => text);
}

/** In which two ways held-out questions are asked. */
export const phrasingsOf = ({ mico }: Pick<Settings, 'mico'>): readonly string[] =>
  mico === 'off' ? ['plain', 'steps'] : ['weak', 'strong'];

type HeldOut = Asked & { readonly question: Question };

/** The held-out questions of one phrasing: `evaluateQuestions` of them, the tasks in turn. */
export function heldOut(o: Pick<EvaluateOptions, 'settings' | 'digits' | 'split'>, phrasing: string): HeldOut[] {
  const { tasks, evaluateQuestions, mico, weakCrop, strongCrop, strongCropMost } = o.settings;
  return Array.from({ length: evaluateQuestions }, (_, index) => {
    const common = { seed: HELD_OUT_SEED, index, split: o.split };
    if (mico === 'off') {
      const family = tasks[index % tasks.length];
      const question = makeQuestion({ ...common, family, phrasing: phrasing === 'steps' ? 'steps' : 'plain', digits: o.digits });
      return { ...asked(question), question };
    }
    const question = makeTriplet({ ...common, phrasing: 'plain' });
    const range = phrasing === 'weak' ? { low: weakCrop, high: 1 } : { low: strongCrop, high: strongCropMost };
    const { pictures } = drawViews(question, range, new Rng('held-out views', HELD_OUT_SEED, index, phrasing));
    return { text: question.text, pictures, question };
  });
}

const isRight = (q: Question, text: string): boolean =>
  reward(text, { answer: q.answer, kind: q.answerKind, accuracyWeight: 1, formatWeight: 0 }).accuracy === 1;

/** How many of responses are right and careful. */
function judge(questions: readonly HeldOut[], texts: readonly (readonly string[])[]): { right: number; careful: number } {
  const total = (holds: (q: Question, text: string) => boolean): number =>
    questions.reduce((sum, { question }, at) => sum + texts[at].filter((text) => holds(question, text)).length, 0);
  return { right: total(isRight), careful: total((q, text) => isCareful(text, q.family)) };
}

/** Right and careful answers per family and phrasing, greedy and (with `evaluateSamples`) at temperature 1. */
export async function evaluate(o: EvaluateOptions): Promise<Cell[]> {
  const { maxTokens, evaluateSamples } = o.settings;
  const phrasings = o.phrasings ?? phrasingsOf(o.settings);
  const questions = phrasings.flatMap((phrasing) => heldOut(o, phrasing).map((q) => ({ ...q, phrasing })));
  const greedy = await answers(o, questions, { maxTokens, temperature: 0, n: 1 });
  const drawn = evaluateSamples > 0 ? await answers(o, questions, { maxTokens, temperature: 1, n: evaluateSamples }) : null;
  const families = [...new Set(questions.map(({ question }) => question.family))];
  return phrasings.flatMap((phrasing) =>
    families.map((family): Cell => {
      const at = questions.flatMap((q, i) => (q.question.family === family && q.phrasing === phrasing ? [i] : []));
      const mine = at.map((i) => questions[i]);
      const of = (texts: readonly (readonly string[])[]) =>
        judge(
          mine,
          at.map((i) => texts[i]),
        );
      const cell = { family, phrasing, n: mine.length, ...of(greedy) };
      return drawn ? { ...cell, sampled: { responses: mine.length * evaluateSamples, ...of(drawn) } } : cell;
    }),
  );
}

export interface Tally {
  readonly n: number;
  readonly right: number;
  readonly careful: number;
}

/** Cells of one phrasing added up. */
export function tally(cells: EvaluationRecord['cells'], phrasing: string, family?: string): Tally {
  const mine = cells.filter((c) => c.phrasing === phrasing && (family === undefined || c.family === family));
  const total = (key: 'n' | 'right' | 'careful') => mine.reduce((sum, c) => sum + c[key], 0);
  return { n: total('n'), right: total('right'), careful: total('careful') };
}
