/**
 * @file The words that all tasks share: what a picture, a scene, a question and its wordings are.
 *
 * A *scene* is the truth: which shapes lie where, or which handwritten digits. A *picture* is what the model sees: the scene
 * drawn by `render.ts`. A *question* is asked of a scene, and its answer is computed from the scene, never from the picture.
 */

import type { Rng } from './random.ts';

export const COLOURS = ['red', 'green', 'blue', 'yellow'] as const;
export type Colour = (typeof COLOURS)[number];
export const KINDS = ['circle', 'square', 'triangle'] as const;
export type Kind = (typeof KINDS)[number];

export type Family = 'count' | 'compare' | 'position' | 'digits';
export const FAMILIES: readonly Family[] = ['count', 'compare', 'position', 'digits'];
export type Phrasing = 'plain' | 'steps';
export type Split = 'train' | 'validation' | 'test';
export const SPLITS: readonly Split[] = ['train', 'validation', 'test'];
/** `pattern`: T or F for each pair of pictures. */
export type AnswerKind = 'number' | 'yesno' | 'colour' | 'text' | 'pattern';

/** RGB bytes, row major, three per pixel. */
export interface Picture {
  width: number;
  height: number;
  data: Uint8Array;
}

/** One shape in a cell of the 4×4 grid. Lengths are in eighths of a pixel. */
export interface Shape {
  row: number;
  column: number;
  kind: Kind;
  colour: Colour;
  /** Offset of its centre from the centre of the cell. */
  dx: number;
  dy: number;
  /** Half of its extent. */
  size: number;
  /** Quarter turns clockwise from upright. Only a turned picture has any. */
  turn: 0 | 1 | 2 | 3;
}

/** Shapes in raster order: row by row, each row from the left. */
export interface ShapesScene {
  type: 'shapes';
  shapes: Shape[];
}

/** One handwritten digit: its value, which example it is, and the corner of its 20×20 box in pixels. */
export interface PlacedDigit {
  value: number;
  example: number;
  x: number;
  y: number;
}

/** Digits from left to right. */
export interface DigitsScene {
  type: 'digits';
  digits: PlacedDigit[];
}

export type Scene = ShapesScene | DigitsScene;

/** Handwritten examples, decoded: `ink` holds 400 bytes (20×20, 0 = paper, 255 = ink) per example. */
export interface DigitSet {
  count: number;
  values: Uint8Array;
  ink: Uint8Array;
}

export type TransformName =
  'identity' | 'rotate_90cw' | 'rotate_90ccw' | 'rotate_180' | 'flip_horizontal' | 'flip_vertical' | 'noise_10' | 'noise_25' | 'noise_50';

/** One wording of a question. `template` is its number within the family; -1 for a wording that no template made. */
export interface TextVariant {
  text: string;
  phrasing: Phrasing;
  template: number;
}

export interface Question {
  /** Stable, for example "count-train-1-12345" (family, split, seed, index). */
  id: string;
  /** `mico`: a triplet, see triplets.ts. */
  family: Family | 'own' | 'mico';
  split: Split | 'own';
  /** null for a visitor's own picture. */
  scene: Scene | null;
  picture: Picture;
  /** All pictures of a question that has several; `picture` is the first. */
  pictures?: readonly Picture[];
  /** The original wording. */
  text: TextVariant;
  /** null where unknown: a visitor's question without an answer. */
  answer: string | null;
  answerKind: AnswerKind;
  params: unknown;
  /** The visitor says that the answer stays what it is in every variant. Only of their own questions. */
  confirmed?: boolean;
}

/** A wording with slots such as {what}, filled from the question's parameters. */
export interface Template {
  phrasing: Phrasing;
  text: string;
}

/** What a family of questions has to say for itself. `P` are the parameters of one question. */
export interface TaskFamily<P> {
  family: Family;
  answerKind: AnswerKind;
  templates: readonly Template[];
  /** Draws a scene that such questions can be asked of. */
  drawScene(rng: Rng, split: Split, digits: DigitSet | null): Scene;
  /** Draws the parameters of a question about this scene, or null where none is well defined. */
  ask(scene: Scene, rng: Rng): P | null;
  /** The answer, from the scene alone; null where the question has none there. */
  answerOf(scene: Scene, params: P): string | null;
  /** Every question that the templates can ask. */
  all(): readonly P[];
  /** The values of the slots in the templates. */
  slots(params: P): Record<string, string>;
  /** The transforms under which this answer stays true, 'identity' included. */
  keeps(params: P): readonly TransformName[];
}
