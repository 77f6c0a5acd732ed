/** @file Scenes: no leak between splits, shapes inside their cells, digits from their own split. */

import { describe, expect, it } from 'vitest';
import { fakeDigitBytes, fakeDigits } from './digit-set.fixture.ts';
import { loadDigits, splitOfExample } from './digit-set.ts';
import { FAMILIES, makeQuestion, sceneKey, splitOf, SPLITS, transformScene, TRANSFORMS } from './index.ts';
import { Rng } from './random.ts';
import { drawShapes, rngFor } from './scene.ts';
import type { Split } from './types.ts';

const digits = fakeDigits();

describe('splits', () => {
  it('never share a scene, a mirror image of one, or a handwritten digit', () => {
    const owner = new Map<string, Split>();
    for (const split of SPLITS) {
      for (const family of FAMILIES) {
        for (let index = 0; index < 150; index++) {
          const q = makeQuestion({ seed: 3, index, split, family, phrasing: 'plain', digits });
          if (!q.scene) throw new Error('a made question has a scene');
          expect(splitOf(q.scene)).toBe(split);
          const views = q.scene.type === 'shapes' ? TRANSFORMS.map((t) => transformScene(q.scene!, t)!) : [q.scene];
          for (const view of views) {
            const key = sceneKey(view);
            expect(owner.get(key) ?? split).toBe(split);
            owner.set(key, split);
          }
          if (q.scene.type === 'digits') for (const d of q.scene.digits) expect(splitOfExample(d.example)).toBe(split);
        }
      }
    }
  });

  it('own about 90, 5 and 5 of a hundred scenes', () => {
    const rng = new Rng('shares');
    const seen: Record<Split, number> = { train: 0, validation: 0, test: 0 };
    for (let i = 0; i < 600; i++) {
      // Keys of unrelated scenes: those of the training split, moved one step on by an extra shape, fall anywhere.
      const scene = drawShapes(rng, 'train');
      const free = [...Array(16).keys()].find((c) => !scene.shapes.some((s) => s.row * 4 + s.column === c)) ?? 0;
      const extra = { row: free >> 2, column: free & 3, kind: 'circle', colour: 'red', dx: 0, dy: 0, size: 40, turn: 0 } as const;
      const split = splitOf({ type: 'shapes', shapes: [...scene.shapes, extra] });
      if (split) seen[split]++;
    }
    expect(seen.train / 600).toBeGreaterThan(0.85);
    expect(seen.validation / 600).toBeGreaterThan(0.02);
    expect(seen.test / 600).toBeGreaterThan(0.02);
  });

  it('use disjoint random streams and refuse an index outside them', () => {
    expect(rngFor(1, 'train', 'count', 5).bits()).not.toBe(rngFor(1, 'test', 'count', 5).bits());
    expect(() => rngFor(1, 'train', 'count', 2 ** 30)).toThrow(/index/);
    expect(() => rngFor(1, 'train', 'count', -1)).toThrow(/index/);
  });
});

describe('drawShapes', () => {
  it('keeps every shape inside its cell, one to six of them, in raster order', () => {
    const rng = new Rng(7);
    for (let i = 0; i < 500; i++) {
      const { shapes } = drawShapes(rng, 'train');
      expect(shapes.length).toBeGreaterThanOrEqual(1);
      expect(shapes.length).toBeLessThanOrEqual(6);
      const cells = shapes.map((s) => s.row * 4 + s.column);
      expect(cells).toEqual([...new Set(cells)].sort((a, b) => a - b));
      for (const s of shapes) {
        expect(Math.abs(s.dx) + s.size).toBeLessThanOrEqual(64);
        expect(Math.abs(s.dy) + s.size).toBeLessThanOrEqual(64);
      }
    }
  });
});

describe('the file of digits', () => {
  it('decodes to inks from 0 to 255', () => {
    const set = loadDigits(fakeDigitBytes(20));
    expect(set.count).toBe(20);
    expect([...set.values.slice(0, 11)]).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0]);
    const packed = fakeDigitBytes(20)[28] as number;
    expect([set.ink[0], set.ink[1]]).toEqual([(packed >> 4) * 17, (packed & 15) * 17]);
  });

  it('says so when it is cut off or something else', () => {
    expect(() => loadDigits(fakeDigitBytes().slice(0, 5000))).toThrow(/cut off/);
    expect(() => loadDigits(new Uint8Array(100))).toThrow(/DIG1/);
  });
});
