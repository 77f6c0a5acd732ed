/** @file Backward of attention and RoPE against finite differences in float64. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attention, finiteDifferences, randoms, relativeError, rope } from '../../../tests/reference/backward.ts';
import { Gpu } from '../gpu.ts';
import { attentionBackward, ropeBackward } from './backward-attention.ts';
import { ropeTable } from './rows.ts';

let gpu: Gpu;
beforeAll(async () => {
  gpu = await Gpu.open();
});
afterAll(() => gpu.destroy());

async function floats(buffer: GPUBuffer, count: number): Promise<Float32Array> {
  const [bytes] = await gpu.read({ buffer, bytes: count * 4 });
  return new Float32Array(bytes);
}

/** [group's prefix length, its responses' row counts] → packed rows (token 0), kvRow = row. */
function packed(groups: readonly (readonly [number, readonly number[]])[]): Uint32Array {
  const words: number[] = [];
  let row = 0;
  for (const [prefix, responses] of groups) {
    const start = row;
    const groupEnd = start + prefix + responses.reduce((a, b) => a + b, 0);
    for (let i = 0; i < prefix; i++, row++) words.push(0, i, row, start, 0, start, row + 1, groupEnd);
    for (const length of responses) {
      const own = row;
      for (let i = 0; i < length; i++, row++) words.push(0, prefix + i, row, start, prefix, own, row + 1, own + length);
    }
  }
  return Uint32Array.from(words);
}

describe('attention and RoPE backward', () => {
  for (const { name, groups, shape } of [
    { name: 'one row', groups: [[1, []]] as const, shape: { heads: 1, kvHeads: 1, headDim: 6 } },
    { name: 'one prompt with one response', groups: [[3, [2]]] as const, shape: { heads: 4, kvHeads: 2, headDim: 6 } },
    {
      name: 'unequal responses below shared prefixes, over tiles',
      groups: [
        [37, [5, 1, 29]],
        [2, [3]],
        [9, [0, 40]],
      ] as const,
      shape: { heads: 3, kvHeads: 1, headDim: 6 },
    },
    { name: 'heads wider than a tile', groups: [[5, [4, 2]]] as const, shape: { heads: 2, kvHeads: 1, headDim: 70 } },
  ]) {
    it(`attention: ${name}`, async () => {
      const plan = packed(groups);
      const { heads, kvHeads, headDim } = shape;
      const rows = plan.length / 8;
      const sizes = [heads, kvHeads, kvHeads].map((h) => rows * h * headDim);
      const [q, k, v] = sizes.map((size, i) => randoms(i + 1, size, 1.5));
      const dOut = randoms(4, sizes[0]);
      const { out, lse } = attention(plan, q, k, v, shape);
      const width = (heads + 2 * kvHeads) * headDim;
      const [deltas, dQkv] = [gpu.buffer('deltas', rows * heads * 4), gpu.buffer('dQkv', rows * width * 4)];
      gpu.submit('attention', (pass) =>
        attentionBackward(gpu, pass, {
          plan: gpu.upload('plan', plan),
          q: gpu.upload('q', q),
          k: gpu.upload('k', k),
          v: gpu.upload('v', v),
          out: gpu.upload('out', Float32Array.from(out)),
          lse: gpu.upload('lse', Float32Array.from(lse)),
          dOut: gpu.upload('dOut', dOut),
          deltas,
          dQkv,
          shape,
          rows,
        }),
      );
      const got = await floats(dQkv, rows * width);

      // directional derivatives along random directions, and single elements spread over all three
      const at = [q, k, v].map((x) => Float64Array.from(x));
      const loss = (): number => attention(plan, at[0], at[1], at[2], shape).out.reduce((sum, o, i) => sum + o * dOut[i], 0);
      const gradientAt = (part: number, i: number): number => {
        const per = (part === 0 ? heads : kvHeads) * headDim;
        return got[Math.floor(i / per) * width + [0, heads, heads + kvHeads][part] * headDim + (i % per)];
      };
      for (const part of [0, 1, 2]) {
        const step = Math.max(1, Math.floor(sizes[part] / 40));
        for (let i = 0; i < sizes[part]; i += step) {
          const value = at[part][i];
          at[part][i] = value + 1e-5;
          const high = loss();
          at[part][i] = value - 1e-5;
          const low = loss();
          at[part][i] = value;
          expect(Math.abs(gradientAt(part, i) - (high - low) / 2e-5)).toBeLessThan(2e-5);
        }
        const direction = randoms(10 + part, sizes[part]);
        const base = at[part].slice();
        const along = (sign: number): number => {
          at[part].set(base.map((x, i) => x + sign * 1e-5 * direction[i]));
          return loss();
        };
        const slope = (along(1) - along(-1)) / 2e-5;
        at[part].set(base);
        const sum = direction.reduce((total, x, i) => total + x * gradientAt(part, i), 0);
        expect(Math.abs(sum - slope)).toBeLessThan(1e-4 * Math.max(1, Math.abs(slope)));
      }
    });
  }

  it('RoPE: the gradient of q and k turns back, that of v stays', async () => {
    const plan = packed([
      [5, [2, 3]],
      [1, [60]],
    ]);
    const shape = { heads: 4, kvHeads: 2, headDim: 6 };
    const rows = plan.length / 8;
    const width = 8 * 6;
    const d = randoms(1, rows * width);
    const dQkv = gpu.upload('dQkv', d);
    gpu.submit('rope', (pass) =>
      ropeBackward(gpu, pass, { plan: gpu.upload('plan', plan), angles: gpu.upload('angles', ropeTable(64, 6, 100)), dQkv, shape, rows }),
    );
    const got = await floats(dQkv, rows * width);
    // the rotation is linear: <rope(x), d> = <x, ropeBackward(d)> for any x
    const x = randoms(2, rows * width);
    const turned = rope(plan, x, shape, 100);
    let left = 0;
    let right = 0;
    for (let n = 0; n < rows; n++) {
      for (let c = 0; c < width; c++) {
        const y = c < 24 ? turned.q[n * 24 + c] : c < 36 ? turned.k[n * 12 + c - 24] : turned.v[n * 12 + c - 36];
        left += y * d[n * width + c];
        right += x[n * width + c] * got[n * width + c];
        if (c >= 36) expect(got[n * width + c]).toBe(d[n * width + c]);
      }
    }
    expect(Math.abs(left - right)).toBeLessThan(1e-3);
    const at = Float64Array.from(x);
    const moved = at.slice(7 * width + 24, 7 * width + 36);
    const key = 7 * width + 24;
    const slope = finiteDifferences(() => {
      at.set(moved, key);
      return rope(plan, at, shape, 100).k.reduce((sum, y, i) => sum + y * d[Math.floor(i / 12) * width + 24 + (i % 12)], 0);
    }, moved);
    expect(relativeError(got.subarray(key, key + 12), slope)).toBeLessThan(1e-5);
  });
});
