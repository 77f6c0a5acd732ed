/** @file Real steps on pico: the weights move, the record adds up, the same seed gives the same step, an aborted one leaves no trace. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Gpu } from '../engine/gpu.ts';
import { Policy } from '../model/policy.ts';
import { urlSource } from '../model/source.ts';
import { webgpuVision } from '../model/vision-webgpu.ts';
import { loadDigits, type DigitSet } from '../tasks/index.ts';
import { ask } from './ask.ts';
import { fromJson, toJson } from './jsonl.ts';
import type { StepRecord } from './record.ts';
import { DEFAULTS } from './presets.ts';
import { SettingsError, type Settings } from './settings.ts';
import { Trainer } from './trainer.ts';

const settings: Settings = {
  ...DEFAULTS,
  questionsPerStep: 2,
  variants: 2,
  responses: 3,
  maxTokens: 14,
  evaluateEvery: 1,
  evaluateQuestions: 2,
  tasks: ['compare', 'position'],
};

let gpu: Gpu;
let policy: Policy;
let digits: DigitSet;

beforeAll(async () => {
  gpu = await Gpu.open();
  policy = await Policy.load(gpu, urlSource('/models/pico/'), {
    rank: settings.rank,
    alpha: settings.alpha,
    seed: settings.seed,
    vision: webgpuVision,
  });
  digits = loadDigits(new Uint8Array(await (await fetch('/data/digits.bin')).arrayBuffer()));
});

afterAll(() => {
  policy.destroy();
  gpu.destroy();
});

function fresh(change: Partial<Settings> = {}, diagnostics = true): Trainer {
  const trainer = new Trainer({ policy, settings: { ...settings, ...change }, digits, diagnostics });
  trainer.reset();
  return trainer;
}

async function finish(trainer: Trainer): Promise<StepRecord> {
  let last: StepRecord | undefined;
  for await (const record of trainer.run()) last = record;
  return last as StepRecord;
}

/** Everything but the clock, as text. */
const withoutTiming = ({ metrics: { step_time: _, ...metrics }, ...rest }: StepRecord): string => toJson({ ...rest, metrics, timing: {} });

/** Settings under which even a barely trained model gets unequal rewards: the format counts too. */
const lively = { accuracyWeight: 0.5, formatWeight: 0.5, temperature: 1.5, topP: 1 };

describe('a step on the real model', () => {
  it('moves the weights, and its record adds up', async () => {
    const trainer = fresh(lively);
    const before = await policy.readAdapter();
    const r = await finish(trainer);
    const after = await policy.readAdapter();
    expect(after.step).toBe(before.step + 1);
    expect(after.params).not.toEqual(before.params);
    const rows = r.questions.flatMap((q) => q.pairs.flat(2));
    expect(rows).toHaveLength(2 * 2 * 2 * 3);
    let loss = 0;
    for (const q of r.questions) {
      q.pairs.forEach((byJ, k) =>
        byJ.forEach((row, j) =>
          row.forEach((pair, i) => {
            const { logProbs, tokens } = q.responses[j][i];
            expect(pair.logProbs).toHaveLength(tokens.length);
            loss -= pair.advantage * tokens.length;
            if (j !== k) return;
            // the sampler and the scorer are two ways to the same number
            Array.from(pair.logProbs).forEach((l, t) => expect(Math.abs(l - logProbs[t])).toBeLessThan(1e-3));
            expect(Math.max(...Array.from(pair.transferGap, Math.abs))).toBe(0);
          }),
        ),
      );
      for (const v of q.variants) expect(v.audit).toBe('kept');
    }
    expect(r.update?.tokens).toBe(rows.reduce((sum, p) => sum + p.logProbs.length, 0));
    expect(r.update?.loss).toBeCloseTo(loss / (r.update?.tokens as number), 4);
    // from the same weights, a small step along the gradient lowers what it minimises
    if ((r.update?.gradNorm as number) > 0) expect(r.update?.lossAfter).toBeLessThan(r.update?.loss as number);
    expect(r.update?.kl).toBeCloseTo(0, 6); // a fresh adapter is the base model
    expect(r.update?.modules).toHaveLength(7 * policy.info.layers);
    expect(r.evaluation?.cells.reduce((n, c) => n + c.n, 0)).toBe(4);
    expect(toJson(fromJson(toJson(r)))).toBe(toJson(r));
  });

  it('is the same twice for the same seed, and without diagnostics trains the same', async () => {
    const first = await finish(fresh(lively));
    const weights = await policy.readAdapter();
    expect(withoutTiming(await finish(fresh(lively)))).toBe(withoutTiming(first));
    const light = await finish(fresh(lively, false));
    expect(light.update).toMatchObject({ loss: first.update?.loss, lossAfter: null, kl: null });
    expect(await policy.readAdapter()).toEqual(weights);
  });

  it('leaves no trace when it is aborted in the rollout, or left after the update', async () => {
    const trainer = fresh(lively);
    await finish(trainer);
    const before = await policy.readAdapter();
    const abort = new AbortController();
    const run = async () => {
      const onProgress = ({ phase }: { phase: string }) => (phase === 'rollout' ? abort.abort() : undefined);
      for await (const r of trainer.run({ signal: abort.signal, onProgress })) expect(r.phase).toBe('expand');
    };
    await expect(run()).rejects.toMatchObject({ name: 'AbortError' });
    expect(await policy.readAdapter()).toEqual(before);
    for await (const r of trainer.run()) if (r.phase === 'update') break;
    expect(await policy.readAdapter()).toEqual(before);
    expect((await finish(trainer)).step).toBe(2);
  });

  it('refuses a learning rate of a billion with a sentence, before anything happens', async () => {
    const before = await policy.readAdapter();
    expect(() => fresh({ learningRate: 1e9 })).toThrow(SettingsError);
    expect(await policy.readAdapter()).toEqual(before);
  });
});

describe('asking', () => {
  const picture = { width: 64, height: 64, data: new Uint8Array(64 * 64 * 3).fill(200) };

  it('answers the same each time, greedily', async () => {
    const o = { policy, pictures: [picture], text: 'how many red circles are there?', adapter: false, maxTokens: 12 };
    const first = await ask(o);
    expect(first.tokens.length).toBeGreaterThan(0);
    expect((await ask(o)).text).toBe(first.text);
  });

  it('says what is wrong with a text that cannot be asked', async () => {
    const o = { policy, pictures: [picture], adapter: true, maxTokens: 12 };
    await expect(ask({ ...o, text: '' })).rejects.toThrow(/empty/i);
    await expect(ask({ ...o, text: 'a'.repeat(5000) })).rejects.toThrow(/long/i);
  });
});
