/** @file Views: the same everywhere, inside the picture, and an interpolation that brute force agrees with. */
import { describe, expect, it } from 'vitest';
import { Rng } from './random.ts';
import type { Picture } from './types.ts';
import { type Crop, drawCrop, halfInside, view } from './views.ts';

function noisy(width: number, height: number, seed = 3): Picture {
  const rng = new Rng(seed);
  return { width, height, data: Uint8Array.from({ length: width * height * 3 }, () => rng.int(0, 255)) };
}

/** Bilinear interpolation in floating point, in the usual words. */
function slowly(picture: Picture, crop: Crop): number[] {
  const pixel = (x: number, y: number, c: number): number => {
    const cx = crop.x + Math.min(crop.width - 1, Math.max(0, x));
    const cy = crop.y + Math.min(crop.height - 1, Math.max(0, y));
    return picture.data[(cy * picture.width + cx) * 3 + c];
  };
  return Array.from(picture.data, (_, i) => {
    const [c, x, y] = [i % 3, Math.floor(i / 3) % picture.width, Math.floor(i / 3 / picture.width)];
    const u = ((x + 0.5) * crop.width) / picture.width - 0.5;
    const v = ((y + 0.5) * crop.height) / picture.height - 0.5;
    const [left, top] = [Math.floor(u), Math.floor(v)];
    const mix = (row: number): number => pixel(left, row, c) * (1 - u + left) + pixel(left + 1, row, c) * (u - left);
    return mix(top) * (1 - v + top) + mix(top + 1) * (v - top);
  });
}

const SIZES = [
  [64, 64],
  [17, 5],
  [1, 1],
  [3, 40],
  [1, 9],
] as const;

describe('drawCrop', () => {
  it('stays inside the picture and in the range, at odd sizes too', () => {
    for (const [width, height] of SIZES) {
      const rng = new Rng(width, height);
      const picture = noisy(width, height);
      for (let i = 0; i < 50; i++) {
        const crop = drawCrop(picture, { low: 0.4, high: 0.8 }, rng);
        for (const [at, size, whole] of [
          [crop.x, crop.width, width],
          [crop.y, crop.height, height],
        ] as const) {
          expect(Number.isInteger(at) && at >= 0 && at + size <= whole).toBe(true);
          expect(size).toBeGreaterThanOrEqual(Math.max(1, Math.round(0.4 * whole)));
          expect(size).toBeLessThanOrEqual(Math.max(1, Math.round(0.8 * whole)));
        }
      }
    }
  });

  it('reaches both ends of the range and all corners', () => {
    const picture = noisy(64, 64);
    const crops = Array.from({ length: 3000 }, (_, i) => drawCrop(picture, { low: 0.85, high: 1 }, new Rng(i)));
    expect([...new Set(crops.map((c) => c.width))].sort((a, b) => a - b)).toEqual(Array.from({ length: 11 }, (_, i) => 54 + i));
    expect(crops.some((c) => c.x === 0 && c.y > 0)).toBe(true);
    expect(crops.some((c) => c.x + c.width === 64 && c.x > 0)).toBe(true);
  });

  it('refuses a range that is none', () => {
    for (const [low, high] of [
      [0, 1],
      [0.5, 0.4],
      [0.5, 1.1],
      [NaN, 1],
    ] as const)
      expect(() => drawCrop(noisy(4, 4), { low, high }, new Rng(1))).toThrow(RangeError);
  });
});

describe('view', () => {
  it('gives the whole picture back unchanged', () => {
    for (const [width, height] of SIZES) {
      const picture = noisy(width, height);
      expect(view(picture, { x: 0, y: 0, width, height })).toEqual(picture);
    }
  });

  it('interpolates as brute force does', () => {
    for (const [width, height] of SIZES) {
      const picture = noisy(width, height);
      const rng = new Rng(7);
      for (let i = 0; i < 5; i++) {
        const crop = drawCrop(picture, { low: 0.2, high: 1 }, rng);
        const exact = slowly(picture, crop);
        const worst = view(picture, crop).data.reduce((most, value, j) => Math.max(most, Math.abs(value - exact[j])), 0);
        expect(worst).toBeLessThan(0.5001);
      }
    }
  });

  it('knows half of a box', () => {
    const crop = { x: 10, y: 10, width: 20, height: 20 };
    expect(halfInside({ x: 5, y: 12, width: 10, height: 10 }, crop)).toBe(true);
    expect(halfInside({ x: 4.875, y: 12, width: 10, height: 10 }, crop)).toBe(false);
    expect(halfInside({ x: 5, y: 9, width: 10, height: 10 }, crop)).toBe(false);
    expect(halfInside({ x: 0, y: 0, width: 4, height: 4 }, crop)).toBe(false);
  });
});
