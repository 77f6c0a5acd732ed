/** @file The renderer's bytes are fixed, and transforms of scenes and of pictures agree. */

import { describe, expect, it } from 'vitest';
import { fakeDigits } from './digit-set.fixture.ts';
import { applyTransform, FAMILIES, hintOf, makeQuestion, render, transformScene, TRANSFORMS } from './index.ts';
import { mix } from './random.ts';
import type { Picture, Scene, TransformName } from './types.ts';

const digits = fakeDigits();

function hash(p: Picture): string {
  let h = 0;
  for (const byte of p.data) h = mix(h, byte);
  return h.toString(16);
}

/** The colour at (x, y). */
function at(p: Picture, x: number, y: number): number[] {
  return [...p.data.slice((y * p.width + x) * 3, (y * p.width + x) * 3 + 3)];
}

describe('render', () => {
  it('gives the same bytes everywhere', () => {
    const pictures = FAMILIES.map(
      (family) => makeQuestion({ seed: 1, index: 0, split: 'train', family, phrasing: 'plain', digits }).picture,
    );
    expect(pictures.map(hash)).toMatchInlineSnapshot(`
      [
        "50760d92",
        "b6719fba",
        "282c4598",
        "9e89ee1a",
      ]
    `);
    const noisy = applyTransform(pictures[0] as Picture, { name: 'noise_25', seed: 9 });
    expect(hash(noisy)).toMatchInlineSnapshot(`"a7b9541f"`);
  });

  it('puts a shape into its cell in its colour', () => {
    const scene: Scene = {
      type: 'shapes',
      shapes: [{ row: 1, column: 2, kind: 'square', colour: 'blue', dx: 0, dy: 0, size: 40, turn: 0 }],
    };
    const p = render(scene, null);
    expect(at(p, 40, 24)).toEqual([48, 88, 208]);
    expect(at(p, 24, 40)).toEqual([240, 240, 236]);
  });

  it('asks for the handwritten digits where it needs them', () => {
    const q = makeQuestion({ seed: 1, index: 0, split: 'train', family: 'digits', phrasing: 'plain', digits });
    expect(() => render(q.scene!, null)).toThrow(/digits\.bin/);
    expect(() => makeQuestion({ seed: 1, index: 0, split: 'train', family: 'digits', phrasing: 'plain', digits: null })).toThrow(
      /digits\.bin/,
    );
  });
});

describe('transforms', () => {
  it('of a scene and of its picture give the very same bytes', () => {
    for (let index = 0; index < 40; index++) {
      const q = makeQuestion({ seed: 2, index, split: 'train', family: 'count', phrasing: 'plain', digits: null });
      for (const name of TRANSFORMS.filter((t) => !t.startsWith('noise'))) {
        const scene = transformScene(q.scene!, name)!;
        expect(hash(render(scene, null))).toBe(hash(applyTransform(q.picture, { name, seed: 0 })));
      }
    }
  });

  it('do what their hints say, on a picture with one marked corner', () => {
    // The mark is at the top left, 1 pixel from the left and 0 from the top, in a picture of 4 by 3.
    const p: Picture = { width: 4, height: 3, data: new Uint8Array(36) };
    p.data.set([9, 9, 9], 3);
    const mark = (name: TransformName): number[] => {
      const t = applyTransform(p, { name, seed: 0 });
      const i = t.data.indexOf(9) / 3;
      return [t.width, t.height, i % t.width, Math.floor(i / t.width)];
    };
    const hint = (name: TransformName): string => hintOf({ name, seed: 0 });
    // Clockwise: what was at the top is at the right.
    expect(mark('rotate_90cw')).toEqual([3, 4, 2, 1]);
    expect(hint('rotate_90cw')).toBe('the picture is turned 90 degrees clockwise. ');
    // Counterclockwise: what was at the top is at the left.
    expect(mark('rotate_90ccw')).toEqual([3, 4, 0, 2]);
    expect(hint('rotate_90ccw')).toBe('the picture is turned 90 degrees counterclockwise. ');
    expect(mark('rotate_180')).toEqual([4, 3, 2, 2]);
    expect(hint('rotate_180')).toMatch(/180 degrees/);
    expect(mark('flip_horizontal')).toEqual([4, 3, 2, 0]);
    expect(hint('flip_horizontal')).toMatch(/mirrored left to right/);
    expect(mark('flip_vertical')).toEqual([4, 3, 1, 2]);
    expect(hint('flip_vertical')).toMatch(/mirrored top to bottom/);
    expect(mark('identity')).toEqual([4, 3, 1, 0]);
    expect(hint('identity')).toBe('');
  });

  it('add noise of the named strength, the same for the same seed', () => {
    const grey: Picture = { width: 64, height: 64, data: new Uint8Array(64 * 64 * 3).fill(128) };
    for (const [name, std] of [
      ['noise_10', 10],
      ['noise_25', 25],
    ] as const) {
      const noisy = applyTransform(grey, { name, seed: 4 });
      const mean = noisy.data.reduce((sum, v) => sum + v - 128, 0) / noisy.data.length;
      const square = noisy.data.reduce((sum, v) => sum + (v - 128) ** 2, 0) / noisy.data.length;
      expect(Math.abs(mean)).toBeLessThan(0.7);
      expect(Math.abs(Math.sqrt(square) - std)).toBeLessThan(0.5);
      expect(hash(applyTransform(grey, { name, seed: 4 }))).toBe(hash(noisy));
      expect(hash(applyTransform(grey, { name, seed: 5 }))).not.toBe(hash(noisy));
    }
    const white: Picture = { width: 8, height: 8, data: new Uint8Array(192).fill(255) };
    expect(Math.max(...applyTransform(white, { name: 'noise_50', seed: 1 }).data)).toBe(255);
    expect(hintOf({ name: 'noise_50', seed: 1 })).toMatch(/noise/);
  });
});
