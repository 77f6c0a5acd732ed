/**
 * @file Poisoned variants: the paper assumes that every variant keeps the answer and never tests what happens if some do not. Here
 * a variant's answer is changed on purpose while it is still graded by the question's. Of shapes, the wording asks for something
 * else (as a bad rewrite would); of digits, one digit of the picture is another.
 */
import { examplesOf } from './digit-set.ts';
import { TASKS, wordings } from './families.ts';
import { Rng } from './random.ts';
import type { DigitSet, Family, Question, Scene, TextVariant } from './types.ts';

export interface Poisoned {
  readonly text: TextVariant;
  readonly scene: Scene;
}

/** Another question in the place of this wording of `q`; null where there is none to be had. */
export function poison(q: Question, text: TextVariant, rng: Rng, digits: DigitSet | null): Poisoned | null {
  if (q.family === 'own' || q.family === 'mico' || q.scene === null || q.answer === null) return null;
  return q.scene.type === 'digits' ? otherDigit(q, text, rng, digits) : otherWording(q, q.family, text, rng);
}

function otherWording(q: Question, family: Family, text: TextVariant, rng: Rng): Poisoned | null {
  const scene = q.scene as Scene;
  const answerOf = (params: unknown): string | null => TASKS[family].answerOf(scene, params);
  const wrong = TASKS[family].all().filter((params) => answerOf(params) !== q.answer);
  // rather one that can be answered; else one about something that is not there
  const answerable = wrong.filter((params) => answerOf(params) !== null);
  const others = answerable.length > 0 ? answerable : wrong;
  if (others.length === 0) return null;
  const other = wordings(family, rng.pick(others)).find((w) => w.template === text.template);
  return other ? { text: other, scene } : null;
}

function otherDigit(q: Question, text: TextVariant, rng: Rng, digits: DigitSet | null): Poisoned | null {
  if (q.scene?.type !== 'digits' || digits === null || q.split === 'own') return null;
  const place = rng.int(0, q.scene.digits.length - 1);
  const value = (q.scene.digits[place].value + rng.int(1, 9)) % 10;
  const example = rng.pick(examplesOf(digits, q.split, value));
  return { text, scene: { type: 'digits', digits: q.scene.digits.map((d, i) => (i === place ? { ...d, value, example } : d)) } };
}
