/** @file AdamW and the gradient norm against torch's formulas in float64. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { randoms, relativeError } from '../../tests/reference/backward.ts';
import { TINY } from '../../tests/reference/tiny.ts';
import { Gpu } from '../engine/gpu.ts';
import { gradNorm, NORM_SUMS } from '../engine/ops/optimizer.ts';
import { AdamW } from './adamw.ts';
import { Lora } from './lora.ts';

let gpu: Gpu;
beforeAll(async () => {
  gpu = await Gpu.open();
});
afterAll(() => gpu.destroy());

async function norm(gradient: Float32Array): Promise<number> {
  const out = gpu.buffer('norm', 4);
  const o = { gradient: gpu.upload('gradient', gradient), sums: gpu.buffer('sums', NORM_SUMS * 4), norm: out, count: gradient.length };
  gpu.submit('norm', (pass) => gradNorm(gpu, pass, o));
  const [bytes] = await gpu.read({ buffer: out, bytes: 4 });
  return new Float32Array(bytes)[0];
}

describe('gradNorm', () => {
  for (const count of [1, 255, 257, 100003]) {
    test(`of ${count} numbers`, async () => {
      const gradient = randoms(count, count, 3);
      const expected = Math.sqrt(gradient.reduce((sum, g) => sum + g * g, 0));
      expect(Math.abs((await norm(gradient)) / expected - 1)).toBeLessThan(1e-6);
    });
  }

  test('is zero for zeros, and not finite if one number is not', async () => {
    expect(await norm(new Float32Array(300))).toBe(0);
    for (const bad of [NaN, Infinity, -Infinity, 3e38]) {
      const gradient = randoms(1, 70000);
      gradient[69999] = bad;
      expect(Number.isFinite(await norm(gradient))).toBe(false);
    }
  });
});

describe('AdamW', () => {
  const settings = { learningRate: 1e-2, beta1: 0.8, beta2: 0.95, epsilon: 1e-6, weightDecay: 0.1, maxGradNorm: 5 };

  test('follows torch over several steps, clipped and not', async () => {
    const lora = new Lora(gpu, TINY, { rank: 3, alpha: 6, seed: 1 });
    const adamw = new AdamW(gpu, lora);
    const { total } = lora.layout;
    const start = await adamw.read();
    const params = Float64Array.from(start.params);
    const m = new Float64Array(total);
    const v = new Float64Array(total);
    for (let step = 1; step <= 6; step++) {
      // long and short gradients in turn: the norm is about scale · √(total / 3)
      const gradient = randoms(step, total, step % 2 ? 1 : 0.01);
      gpu.write(lora.gradient, gradient);
      const { gradNorm: length, gradScale } = await adamw.update(settings);
      const expected = Math.sqrt(gradient.reduce((sum, g) => sum + g * g, 0));
      const scale = Math.min(1, settings.maxGradNorm / (expected + 1e-6));
      expect(Math.abs(length / expected - 1)).toBeLessThan(1e-6);
      expect(Math.abs(gradScale / scale - 1)).toBeLessThan(1e-6);
      expect(scale < 1).toBe(step % 2 === 1);
      for (let i = 0; i < total; i++) {
        const g = gradient[i] * scale;
        params[i] *= 1 - settings.learningRate * settings.weightDecay;
        m[i] += (g - m[i]) * (1 - settings.beta1);
        v[i] = v[i] * settings.beta2 + (1 - settings.beta2) * g * g;
        const denominator = Math.sqrt(v[i]) / Math.sqrt(1 - settings.beta2 ** step) + settings.epsilon;
        params[i] -= (settings.learningRate / (1 - settings.beta1 ** step)) * (m[i] / denominator);
      }
      const got = await adamw.read();
      expect(got.step).toBe(step);
      expect(relativeError(got.params, params)).toBeLessThan(1e-6);
      expect(relativeError(got.m, m)).toBeLessThan(1e-6);
      expect(relativeError(got.v, v)).toBeLessThan(1e-6);
    }
    adamw.destroy();
    lora.destroy();
  });

  test('leaves zeros with a zero gradient at zero, so the gaps of the layout stay empty', async () => {
    const lora = new Lora(gpu, TINY, { rank: 3, alpha: 6, seed: 1 });
    const adamw = new AdamW(gpu, lora);
    lora.zeroGradient();
    const before = await adamw.read();
    await adamw.update({ ...settings, weightDecay: 0 });
    expect([...(await adamw.read()).params]).toEqual([...before.params]);
    adamw.destroy();
    lora.destroy();
  });

  for (const bad of [NaN, Infinity]) {
    test(`changes nothing when the gradient holds ${bad}, and says so`, async () => {
      const lora = new Lora(gpu, TINY, { rank: 3, alpha: 6, seed: 1 });
      const adamw = new AdamW(gpu, lora);
      gpu.write(lora.gradient, randoms(1, lora.layout.total));
      await adamw.update(settings);
      const before = await adamw.read();
      const gradient = randoms(2, lora.layout.total);
      gradient[lora.layout.total - 1] = bad;
      gpu.write(lora.gradient, gradient);
      let kind = '';
      try {
        await adamw.update(settings);
      } catch (error) {
        ({ kind } = error as { kind: string });
      }
      expect(kind).toBe('not-finite');
      const after = await adamw.read();
      expect(after.step).toBe(1);
      for (const part of ['params', 'm', 'v'] as const) expect([...after[part]]).toEqual([...before[part]]);
      // and the state goes on from there
      gpu.write(lora.gradient, randoms(3, lora.layout.total));
      await adamw.update(settings);
      expect(adamw.step).toBe(2);
      adamw.destroy();
      lora.destroy();
    });
  }

  test('writes a state back, and refuses one of another layout', async () => {
    const lora = new Lora(gpu, TINY, { rank: 3, alpha: 6, seed: 1 });
    const adamw = new AdamW(gpu, lora);
    gpu.write(lora.gradient, randoms(1, lora.layout.total));
    await adamw.update(settings);
    const state = await adamw.read();
    await adamw.update(settings);
    const next = await adamw.read();
    adamw.write(state);
    await adamw.update(settings);
    expect(adamw.step).toBe(2);
    for (const part of ['params', 'm', 'v'] as const) expect([...(await adamw.read())[part]]).toEqual([...next[part]]);
    expect(() => adamw.write({ ...state, m: new Float32Array(3) })).toThrow('rank or model differ');
    adamw.destroy();
    lora.destroy();
  });
});
