/** @file Tensors become f32 exactly, and what does not fit the configuration is named. */
import { expect, test } from 'vitest';
import { TINY, tinyModel } from '../../tests/reference/tiny.ts';
import type { Gpu } from '../engine/gpu.ts';
import { decoderTensorNames, toFloat32, uploadDecoder } from './weights.ts';

/** The bytes at an odd offset, as a safetensors file may hold them. */
function unaligned(...halves: number[]): Uint8Array {
  const bytes = new Uint8Array(1 + 2 * halves.length);
  halves.forEach((h, i) => bytes.set([h & 255, h >> 8], 1 + 2 * i));
  return bytes.subarray(1);
}

test('reads bf16 and f16, also unaligned', () => {
  const bf16 = toFloat32({ dtype: 'BF16', shape: [4], data: unaligned(0x3f80, 0xc040, 0x0001, 0x7f80) });
  expect([...bf16]).toEqual([1, -3, 2 ** -133, Infinity]);
  const f16 = toFloat32({ dtype: 'F16', shape: [7], data: unaligned(0x3c00, 0xc200, 0x3555, 0x0001, 0x8000, 0x7bff, 0xfc00) });
  expect([...f16]).toEqual([1, -3, 0x555 / 2 ** 12, 2 ** -24, -0, 65504, -Infinity]);
});

const gpu = { upload: () => ({}) } as unknown as Gpu;

test('names every tensor that it reads', () => {
  for (const tied of [true, false]) {
    const { tensors } = tinyModel({ seed: 1, dtype: 'BF16', tied });
    expect(decoderTensorNames(TINY, tied).sort()).toEqual([...tensors.keys()].sort());
  }
});

test('names what is missing, of another shape, or of another type', () => {
  const { tensors } = tinyModel({ seed: 1, dtype: 'BF16', tied: false });
  const name = 'model.text_model.layers.1.mlp.up_proj.weight';
  const tensor = { dtype: 'BF16', shape: [27, 20], data: new Uint8Array(2 * 27 * 20) } as const;
  const without = new Map([...tensors].filter(([n]) => n !== name));
  expect(() => uploadDecoder(gpu, TINY, without, false)).toThrow(`no tensor ${name}`);
  expect(() => uploadDecoder(gpu, TINY, new Map([...tensors, [name, { ...tensor, shape: [20, 27] }]]), false)).toThrow('[20, 27]');
  expect(() => uploadDecoder(gpu, TINY, new Map([...tensors, [name, { ...tensor, dtype: 'I8' }]]), false)).toThrow('type I8');
});

test('keeps a group packed only when all of it is bf16', () => {
  const { tensors } = tinyModel({ seed: 1, dtype: 'BF16', tied: true });
  const name = 'model.text_model.layers.0.self_attn.k_proj.weight';
  const mixed = new Map([...tensors, [name, { dtype: 'F32', shape: [12, 20], data: new Uint8Array(4 * 12 * 20) } as const]]);
  const weights = uploadDecoder(gpu, TINY, mixed, true);
  expect(weights.layers[0].qkv.dtype).toBe('f32');
  expect(weights.layers[0].o.dtype).toBe('bf16');
  expect(weights.head).toBe(weights.embedding);
});
