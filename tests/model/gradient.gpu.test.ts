/**
 * @file One Share-GRPO question (m = 2 prompts, n = 3, every response under both) on pico with a random adapter, against PEFT and
 * autograd: log-probs, logits, and the gradient of Σ coefficient · log π with respect to every A and B.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Gpu } from '../../src/engine/gpu.ts';
import { loraLayout } from '../../src/model/lora.ts';
import { adapterSlices, readAdapterWeights, writeAdapterFiles } from '../../src/model/peft.ts';
import type { AdapterFiles, Policy, ScoreGroup } from '../../src/model/policy.ts';
import { writeSafetensors } from '../../src/model/safetensors.ts';
import reference from '../fixtures/gradient.json';
import questions from '../fixtures/questions.json';
import { floats, logSoftmax, maxDifference, mirrored, noise, pictureOf, relative } from './fixtures.ts';
import { openPico } from './pico.ts';

const { rank, alpha, temperature } = reference;
const shape = { layers: 4, hidden: 128, heads: 4, kvHeads: 2, headDim: 32, intermediate: 352, vocab: 512, ropeTheta: 10000, rmsEps: 1e-5 };
const layout = loraLayout(shape, rank);
const responses = reference.responses.map((r) => Int32Array.from(r));
const count = responses.reduce((sum, r) => sum + r.length, 0);
const coefficients = noise(2 * count, reference.coefficientSeed, reference.coefficientScale);

/** The coefficients of response r under prompt g. */
function coefficientsOf(g: number, r: number): Float32Array {
  const start = g * count + responses.slice(0, r).reduce((sum, x) => sum + x.length, 0);
  return coefficients.slice(start, start + (responses[r]?.length ?? 0));
}

/** The same noise that the reference filled PEFT's modules with. */
function adapter(): AdapterFiles {
  const tensors = reference.names.map(({ name, shape: size }, i) => ({
    name,
    shape: size,
    data: noise(
      size.reduce((a, b) => a * b),
      reference.seed + i,
      reference.scale,
    ),
  }));
  const config = writeAdapterFiles({ layout, params: new Float32Array(layout.total), alpha, baseModel: 'pico' })['adapter_config.json'];
  return { 'adapter_config.json': config, 'adapter_model.safetensors': writeSafetensors(tensors) };
}

/** The reference gradient in the layout of lora.ts. */
function wantedGradient(): Float32Array {
  const flat = floats(reference.gradient);
  const offsets = new Map(adapterSlices(layout).map((s) => [s.key, s.offset]));
  const out = new Float32Array(layout.total);
  let at = 0;
  for (const { name, shape: size } of reference.names) {
    const length = size.reduce((a, b) => a * b);
    out.set(flat.subarray(at, at + length), offsets.get(name));
    at += length;
  }
  return out;
}

let gpu: Gpu;
let policy: Policy;
let groups: ScoreGroup[];
beforeAll(async () => {
  gpu = await Gpu.open();
  policy = await openPico(gpu, { rank: 2, alpha: 1, seed: 5 });
  policy.importAdapter(adapter());
  const picture = await pictureOf(questions[1]);
  const images = await policy.encodeImages([picture, mirrored(picture)]);
  groups = reference.texts.map((text, k) => ({ prompt: policy.prompt({ text, image: images[k] }), responses }));
});
afterAll(() => {
  policy.destroy();
  gpu.destroy();
});

async function gradientOf(some: readonly ScoreGroup[], of: (g: number, r: number) => Float32Array): Promise<Float32Array> {
  policy.zeroGradient();
  await policy.accumulateGradient({ groups: some, temperature, coefficients: of });
  return policy.readGradient();
}

describe('pico with an adapter against PEFT', () => {
  test('the batch is the reference’s', () => {
    groups.forEach((g, k) => expect([...g.prompt.ids]).toEqual(reference.ids[k]));
    expect(policy.info.loraParameters).toBe(reference.names.reduce((sum, n) => sum + n.shape.reduce((a, b) => a * b), 0));
  });

  test('log-probs of every response under both prompts, and logits', async () => {
    const scores = await policy.score({ groups, temperature, adapter: true });
    const got = scores.flatMap((g) => g.flatMap((s) => [...s.logProbs]));
    expect(maxDifference(got, floats(reference.logProbs))).toBeLessThan(1e-3);
    const all = Array.from({ length: 512 }, (_, token) => Int32Array.of(token));
    const [row] = await policy.score({ groups: [{ prompt: groups[0].prompt, responses: all }], temperature: 1, adapter: true });
    expect(
      maxDifference(
        row.map((s) => s.logProbs[0]),
        logSoftmax(floats(reference.logits)),
      ),
    ).toBeLessThan(1e-3);
  });

  test('the gradient of the whole batch, in total and tensor by tensor', async () => {
    const got = await gradientOf(groups, coefficientsOf);
    const want = wantedGradient();
    expect(relative(got, want)).toBeLessThan(1e-3);
    for (const { shape: size, offset } of adapterSlices(layout)) {
      const end = offset + size[0] * size[1];
      expect(relative(got.subarray(offset, end), want.subarray(offset, end))).toBeLessThan(1e-3);
    }
    expect(Math.abs(Math.hypot(...got) / reference.gradNorm - 1)).toBeLessThan(1e-3);
  });

  test('shared prefixes equal the naive batch: every row with a prompt of its own, empty responses or not', async () => {
    const shared = await gradientOf(
      groups.map((g) => ({ ...g, responses: [...g.responses, new Int32Array()] })),
      coefficientsOf,
    );
    const naive = groups.flatMap((g) => g.responses.map((r) => ({ prompt: g.prompt, responses: [r] })));
    const apart = await gradientOf(naive, (i) => coefficientsOf(Math.floor(i / responses.length), i % responses.length));
    expect(relative(shared, apart)).toBeLessThan(1e-4);
    const together = (await policy.score({ groups, temperature, adapter: true })).flat();
    const single = (await policy.score({ groups: naive, temperature, adapter: true })).flat();
    expect(Math.max(...together.map((s, i) => maxDifference(s.logProbs, single[i].logProbs)))).toBeLessThan(1e-4);
  });

  test('the adapter survives export and import, and is off where it is not asked for', async () => {
    const files = await policy.exportAdapter();
    expect(readAdapterWeights(files['adapter_model.safetensors'], layout)).toEqual((await policy.readAdapter()).params);
    const [before] = await policy.score({ groups: groups.slice(0, 1), temperature, adapter: true });
    policy.resetAdapter({ rank: 5, alpha: 10, seed: 1 });
    const [fresh] = await policy.score({ groups: groups.slice(0, 1), temperature, adapter: true });
    const [base] = await policy.score({ groups: groups.slice(0, 1), temperature, adapter: false });
    expect(maxDifference(fresh[2].logProbs, base[2].logProbs)).toBeLessThan(1e-6);
    policy.importAdapter(files);
    const [after] = await policy.score({ groups: groups.slice(0, 1), temperature, adapter: true });
    expect(after[2].logProbs).toEqual(before[2].logProbs);
    expect(maxDifference(after[2].logProbs, base[2].logProbs)).toBeGreaterThan(1e-2);
  });
});
