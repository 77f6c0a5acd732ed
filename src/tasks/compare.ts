/**
 * @file The family *compare*: "are there more squares than circles?", by kind or by colour. The answer is yes or no, and a tie is a
 * no. Turning, mirroring and noise all leave it as it is.
 *
 * Pairs are drawn so that a look at the first kind alone ("two or more of them, so yes") is worth about as much as a coin.
 */

import { matches, plural } from './count.ts';
import type { CountParams } from './count.ts';
import { Rng } from './random.ts';
import { drawShapes } from './scene.ts';
import { TRANSFORMS } from './transforms.ts';
import { COLOURS, KINDS } from './types.ts';
import type { Scene, TaskFamily } from './types.ts';

export interface CompareParams {
  first: CountParams;
  second: CountParams;
}

/** How many there are of the first and of the second. */
export function bothCounts(scene: Scene, p: CompareParams): [number, number] {
  if (scene.type !== 'shapes') return [0, 0];
  return [scene.shapes.filter((s) => matches(s, p.first)).length, scene.shapes.filter((s) => matches(s, p.second)).length];
}

const PAIRS: readonly CompareParams[] = (() => {
  const all: CompareParams[] = [];
  for (const a of KINDS) {
    for (const b of KINDS) if (a !== b) all.push({ first: { colour: null, kind: a }, second: { colour: null, kind: b } });
  }
  for (const a of COLOURS) {
    for (const b of COLOURS) if (a !== b) all.push({ first: { colour: a, kind: null }, second: { colour: b, kind: null } });
  }
  return all;
})();

/** The four cases of (answer, what the first kind alone suggests), and how often each is wanted. */
const WANTED = [24, 12, 25, 39];
function caseOf(a: number, b: number): number {
  if (a > b) return a >= 2 ? 0 : 2;
  return a >= 2 ? 3 : 1;
}

export const compare: TaskFamily<CompareParams> = {
  family: 'compare',
  answerKind: 'yesno',
  templates: [
    { phrasing: 'plain', text: 'are there more {a} than {b}?' },
    { phrasing: 'plain', text: 'tell me if there are more {a} than {b}.' },
    { phrasing: 'plain', text: 'does the picture have more {a} than {b}?' },
    { phrasing: 'plain', text: 'say yes or no: more {a} than {b}?' },
    { phrasing: 'steps', text: 'list the {a} and the {b}, then say if there are more {a}.' },
    { phrasing: 'steps', text: 'count the {a}, then the {b}: are there more {a}?' },
    { phrasing: 'steps', text: 'go through the {a} and the {b} step by step: are there more {a}?' },
    { phrasing: 'steps', text: 'first name each of the {a} and the {b}, then say if there are more {a} than {b}.' },
  ],
  drawScene: (rng, split) => drawShapes(rng, split),
  ask(scene: Scene, rng: Rng): CompareParams | null {
    if (scene.type !== 'shapes') return null;
    const byCase: CompareParams[][] = [[], [], [], []];
    for (const pair of PAIRS) {
      const [a, b] = bothCounts(scene, pair);
      if (a + b > 0) byCase[caseOf(a, b)]?.push(pair);
    }
    const weights = WANTED.map((w, i) => (byCase[i]?.length ? w : 0));
    const pairs = byCase[rng.weighted(weights)] ?? [];
    if (pairs.length === 0) return null;
    // A pair of which both are there is the better question.
    const real = pairs.filter((p) => Math.min(...bothCounts(scene, p)) > 0);
    return rng.pick(real.length > 0 && rng.chance(0.7) ? real : pairs);
  },
  answerOf(scene, p) {
    if (scene.type !== 'shapes') return null;
    const [a, b] = bothCounts(scene, p);
    return a > b ? 'yes' : 'no';
  },
  all: () => PAIRS,
  slots: (p) => ({ a: plural(p.first), b: plural(p.second) }),
  keeps: () => TRANSFORMS,
};
