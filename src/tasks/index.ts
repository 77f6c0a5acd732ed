/**
 * @file The tasks' front door: questions by number, their wordings, the transforms that keep their answers, and the audit of both.
 * Everything is a pure function of its arguments: question 17 of a split is the same picture and the same answer everywhere.
 */

import { compare } from './compare.ts';
import { count } from './count.ts';
import { digits } from './digits.ts';
import { position } from './position.ts';
import { render } from './render.ts';
import { rngFor } from './scene.ts';
import { hintOf, transformScene, TRANSFORMS } from './transforms.ts';
import type { ImageTransform } from './transforms.ts';
import type { DigitSet, Family, Phrasing, Picture, Question, Split, TaskFamily, TextVariant, TransformName } from './types.ts';

export { loadDigits } from './digit-set.ts';
export { finalAnswer, isCareful } from './responses.ts';
export { render } from './render.ts';
export { sceneKey, splitOf } from './scene.ts';
export { applyTransform, hintOf, transformScene, TRANSFORMS } from './transforms.ts';
export type { ImageTransform } from './transforms.ts';
export * from './types.ts';

/** The families by name. Their parameters are only known to themselves, hence `unknown` here. */
export const TASKS: Record<Family, TaskFamily<unknown>> = {
  count: count as TaskFamily<unknown>,
  compare: compare as TaskFamily<unknown>,
  position: position as TaskFamily<unknown>,
  digits: digits as TaskFamily<unknown>,
};

function fill(task: TaskFamily<unknown>, params: unknown, template: number): TextVariant {
  const t = task.templates[template];
  if (!t) throw new Error(`The family ${task.family} has no template ${template}.`);
  const slots = task.slots(params);
  return { text: t.text.replace(/\{(\w+)\}/g, (_, name: string) => slots[name] ?? ''), phrasing: t.phrasing, template };
}

/** Every wording of a family's question, in the order of its templates. */
export function wordings(family: Family, params: unknown): TextVariant[] {
  const task = TASKS[family];
  return task.templates.map((_, i) => fill(task, params, i));
}

/** Question number `index` of a split. Scene and answer do not depend on the phrasing, only the wording does. */
export function makeQuestion(o: {
  seed: number;
  index: number;
  split: Split;
  family: Family;
  phrasing: Phrasing;
  digits: DigitSet | null;
}): Question {
  const task = TASKS[o.family];
  const rng = rngFor(o.seed, o.split, o.family, o.index);
  for (let attempt = 0; attempt < 1000; attempt++) {
    const scene = task.drawScene(rng, o.split, o.digits);
    const params = task.ask(scene, rng);
    if (params === null) continue;
    const answer = task.answerOf(scene, params);
    if (answer === null) continue;
    const texts = wordings(o.family, params).filter((t) => t.phrasing === o.phrasing);
    return {
      id: `${o.family}-${o.split}-${o.seed}-${o.index}`,
      family: o.family,
      split: o.split,
      scene,
      picture: render(scene, o.digits),
      text: rng.pick(texts),
      answer,
      answerKind: task.answerKind,
      params,
    };
  }
  throw new Error(`No question of the family ${o.family} found for index ${o.index}.`);
}

/** All wordings of a question, the original included. A visitor's own question has only its own. */
export function paraphrases(q: Question): TextVariant[] {
  return q.family === 'own' ? [q.text] : wordings(q.family, q.params);
}

/** The transforms that leave the answer true. Of a visitor's own picture nothing is known, so only noise is thought harmless. */
export function transformsKeeping(q: Question): TransformName[] {
  if (q.family === 'own') return ['identity', 'noise_10', 'noise_25', 'noise_50'];
  return TASKS[q.family].keeps(q.params).slice();
}

/** What the model reads: the true hint about the transform, then the wording. */
export function promptText(text: TextVariant, transform: ImageTransform): string {
  return hintOf(transform) + text.text;
}

/**
 * Does a variant still have the question's answer? Computed from the transformed scene, not looked up: `kept`, `changed`, or
 * `unknown` where there is no scene, or no way to say what the transformed scene shows.
 */
export function auditVariant(q: Question, v: { text: TextVariant; transform: ImageTransform }): 'kept' | 'changed' | 'unknown' {
  if (q.family === 'own' || q.scene === null || q.answer === null) return 'unknown';
  const wording = wordings(q.family, q.params).some((t) => t.text === v.text.text);
  if (!wording) return 'unknown'; // somebody else's rewording: nobody checked what it asks
  const scene = transformScene(q.scene, v.transform.name);
  if (scene === null) return 'unknown';
  return TASKS[q.family].answerOf(scene, q.params) === q.answer ? 'kept' : 'changed';
}

let ownQuestions = 0;

/** A visitor's own question about a picture. */
export function ownQuestion(o: { picture: Picture; text: string; answer: string | null }): Question {
  const answer = o.answer?.trim().toLowerCase() ?? null;
  const kind = answer === null ? 'text' : /^\d+$/.test(answer) ? 'number' : /^(yes|no)$/.test(answer) ? 'yesno' : 'text';
  return {
    id: `own-${++ownQuestions}`,
    family: 'own',
    split: 'own',
    scene: null,
    picture: o.picture,
    text: { text: o.text, phrasing: 'plain', template: -1 },
    answer: answer === '' ? null : answer,
    answerKind: answer !== null && /^(red|green|blue|yellow)$/.test(answer) ? 'colour' : kind,
    params: null,
  };
}

/** Every transform there is. */
export function allTransforms(): readonly TransformName[] {
  return TRANSFORMS;
}
