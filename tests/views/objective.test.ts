/** @file Whether the sums that the page shows are the loss of the record, for every kind of setting. */
import { describe, expect, it } from 'vitest';
import { upTo } from '../../src/session/up-to.ts';
import type { Settings, StepRecord } from '../../src/session/types.ts';
import { fakeDigits } from '../../src/tasks/digit-set.fixture.ts';
import { PRESET_NAMES, PRESETS } from '../../src/training/presets.ts';
import { ScriptedPolicy } from '../../src/training/scripted-policy.fixture.ts';
import { Trainer } from '../../src/training/trainer.ts';
import { parts, rowAt, rowSum, tellsAfter, tokenTerm, type RowAt } from '../../src/views/objective/objective.ts';

async function step(settings: Partial<Settings>, cutOff = false): Promise<StepRecord> {
  const policy = new ScriptedPolicy();
  const { sample } = policy;
  if (cutOff)
    policy.sample = async (o) => (await sample(o)).map((g) => g.map((s, i) => (i === 0 ? { ...s, finish: 'length' as const } : s)));
  const all = { ...PRESETS['share-grpo'], questionsPerStep: 4, responses: 3, evaluateEvery: 1000, learningRate: 0.05, ...settings };
  let last: StepRecord | undefined;
  for await (const record of new Trainer({ policy, settings: all, digits: fakeDigits() }).run()) last = record;
  return last as StepRecord;
}

const CASES: [string, Partial<Settings>][] = [
  ...PRESET_NAMES.map((name): [string, Partial<Settings>] => [name, { ...PRESETS[name], evaluateEvery: 1000, minibatches: 1 }]),
  ['dr_grpo, no dual clip', { lossAggregation: 'dr_grpo', dualClip: 0 }],
  ['sequence_truncate, β, two passes', { crossVariant: 'sequence_truncate', klBeta: 0.2, iterations: 2 }],
  ['sequences, token weights, β', { ratioLevel: 'sequence', crossVariant: 'token_mask', klBeta: 0.1, truncateAt: 1 }],
  ['weighted, left out', { crossVariant: 'none', localWeight: 0.5, globalWeight: 2, lossAggregation: 'grpo' }],
];

describe('the sums on the page', () => {
  it.each(CASES)('are the loss of the record: %s', async (_, change) => {
    const record = await step(change);
    const before = parts(upTo(record, 'share'));
    expect(before.size.rows).toBe(record.update?.rows);
    expect(before.size.tokens).toBe(record.update?.tokens);
    expect(-before.objective).toBeCloseTo(record.update?.loss ?? NaN, 6);
    const after = tellsAfter(record.settings) ? record.update?.lossAfter : record.update?.loss;
    expect(-parts(record).objective).toBeCloseTo(after ?? NaN, 6);
  });

  it('leave masked responses out, which still count as rows', async () => {
    for (const lossAggregation of ['bnpo', 'grpo', 'dr_grpo'] as const) {
      const record = await step({ maskTruncated: 'on', lossAggregation }, true);
      expect(-parts(upTo(record, 'share')).objective).toBeCloseTo(record.update?.loss ?? NaN, 6);
      expect(-parts(record).objective).toBeCloseTo(record.update?.lossAfter ?? NaN, 6);
    }
  });

  it('of the first part of a batch are the first inner loss', async () => {
    const record = await step({ minibatches: 2 });
    const { settings, questions } = upTo(record, 'share');
    expect(-parts({ settings, questions: questions.slice(0, 2) }).objective).toBeCloseTo(record.update?.inner[0].loss ?? NaN, 6);
  });
});

describe('the terms of a token', () => {
  it('add up to their row', async () => {
    const record = await step({ klBeta: 0.3, crossVariant: 'token_truncate' });
    const row = rowAt(record.questions[0], { k: 0, j: 1, i: 0 }, record.settings) as RowAt;
    const { gain, distance } = rowSum(row, record.settings);
    const total = Array.from(row.pair.logProbs, (_, t) => tokenTerm(row, t, record.settings).total).reduce((a, b) => a + b, 0);
    expect(total).toBeCloseTo(gain - distance, 9);
  });
});
