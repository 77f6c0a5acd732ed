/**
 * @file Writes the pre-training set to standard output, so that the Python side trains on the very pictures that the page draws. One
 * frame (frames.ts) is one picture with several questions and responses about it.
 *
 * Frame number i is a function of the seed and i, so a run resumes anywhere: `deno run -A write-set.ts train SEED FIRST COUNT`.
 * For measuring, `deno run -A write-set.ts eval SEED SPLIT PHRASING COUNT_PER_FAMILY` writes one question per frame, with its answer.
 */

import process from 'node:process';
import { readFileSync } from 'node:fs';
import { put, untilClosed } from './frames.ts';
import { careful, CAREFUL_SHARE, cellClasses, describe, hasty, lookUp } from '../../src/tasks/demonstrators.ts';
import { FAMILIES, loadDigits, makeQuestion, TASKS, wordings } from '../../src/tasks/index.ts';
import type { DigitSet, Family, Phrasing, Picture, Scene, Split, TransformName } from '../../src/tasks/index.ts';
import { Rng } from '../../src/tasks/random.ts';
import { render } from '../../src/tasks/render.ts';
import { rngFor } from '../../src/tasks/scene.ts';
import { applyTransform, hintOf, transformScene } from '../../src/tasks/transforms.ts';

interface Branch {
  prompt: string;
  response: string;
  label: string;
}

const STEPS_SHARE = 0.7;
const LOOK_UP_SHARE = 0.3;
const TRANSFORM_SHARE = 0.15;
const DIGITS_SHARE = 0.38;

const digits = loadDigits(readFileSync(new URL('../../public/data/digits.bin', import.meta.url)));

function branch(family: Family, scene: Scene, params: unknown, phrasing: Phrasing, hint: string, rng: Rng): Branch {
  const text = rng.pick(wordings(family, params).filter((w) => w.phrasing === phrasing)).text;
  const isCareful = rng.chance(CAREFUL_SHARE[phrasing]);
  const response = isCareful ? careful(family, scene, params) : hasty(family, scene, params, rng);
  return { prompt: hint + text, response, label: `${family}-${phrasing}-${isCareful ? 'careful' : 'hasty'}` };
}

function described(scene: Scene, hint: string): Branch {
  const { text, response } = describe(scene);
  return { prompt: hint + text, response, label: 'describe' };
}

/** One training picture and what is asked and answered about it. */
function frame(seed: number, index: number, set: DigitSet): { picture: Picture; branches: Branch[]; cells: number[] } {
  const rng = rngFor(seed, 'train', 'pretrain', index);
  const onDigits = rng.chance(DIGITS_SHARE);
  const first: Family = onDigits ? 'digits' : (['count', 'compare', 'position'] as const)[rng.weighted([1, 1, 1])]!;
  const phrasing = (): Phrasing => (rng.chance(STEPS_SHARE) ? 'steps' : 'plain');
  for (;;) {
    const scene = TASKS[first].drawScene(rng, 'train', set);
    const params = TASKS[first].ask(scene, rng);
    if (params === null) continue;
    const name: TransformName = rng.chance(TRANSFORM_SHARE) ? rng.pick(TASKS[first].keeps(params)) : 'identity';
    const transform = { name, seed: rng.bits() };
    const shown = transformScene(scene, name);
    if (shown === null) continue;
    const hint = hintOf(transform);
    const cells = cellClasses(shown);
    const picture = applyTransform(render(scene, set), transform);
    if (onDigits) {
      const both = [branch(first, shown, params, 'steps', hint, rng), branch(first, shown, params, 'plain', hint, rng)];
      return { picture, branches: [...both, described(shown, hint)], cells };
    }
    const branches = [branch(first, shown, params, phrasing(), hint, rng)];
    while (branches.length < 4) {
      const next = (['count', 'compare', 'position', null] as const)[rng.weighted([8, 8, 6, 1])]!;
      if (next === null) {
        branches.push(described(shown, hint));
        continue;
      }
      // A question that makes sense on the transformed picture as it stands also does on the original, or is not asked.
      const asked = TASKS[next].ask(scene, rng);
      if (asked === null || !TASKS[next].keeps(asked).includes(name)) continue;
      branches.push(branch(next, shown, asked, phrasing(), hint, rng));
    }
    if (shown.type === 'shapes' && rng.chance(LOOK_UP_SHARE)) {
      // One cell, more often one that is not empty.
      const { row, column } = rng.chance(0.6) ? rng.pick(shown.shapes) : { row: rng.int(0, 3), column: rng.int(0, 3) };
      const { text, response } = lookUp(shown, row, column, rng.chance(0.7));
      branches.push({ prompt: hint + text, response, label: 'look-up' });
    }
    return { picture, branches, cells };
  }
}

const [mode, seed, ...rest] = process.argv.slice(2);
untilClosed(() => {
  if (mode === 'train') {
    const [start, count] = rest.map(Number) as [number, number];
    for (let i = start; i < start + count; i++) {
      const f = frame(Number(seed), i, digits);
      put({ branches: f.branches, cells: f.cells }, [f.picture]);
    }
  } else if (mode === 'eval') {
    const [split, phrasing, count] = rest as [Split, Phrasing, string];
    for (const family of FAMILIES) {
      for (let i = 0; i < Number(count); i++) {
        const q = makeQuestion({ seed: Number(seed), index: i, split, family, phrasing, digits });
        const { answer, answerKind, params, scene } = q;
        const say = new Rng(Number(seed), i, family, 'demonstrator');
        const demo = { careful: careful(family, scene!, params), hasty: hasty(family, scene!, params, say) };
        put({ branches: [{ prompt: q.text.text, response: demo.careful }], family, answer, answerKind, params, demo }, [q.picture]);
      }
    }
  } else throw new Error('usage: write-set.ts train SEED FIRST COUNT | eval SEED SPLIT PHRASING COUNT_PER_FAMILY');
});
