/** @file The backward kernels of linear layers, head, RMSNorm and SwiGLU against float64: closed forms where they are one line, finite differences where they are not. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  finiteDifferences,
  logProbs,
  loraLinear,
  moduleOf,
  multiply,
  randoms,
  relativeError,
  rmsnorm,
  swiglu,
} from '../../../tests/reference/backward.ts';
import { Gpu } from '../gpu.ts';
import { gradientChunks, linearBackwardX, loraBackwardB, loraGradientA, loraGradientB, loraGradientSum } from './backward-linear.ts';
import { gatherTargets, headBackward, rmsnormBackward, swigluBackward, vocabularyChunk } from './backward-rows.ts';
import type { Matrix } from './linear.ts';

let gpu: Gpu;
beforeAll(async () => {
  gpu = await Gpu.open();
});
afterAll(() => gpu.destroy());

async function floats(buffer: GPUBuffer, count: number): Promise<Float32Array> {
  const [bytes] = await gpu.read({ buffer, bytes: count * 4 });
  return new Float32Array(bytes);
}

/** A random [out, in] matrix as the GPU and as float64 see it. */
function randomMatrix(
  seed: number,
  out: number,
  width: number,
  dtype: 'bf16' | 'f32',
  scale = 1,
): { matrix: Matrix; values: Float32Array } {
  const values = randoms(seed, out * width, scale);
  if (dtype === 'f32') return { matrix: { buffer: gpu.upload('weight', values), dtype, out, in: width }, values };
  const bits = new Uint32Array(values.buffer);
  const halves = Uint16Array.from(bits, (b) => b >>> 16);
  bits.forEach((b, i) => (bits[i] = (b >>> 16) << 16));
  return { matrix: { buffer: gpu.upload('weight', new Uint8Array(halves.buffer)), dtype, out, in: width }, values };
}

describe('linear backward', () => {
  for (const { rows, width, out, starts, rank, dtype } of [
    { rows: 1, width: 20, out: 37, starts: [0, 12, 24], rank: 3, dtype: 'bf16' as const },
    { rows: 5, width: 67, out: 20, starts: [0], rank: 1, dtype: 'f32' as const },
    { rows: 67, width: 20, out: 37, starts: [0, 20], rank: 3, dtype: 'bf16' as const },
    { rows: 300, width: 131, out: 150, starts: [0, 70, 141], rank: 19, dtype: 'f32' as const },
  ]) {
    it(`gives dX, dA and dB of ${rows} rows ${width} → ${out} in ${starts.length} modules, rank ${rank}, ${dtype}`, async () => {
      const scale = 1.7;
      const { matrix, values } = randomMatrix(1, out, width, dtype);
      const total = starts.length * rank;
      const [x, dy, a, b] = [randoms(2, rows * width), randoms(3, rows * out), randoms(4, total * width), randoms(5, out * rank)];
      const xa = Float32Array.from(multiply(x, a, rows, width, total));
      const dx0 = randoms(6, rows * width);

      const buffers = {
        x: gpu.upload('x', x),
        dy: gpu.upload('dy', dy),
        a: gpu.upload('a', a),
        b: gpu.upload('b', b),
        xa: gpu.upload('xa', xa),
        dx: gpu.upload('dx', dx0),
        dyb: gpu.buffer('dyb', rows * total * 4),
      };
      // the two gradients lie side by side, with a gap that must stay as it is
      const offsetB = total * width + 11;
      const stride = offsetB + out * rank;
      const old = randoms(7, stride + 5);
      const gradient = gpu.upload('gradient', old);
      const partials = gpu.buffer('partials', gradientChunks(rows).chunks * stride * 4);
      gpu.submit('backward', (pass) => {
        loraBackwardB(gpu, pass, { dy: buffers.dy, b: buffers.b, dyb: buffers.dyb, rows, out, rank, starts });
        linearBackwardX(gpu, pass, {
          dy: buffers.dy,
          weight: matrix,
          dx: buffers.dx,
          rows,
          accumulate: true,
          lora: { dyb: buffers.dyb, a: buffers.a, width: total, scale },
        });
        loraGradientA(gpu, pass, { partials, stride, offset: 0, rows, x: buffers.x, in: width, dyb: buffers.dyb, width: total });
        loraGradientB(gpu, pass, { partials, stride, offset: offsetB, rows, dy: buffers.dy, out, xa: buffers.xa, rank, starts });
        loraGradientSum(gpu, pass, { partials, stride, rows, gradient, offset: 5, scale });
      });

      const dyb = new Float64Array(rows * total);
      const dB = new Float64Array(out * rank);
      for (let n = 0; n < rows; n++) {
        for (let o = 0; o < out; o++) {
          for (let j = 0; j < rank; j++) {
            const c = moduleOf(o, starts) * rank + j;
            dyb[n * total + c] += dy[n * out + o] * b[o * rank + j];
            dB[o * rank + j] += scale * dy[n * out + o] * xa[n * total + c];
          }
        }
      }
      const dX = new Float64Array(rows * width);
      const dA = new Float64Array(total * width);
      for (let n = 0; n < rows; n++) {
        for (let i = 0; i < width; i++) {
          dX[n * width + i] = dx0[n * width + i];
          for (let o = 0; o < out; o++) dX[n * width + i] += dy[n * out + o] * values[o * width + i];
          for (let c = 0; c < total; c++) {
            dX[n * width + i] += scale * dyb[n * total + c] * a[c * width + i];
            dA[c * width + i] += scale * dyb[n * total + c] * x[n * width + i];
          }
        }
      }
      expect(relativeError(await floats(buffers.dyb, rows * total), dyb)).toBeLessThan(1e-5);
      expect(relativeError(await floats(buffers.dx, rows * width), dX)).toBeLessThan(1e-5);
      const result = await floats(gradient, stride + 5);
      const added = result.map((g, i) => g - old[i]);
      expect(relativeError(added.subarray(5, 5 + total * width), dA)).toBeLessThan(1e-5);
      expect(relativeError(added.subarray(5 + offsetB), dB)).toBeLessThan(1e-5);
      expect([...added.subarray(5 + total * width, 5 + offsetB), ...added.subarray(0, 5)].every((g) => g === 0)).toBe(true);
    });
  }

  it('is the derivative of the fused forward', async () => {
    const [rows, width, out, starts, rank] = [3, 7, 10, [0, 4, 7], 2];
    const { matrix, values } = randomMatrix(1, out, width, 'f32');
    const [x, dy, a, b] = [randoms(2, rows * width), randoms(3, rows * out), randoms(4, 3 * rank * width), randoms(5, out * rank)];
    const at = Float64Array.from(x);
    const slope = finiteDifferences(
      () => loraLinear(at, values, { a, b, rank, scale: 0.5, starts }, rows, width, out).reduce((sum, y, i) => sum + y * dy[i], 0),
      at,
    );
    const [dyBuffer, dyb, dx] = [gpu.upload('dy', dy), gpu.buffer('dyb', rows * 3 * rank * 4), gpu.buffer('dx', rows * width * 4)];
    gpu.submit('backward', (pass) => {
      loraBackwardB(gpu, pass, { dy: dyBuffer, b: gpu.upload('b', b), dyb, rows, out, rank, starts });
      linearBackwardX(gpu, pass, {
        dy: dyBuffer,
        weight: matrix,
        dx,
        rows,
        lora: { dyb, a: gpu.upload('a', a), width: 3 * rank, scale: 0.5 },
      });
    });
    expect(relativeError(await floats(dx, rows * width), slope)).toBeLessThan(1e-5);
  });
});

describe('head backward', () => {
  for (const { count, hidden, vocab, dtype, chunk } of [
    { count: 1, hidden: 20, vocab: 37, dtype: 'f32' as const, chunk: 37 },
    { count: 67, hidden: 20, vocab: 131, dtype: 'bf16' as const, chunk: 64 },
  ]) {
    it(`gives ∂/∂h of ${count} targets over ${vocab} tokens, ${chunk} at a time, ${dtype}`, async () => {
      const temperature = 0.7;
      const { matrix, values } = randomMatrix(1, vocab, hidden, dtype);
      const [h, coefficients] = [randoms(2, count * hidden), randoms(3, count)];
      const tokens = Uint32Array.from({ length: count }, (_, t) => (t * 29) % vocab);
      // each target depends on its own row only: one sweep over the hidden dimension differentiates all rows
      const slope = new Float64Array(count * hidden);
      for (let i = 0; i < hidden; i++) {
        const part = (sign: number): Float64Array => {
          const moved = Float64Array.from(h, (v, j) => (j % hidden === i ? v + sign * 1e-5 : v));
          return logProbs(moved, values, tokens, hidden, vocab, temperature).logProbs;
        };
        const [high, low] = [part(1), part(-1)];
        for (let t = 0; t < count; t++) slope[t * hidden + i] = (coefficients[t] * (high[t] - low[t])) / 2e-5;
      }

      const { lse } = logProbs(h, values, tokens, hidden, vocab, temperature);
      const scores = Float32Array.from({ length: count * 4 }, (_, i) => (i % 4 === 2 ? lse[i >> 2] : 0));
      const targets = Uint32Array.from({ length: count * 2 }, (_, i) => (i % 2 ? tokens[i >> 1] : 0));
      const dh = gpu.buffer('dh', count * hidden * 4);
      const dz = gpu.buffer('dz', count * chunk * 4);
      gpu.submit('head', (pass) =>
        headBackward(gpu, pass, {
          h: gpu.upload('h', h),
          head: matrix,
          targets: gpu.upload('targets', targets),
          scores: gpu.upload('scores', scores),
          coefficients: gpu.upload('coefficients', coefficients),
          dz,
          dh,
          count,
          temperature,
          chunk,
        }),
      );
      expect(relativeError(await floats(dh, count * hidden), slope)).toBeLessThan(2e-5);
    });
  }

  it('cuts the vocabulary in powers of two so that a chunk of logits stays small', () => {
    expect(vocabularyChunk(5000, 512)).toBe(512);
    expect(vocabularyChunk(2000, 49280)).toBe(2048);
    expect(vocabularyChunk(10 ** 6, 49280)).toBe(64);
    expect(vocabularyChunk(0, 37)).toBe(37);
  });

  it('gathers the targets of each row', async () => {
    const [rows, hidden, targets] = [5, 70, [3, 0, 3, 4, 3]];
    const d = randoms(1, targets.length * hidden);
    const rowTargets = Uint32Array.from([0, 1, 1, 1, 4, 5, /* sorted */ 1, 0, 2, 4, 3]);
    const dRow = gpu.upload('dRow', randoms(2, rows * hidden));
    gpu.submit('gather', (pass) =>
      gatherTargets(gpu, pass, { dTarget: gpu.upload('d', d), rowTargets: gpu.upload('rowTargets', rowTargets), dRow, rows, hidden }),
    );
    const expected = new Float64Array(rows * hidden);
    targets.forEach((row, t) => {
      for (let i = 0; i < hidden; i++) expected[row * hidden + i] += d[t * hidden + i];
    });
    expect(relativeError(await floats(dRow, rows * hidden), expected)).toBeLessThan(1e-6);
  });
});

describe('RMSNorm and SwiGLU backward', () => {
  for (const [rows, hidden] of [
    [1, 20],
    [5, 37],
    [67, 20],
  ]) {
    it(`RMSNorm, ${rows} rows of ${hidden}`, async () => {
      const eps = 1e-3;
      const [x, gain, dn, d0] = [randoms(1, rows * hidden), randoms(2, hidden), randoms(3, rows * hidden), randoms(4, rows * hidden)];
      const at = Float64Array.from(x);
      const slope = finiteDifferences(() => rmsnorm(at, gain, rows, hidden, eps).reduce((sum, n, i) => sum + n * dn[i], 0), at);
      const [d, n] = [gpu.upload('d', d0), gpu.buffer('n', rows * hidden * 4)];
      const o = { x: gpu.upload('x', x), gain: gpu.upload('gain', gain), dn: gpu.upload('dn', dn), d, n, rows, hidden, eps };
      gpu.submit('rmsnorm', (pass) => rmsnormBackward(gpu, pass, { ...o, accumulate: true }));
      expect(
        relativeError(
          await floats(d, rows * hidden),
          slope.map((s, i) => s + d0[i]),
        ),
      ).toBeLessThan(1e-5);
      expect(relativeError(await floats(n, rows * hidden), rmsnorm(x, gain, rows, hidden, eps))).toBeLessThan(1e-6);
      gpu.submit('rmsnorm', (pass) => rmsnormBackward(gpu, pass, { ...o, accumulate: false }));
      expect(relativeError(await floats(d, rows * hidden), slope)).toBeLessThan(1e-5);
    });
  }

  it('a row of zeros has a finite gradient', async () => {
    const d = gpu.buffer('d', 80);
    gpu.submit('rmsnorm', (pass) =>
      rmsnormBackward(gpu, pass, {
        x: gpu.buffer('x', 80),
        gain: gpu.upload('gain', randoms(2, 20)),
        dn: gpu.upload('dn', randoms(3, 20)),
        d,
        n: gpu.buffer('n', 80),
        rows: 1,
        hidden: 20,
        eps: 1e-5,
        accumulate: false,
      }),
    );
    expect((await floats(d, 20)).every(Number.isFinite)).toBe(true);
  });

  for (const [rows, width] of [
    [1, 37],
    [67, 70],
  ]) {
    it(`SwiGLU, ${rows} rows of ${width}`, async () => {
      const [gateUp, ds] = [randoms(1, rows * 2 * width, 4), randoms(2, rows * width)];
      const at = Float64Array.from(gateUp);
      const slope = new Float64Array(at.length);
      // every element of s has its own gate and up: two sweeps differentiate all
      for (const side of [0, 1]) {
        const part = (sign: number): Float64Array =>
          swiglu(
            at.map((v, i) => (Math.floor(i / width) % 2 === side ? v + sign * 1e-5 : v)),
            rows,
            width,
          );
        const [high, low] = [part(1), part(-1)];
        for (let i = 0; i < rows * width; i++)
          slope[Math.floor(i / width) * 2 * width + side * width + (i % width)] = (ds[i] * (high[i] - low[i])) / 2e-5;
      }
      const [dsBuffer, dGateUp] = [gpu.upload('ds', ds), gpu.buffer('dGateUp', rows * 2 * width * 4)];
      gpu.submit('swiglu', (pass) =>
        swigluBackward(gpu, pass, { gateUp: gpu.upload('gateUp', gateUp), ds: dsBuffer, dGateUp, rows, width }),
      );
      expect(relativeError(await floats(dGateUp, rows * 2 * width), slope)).toBeLessThan(1e-5);
      expect(relativeError(await floats(dsBuffer, rows * width), swiglu(gateUp, rows, width))).toBeLessThan(1e-5);
    });
  }

  it('SwiGLU of gates far out is finite', async () => {
    const gateUp = Float32Array.from([-1e4, -200, -90, 90, 1e4, 1, 1, 1, 1, 1]);
    const dGateUp = gpu.buffer('dGateUp', 40);
    gpu.submit('swiglu', (pass) =>
      swigluBackward(gpu, pass, {
        gateUp: gpu.upload('gateUp', gateUp),
        ds: gpu.upload('ds', new Float32Array(5).fill(1)),
        dGateUp,
        rows: 1,
        width: 5,
      }),
    );
    const d = await floats(dGateUp, 10);
    expect(d.every(Number.isFinite)).toBe(true);
    expect([d[0], d[3], d[4], d[9]].map((v) => Math.abs(Math.round(v)))).toEqual([0, 1, 1, 1e4]);
  });
});
