import { describe, expect, test } from 'vitest';
import images from '../../tests/fixtures/images.json';
import { bytes, floats, maxDifference, pattern } from '../../tests/model/fixtures.ts';
import { pixelValues, resize } from './image.ts';

const half = { size: 64, tokens: 16, mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] } as const;

describe('pictures against Pillow and the Idefics3 processor', () => {
  for (const { width, height, resized } of images) {
    test(`${width}×${height} is squashed to 64×64 within 2/255`, async () => {
      const { data } = resize(pattern(width, height), 64, 64);
      expect(maxDifference(data, await bytes(resized))).toBeLessThan(2.5);
    });
  }

  test('a picture of the right size is not touched, and is normalised', () => {
    const picture = pattern(64, 64);
    expect(resize(picture, 64, 64)).toBe(picture);
    const want = floats(images[0].pixelValues as string); // [3, 8, 8]: every ninth pixel
    const values = pixelValues([picture, picture], half);
    const got = Float32Array.from(
      { length: 192 },
      (_, i) => values[(3 + Math.floor(i / 64)) * 4096 + (Math.floor(i / 8) % 8) * 576 + (i % 8) * 9] as number,
    );
    expect(maxDifference(got, want)).toBeLessThan(1e-6);
  });

  test('pictures that are none are refused', () => {
    expect(() => resize({ width: 2, height: 2, data: new Uint8Array(16) }, 64, 64)).toThrow('needs 12 bytes of RGB; 16 were given');
    expect(() => resize({ width: 0, height: 2, data: new Uint8Array() }, 64, 64)).toThrow('0×2 pixels cannot be used');
    expect(() => pixelValues([{ width: 64.5, height: 2, data: new Uint8Array() }], half)).toThrow('cannot be used');
  });
});
