/**
 * @file Scenes: how they are drawn by lot, how they are named, and which split they belong to.
 *
 * Shapes lie in a 4×4 grid of 16×16 pixel cells, at most one in a cell, moved by up to 2 pixels and of varying size, never
 * outside the cell. A few colours and kinds are chosen for each scene first, so that shapes which share one property but not the
 * other are common: that is what makes "all red shapes" a tempting wrong answer to "red circles".
 *
 * Splits cannot leak. A scene's key leaves out jitter and sizes and is the same for a scene and its mirror images and turns; the
 * hash of the key says which split owns the scene. The sampler only keeps scenes that its split owns, and the random streams of
 * the splits are disjoint ranges too. Digit scenes belong to the split that owns their handwritten examples.
 */

import { examplesOf, splitOfExample } from './digit-set.ts';
import { hashString, Rng } from './random.ts';
import { COLOURS, KINDS } from './types.ts';
import type { DigitSet, DigitsScene, PlacedDigit, Scene, Shape, ShapesScene, Split } from './types.ts';

export const GRID = 4;
export const CELL = 16;
export const SIDE = GRID * CELL;
export const MAX_SHAPES = 6;

/** Where each split's random streams begin. A question's index is added to it, and must stay below 2³⁰. */
const STREAM_START: Record<Split, number> = { train: 0, validation: 2 ** 30, test: 2 ** 31 };

/** The generator of question number `index` of a split. */
export function rngFor(seed: number, split: Split, family: string, index: number): Rng {
  if (!Number.isInteger(index) || index < 0 || index >= 2 ** 30) {
    throw new Error(`A question's index must be a whole number from 0 to 2^30 - 1, not ${index}.`);
  }
  return new Rng(seed, STREAM_START[split] + index, family);
}

/** Row by row, each row from the left. */
export function rasterOrder(a: { row: number; column: number }, b: { row: number; column: number }): number {
  return a.row - b.row || a.column - b.column;
}

const COUNT_WEIGHTS = [0, 1, 2, 3, 5, 7, 7]; // shapes in a scene: 1 to 6
const COLOUR_WEIGHTS = [0, 3, 7, 6, 4]; // colours in a scene: 1 to 4
const KIND_WEIGHTS = [0, 3, 8, 8]; // kinds in a scene: 1 to 3

function drawAnyShapes(rng: Rng): ShapesScene {
  const count = rng.weighted(COUNT_WEIGHTS);
  const colours = rng.shuffle(COLOURS).slice(0, rng.weighted(COLOUR_WEIGHTS));
  const kinds = rng.shuffle(KINDS).slice(0, rng.weighted(KIND_WEIGHTS));
  const cells = rng.shuffle(Array.from({ length: GRID * GRID }, (_, i) => i)).slice(0, count);
  const shapes = cells.map((cell): Shape => {
    return {
      row: Math.floor(cell / GRID),
      column: cell % GRID,
      kind: rng.pick(kinds),
      colour: rng.pick(colours),
      dx: rng.int(-16, 16),
      dy: rng.int(-16, 16),
      size: rng.int(34, 48),
      turn: 0,
    };
  });
  return { type: 'shapes', shapes: shapes.sort(rasterOrder) };
}

/** A scene of shapes that the split owns. */
export function drawShapes(rng: Rng, split: Split): ShapesScene {
  for (let attempt = 0; attempt < 10000; attempt++) {
    const scene = drawAnyShapes(rng);
    if (splitOf(scene) === split) return scene;
  }
  throw new Error(`No scene found for the split ${split}.`);
}

/** Two or three handwritten digits side by side, from the examples that the split owns. */
export function drawDigits(rng: Rng, split: Split, set: DigitSet): DigitsScene {
  const count = rng.chance(0.6) ? 2 : 3;
  const left = count === 2 ? [6, 38] : [1, 22, 43];
  const digits = left.map((x, i): PlacedDigit => {
    // A zero at the end is more common than it would be: whoever skips the last digit is then right now and again.
    const value = i === count - 1 && rng.chance(0.25) ? 0 : rng.int(0, 9);
    return { value, example: rng.pick(examplesOf(set, split, value)), x: x + rng.int(-1, 1), y: 22 + rng.int(-2, 2) };
  });
  return { type: 'digits', digits };
}

function shapeCode(row: number, column: number, s: Shape): number {
  return ((row * GRID + column) * KINDS.length + KINDS.indexOf(s.kind)) * COLOURS.length + COLOURS.indexOf(s.colour);
}

/** The name of a scene, the same for all pictures that show the same thing up to jitter, size, turning and mirroring. */
export function sceneKey(scene: Scene): string {
  if (scene.type === 'digits') return 'digits:' + scene.digits.map((d) => d.example).join(',');
  let least: string | null = null;
  for (let view = 0; view < 8; view++) {
    const codes = scene.shapes.map((s) => {
      let [r, c] = [s.row, s.column];
      if (view & 1) c = GRID - 1 - c;
      if (view & 2) r = GRID - 1 - r;
      if (view & 4) [r, c] = [c, r];
      return shapeCode(r, c, s);
    });
    const key = codes.sort((a, b) => a - b).join(',');
    if (least === null || key < least) least = key;
  }
  return 'shapes:' + (least ?? '');
}

/** The split that owns a scene. null for digits taken from examples of different splits, which no sampler draws. */
export function splitOf(scene: Scene): Split | null {
  if (scene.type === 'digits') {
    const splits = new Set(scene.digits.map((d) => splitOfExample(d.example)));
    return splits.size === 1 ? ([...splits][0] as Split) : null;
  }
  const twentieth = hashString(sceneKey(scene)) % 20;
  return twentieth === 0 ? 'test' : twentieth === 1 ? 'validation' : 'train';
}
