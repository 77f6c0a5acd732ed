/**
 * @file Image transforms: the second way, beside rewording, to show the model the same question differently. Each one exists twice,
 * once for pictures and once for scenes, so that an answer can be computed anew from the transformed scene. Each tells the model the
 * truth about itself in a hint that is put in front of the question.
 */

import { mix } from './random.ts';
import { GRID, rasterOrder } from './scene.ts';
import type { Picture, Scene, Shape, TransformName } from './types.ts';

export interface ImageTransform {
  name: TransformName;
  /** Only noise uses it. */
  seed: number;
}

export const TRANSFORMS: readonly TransformName[] = [
  'identity',
  'rotate_90cw',
  'rotate_90ccw',
  'rotate_180',
  'flip_horizontal',
  'flip_vertical',
  'noise_10',
  'noise_25',
  'noise_50',
];

const NOISE: Partial<Record<TransformName, number>> = { noise_10: 10, noise_25: 25, noise_50: 50 };

/** The true sentence for the model, with a blank behind it so that the question can follow; '' where nothing was done. */
export function hintOf(t: ImageTransform): string {
  switch (t.name) {
    case 'identity':
      return '';
    case 'rotate_90cw':
      return 'the picture is turned 90 degrees clockwise. ';
    case 'rotate_90ccw':
      return 'the picture is turned 90 degrees counterclockwise. ';
    case 'rotate_180':
      return 'the picture is turned 180 degrees. ';
    case 'flip_horizontal':
      return 'the picture is mirrored left to right. ';
    case 'flip_vertical':
      return 'the picture is mirrored top to bottom. ';
    default:
      return 'the picture has noise. ';
  }
}

/** Where the pixel (or cell) at (x, y) of a transformed w×h picture comes from. */
function source(name: TransformName, x: number, y: number, w: number, h: number): [number, number] {
  switch (name) {
    case 'rotate_90cw':
      return [y, w - 1 - x];
    case 'rotate_90ccw':
      return [h - 1 - y, x];
    case 'rotate_180':
      return [w - 1 - x, h - 1 - y];
    case 'flip_horizontal':
      return [w - 1 - x, y];
    case 'flip_vertical':
      return [x, h - 1 - y];
    default:
      return [x, y];
  }
}

/** Adds noise that is normal to the eye: the sum of twelve random bytes has a standard deviation of 256, to within a part in 10⁵. */
function addNoise(p: Picture, std: number, seed: number): Picture {
  const data = new Uint8Array(p.data.length);
  for (let i = 0; i < data.length; i++) {
    let sum = -1530;
    for (let k = 0; k < 3; k++) {
      const b = mix(mix(seed, k), i);
      sum += (b & 255) + ((b >>> 8) & 255) + ((b >>> 16) & 255) + (b >>> 24);
    }
    const value = (p.data[i] as number) + Math.round((sum * std) / 256);
    data[i] = value < 0 ? 0 : value > 255 ? 255 : value;
  }
  return { width: p.width, height: p.height, data };
}

/** The transformed picture. A quarter turn of a picture that is not square swaps its sides. */
export function applyTransform(p: Picture, t: ImageTransform): Picture {
  const std = NOISE[t.name];
  if (std !== undefined) return addNoise(p, std, t.seed);
  const turned = t.name === 'rotate_90cw' || t.name === 'rotate_90ccw';
  const width = turned ? p.height : p.width;
  const height = turned ? p.width : p.height;
  const data = new Uint8Array(p.data.length);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [sx, sy] = source(t.name, x, y, width, height);
      const from = (sy * p.width + sx) * 3;
      const to = (y * width + x) * 3;
      data[to] = p.data[from] as number;
      data[to + 1] = p.data[from + 1] as number;
      data[to + 2] = p.data[from + 2] as number;
    }
  }
  return { width, height, data };
}

const QUARTERS: Partial<Record<TransformName, number>> = { rotate_90cw: 1, rotate_180: 2, rotate_90ccw: 3 };

function quarterTurn(s: Shape): Shape {
  return { ...s, row: s.column, column: GRID - 1 - s.row, dx: -s.dy, dy: s.dx, turn: ((s.turn + 1) % 4) as Shape['turn'] };
}

function flip(s: Shape, horizontal: boolean): Shape {
  if (horizontal) {
    const turn = (s.turn % 2 === 1 ? 4 - s.turn : s.turn) as Shape['turn'];
    return { ...s, column: GRID - 1 - s.column, dx: -s.dx, turn };
  }
  const turn = (s.turn % 2 === 0 ? 2 - s.turn : s.turn) as Shape['turn'];
  return { ...s, row: GRID - 1 - s.row, dy: -s.dy, turn };
}

/**
 * The scene that the transformed picture shows, so that answers can be recomputed. null for digits that were turned or mirrored:
 * nobody can say what a mirrored digit is worth.
 */
export function transformScene(scene: Scene, name: TransformName): Scene | null {
  if (name === 'identity' || NOISE[name] !== undefined) return scene;
  if (scene.type === 'digits') return null;
  const shapes = scene.shapes.map((s) => {
    if (name === 'flip_horizontal') return flip(s, true);
    if (name === 'flip_vertical') return flip(s, false);
    let out = s;
    for (let k = 0; k < (QUARTERS[name] ?? 0); k++) out = quarterTurn(out);
    return out;
  });
  return { type: 'shapes', shapes: shapes.sort(rasterOrder) };
}
