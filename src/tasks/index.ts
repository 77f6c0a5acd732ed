/**
 * @file The tasks' front door: questions by number, their wordings, the transforms that keep their answers.
 * Everything is a pure function of its arguments: question 17 of a split is the same picture and the same answer everywhere.
 */

import { TASKS, wordings } from './families.ts';
import { render } from './render.ts';
import { rngFor } from './scene.ts';
import { tripletWordings } from './triplets.ts';
import { hintOf, TRANSFORMS } from './transforms.ts';
import type { ImageTransform } from './transforms.ts';
import type { DigitSet, Family, Phrasing, Picture, Question, Split, TextVariant, TransformName } from './types.ts';

export { auditVariant } from './audit.ts';
export { TASKS, wordings } from './families.ts';
export { poison } from './poison.ts';
export { loadDigits } from './digit-set.ts';
export { finalAnswer, isCareful } from './responses.ts';
export { render } from './render.ts';
export { sceneKey, splitOf } from './scene.ts';
export { applyTransform, hintOf, transformScene, TRANSFORMS } from './transforms.ts';
export { drawViews, makeTriplet, PAIRS, tripletFrom, tripletParams, tripletWordings } from './triplets.ts';
export { drawCrop, view } from './views.ts';
export type { ImageTransform } from './transforms.ts';
export type { TripletParams, ViewAudit } from './triplets.ts';
export type { Box, Crop, ViewRange } from './views.ts';
export * from './types.ts';

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
  if (q.family === 'mico') return tripletWordings();
  return q.family === 'own' ? [q.text] : wordings(q.family, q.params);
}

/** The transforms that leave the answer true. A triplet has views in their place. Of a visitor's own picture nothing is known, so only noise is thought harmless. */
export function transformsKeeping(q: Question): TransformName[] {
  if (q.family === 'mico') return ['identity'];
  if (q.family === 'own') return ['identity', 'noise_10', 'noise_25', 'noise_50'];
  return TASKS[q.family].keeps(q.params).slice();
}

/** What the model reads: the true hint about the transform, then the wording. */
export function promptText(text: TextVariant, transform: ImageTransform): string {
  return hintOf(transform) + text.text;
}

let ownQuestions = 0;

/** A visitor's own question about a picture. */
export function ownQuestion(o: { picture: Picture; text: string; answer: string | null; confirmed?: boolean }): Question {
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
    confirmed: o.confirmed ?? false,
  };
}

/** Every transform there is. */
export function allTransforms(): readonly TransformName[] {
  return TRANSFORMS;
}
