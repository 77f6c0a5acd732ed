/**
 * @file Triplets, the questions of MiCo (arXiv 2506.22434): three pictures, two of one scene and one of a scene that differs in one
 * thing, and three same/different questions answered at once. The label needs no annotator, since we made the pictures.
 *
 * The order is drawn, so each of the three pairs is the same one in a third of the triplets; knowing that and no more is worth 1/3.
 * What the model is shown are *views* (views.ts), drawn anew each time: weak ones to sample under, strong ones to update under.
 *
 * The label audit asks what the paper takes for granted: that the pictures still differ after cropping. `kept`: for either view of
 * scene a beside the view of scene b, one of the places where the scenes differ lies in both crops by at least half of its area.
 * `lost`: not so. `unknown`: a visitor's picture, of which nobody knows the rest.
 */
import { type Edit, type EditedPair, drawEdited, EDITS } from './edits.ts';
import { Rng } from './random.ts';
import { PAINT, render } from './render.ts';
import { rngFor } from './scene.ts';
import { COLOURS } from './types.ts';
import type { Phrasing, Picture, Question, ShapesScene, Split, Template, TextVariant } from './types.ts';
import { type Box, type Crop, drawCrop, halfInside, view, type ViewRange } from './views.ts';

export interface TripletParams {
  /** Which of the three pictures is the other one. */
  readonly odd: 0 | 1 | 2;
  /** What was done to scene a to make scene b; `patch` to a visitor's picture. */
  readonly edit: Edit | 'patch';
  /** Scenes a and b; null for a visitor's picture. */
  readonly scenes: { readonly a: ShapesScene; readonly b: ShapesScene } | null;
  /** Where the pictures differ, in pixels. */
  readonly places: readonly Box[];
}

export type ViewAudit = 'kept' | 'lost' | 'unknown';

/** The pairs of pictures in the order of the answer's letters. */
export const PAIRS = [
  [0, 1],
  [0, 2],
  [1, 2],
] as const;

export const TRIPLET_TEMPLATES: readonly Template[] = [
  { phrasing: 'plain', text: 'which pictures are the same?' },
  { phrasing: 'plain', text: 'are the pictures the same: 1 and 2, 1 and 3, 2 and 3?' },
  { phrasing: 'plain', text: 'tell me what pictures are the same.' },
  { phrasing: 'plain', text: 'give T or F: the same picture in 1 and 2, 1 and 3, 2 and 3?' },
  { phrasing: 'steps', text: 'list the shapes in each picture, then say which are the same.' },
  { phrasing: 'steps', text: 'first name the shapes in each picture, then say if the pictures are the same.' },
  { phrasing: 'steps', text: 'go through the pictures step by step: which are the same?' },
  { phrasing: 'steps', text: 'find all shapes in 1, in 2 and in 3, then say what pictures are the same.' },
];

/** Every wording of the question; it has no slots. */
export function tripletWordings(): TextVariant[] {
  return TRIPLET_TEMPLATES.map((t, template) => ({ ...t, template }));
}

/** "T F F": for each pair, whether it is the same scene twice. */
export function patternOf(odd: number): string {
  return PAIRS.map((pair) => (pair.some((i) => i === odd) ? 'F' : 'T')).join(' ');
}

function question(
  o: { id: string; split: Question['split']; rng: Rng; phrasing: Phrasing; a: Picture; b: Picture } & Omit<TripletParams, 'odd'>,
): Question {
  const odd = o.rng.int(0, 2) as TripletParams['odd'];
  const pictures = [0, 1, 2].map((i) => (i === odd ? o.b : o.a));
  const params: TripletParams = { odd, edit: o.edit, scenes: o.scenes, places: o.places };
  return {
    id: o.id,
    family: 'mico',
    split: o.split,
    scene: o.scenes ? (odd === 0 ? o.scenes.b : o.scenes.a) : null,
    picture: pictures[0],
    pictures,
    text: o.rng.pick(tripletWordings().filter((t) => t.phrasing === o.phrasing)),
    answer: patternOf(odd),
    answerKind: 'pattern',
    params,
  };
}

/** Triplet number `index` of a split. Pictures and answer do not depend on the phrasing (plain unless given). */
export function makeTriplet(o: { seed: number; index: number; split: Split; phrasing?: Phrasing }): Question {
  const rng = rngFor(o.seed, o.split, 'mico', o.index);
  const edit = rng.pick(EDITS);
  const { a, b, places }: EditedPair = drawEdited(rng, o.split, edit);
  return question({
    id: `mico-${o.split}-${o.seed}-${o.index}`,
    split: o.split,
    rng,
    phrasing: o.phrasing ?? 'plain',
    a: render(a, null),
    b: render(b, null),
    edit,
    scenes: { a, b },
    places,
  });
}

/** What a triplet's question is about. Throws TypeError on a question of another family. */
export function tripletParams(q: Question): TripletParams {
  if (q.family !== 'mico') throw new TypeError(`${q.id} is no triplet.`);
  return q.params as TripletParams;
}

/** One view of each of the three pictures, where they were cut, and whether they still show the difference. */
export function drawViews(q: Question, range: ViewRange, rng: Rng): { pictures: Picture[]; crops: Crop[]; audit: ViewAudit } {
  const { odd, scenes, places } = tripletParams(q);
  const full = q.pictures ?? [];
  const crops = full.map((picture) => drawCrop(picture, range, rng));
  const pictures = full.map((picture, i) => view(picture, crops[i]));
  if (scenes === null) return { pictures, crops, audit: 'unknown' };
  const visible = (i: number): boolean => places.some((place) => halfInside(place, crops[i]) && halfInside(place, crops[odd]));
  const kept = [0, 1, 2].every((i) => i === odd || visible(i));
  return { pictures, crops, audit: kept ? 'kept' : 'lost' };
}

/** The side of a patch as a share of the picture's shorter one, and how far from the edges it keeps, as a share of each side. */
const PATCH = { side: 0.2, margin: 0.15 };

/** A copy of the picture with a patch in it, of the one of the four colours that differs most from what was there. */
function patched(picture: Picture, rng: Rng): { picture: Picture; place: Box } {
  const { width, height } = picture;
  const side = Math.max(1, Math.round(PATCH.side * Math.min(width, height)));
  const start = (length: number): number => {
    const low = Math.floor(PATCH.margin * length);
    return rng.int(low, Math.max(low, length - low - side));
  };
  const place = { x: start(width), y: start(height), width: side, height: side };
  const pixels: number[] = [];
  for (let y = 0; y < side; y++) for (let x = 0; x < side; x++) pixels.push(((place.y + y) * width + place.x + x) * 3);
  const difference = (colour: readonly number[]): number =>
    pixels.reduce((sum, at) => sum + colour.reduce((d, value, c) => d + Math.abs(value - picture.data[at + c]), 0), 0);
  const paints = COLOURS.map((colour) => PAINT[colour]);
  const paint = paints.reduce((best, next) => (difference(next) > difference(best) ? next : best));
  const data = picture.data.slice();
  for (const at of pixels) data.set(paint, at);
  return { picture: { width, height, data }, place };
}

/** A triplet from a visitor's picture: it twice, and once with a patch painted in. The same picture and seed give the same triplet. */
export function tripletFrom(picture: Picture, seed: number): Question {
  const rng = new Rng(seed, 'mico', 'own');
  const { picture: b, place } = patched(picture, rng);
  return question({
    id: `mico-own-${seed}`,
    split: 'own',
    rng,
    phrasing: 'plain',
    a: picture,
    b,
    edit: 'patch',
    scenes: null,
    places: [place],
  });
}
