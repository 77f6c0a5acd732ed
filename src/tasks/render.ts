/**
 * @file The one renderer: a scene in, 64×64 RGB bytes out. The page, the command line and the pre-training all see pictures made
 * here, so it must give the same bytes everywhere; it uses whole numbers only. Each pixel is the mean of 4×4 samples, taken at odd
 * eighths of a pixel, so turning or mirroring a scene and turning or mirroring its picture give the very same bytes.
 */

import { DIGIT_SIDE } from './digit-set.ts';
import { CELL, SIDE } from './scene.ts';
import type { Colour, DigitSet, DigitsScene, Picture, Scene, Shape } from './types.ts';

type Rgb = readonly [number, number, number];

export const BACKGROUND: Rgb = [240, 240, 236];
const INK: Rgb = [24, 24, 32];
export const PAINT: Record<Colour, Rgb> = {
  red: [214, 48, 44],
  green: [40, 158, 72],
  blue: [48, 88, 208],
  yellow: [236, 190, 36],
};

/** Is the point (u, v), relative to the shape's centre, inside? All in eighths of a pixel. */
function inside(shape: Shape, u: number, v: number): boolean {
  const s = shape.size;
  if (shape.kind === 'circle') return u * u + v * v <= s * s;
  if (shape.kind === 'square') return Math.max(Math.abs(u), Math.abs(v)) * 8 <= s * 7;
  // An isosceles triangle, as wide as it is high, its tip up; a turn moves the tip clockwise.
  const along = shape.turn === 0 ? v : shape.turn === 1 ? -u : shape.turn === 2 ? -v : u;
  const across = shape.turn % 2 === 0 ? u : v;
  return along >= -s && along <= s && 2 * Math.abs(across) <= along + s;
}

function drawShape(data: Uint8Array, shape: Shape): void {
  const paint = PAINT[shape.colour];
  const cx = (shape.column * CELL + CELL / 2) * 8 + shape.dx;
  const cy = (shape.row * CELL + CELL / 2) * 8 + shape.dy;
  for (let y = shape.row * CELL; y < (shape.row + 1) * CELL; y++) {
    for (let x = shape.column * CELL; x < (shape.column + 1) * CELL; x++) {
      let hits = 0;
      for (let sub = 0; sub < 16; sub++) {
        const u = x * 8 + 1 + 2 * (sub & 3) - cx;
        const v = y * 8 + 1 + 2 * (sub >> 2) - cy;
        if (inside(shape, u, v)) hits++;
      }
      if (hits === 0) continue;
      const at = (y * SIDE + x) * 3;
      for (let c = 0; c < 3; c++) {
        data[at + c] = (hits * (paint[c] as number) + (16 - hits) * (BACKGROUND[c] as number) + 8) >> 4;
      }
    }
  }
}

function drawInk(data: Uint8Array, scene: DigitsScene, set: DigitSet): void {
  for (const digit of scene.digits) {
    const from = digit.example * DIGIT_SIDE * DIGIT_SIDE;
    for (let y = 0; y < DIGIT_SIDE; y++) {
      for (let x = 0; x < DIGIT_SIDE; x++) {
        const ink = set.ink[from + y * DIGIT_SIDE + x] as number;
        const at = ((digit.y + y) * SIDE + digit.x + x) * 3;
        if (ink === 0) continue;
        for (let c = 0; c < 3; c++) {
          data[at + c] = Math.floor((ink * (INK[c] as number) + (255 - ink) * (BACKGROUND[c] as number) + 127) / 255);
        }
      }
    }
  }
}

/** Draws a scene. A scene of digits needs the set that its examples are taken from. */
export function render(scene: Scene, digits: DigitSet | null): Picture {
  const data = new Uint8Array(SIDE * SIDE * 3);
  for (let i = 0; i < data.length; i++) data[i] = BACKGROUND[i % 3] as number;
  if (scene.type === 'shapes') {
    for (const shape of scene.shapes) drawShape(data, shape);
  } else {
    if (!digits) throw new Error('This scene shows handwritten digits: load public/data/digits.bin first.');
    drawInk(data, scene, digits);
  }
  return { width: SIDE, height: SIDE, data };
}
