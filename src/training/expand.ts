/**
 * @file The expand phase: which questions a step asks, and in which variants (Share-GRPO §1.1 as published, with true hints).
 *
 * With m > 1, m wordings are drawn without replacement from all of the question's wordings, the original included, so plain
 * and step-by-step ones both occur; each variant's picture is then, independently and with probability p, put through one of
 * the transforms that keep the answer. With m = 1 the question is asked as it stands (plain): that is GRPO's baseline.
 * Every draw is keyed by (seed, step, question), so the same seed gives the same step, whatever ran before.
 */
import {
  applyTransform,
  auditVariant,
  hintOf,
  makeQuestion,
  paraphrases,
  transformsKeeping,
  type DigitSet,
  type ImageTransform,
  type Picture,
  type Question,
  type TextVariant,
} from '../tasks/index.ts';
import { Rng } from '../tasks/random.ts';
import type { Settings } from './settings.ts';

export interface Variant {
  readonly text: TextVariant;
  readonly transform: ImageTransform;
  readonly hint: string;
  readonly picture: Picture;
  readonly madeBy: 'original' | 'template';
  readonly audit: 'kept' | 'changed' | 'unknown';
}

/** The B questions of a step: the visitor's own first, then one of each task in turn, all plain. `step` counts from 1. */
export function drawQuestions(o: {
  readonly settings: Settings;
  readonly step: number;
  readonly digits: DigitSet | null;
  readonly own?: readonly Question[];
}): Question[] {
  const { questionsPerStep, tasks, seed } = o.settings;
  const own = (o.own ?? []).slice(0, questionsPerStep);
  const drawn = Array.from({ length: questionsPerStep - own.length }, (_, at) => {
    const index = (o.step - 1) * questionsPerStep + own.length + at;
    return makeQuestion({ seed, index, split: 'train', family: tasks[index % tasks.length], phrasing: 'plain', digits: o.digits });
  });
  return [...own, ...drawn];
}

/** The m variants of one question. A question with fewer wordings than m repeats them. */
export function drawVariants(question: Question, o: { readonly settings: Settings; readonly step: number; readonly q: number }): Variant[] {
  const { settings } = o;
  const rng = new Rng('variants', settings.seed, o.step, o.q);
  const wordings = settings.variants === 1 ? [question.text] : rng.shuffle(paraphrases(question));
  const transforms = transformsKeeping(question).filter((name) => name !== 'identity');
  return Array.from({ length: settings.variants }, (_, j) => {
    const text = wordings[j % wordings.length];
    const changed = rng.chance(settings.transformProbability) && transforms.length > 0;
    const transform: ImageTransform = { name: changed ? rng.pick(transforms) : 'identity', seed: rng.bits() };
    return {
      text,
      transform,
      hint: hintOf(transform),
      picture: transform.name === 'identity' ? question.picture : applyTransform(question.picture, transform),
      madeBy: text.text === question.text.text ? 'original' : 'template',
      audit: auditVariant(question, { text, transform }),
    };
  });
}
