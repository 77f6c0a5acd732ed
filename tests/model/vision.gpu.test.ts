/** @file The vision tower as ONNX, by both runtimes, against the features of the torch modules. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Gpu } from '../../src/engine/gpu.ts';
import { ImageCache } from '../../src/model/image-cache.ts';
import type { ImageFeatures, Picture } from '../../src/model/types.ts';
import type { VisionEncoder, VisionEncoderFactory } from '../../src/model/vision.ts';
import questions from '../fixtures/questions.json';
import reference from '../fixtures/vision.json';
import { floats, pattern, pictureOf, relative } from './fixtures.ts';
import { picoFiles, wasmTower } from './pico.ts';

const image = { size: 64, tokens: 16, mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] } as const;
const HIDDEN = 128;
const BYTES = 16 * HIDDEN * 4;

let gpu: Gpu;
let pictures: Picture[];
let onnx: Uint8Array;
beforeAll(async () => {
  gpu = await Gpu.open();
  pictures = await Promise.all(questions.slice(0, 3).map(pictureOf));
  onnx = (await picoFiles.read('onnx/vision_encoder.onnx')) as Uint8Array;
});
afterAll(() => gpu.destroy());

/** The tower of a factory, opened once, and how many pictures each of its runs had. */
async function open(factory: VisionEncoderFactory): Promise<{ tower: VisionEncoder; runs: number[] }> {
  const vision = await factory(gpu, onnx, { size: 64, tokens: 16, hidden: HIDDEN });
  const runs: number[] = [];
  const encode: VisionEncoder['encode'] = (pixels, count, target, offset) => {
    runs.push(count);
    return vision.encode(pixels, count, target, offset);
  };
  return { tower: { encode, destroy: () => vision.destroy() }, runs };
}
const cacheOf = (tower: VisionEncoder, slots: number): ImageCache => new ImageCache(gpu, tower, image, HIDDEN, slots);
const read = async (f: ImageFeatures): Promise<Float32Array> => {
  const [bytes] = await gpu.read({ buffer: f.buffer, offset: f.offsetRows * HIDDEN * 4, bytes: BYTES });
  return new Float32Array(bytes);
};

const wasm = async (): Promise<VisionEncoderFactory> => wasmTower;
const browser = (name: 'webgpuVision' | 'strictWebgpuVision') => async (): Promise<VisionEncoderFactory> =>
  (await import('../../src/model/vision-webgpu.ts'))[name];
/** Name, factory, and pictures besides the reference's: a processor that plays GPU is slow. */
const towers: [string, () => Promise<VisionEncoderFactory>, number][] = [['wasm', wasm, 14]];
// Deno's WebGPU lacks what ORT's needs
if (!('Deno' in globalThis))
  towers.push(['the browser’s choice', browser('webgpuVision'), 14], ['webgpu', browser('strictWebgpuVision'), 0]);

describe('vision tower', () => {
  for (const [name, factory, more] of towers) {
    test(`${name}: features equal torch's, alone and in a batch`, { timeout: 300_000 }, async () => {
      const { tower, runs } = await open(await factory());
      const features = await cacheOf(tower, 2).encode([...pictures, ...Array.from({ length: more }, (_, i) => pattern(64 + i, 64))]);
      expect(runs).toEqual([3 + more]);
      expect(features[0].tokens).toBe(16);
      for (const [i, want] of reference.entries()) expect(relative(await read(features[i]), floats(want))).toBeLessThan(1e-4);
      const last = more > 0 ? pattern(64 + more - 1, 64) : pictures[2];
      const [alone] = await cacheOf(tower, 1).encode([last]);
      expect(relative(await read(features[2 + more]), await read(alone))).toBeLessThan(1e-5);
      await tower.destroy();
    });
  }

  test('pictures are encoded once, held while in use, and forgotten oldest first', async () => {
    const { tower, runs } = await open(wasmTower);
    const cache = cacheOf(tower, 2);
    const [a, again] = await cache.encode([pictures[0], { ...pictures[0] }]);
    expect(again.offsetRows).toBe(a.offsetRows);
    const [b] = await cache.encode([pictures[1]]);
    b.release();
    const [c] = await cache.encode([pictures[2]]); // takes b's place, for a is held
    expect(c.offsetRows).toBe(b.offsetRows);
    const [, b2] = await cache.encode([pictures[0], pictures[1]]); // no place free: the pool grows and keeps what it has
    expect(relative(await read(a), floats(reference[0]))).toBeLessThan(1e-4);
    expect(relative(await read(b2), floats(reference[1]))).toBeLessThan(1e-4);
    expect(b2.offsetRows).toBe(32);
    expect(runs).toEqual([1, 1, 1, 1]);
    await cache.destroy();
  });

  test('a tower that is none, or of another shape, is refused', async () => {
    await expect(wasmTower(gpu, new Uint8Array([1, 2, 3]), { size: 64, tokens: 16, hidden: HIDDEN })).rejects.toThrow(
      'onnx/vision_encoder.onnx cannot be opened',
    );
    const wrong = await wasmTower(gpu, onnx, { size: 64, tokens: 16, hidden: 64 });
    await expect(wrong.encode(new Float32Array(3 * 64 * 64), 1, gpu.buffer('t', BYTES), 0)).rejects.toThrow('for 1 picture(s)');
    await wrong.destroy();
  });
});
