/** @file The policy as the trainer uses it: it learns, is undone, is aborted, refuses what it cannot do, and keeps calls apart. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Gpu } from '../../src/engine/gpu.ts';
import type { ImageFeatures, Policy, SampleOptions, ScoreGroup } from '../../src/model/policy.ts';
import { pattern } from './fixtures.ts';
import { openPico } from './pico.ts';

let gpu: Gpu;
let policy: Policy;
let image: ImageFeatures;
beforeAll(async () => {
  gpu = await Gpu.open();
  policy = await openPico(gpu);
  [image] = await policy.encodeImages([pattern(64, 64)]);
});
afterAll(() => {
  policy.destroy();
  gpu.destroy();
});

const drawing = (changes: Partial<SampleOptions>): SampleOptions => ({
  prompts: [policy.prompt({ text: 'How many?', image })],
  n: 2,
  maxTokens: 9,
  temperature: 1,
  topP: 1,
  seed: 1,
  step: 0,
  adapter: true,
  ...changes,
});
const group = (): ScoreGroup => ({
  prompt: policy.prompt({ text: 'How many?', image }),
  responses: [policy.encode('<think> so 3</think><answer> 3</answer><end_of_utterance>')],
});
const score = async (): Promise<number> => {
  const [[{ logProbs }]] = await policy.score({ groups: [group()], temperature: 1, adapter: true });
  return logProbs.reduce((a, b) => a + b, 0);
};

describe('policy', () => {
  test('says what it is', () => {
    const { info } = policy;
    expect([info.layers, info.hidden, info.vocab, info.imageTokens, info.imageSize]).toEqual([4, 128, 512, 16, 64]);
    expect(info.files['model.safetensors']).toBeGreaterThan(1e6);
    expect(policy.pieces([policy.eos])).toEqual(['<end_of_utterance>']);
    expect(policy.decode([...policy.encode(' so 3'), policy.eos])).toBe(' so 3');
  });

  test('learns a response, and goes back to the state from before', async () => {
    const before = await policy.readAdapter();
    const start = await score();
    for (let i = 0; i < 3; i++) {
      policy.zeroGradient();
      // loss = −log π(response)
      await policy.accumulateGradient({
        groups: [group()],
        temperature: 1,
        coefficients: (_g, _r, s) => new Float32Array(s.logProbs.length).fill(-1),
      });
      const { gradNorm } = await policy.adamw({ learningRate: 0.02, weightDecay: 0, maxGradNorm: 1 });
      expect(gradNorm).toBeGreaterThan(0);
    }
    expect(await score()).toBeGreaterThan(start + 1);
    const norms = await policy.moduleNorms(before);
    expect(norms.length).toBe(28);
    expect(norms.every((m) => m.deltaNorm > 0 && m.stepNorm > 0)).toBe(true);
    expect((await policy.readAdapter()).step).toBe(3);
    policy.writeAdapter(before);
    expect(await score()).toBe(start);
  });

  test('calls made at once do not disturb each other', async () => {
    const alone = [await score(), await policy.sample(drawing({}))];
    const together = await Promise.all([
      score(),
      policy.sample(drawing({})),
      policy.readGradient(),
      policy.encodeImages([pattern(70, 64)]),
    ]);
    expect(together.slice(0, 2)).toEqual(alone);
  });

  test('sampling stops when told to, and what comes after is not held up', async () => {
    const control = new AbortController();
    const seen: number[] = [];
    const sampled = policy.sample(
      drawing({
        maxTokens: 64,
        signal: control.signal,
        onTokens: ({ responses }) => {
          seen.push(responses.length);
          control.abort();
        },
      }),
    );
    const after = score();
    await Promise.allSettled([sampled]);
    expect(seen).toEqual([2]);
    expect(Number.isFinite(await after)).toBe(true);
  });

  test('what does not fit is refused before it is begun', async () => {
    await expect(policy.sample(drawing({ maxTokens: 2000 }))).rejects.toThrow('are over the model’s 1024');
    expect(() => policy.prompt({ text: 'Is this an <image>?', image })).toThrow('“<image>”');
    await expect(policy.encodeImages([{ width: 3, height: 3, data: new Uint8Array(5) }])).rejects.toThrow('needs 27 bytes of RGB');
    const state = await policy.readAdapter();
    expect(() => policy.writeAdapter({ ...state, m: new Float32Array(3) })).toThrow('3 numbers');
  });
});
