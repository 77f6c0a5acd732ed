/**
 * @file The family *digits*: two or three real handwritten digits, and what they add up to. Only noise keeps the answer: a six that
 * is turned round is a nine, and a mirrored four is nothing.
 */

import { drawDigits } from './scene.ts';
import type { TaskFamily } from './types.ts';

/** There is only one question to ask of such a picture. */
export type DigitsParams = Record<string, never>;

export const digits: TaskFamily<DigitsParams> = {
  family: 'digits',
  answerKind: 'number',
  templates: [
    { phrasing: 'plain', text: 'what is the sum of the digits?' },
    { phrasing: 'plain', text: 'tell me the sum of the digits.' },
    { phrasing: 'plain', text: 'how much are the digits in all?' },
    { phrasing: 'plain', text: 'give the sum of the digits in the picture.' },
    { phrasing: 'steps', text: 'read the digits one by one, then add them.' },
    { phrasing: 'steps', text: 'list the digits and add them step by step.' },
    { phrasing: 'steps', text: 'go through the digits from left to right and add them.' },
    { phrasing: 'steps', text: 'first name each of the digits, then give the sum.' },
  ],
  drawScene(rng, split, set) {
    if (!set) throw new Error('Questions about digits need the handwritten digits: load public/data/digits.bin first.');
    return drawDigits(rng, split, set);
  },
  ask: (scene) => (scene.type === 'digits' ? {} : null),
  answerOf(scene) {
    if (scene.type !== 'digits') return null;
    return String(scene.digits.reduce((sum, d) => sum + d.value, 0));
  },
  all: () => [{}],
  slots: () => ({}),
  keeps: () => ['identity', 'noise_10', 'noise_25', 'noise_50'],
};
