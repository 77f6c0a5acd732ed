/** @file What the settings of the laboratory do to a step: rows, inner updates, dynamic sampling, masks, poison, audit, comparisons. */
import { describe, expect, it } from 'vitest';
import vectors from '../../tests/fixtures/algo-vectors.json';
import { batchLoss } from '../algorithm/objective.ts';
import { objectiveOf, rowCounts } from '../algorithm/rows.ts';
import { fakeDigits } from '../tasks/digit-set.fixture.ts';
import { auditVariant, ownQuestion, type Question } from '../tasks/index.ts';
import { drawQuestions, drawVariants, redrawQuestion } from './expand.ts';
import { PRESETS } from './presets.ts';
import type { StepRecord } from './record.ts';
import { ScriptedPolicy } from './scripted-policy.fixture.ts';
import type { Settings } from './settings.ts';
import { Trainer } from './trainer.ts';

const base: Settings = { ...PRESETS['share-grpo'], questionsPerStep: 4, responses: 3, evaluateEvery: 1000 };

async function step(change: Partial<Settings>, o: { compareGradients?: boolean; own?: readonly Question[] } = {}) {
  const policy = new ScriptedPolicy();
  const trainer = new Trainer({ policy, settings: { ...base, ...change }, digits: fakeDigits() });
  let last: StepRecord | undefined;
  for await (const record of trainer.run(o)) last = record;
  return { policy, record: last as StepRecord };
}

const responsesOf = (r: StepRecord) => r.questions.flatMap((q) => q.responses.flat());

describe('as published', () => {
  it('transforms as often, and lays the rows out in the same order', async () => {
    const untouched = 1 - PRESETS['share-grpo'].transformProbability;
    expect(untouched).toBeCloseTo(vectors.augmentation['P(no transform) per variant'], 12);
    expect(untouched ** 2).toBeCloseTo(vectors.augmentation['P(both untouched) m=2'], 12);
    const { record } = await step({ questionsPerStep: 1 });
    const rows = record.questions[0].pairs.flatMap((byJ, k) => byJ.flatMap((group, j) => group.map((_, i) => [k, j, i, j === k ? 1 : 0])));
    expect(rows).toEqual(vectors.layout.first_seed);
  });
});

describe('inner updates', () => {
  it('are iterations × minibatches, each with its loss, and the first of each part is at the old weights', async () => {
    const { record, policy } = await step({ iterations: 3, minibatches: 2 });
    expect(record.update?.inner).toHaveLength(6);
    expect(policy.state.step).toBe(6);
    const inner = record.update?.inner ?? [];
    expect(inner[0].clipLow + inner[0].clipHigh).toBe(0);
    expect(inner[2].loss).not.toBe(inner[0].loss);
    expect(record.update?.loss).toBeCloseTo((inner[0].loss + inner[1].loss) / 2, 12);
    expect(record.metrics['share/token_passes']).toBe(3 * (record.update?.tokens ?? 0));
  });

  it('count ratios that have left the range from the second pass on', async () => {
    const { record } = await step({ iterations: 2, learningRate: 0.1, clipLow: 0.001, clipHigh: 0.001 });
    const [first, second] = record.update?.inner ?? [];
    expect(first.clipLow).toBe(0);
    expect(second.clipLow + second.clipHigh).toBeGreaterThan(0);
  });
});

describe('the loss in the record', () => {
  it.each([
    {},
    { lossAggregation: 'grpo' },
    { lossAggregation: 'dr_grpo', scaleRewards: 'none' },
    { lossAggregation: 'dapo', crossVariant: 'token_mask' },
    { ratioLevel: 'sequence', crossVariant: 'geometric' },
    { klBeta: 0.1, crossVariant: 'sequence_mask' },
    { crossVariant: 'none', localWeight: 0.5, globalWeight: 2 },
  ] as Partial<Settings>[])('is that of its rows: %j', async (change) => {
    const { record } = await step(change);
    const s = record.settings;
    const rows = record.questions.flatMap((q) =>
      q.pairs.flatMap((byJ, k) =>
        byJ.flatMap((group, j) =>
          rowCounts(s, k, j)
            ? group.map((p) => ({
                logProbs: p.logProbs,
                oldLogProbs: p.logProbs,
                baseLogProbs: p.base,
                advantage: p.advantage,
                weights: p.weights,
              }))
            : [],
        ),
      ),
    );
    expect(record.update?.rows).toBe(rows.length);
    expect(record.update?.loss).toBeCloseTo(batchLoss(rows, objectiveOf(s)), 9);
    expect(rows.every((r) => (s.klBeta === 0 ? r.baseLogProbs === null : (r.baseLogProbs?.length ?? 0) > 0))).toBe(true);
  });
});

describe('cut-off responses', () => {
  it('are left out of the loss and of its tokens when masked', async () => {
    const policy = new ScriptedPolicy();
    const sample = policy.sample;
    policy.sample = async (o) => (await sample(o)).map((g) => g.map((s, i) => (i === 0 ? { ...s, finish: 'length' as const } : s)));
    const settings = { ...base, maskTruncated: 'on' as const };
    let record: StepRecord | undefined;
    for await (const r of new Trainer({ policy, settings, digits: fakeDigits() }).run()) record = r;
    const whole = responsesOf(record as StepRecord);
    const kept = whole.filter((r) => r.finish === 'stop');
    expect(record?.update?.tokens).toBe(2 * kept.reduce((n, r) => n + r.tokens.length, 0));
    expect(record?.update?.rows).toBe(2 * whole.length);
  });
});

describe('dynamic sampling', () => {
  it('drops dead questions, draws others of the same task, and says how many', async () => {
    const plain = await step({ responses: 2, variants: 1 });
    const dead = plain.record.questions.filter((q) => q.groups?.pooled !== 'alive');
    expect(dead.length).toBeGreaterThan(0);
    const { record } = await step({ responses: 2, variants: 1, dynamicSampling: 1 });
    expect(record.redrawn.map((r) => r.id)).toEqual(dead.map((q) => q.id));
    expect(record.redrawn.every((r) => r.state !== 'alive')).toBe(true);
    expect(record.metrics['share/redrawn']).toBe(dead.length);
    expect(record.metrics['share/samples']).toBe((4 + dead.length) * 2);
    expect(record.questions.map((q) => q.family)).toEqual(plain.record.questions.map((q) => q.family));
    const ids = record.questions.map((q) => q.id);
    for (const { id } of record.redrawn) expect(ids).not.toContain(id);
  });

  it('is bounded: a policy that only fails stops after the last round', async () => {
    const policy = new ScriptedPolicy();
    const sample = policy.sample;
    policy.sample = async (o) => (await sample(o)).map((g) => g.map((s) => ({ ...s, tokens: Int32Array.of(3, 0) })));
    const settings = { ...base, tasks: ['count' as const], dynamicSampling: 3 };
    let record: StepRecord | undefined;
    for await (const r of new Trainer({ policy, settings, digits: null }).run()) record = r;
    expect(record?.redrawn).toHaveLength(3 * 4);
    expect(new Set(record?.redrawn.map((r) => r.id)).size).toBe(12);
    expect(policy.released).toBe(policy.encoded);
  });

  it('never takes a visitor’s own question away', async () => {
    const [some] = drawQuestions({ settings: base, step: 1, digits: fakeDigits() });
    const own = ownQuestion({ picture: some.picture, text: 'is it art?', answer: 'never' });
    const { record } = await step({ dynamicSampling: 4 }, { own: [own] });
    expect(record.questions[0].id).toBe(own.id);
    expect(record.redrawn.map((r) => r.id)).not.toContain(own.id);
  });

  it('asks of other numbers than any step does', () => {
    const settings: Settings = { ...base, questionsPerStep: 3, tasks: ['count', 'compare', 'position'] };
    const ids = new Set<string>();
    for (let s = 1; s <= 5; s++) {
      for (const q of drawQuestions({ settings, step: s, digits: null })) ids.add(q.id);
      for (let round = 1; round <= 8; round++)
        for (let q = 0; q < 3; q++) {
          const again = redrawQuestion({ settings, step: s, digits: null, q, round });
          expect(again.family).toBe(settings.tasks[q]);
          ids.add(again.id);
        }
    }
    expect(ids.size).toBe(5 * (3 + 8 * 3));
  });
});

describe('poisoned variants', () => {
  const all = (change: Partial<Settings>) =>
    Array.from({ length: 100 }, (_, s) => {
      const o = { settings: { ...base, ...change }, step: s + 1, digits: fakeDigits() };
      return drawQuestions(o).map((question, q) => ({ question, variants: drawVariants(question, { ...o, q }) }));
    }).flat();

  it('are as many as told, are seen by the audit, and nothing else changes', () => {
    const clean = all({});
    const poisoned = all({ poisonShare: 0.25 });
    const flat = poisoned.flatMap((x) => x.variants);
    const share = flat.filter((v) => v.poisoned).length / flat.length;
    expect(Math.abs(share - 0.25)).toBeLessThan(0.05);
    poisoned.forEach(({ question, variants }, at) =>
      variants.forEach((v, j) => {
        expect(v.audit).toBe(v.poisoned ? 'changed' : 'kept');
        expect(question.answer).toBe(clean[at].question.answer);
        if (!v.poisoned) expect(v.text).toEqual(clean[at].variants[j].text);
      }),
    );
  });

  it('of every task can be made', () => {
    for (const task of ['count', 'compare', 'position', 'digits'] as const) {
      const variants = all({ tasks: [task], poisonShare: 1 }).flatMap((x) => x.variants);
      expect(variants.filter((v) => v.poisoned).length / variants.length).toBeGreaterThan(0.95);
    }
  });

  it('are filtered out by the audit', () => {
    const filtered = all({ poisonShare: 0.5, auditFilter: 'drop_changed' }).flatMap((x) => x.variants);
    expect(filtered.filter((v) => v.audit === 'changed')).toHaveLength(0);
  });

  it('lower the consistency rate in the record', async () => {
    const { record } = await step({ poisonShare: 1, transformProbability: 0 });
    expect(record.metrics['share/consistency_rate']).toBeLessThan(0.2);
    expect((await step({})).record.metrics['share/consistency_rate']).toBe(1);
  });
});

describe('the audit of a visitor’s own question', () => {
  const picture = { width: 64, height: 64, data: new Uint8Array(64 * 64 * 3) };
  const ask = (confirmed: boolean) => ownQuestion({ picture, text: 'what is it?', answer: 'black', confirmed });
  const plain = (q: Question) => ({ text: q.text, transform: { name: 'noise_10' as const, seed: 1 } });

  it('is unknown unless they confirm it', () => {
    expect(auditVariant(ask(false), plain(ask(false)))).toBe('unknown');
    expect(auditVariant(ask(true), plain(ask(true)))).toBe('kept');
  });

  it('lets only the question as it stands through a filter for proven variants, unless confirmed', () => {
    const o = { settings: { ...base, auditFilter: 'only_kept' as const, transformProbability: 1 }, step: 1, digits: null, q: 0 };
    expect(drawVariants(ask(false), o).map((v) => v.transform.name)).toEqual(['identity', 'identity']);
    expect(drawVariants(ask(true), o).map((v) => v.transform.name)).not.toContain('identity');
  });
});

describe('comparing gradients', () => {
  it('is done on demand and changes nothing else', async () => {
    const without = await step({});
    const asked = await step({}, { compareGradients: true });
    expect(without.record.update?.cosine).toBeNull();
    expect(asked.record.update?.cosine).toBeGreaterThan(-1);
    expect(asked.record.metrics['share/gradient_cosine']).toBe(asked.record.update?.cosine);
    expect(asked.policy.state).toEqual(without.policy.state);
  });

  it('is done every so many steps by the setting', async () => {
    expect((await step({ cosineEvery: 2 })).record.update?.cosine).toBeNull();
    expect((await step({ cosineEvery: 1 })).record.update?.cosine).not.toBeNull();
  });
});
