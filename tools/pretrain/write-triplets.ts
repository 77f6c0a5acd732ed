/**
 * @file Writes the triplets that pico-mico learns from, in the frames of write-set.ts but with three pictures each:
 * `deno run -A write-triplets.ts train SEED FIRST COUNT`, frame number i a function of the seed and i; and for measuring
 * `deno run -A write-triplets.ts eval SEED SPLIT PHRASING COUNT [LOW HIGH]`, one question a frame under views of that range.
 */
import process from 'node:process';
import { put, untilClosed } from './frames.ts';
import { drawViews, makeTriplet, tripletParams, tripletWordings } from '../../src/tasks/index.ts';
import type { Phrasing, Question, Split, ViewRange } from '../../src/tasks/index.ts';
import { Rng } from '../../src/tasks/random.ts';
import {
  carefulTriplet,
  hastyTriplet,
  listing,
  sceneOf,
  TRIPLET_CAREFUL_SHARE,
  viewClasses,
} from '../../src/tasks/triplet-demonstrators.ts';

const WEAK: ViewRange = { low: 0.85, high: 1 };
/** Mostly weak views; some that leave nearly all, and some a bit stronger, so that the eyes know those too. */
const RANGES: readonly ViewRange[] = [WEAK, { low: 0.95, high: 1 }, { low: 0.7, high: 1 }];
const RANGE_WEIGHTS = [70, 15, 15];

/** Of the triplets: asked about plainly as well (the hasty way is learnt soon), and asked for the shapes of one picture. */
const PLAIN_SHARE = 0.5;
const ONE_LISTED_SHARE = 0.4;
/** Comparisons that go with a triplet. */
const COMPARISONS = 3;

/** `given` is the beginning of the response that is not learnt. */
interface Branch {
  readonly prompt: string;
  readonly given?: string;
  readonly response: string;
}

/** One wording of the phrasing and what is said to it. */
function branch(q: Question, phrasing: Phrasing, rng: Rng): Branch {
  const prompt = rng.pick(tripletWordings().filter((w) => w.phrasing === phrasing)).text;
  return { prompt, response: rng.chance(TRIPLET_CAREFUL_SHARE[phrasing]) ? carefulTriplet(q) : hastyTriplet(rng) };
}

/** Practice in looking at one of the three pictures. */
function oneListed(q: Question, index: number): Branch {
  return { prompt: `name all shapes in ${index + 1}.`, response: ` ${listing(sceneOf(q, index))}` };
}

/**
 * Practice in comparing: what is said of pictures that are not shown is given, and which two are the same is learnt. Of the edits only
 * those where a word has another in its place; that a shape is not there is seen at once.
 */
function comparison(seed: number, rng: Rng): Branch {
  let other: Question;
  do other = makeTriplet({ seed, index: rng.int(0, 2 ** 30 - 1), split: 'train', phrasing: 'steps' });
  while (!['colour', 'kind'].includes(tripletParams(other).edit));
  const said = carefulTriplet(other);
  const cut = said.indexOf(' so ');
  return { prompt: other.text.text, given: said.slice(0, cut), response: said.slice(cut) };
}

/** One training triplet under views that still show its difference. */
function frame(seed: number, index: number): ReturnType<typeof drawViews> & { json: object } {
  const q = makeTriplet({ seed, index, split: 'train' });
  const rng = new Rng(seed, index, 'mico', 'pretrain');
  for (;;) {
    const range = RANGES[rng.weighted(RANGE_WEIGHTS)] ?? WEAK;
    const views = drawViews(q, range, rng);
    if (views.audit !== 'kept') continue;
    const branches: Branch[] = [branch(q, 'steps', rng)];
    if (rng.chance(ONE_LISTED_SHARE)) branches.push(oneListed(q, rng.int(0, 2)));
    if (rng.chance(PLAIN_SHARE)) branches.push(branch(q, 'plain', rng));
    for (let i = 0; i < COMPARISONS; i++) branches.push(comparison(seed, rng));
    const cells = views.crops.flatMap((crop, i) => viewClasses(sceneOf(q, i), crop));
    return { ...views, json: { branches, cells } };
  }
}

const [mode, seed, ...rest] = process.argv.slice(2);
untilClosed(() => {
  if (mode === 'train') {
    const [start, count] = rest.map(Number) as [number, number];
    for (let i = start; i < start + count; i++) {
      const { json, pictures } = frame(Number(seed), i);
      put(json, pictures);
    }
  } else if (mode === 'eval') {
    const [split, phrasing, count, low = WEAK.low, high = WEAK.high] = rest as [Split, Phrasing, string, string?, string?];
    for (let i = 0; i < Number(count); i++) {
      const q = makeTriplet({ seed: Number(seed), index: i, split, phrasing });
      const range = { low: Number(low), high: Number(high) };
      const { pictures, audit } = drawViews(q, range, new Rng(Number(seed), i, 'mico', 'eval'));
      const { family, answer, answerKind } = q;
      const { edit } = tripletParams(q);
      put({ branches: [{ prompt: q.text.text, response: carefulTriplet(q) }], family, answer, answerKind, edit, audit }, pictures);
    }
  } else throw new Error('usage: write-triplets.ts train SEED FIRST COUNT | eval SEED SPLIT PHRASING COUNT [LOW HIGH]');
});
