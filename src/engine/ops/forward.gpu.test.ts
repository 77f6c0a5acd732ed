/** @file The forward kernels against float64, on sizes that fit no tile. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as reference from '../../../tests/reference/backward.ts';
import { randoms, relativeError } from '../../../tests/reference/backward.ts';
import { logSoftmax } from '../../../tests/reference/tiny.ts';
import { Gpu } from '../gpu.ts';
import { attention } from './attention.ts';
import { headLogprob, vocabularyParts } from './head.ts';
import { linear, type Matrix } from './linear.ts';
import { embed, rmsnorm, ropeKv, ropeTable, swiglu } from './rows.ts';

let gpu: Gpu;
beforeAll(async () => {
  gpu = await Gpu.open();
});
afterAll(() => gpu.destroy());

async function run(record: (pass: GPUComputePassEncoder) => void, ...out: { buffer: GPUBuffer; count: number }[]): Promise<Float32Array[]> {
  gpu.submit('test', record);
  const bytes = await gpu.read(...out.map(({ buffer, count }) => ({ buffer, bytes: count * 4 })));
  return bytes.map((b) => new Float32Array(b));
}

/** A matrix on the GPU and the numbers that it holds. */
function matrix(values: Float32Array, dtype: 'bf16' | 'f32', out: number, width: number): { matrix: Matrix; values: Float32Array } {
  if (dtype === 'f32') return { matrix: { buffer: gpu.upload('w', values), dtype, out, in: width }, values };
  const half = Uint16Array.from(new Uint32Array(values.buffer), (b) => b >>> 16);
  return {
    matrix: { buffer: gpu.upload('w', new Uint8Array(half.buffer)), dtype, out, in: width },
    values: new Float32Array(Uint32Array.from(half, (b) => b << 16).buffer),
  };
}

/** A prefix of 19 rows with responses of 1, 30 and 7 rows below it, then a prefix of 3 with one row; KV row = row. */
function groups(): Uint32Array {
  const words: number[] = [];
  const add = (token: number, position: number, prefix: number[], own: number[]): void => {
    words.push(token, position, words.length / 8, prefix[0], prefix[1], own[0], own[1], 0);
  };
  for (const [length, responses] of [
    [19, [1, 30, 7]],
    [3, [1]],
  ] as const) {
    const start = words.length / 8;
    for (let p = 0; p < length; p++) add(p % 7, p, [start, 0], [start, start + p + 1]);
    for (const n of responses) {
      const own = words.length / 8;
      for (let t = 0; t < n; t++) add(t % 5, length + t, [start, length], [own, own + t + 1]);
    }
  }
  return Uint32Array.from(words);
}

describe('linear', () => {
  for (const dtype of ['bf16', 'f32'] as const) {
    for (const rows of [1, 5, 20, 67]) {
      test(`${dtype}, ${rows} rows, with and without adapter and residual`, async () => {
        const [width, outs, rank] = [21, [36, 13, 20], 3];
        const out = 69;
        const starts = [0, outs[0], outs[0] + outs[1]];
        const x = randoms(1, rows * width);
        const w = matrix(randoms(2, out * width), dtype, out, width);
        const [a, b, residual] = [randoms(3, 3 * rank * width), randoms(4, out * rank), randoms(5, rows * out)];
        const [xBuffer, y, z, xa] = [
          gpu.upload('x', x),
          gpu.buffer('y', rows * out * 4),
          gpu.buffer('z', rows * out * 4),
          gpu.buffer('xa', rows * 9 * 4),
        ];
        const lora = { xa, b: gpu.upload('b', b), rank, scale: 0.7, starts };
        const [got, plain] = await run(
          (pass) => {
            linear(gpu, pass, { x: xBuffer, weight: { buffer: gpu.upload('a', a), dtype: 'f32', out: 3 * rank, in: width }, y: xa, rows });
            linear(gpu, pass, { x: xBuffer, weight: w.matrix, y, rows, lora, residual: gpu.upload('r', residual) });
            linear(gpu, pass, { x: xBuffer, weight: w.matrix, y: z, rows });
          },
          { buffer: y, count: rows * out },
          { buffer: z, count: rows * out },
        );
        const expected = reference
          .loraLinear(x, w.values, { a, b, rank, scale: 0.7, starts }, rows, width, out)
          .map((v, i) => v + residual[i]);
        expect(relativeError(got, expected)).toBeLessThan(2e-6);
        expect(relativeError(plain, reference.multiply(x, w.values, rows, width, out))).toBeLessThan(2e-6);
      });
    }
  }
});

describe('row by row', () => {
  test('rmsnorm, straight and gathered', async () => {
    const [rows, hidden] = [5, 67];
    const [x, gain] = [randoms(1, rows * hidden), randoms(2, hidden)];
    const [y, z, xBuffer, gainBuffer] = [
      gpu.buffer('y', rows * hidden * 4),
      gpu.buffer('z', 2 * hidden * 4),
      gpu.upload('x', x),
      gpu.upload('g', gain),
    ];
    const [got, gathered] = await run(
      (pass) => {
        rmsnorm(gpu, pass, { x: xBuffer, gain: gainBuffer, y, hidden, eps: 1e-5, rows });
        rmsnorm(gpu, pass, {
          x: xBuffer,
          gain: gainBuffer,
          y: z,
          hidden,
          eps: 1e-5,
          rows: 2,
          gather: gpu.upload('t', Uint32Array.of(4, 9, 1, 9)),
        });
      },
      { buffer: y, count: rows * hidden },
      { buffer: z, count: 2 * hidden },
    );
    const expected = reference.rmsnorm(x, gain, rows, hidden, 1e-5);
    expect(relativeError(got, expected)).toBeLessThan(1e-6);
    expect(relativeError(gathered, [...expected.subarray(4 * hidden), ...expected.subarray(hidden, 2 * hidden)])).toBeLessThan(1e-6);
  });

  test('swiglu', async () => {
    const [rows, width] = [5, 67];
    const gateUp = randoms(1, rows * 2 * width, 6);
    const y = gpu.buffer('y', rows * width * 4);
    const [got] = await run((pass) => swiglu(gpu, pass, { gateUp: gpu.upload('g', gateUp), y, width, rows }), {
      buffer: y,
      count: rows * width,
    });
    expect(relativeError(got, reference.swiglu(gateUp, rows, width))).toBeLessThan(2e-6);
  });

  test('embedding, bf16 and image rows', async () => {
    const hidden = 21;
    const table = matrix(randoms(1, 9 * hidden), 'bf16', 9, hidden);
    const images = randoms(2, 4 * hidden);
    const tokens = [8, 0x80000003, 0];
    const x = gpu.buffer('x', 3 * hidden * 4);
    const plan = gpu.upload('p', Uint32Array.from(tokens.flatMap((t) => [t, 0, 0, 0, 0, 0, 0, 0])));
    const [got] = await run((pass) => embed(gpu, pass, { plan, embedding: table.matrix, images: gpu.upload('i', images), x, rows: 3 }), {
      buffer: x,
      count: 3 * hidden,
    });
    expect([...got]).toEqual([...table.values.subarray(8 * hidden), ...images.subarray(3 * hidden), ...table.values.subarray(0, hidden)]);
  });
});

describe('attention', () => {
  for (const shape of [
    { heads: 6, kvHeads: 2, headDim: 6 },
    { heads: 9, kvHeads: 3, headDim: 64 },
    { heads: 3, kvHeads: 3, headDim: 10 },
    { heads: 4, kvHeads: 1, headDim: 128 },
  ]) {
    test(`RoPE, then attention over prefix and own part, ${JSON.stringify(shape)}`, async () => {
      const plan = groups();
      const rows = plan.length / 8;
      const [q, kv] = [shape.heads * shape.headDim, shape.kvHeads * shape.headDim];
      const qkv = randoms(3, rows * (q + 2 * kv), 2);
      const sizes = { q: rows * q, k: rows * kv, v: rows * kv, out: rows * q, lse: rows * shape.heads, single: rows * q };
      const b = Object.fromEntries(Object.entries(sizes).map(([name, n]) => [name, gpu.buffer(name, n * 4)])) as Record<
        keyof typeof sizes,
        GPUBuffer
      >;
      const planBuffer = gpu.upload('plan', plan);
      const [gotQ, gotK, gotV, out, lse, single] = await run(
        (pass) => {
          const angles = gpu.upload('angles', ropeTable(64, shape.headDim, 10000));
          ropeKv(gpu, pass, { plan: planBuffer, qkv: gpu.upload('qkv', qkv), angles, q: b.q, k: b.k, v: b.v, shape, rows });
          attention(gpu, pass, { plan: planBuffer, q: b.q, k: b.k, v: b.v, out: b.out, lse: b.lse, shape, rows, neighbours: true });
          attention(gpu, pass, { plan: planBuffer, q: b.q, k: b.k, v: b.v, out: b.single, lse: b.lse, shape, rows, neighbours: false });
        },
        ...Object.entries(sizes).map(([name, count]) => ({ buffer: b[name as keyof typeof sizes], count })),
      );
      const roped = reference.rope(plan, qkv, shape, 10000);
      expect(relativeError(gotQ, roped.q)).toBeLessThan(5e-6);
      expect(relativeError(gotK, roped.k)).toBeLessThan(5e-6);
      expect(relativeError(gotV, roped.v)).toBe(0);
      const expected = reference.attention(plan, roped.q, roped.k, roped.v, shape);
      expect(relativeError(out, expected.out)).toBeLessThan(2e-5);
      expect(relativeError(lse, expected.lse)).toBeLessThan(2e-5);
      expect(relativeError(single, expected.out)).toBeLessThan(2e-5);
    });
  }
});

describe('head', () => {
  for (const [count, vocab, dtype, temperature] of [
    [1, 37, 'f32', 1],
    [67, 37, 'bf16', 0.7],
    [5, 5003, 'bf16', 1.3],
    [130, 257, 'f32', 1],
  ] as const) {
    test(`${count} targets, ${vocab} tokens, ${dtype}, temperature ${temperature}`, async () => {
      const hidden = 20;
      const x = randoms(1, count * hidden, 2);
      const head = matrix(randoms(2, vocab * hidden, 2), dtype, vocab, hidden);
      const tokens = Array.from({ length: count }, (_, i) => (i * 7919 + vocab - 1) % vocab);
      const [scores, partials] = [gpu.buffer('s', count * 16), gpu.buffer('p', count * 16 * vocabularyParts(count, vocab).parts)];
      const targets = gpu.upload('t', Uint32Array.from(tokens.flatMap((t, i) => [i, t])));
      const [got] = await run(
        (pass) => headLogprob(gpu, pass, { x: gpu.upload('x', x), head: head.matrix, targets, partials, scores, count, temperature }),
        { buffer: scores, count: count * 4 },
      );
      const logits = reference.multiply(x, head.values, count, hidden, vocab);
      const expected = tokens.flatMap((token, i) => {
        const { logProbs, entropy } = logSoftmax(logits.subarray(i * vocab, (i + 1) * vocab), temperature);
        return [logProbs[token], entropy, logits[i * vocab + token] / temperature - logProbs[token], 0];
      });
      for (let part = 0; part < 4; part++) {
        const pick = (all: ArrayLike<number>): number[] => Array.from({ length: count }, (_, i) => all[4 * i + part]);
        expect(relativeError(pick(got), pick(expected))).toBeLessThan(5e-6);
      }
    });
  }
});
