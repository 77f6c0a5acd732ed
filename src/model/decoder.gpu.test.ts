/**
 * @file The whole forward on a tiny random model: scores against the naive float64 forward of every sequence on its own, the
 * shared prefix against naive batches, sampling against softmax, seeds, compaction.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { relativeError, randoms } from '../../tests/reference/backward.ts';
import { logSoftmax, naiveLogits, naiveScores, TINY, tinyLora, tinyModel } from '../../tests/reference/tiny.ts';
import { Gpu } from '../engine/gpu.ts';
import { Submitter } from '../engine/submitter.ts';
import { Decoder, type LoraSource } from './decoder.ts';
import { planScoring } from './plan.ts';
import { sample, type SamplerOptions } from './sampler.ts';
import { score } from './scorer.ts';
import type { ImageFeatures, Prompt, RowScores, ScoreGroup } from './types.ts';
import { uploadDecoder } from './weights.ts';

const tiny = tinyModel({ seed: 1, dtype: 'BF16', tied: false });
const adapter = tinyLora(TINY, 3, 7);
const EOS = 36;

let gpu: Gpu;
let decoder: Decoder;
let lora: LoraSource;
beforeAll(async () => {
  gpu = await Gpu.open();
  decoder = new Decoder(gpu, TINY, uploadDecoder(gpu, TINY, tiny.tensors, false));
  lora = adapter.source(gpu);
});
afterAll(() => gpu.destroy());

const ids = (seed: number, length: number): Int32Array =>
  Int32Array.from(randoms(seed, length), (x) => Math.floor(Math.abs(x) * (TINY.vocab - 1)));
const text = (seed: number, length: number): Prompt => ({ ids: ids(seed, length), images: [] });
const group = (prompt: Prompt, ...responses: Int32Array[]): ScoreGroup => ({ prompt, responses });

/** The largest difference of log-probs and entropies. */
function difference(
  a: readonly (readonly RowScores[])[],
  b: readonly (readonly { logProbs: ArrayLike<number>; entropies: ArrayLike<number> }[])[],
): number {
  let worst = 0;
  a.forEach((rows, g) =>
    rows.forEach((row, r) => {
      expect(row.logProbs.length).toBe(b[g][r].logProbs.length);
      for (const name of ['logProbs', 'entropies'] as const)
        row[name].forEach((x, t) => (worst = Math.max(worst, Math.abs(x - b[g][r][name][t]))));
    }),
  );
  return worst;
}

const GROUPS = [
  group(text(1, 19), ids(2, 12), ids(3, 1), new Int32Array(0), ids(4, 40)),
  group(text(5, 1), ids(6, 3)),
  group(text(7, 33)),
  group(text(8, 2), ids(9, 5), ids(10, 2)),
];

describe('score', () => {
  test('equals the naive float64 forward of each sequence, with the adapter', async () => {
    const got = await score(decoder, { groups: GROUPS, temperature: 0.8, lora });
    const expected = GROUPS.map(({ prompt, responses }) =>
      responses.map((r) => naiveScores(tiny.reference, adapter.reference, prompt.ids, r, 0.8)),
    );
    expect(difference(got, expected)).toBeLessThan(1e-4);
  });

  test('equals it without the adapter', async () => {
    const got = await score(decoder, { groups: GROUPS, temperature: 1, lora: null });
    const expected = GROUPS.map(({ prompt, responses }) => responses.map((r) => naiveScores(tiny.reference, null, prompt.ids, r, 1)));
    expect(difference(got, expected)).toBeLessThan(1e-4);
  });

  test('does not depend on sharing the prefix, nor on chunks', async () => {
    const shared = await score(decoder, { groups: GROUPS, temperature: 1, lora });
    const naive = await score(decoder, {
      groups: GROUPS.flatMap(({ prompt, responses }) => responses.map((r) => group(prompt, r))),
      temperature: 1,
      lora,
    });
    expect(difference([shared.flat()], [naive.flat()])).toBeLessThan(1e-4);
    const chunked = await score(decoder, { groups: GROUPS, temperature: 1, lora, chunkRows: 20 });
    expect(difference(chunked, shared)).toBeLessThan(1e-4);
  });

  test('reads images from several buffers', async () => {
    const images = [3, 5].map((tokens, i) => ({ values: randoms(20 + i, tokens * TINY.hidden), tokens, offsetRows: 2 * i }));
    const features = images.map(({ values, tokens, offsetRows }): ImageFeatures => {
      const buffer = gpu.buffer('features', (offsetRows + tokens) * TINY.hidden * 4);
      gpu.write(buffer, values, offsetRows * TINY.hidden * 4);
      return { buffer, offsetRows, tokens, release: () => buffer.destroy() };
    });
    const placed = [
      [[1, 2]],
      [[0, 3]],
      [
        [1, 0],
        [0, 5],
        [1, 9],
      ], // several in one prompt, one of them twice
    ].map((places) => places.map(([i, start]) => ({ i, start })));
    const groups = placed.map((images, g) =>
      group({ ids: ids(30 + g, 15), images: images.map(({ i, start }) => ({ features: features[i], start })) }, ids(40 + g, 6)),
    );
    const got = await score(decoder, { groups, temperature: 1, lora });
    const expected = groups.map(({ prompt, responses }, g) => {
      const shown = placed[g].map(({ i, start }) => ({ features: images[i].values, start }));
      return responses.map((r) => naiveScores(tiny.reference, adapter.reference, prompt.ids, r, 1, shown));
    });
    expect(difference(got, expected)).toBeLessThan(1e-4);
    for (const f of features) f.release();
  });

  test('runs f32 weights with a tied head', async () => {
    const model = tinyModel({ seed: 2, dtype: 'F32', tied: true });
    const tied = new Decoder(gpu, TINY, uploadDecoder(gpu, TINY, model.tensors, true));
    const got = await score(tied, { groups: GROUPS, temperature: 1, lora });
    const expected = GROUPS.map(({ prompt, responses }) =>
      responses.map((r) => naiveScores(model.reference, adapter.reference, prompt.ids, r, 1)),
    );
    expect(difference(got, expected)).toBeLessThan(1e-4);
    tied.destroy();
  });

  test('names a number that is not one', async () => {
    const broken = tinyModel({ seed: 3, dtype: 'F32', tied: true });
    new Float32Array(broken.tensors.get('model.text_model.norm.weight')?.data.buffer as ArrayBuffer)[0] = NaN;
    const bad = new Decoder(gpu, TINY, uploadDecoder(gpu, TINY, broken.tensors, true));
    await expect(score(bad, { groups: GROUPS, temperature: 1, lora: null })).rejects.toThrow('not a number');
    bad.destroy();
  });
});

test('batches of sizes seen before create nothing on the device', async () => {
  const both = async (): Promise<unknown> => [
    await score(decoder, { groups: GROUPS, temperature: 1, lora }),
    await sample(decoder, options({ maxTokens: 3 })),
  ];
  const first = await both();
  await both(); // the first may have outgrown buffers half-way
  const { buffers, pipelines, bindGroups } = gpu.counters;
  expect(await both()).toEqual(first);
  expect([gpu.counters.buffers, gpu.counters.pipelines, gpu.counters.bindGroups]).toEqual([buffers, pipelines, bindGroups]);
});

test('a layer that was not kept is restored to what it was', async () => {
  const plan = planScoring(GROUPS);
  const size = 8 * TINY.hidden * 4;
  const kept = decoder.forward(plan, { lora, temperature: 1, save: true });
  expect(kept.checkpointed).toBe(false);
  const names = ['q', 'k', 'v', 'attention', 'mid', 'gateUp'] as const;
  const read = async (a: typeof kept): Promise<Float32Array[]> => {
    const layer = a.layers[0];
    const bytes = await gpu.read(
      ...[...names.map((n) => layer[n]), layer.xa.qkv, layer.xa.down].map((buffer) => ({ buffer, bytes: Math.min(size, buffer.size) })),
    );
    return bytes.map((b) => new Float32Array(b));
  };
  const before = await read(kept);
  const lean = decoder.forward(plan, { lora, temperature: 1, save: true, mostBytes: 0 });
  expect(lean.checkpointed).toBe(true);
  const submitter = new Submitter(gpu, 'restore');
  decoder.restore(submitter, lean, 0);
  submitter.finish();
  const after = await read(lean);
  before.forEach((values, i) => expect(relativeError(after[i], values)).toBe(0));
});

const options = (o: Partial<SamplerOptions>): SamplerOptions => ({
  prompts: [text(1, 19), text(5, 1)],
  n: 3,
  maxTokens: 21,
  temperature: 1,
  topP: 1,
  seed: 5,
  step: 2,
  lora,
  eos: EOS,
  ...o,
});

describe('sample', () => {
  test('gives log-probs and entropies that scoring gives too', async () => {
    const o = options({ temperature: 0.9 });
    const responses = await sample(decoder, o);
    expect(responses.map((r) => r.length)).toEqual([3, 3]);
    const groups = o.prompts.map((p, i) => group(p, ...responses[i].map((r) => r.tokens)));
    expect(difference(await score(decoder, { groups, temperature: 0.9, lora }), responses)).toBeLessThan(1e-4);
    for (const r of responses.flat()) {
      expect(r.finish).toBe(r.tokens.at(-1) === EOS ? 'stop' : 'length');
      expect(r.tokens.indexOf(EOS)).toBe(r.finish === 'stop' ? r.tokens.length - 1 : -1);
      if (r.finish === 'length') expect(r.tokens.length).toBe(21);
    }
  });

  test('follows the seed, the step, and not the batch', async () => {
    const tokens = async (o: Partial<SamplerOptions>): Promise<number[][]> =>
      (await sample(decoder, options(o))).flat().map((r) => [...r.tokens]);
    const first = await tokens({});
    expect(await tokens({})).toEqual(first);
    expect(await tokens({ seed: 6 })).not.toEqual(first);
    expect(await tokens({ step: 3 })).not.toEqual(first);
    expect(new Set(first.map((t) => t.join())).size).toBe(6);
  });

  test('does not depend on compaction', async () => {
    const common = { n: 9, maxTokens: 40, temperature: 1.5 };
    const compacted = await sample(decoder, options(common));
    const whole = await sample(decoder, options({ ...common, compact: false }));
    expect(compacted.flat().map((r) => [...r.tokens])).toEqual(whole.flat().map((r) => [...r.tokens]));
    expect(difference(compacted, whole)).toBeLessThan(1e-5);
    // some stop early, at different lengths, or the test says nothing
    expect(new Set(compacted.flat().map((r) => r.tokens.length)).size).toBeGreaterThan(3);
  });

  test('is greedy at temperature 0, with log-probs at temperature 1', async () => {
    const [[response]] = await sample(decoder, options({ n: 1, temperature: 0, maxTokens: 9 }));
    const prompt = text(1, 19).ids;
    response.tokens.forEach((token, t) => {
      const logits = naiveLogits(tiny.reference, adapter.reference, [...prompt, ...response.tokens.slice(0, t)]).slice(-TINY.vocab);
      expect(logits.indexOf(Math.max(...logits))).toBe(token);
      expect(response.logProbs[t]).toBeCloseTo(logSoftmax(logits, 1).logProbs[token], 4);
    });
  });

  for (const topP of [1, 0.6]) {
    test(`draws with the frequencies of softmax, top-p ${topP}`, async () => {
      const n = 4000;
      const prompt = text(50, 4);
      const [responses] = await sample(decoder, options({ prompts: [prompt], n, maxTokens: 1, temperature: 1.3, topP }));
      const { logProbs } = logSoftmax(naiveLogits(tiny.reference, adapter.reference, prompt.ids).slice(-TINY.vocab), 1.3);
      const order = logProbs.map((_, i) => i).sort((a, b) => logProbs[b] - logProbs[a]);
      let mass = 0;
      const kept = order.filter((i) => {
        const inside = mass < topP;
        if (inside) mass += Math.exp(logProbs[i]);
        return inside;
      });
      const counts = new Map<number, number>();
      for (const { tokens } of responses) counts.set(tokens[0], (counts.get(tokens[0]) ?? 0) + 1);
      if (topP < 1) expect([...counts.keys()].every((i) => kept.includes(i))).toBe(true);
      const chi = kept.reduce((sum, i) => {
        const expected = (n * Math.exp(logProbs[i])) / Math.min(mass, 1);
        return sum + ((counts.get(i) ?? 0) - expected) ** 2 / expected;
      }, 0);
      // χ² with k degrees of freedom has mean k and variance 2k: five deviations
      const degrees = kept.length - 1;
      expect(degrees).toBeGreaterThan(1);
      expect(chi).toBeLessThan(degrees + 5 * Math.sqrt(2 * degrees));
      // the log-probs are of the whole distribution
      expect(responses[0].logProbs[0]).toBeCloseTo(logProbs[responses[0].tokens[0]], 4);
    });
  }

  test('reports progress and stops when asked', async () => {
    const seen: number[] = [];
    await sample(decoder, options({ onTokens: ({ responses }) => seen.push(Math.max(...responses.map((r) => r.length))) }));
    expect(seen).toEqual([8, 16, 21].slice(0, seen.length));
    const controller = new AbortController();
    const stopped = sample(decoder, options({ signal: controller.signal, onTokens: () => controller.abort() }));
    await expect(stopped).rejects.toThrow('abort');
  });

  test('takes nothing for an answer', async () => {
    expect(await sample(decoder, options({ prompts: [] }))).toEqual([]);
    expect(await sample(decoder, options({ n: 0 }))).toEqual([[], []]);
  });
});
