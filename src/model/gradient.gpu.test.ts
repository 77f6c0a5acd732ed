/**
 * @file The whole gradient of a tiny random model with shared prefixes and unequal responses, against finite differences of the
 * float64 decoder; and that neither chunks, nor recomputed activations, nor sharing changes it.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decoderLogProbs, randoms, relativeError, type ReferenceLora } from '../../tests/reference/backward.ts';
import { TINY, tinyModel } from '../../tests/reference/tiny.ts';
import { Gpu } from '../engine/gpu.ts';
import { Decoder } from './decoder.ts';
import { accumulateGradient, Backward } from './gradient.ts';
import { Lora, type LoraLayout } from './lora.ts';
import { planScoring } from './plan.ts';
import type { ScoreGroup } from './types.ts';
import { uploadDecoder } from './weights.ts';

const tiny = tinyModel({ seed: 1, dtype: 'BF16', tied: true });
const TEMPERATURE = 0.8;

let gpu: Gpu;
let decoder: Decoder;
beforeAll(async () => {
  gpu = await Gpu.open();
  decoder = new Decoder(gpu, TINY, uploadDecoder(gpu, TINY, tiny.tensors, true));
});
afterAll(() => gpu.destroy());

const ids = (seed: number, length: number): Int32Array =>
  Int32Array.from(randoms(seed, length), (x) => Math.floor(Math.abs(x) * TINY.vocab));
const group = (seed: number, prompt: number, ...responses: number[]): ScoreGroup => ({
  prompt: { ids: ids(seed, prompt), images: [] },
  responses: responses.map((length, r) => ids(seed + r + 1, length)),
});
const GROUPS = [group(10, 7, 5, 1, 0, 12), group(20, 1, 3), group(30, 33), group(40, 2, 9, 2)];

/** An adapter with random A and B (zero in the gaps), and the float64 decoder's view of the same numbers. */
function randomLora(rank: number, alpha: number): { lora: Lora; params: Float64Array; reference: ReferenceLora } {
  const lora = new Lora(gpu, TINY, { rank, alpha, seed: 1 });
  const { layout } = lora;
  const values = Float32Array.from(randoms(99, layout.total, 0.4), (x, i) => (inBlock(layout, i) ? x : 0));
  gpu.write(lora.params, values);
  const params = Float64Array.from(values);
  const reference: ReferenceLora = (layer, name) => {
    const b = lora.block(layer, name);
    const a = params.subarray(b.aOffset, b.aOffset + b.modules.length * rank * b.in);
    return {
      a,
      b: params.subarray(b.bOffset, b.bOffset + b.sumOut * rank),
      rank,
      scale: alpha / rank,
      starts: b.modules.map((m) => m.outOffset),
    };
  };
  return { lora, params, reference };
}

const inBlock = (layout: LoraLayout, i: number): boolean =>
  layout.blocks.some(
    (b) =>
      (i >= b.aOffset && i < b.aOffset + b.modules.length * layout.rank * b.in) ||
      (i >= b.bOffset && i < b.bOffset + b.sumOut * layout.rank),
  );

/** Coefficients that depend on nothing but the place, so that the loss is linear in the log-probs. */
const coefficientsOf =
  (groups: readonly ScoreGroup[]) =>
  (g: number, r: number): Float32Array =>
    randoms(1000 + groups[g].prompt.ids.length * 10 + groups[g].responses[r].length, groups[g].responses[r].length);

async function gradientOf(
  lora: Lora,
  groups: readonly ScoreGroup[],
  o: { chunkRows?: number; mostBytes?: number } = {},
): Promise<Float32Array> {
  const backward = new Backward(decoder, lora);
  lora.zeroGradient();
  if (o.mostBytes === undefined) {
    await accumulateGradient(decoder, backward, lora, { groups, temperature: TEMPERATURE, coefficients: coefficientsOf(groups), ...o });
  } else {
    const plan = planScoring(groups);
    const coefficients = Float32Array.from(
      groups.flatMap(({ responses }, g) => responses.flatMap((_, r) => [...coefficientsOf(groups)(g, r)])),
    );
    backward.run(decoder.forward(plan, { lora, temperature: TEMPERATURE, save: true, mostBytes: o.mostBytes }), coefficients, TEMPERATURE);
  }
  const gradient = await lora.readGradient();
  backward.destroy();
  return gradient;
}

describe('accumulateGradient', () => {
  test('equals finite differences of the float64 decoder in every block', async () => {
    const rank = 3;
    const { lora, params, reference } = randomLora(rank, 4.5);
    const gradient = await gradientOf(lora, GROUPS);
    const plan = planScoring(GROUPS);
    const weights = GROUPS.flatMap(({ responses }, g) => responses.flatMap((_, r) => [...coefficientsOf(GROUPS)(g, r)]));
    const loss = (): number =>
      decoderLogProbs(tiny.reference, reference, plan.rows, plan.targets, TEMPERATURE).reduce((sum, lp, t) => sum + weights[t] * lp, 0);
    const slopeAlong = (direction: (i: number) => number): number => {
      const base = params.slice();
      const at = (sign: number): number => {
        for (let i = 0; i < params.length; i++) params[i] = base[i] + sign * 1e-5 * direction(i);
        return loss();
      };
      const slope = (at(1) - at(-1)) / 2e-5;
      params.set(base);
      return slope;
    };
    const size = Math.sqrt(gradient.reduce((sum, g) => sum + g * g, 0) / lora.layout.parameters);
    expect(size).toBeGreaterThan(0.01);
    // single parameters, spread over every block
    for (const b of lora.layout.blocks) {
      const blockEnd = b.bOffset + b.sumOut * rank;
      const picks = [
        b.aOffset,
        b.aOffset + b.in + 1,
        b.aOffset + b.modules.length * rank * b.in - 1,
        b.bOffset,
        b.bOffset + rank + 2,
        blockEnd - 1,
      ];
      for (const pick of picks) expect(Math.abs(gradient[pick] - slopeAlong((i) => (i === pick ? 1 : 0)))).toBeLessThan(1e-3 * size + 2e-5);
    }
    // and all of them at once, along random directions within each block's A and B
    for (const [n, b] of lora.layout.blocks.entries()) {
      const aEnd = b.aOffset + b.modules.length * rank * b.in;
      for (const [start, end] of [
        [b.aOffset, aEnd],
        [b.bOffset, b.bOffset + b.sumOut * rank],
      ]) {
        const direction = randoms(500 + n, end - start);
        const slope = slopeAlong((i) => (i >= start && i < end ? direction[i - start] : 0));
        const sum = direction.reduce((total, x, i) => total + x * gradient[start + i], 0);
        expect(Math.abs(sum - slope)).toBeLessThan(1e-4 * size * Math.sqrt(end - start) + 1e-5);
      }
    }
    // the gaps between the blocks have no gradient
    expect(gradient.every((g, i) => g === 0 || inBlock(lora.layout, i))).toBe(true);
    lora.destroy();
  }, 240_000);

  test('does not depend on chunks, on recomputing the layers, or on sharing the prefix', async () => {
    const { lora } = randomLora(5, 2);
    const whole = await gradientOf(lora, GROUPS);
    expect(relativeError(await gradientOf(lora, GROUPS, { chunkRows: 10 }), whole)).toBeLessThan(1e-5);
    expect(relativeError(await gradientOf(lora, GROUPS, { mostBytes: 0 }), whole)).toBe(0);
    // every response under a prefix of its own
    const naive = GROUPS.flatMap(({ prompt, responses }) => responses.map((r) => ({ prompt, responses: [r] })));
    expect(relativeError(await gradientOf(lora, naive), whole)).toBeLessThan(1e-5);
    lora.destroy();
  }, 240_000);

  test('of a fresh adapter reaches B and not A', async () => {
    const lora = new Lora(gpu, TINY, { rank: 2, alpha: 4, seed: 3 });
    const gradient = await gradientOf(lora, GROUPS);
    for (const b of lora.layout.blocks) {
      expect(gradient.subarray(b.aOffset, b.bOffset).every((g) => g === 0)).toBe(true);
      expect(gradient.subarray(b.bOffset, b.bOffset + b.sumOut * 2).some((g) => g !== 0)).toBe(true);
    }
    lora.destroy();
  });

  test('adds up, and coefficients of zero, empty responses and no groups add nothing', async () => {
    const { lora } = randomLora(1, 1);
    const once = await gradientOf(lora, GROUPS);
    const backward = new Backward(decoder, lora);
    const accumulate = (groups: readonly ScoreGroup[], coefficients: (g: number, r: number) => Float32Array): Promise<void> =>
      accumulateGradient(decoder, backward, lora, { groups, temperature: TEMPERATURE, coefficients });
    await accumulate(GROUPS, coefficientsOf(GROUPS));
    await accumulate(GROUPS, (g, r) => new Float32Array(GROUPS[g].responses[r].length));
    await accumulate([group(30, 33), group(31, 2, 0)], () => new Float32Array(0));
    await accumulate([], () => new Float32Array(0));
    expect(
      relativeError(
        await lora.readGradient(),
        once.map((g) => 2 * g),
      ),
    ).toBeLessThan(1e-6);
    backward.destroy();
    lora.destroy();
  });

  test('gives the scores of the forward to the caller, who must answer token by token with numbers', async () => {
    const { lora } = randomLora(1, 1);
    const backward = new Backward(decoder, lora);
    const lengths: number[][] = [];
    const run = (coefficients: (scores: { logProbs: Float32Array }) => Float32Array): Promise<void> =>
      accumulateGradient(decoder, backward, lora, {
        groups: GROUPS,
        temperature: TEMPERATURE,
        chunkRows: 10,
        coefficients: (g, r, scores) => {
          lengths.push([g, r, scores.logProbs.length]);
          return coefficients(scores);
        },
      });
    await run((scores) => new Float32Array(scores.logProbs.length));
    expect(lengths).toEqual(GROUPS.flatMap(({ responses }, g) => responses.map((response, r) => [g, r, response.length])));
    await expect(run(() => new Float32Array(2))).rejects.toThrow('coefficients');
    await expect(run((scores) => scores.logProbs.map(() => NaN))).rejects.toThrow('not a number');
    backward.destroy();
    lora.destroy();
  });
});
