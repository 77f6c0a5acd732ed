/** @file The sampling kernel against Philox and the inverse of the CDF in float64, token by token. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { randoms } from '../../../tests/reference/backward.ts';
import { inverseCdf, nucleus, philox } from '../../../tests/reference/philox.ts';
import { logSoftmax } from '../../../tests/reference/tiny.ts';
import { Gpu } from '../gpu.ts';
import { sample, type SampleSettings } from './head.ts';

let gpu: Gpu;
beforeAll(async () => {
  gpu = await Gpu.open();
});
afterAll(() => gpu.destroy());

interface Drawn {
  readonly tokens: Uint32Array;
  readonly scores: Float32Array;
  readonly rows: Uint32Array;
  readonly sequences: Uint32Array;
}

/** One draw for each row of `logits`; row i is sequence 3·i + 1 and has drawn i % 3 tokens already. */
async function draw(logits: Float32Array, vocab: number, settings: SampleSettings): Promise<Drawn> {
  const count = logits.length / vocab;
  const { maxTokens } = settings;
  const all = 3 * count;
  const plan = gpu.upload(
    'rows',
    Uint32Array.from(Array.from({ length: count }, (_, i) => [7, 20, 99, 0, 9, 100 * i, 100 * i + (i % 3), 0]).flat()),
  );
  const sequences = gpu.upload('sequences', Uint32Array.from(Array.from({ length: count }, (_, i) => [3 * i + 1, 0]).flat()));
  const [tokens, scores] = [gpu.buffer('tokens', all * maxTokens * 4), gpu.buffer('scores', all * maxTokens * 8)];
  gpu.submit('test', (pass) => {
    sample(gpu, pass, {
      logits: gpu.upload('logits', logits),
      plan,
      sequences,
      tokens,
      scores,
      rows: count,
      rowsPerLogits: 1,
      vocab,
      settings,
    });
  });
  const [t, s, r, q] = await gpu.read(
    { buffer: tokens, bytes: all * maxTokens * 4 },
    { buffer: scores, bytes: all * maxTokens * 8 },
    { buffer: plan, bytes: count * 32 },
    { buffer: sequences, bytes: count * 8 },
  );
  return { tokens: new Uint32Array(t), scores: new Float32Array(s), rows: new Uint32Array(r), sequences: new Uint32Array(q) };
}

test('the reference is Philox4x32-10: known answers of Random123', () => {
  expect(philox([0, 0, 0, 0], [0, 0])).toEqual([0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
  const ones = 0xffffffff;
  expect(philox([ones, ones, ones, ones], [ones, ones])).toEqual([0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
});

describe('draws the token of the reference', () => {
  for (const [vocab, temperature, topP] of [
    [37, 1, 1],
    [37, 0.7, 0.8],
    [1, 1, 1],
    [5003, 1.2, 1],
    [5003, 1, 0.9],
  ] as const) {
    test(`${vocab} tokens, temperature ${temperature}, top-p ${topP}`, async () => {
      const count = 25;
      const settings = { temperature, topP, seed: 0xdeadbeef, step: 12, maxTokens: 3, endToken: 4 };
      const logits = randoms(3, count * vocab, 5);
      const got = await draw(logits, vocab, settings);
      let compared = 0;
      for (let i = 0; i < count; i++) {
        const [sequence, t] = [3 * i + 1, i % 3];
        const { logProbs, entropy } = logSoftmax(logits.subarray(i * vocab, (i + 1) * vocab), temperature);
        const p = logProbs.map(Math.exp);
        const { token, margin } = inverseCdf(
          p,
          nucleus(p, topP),
          (philox([sequence, t, 0, 0], [settings.seed, settings.step])[0] >>> 8) / 2 ** 24,
        );
        const at = sequence * 3 + t;
        const drawn = got.tokens[at];
        // nearer to the border than f32 can tell, either side is right
        if (margin > 1e-5) {
          expect(drawn).toBe(token);
          compared++;
        }
        expect(Math.abs(got.scores[2 * at] - logProbs[drawn])).toBeLessThan(2e-5);
        expect(Math.abs(got.scores[2 * at + 1] - entropy)).toBeLessThan(2e-5);
        const [token_, position, kvRow, , , ownStart, ownEnd] = got.rows.subarray(8 * i);
        expect([token_, position, kvRow, ownStart, ownEnd]).toEqual([drawn, 21, 100 * i + t, 100 * i, 100 * i + t + 1]);
        expect([...got.sequences.subarray(2 * i, 2 * i + 2)]).toEqual([sequence, drawn === 4 || t === 2 ? 1 : 0]);
      }
      expect(compared).toBeGreaterThan(vocab === 1 ? -1 : 15);
    });
  }
});

test('keeps all tokens that are tied at the border of top-p', async () => {
  // masses 0.4, then five of 0.12: top-p 0.5 cuts among the five
  const logits = Float32Array.from(Array.from({ length: 300 }, () => [0.12, 0.12, 0.4, 0.12, 0.12, 0.12].map(Math.log)).flat());
  const { tokens } = await draw(logits, 6, { temperature: 1, topP: 0.5, seed: 1, step: 0, maxTokens: 3, endToken: 9 });
  const seen = new Set(Array.from({ length: 300 }, (_, i) => tokens[(3 * i + 1) * 3 + (i % 3)]));
  expect([...seen].sort()).toEqual([0, 1, 2, 3, 4, 5]);
  const narrow = await draw(logits, 6, { temperature: 1, topP: 0.39, seed: 1, step: 0, maxTokens: 3, endToken: 9 });
  expect([...new Set(Array.from({ length: 300 }, (_, i) => narrow.tokens[(3 * i + 1) * 3 + (i % 3)]))]).toEqual([2]);
});

test('greedy takes the first of the largest', async () => {
  const logits = Float32Array.from([1, 5, 2, 5, 5, 0, 5, 4]);
  const { tokens, scores } = await draw(logits, 8, { temperature: 0, topP: 0.3, seed: 1, step: 0, maxTokens: 3, endToken: 9 });
  expect(tokens[3]).toBe(1);
  expect(scores[6]).toBeCloseTo(logSoftmax(logits, 1).logProbs[1], 5);
});
