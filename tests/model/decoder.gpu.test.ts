/** @file The decoder on pico against transformers: logits, log-probs, entropies, greedy responses. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Gpu } from '../../src/engine/gpu.ts';
import type { Policy, Prompt } from '../../src/model/policy.ts';
import references from '../fixtures/prompts.json';
import questions from '../fixtures/questions.json';
import { floats, logSoftmax, maxDifference, pictureOf } from './fixtures.ts';
import { openPico } from './pico.ts';

/** Where the two best tokens are closer than this, rounding may choose either. */
const CLOSE = 1e-3;

let gpu: Gpu;
let policy: Policy;
let prompts: Prompt[];
beforeAll(async () => {
  gpu = await Gpu.open();
  policy = await openPico(gpu);
  const images = await policy.encodeImages(await Promise.all(questions.map(pictureOf)));
  prompts = references.map((r, i) =>
    policy.prompt({ text: questions[i].text, hint: questions[i].hint, image: r.image ? images[i] : null }),
  );
});
afterAll(() => {
  policy.destroy();
  gpu.destroy();
});

describe('pico against transformers', () => {
  test('logits after each prompt, up to their constant', async () => {
    // every token as a response of its own: the whole log-softmax
    const responses = Array.from({ length: policy.info.vocab }, (_, token) => Int32Array.of(token));
    const scores = await policy.score({ groups: prompts.map((prompt) => ({ prompt, responses })), temperature: 1, adapter: false });
    const worst = Math.max(
      ...references.map((r, i) =>
        maxDifference(
          scores[i].map((s) => s.logProbs[0]),
          logSoftmax(floats(r.logits)),
        ),
      ),
    );
    expect(worst).toBeLessThan(1e-3);
  });

  test('greedy responses, their log-probs and entropies', async () => {
    const sampled = await policy.sample({ prompts, n: 1, maxTokens: 48, temperature: 0, topP: 1, seed: 1, step: 0, adapter: false });
    references.forEach((want, i) => {
      const close = want.margin.findIndex((m) => m < CLOSE);
      const compared = close < 0 ? want.response.length : close;
      const [got] = sampled[i];
      expect([...got.tokens].slice(0, compared)).toEqual(want.response.slice(0, compared));
      if (close < 0) {
        expect(got.finish).toBe(want.response.at(-1) === policy.eos ? 'stop' : 'length');
        expect(policy.decode(got.tokens)).toBe(want.text.replace('<end_of_utterance>', ''));
      }
      expect(maxDifference(got.logProbs.subarray(0, compared), floats(want.logProbs).subarray(0, compared))).toBeLessThan(1e-3);
      expect(maxDifference(got.entropies.subarray(0, compared), floats(want.entropies).subarray(0, compared))).toBeLessThan(1e-3);
    });
  });

  test('scores of given responses', async () => {
    const groups = prompts.map((prompt, i) => ({ prompt, responses: [Int32Array.from(references[i].response)] }));
    const scores = await policy.score({ groups, temperature: 1, adapter: false });
    references.forEach((want, i) => {
      expect(maxDifference(scores[i][0].logProbs, floats(want.logProbs))).toBeLessThan(1e-3);
      expect(maxDifference(scores[i][0].entropies, floats(want.entropies))).toBeLessThan(1e-3);
    });
  });
});
