/** @file Order, abort, restore and determinism of a step, with a scripted stand-in for the model; the real one is in trainer.gpu.test.ts. */
import { describe, expect, it, vi } from 'vitest';
import { ownQuestion } from '../tasks/index.ts';
import { drawQuestions, drawVariants } from './expand.ts';
import { toJson } from './jsonl.ts';
import { PHASES, type StepRecord } from './record.ts';
import { PRESETS } from './presets.ts';
import { RESPONSES, ScriptedPolicy } from './scripted-policy.fixture.ts';
import { SettingsError, type Settings } from './settings.ts';
import { Trainer } from './trainer.ts';

const settings: Settings = {
  ...PRESETS['share-grpo'],
  questionsPerStep: 3,
  responses: 4,
  tasks: ['count', 'compare', 'position'],
  evaluateEvery: 2,
  evaluateQuestions: 6,
};

function setUp(change: Partial<Settings> = {}) {
  const policy = new ScriptedPolicy();
  return { policy, trainer: new Trainer({ policy, settings: { ...settings, ...change }, digits: null }) };
}

async function finish(trainer: Trainer): Promise<StepRecord> {
  let last: StepRecord | undefined;
  for await (const record of trainer.run()) last = record;
  return last as StepRecord;
}

/** Everything but the clock, as text: quicker to compare than pictures byte by byte. */
const withoutTiming = ({ metrics: { step_time: _, ...metrics }, ...rest }: StepRecord): string => toJson({ ...rest, metrics, timing: {} });

describe('a step', () => {
  it('yields after each phase, in order, with what that phase adds', async () => {
    const { trainer } = setUp();
    const seen: string[] = [];
    for await (const r of trainer.run()) {
      seen.push(r.phase);
      const [q] = r.questions;
      expect([
        q.variants.length > 0,
        q.responses.length > 0,
        q.rewards.length > 0,
        q.groups !== null,
        q.pairs.length > 0,
        r.update !== null,
        r.evaluation !== null,
      ]).toEqual(PHASES.map((_, at) => at < seen.length));
    }
    expect(seen).toEqual([...PHASES]);
    expect(trainer.step).toBe(1);
  });

  it('adds up: totals, advantages, rows, tokens and loss', async () => {
    const { trainer } = setUp();
    const r = await finish(trainer);
    expect(r.questions).toHaveLength(3);
    let loss = 0;
    for (const q of r.questions) {
      expect(q.pairs.flat(2)).toHaveLength(2 * 2 * 4);
      q.pairs.forEach((byJ, k) =>
        byJ.forEach((row, j) =>
          row.forEach((pair, i) => {
            const a = q.advantages[j][i];
            expect(pair.advantage).toBe(a.global + (j === k ? a.local : 0));
            loss -= (pair.advantage * 2) / (r.update?.tokens as number); // ratio 1, two tokens a response
          }),
        ),
      );
      q.rewards.flat().forEach((x) => expect(x.total).toBeCloseTo(0.9 * x.accuracy + 0.1 * x.format, 12));
    }
    expect(r.update).toMatchObject({ rows: 3 * 4 * 4, tokens: 3 * 4 * 4 * 2, learningRate: 1e-3, clipLow: 0, clipHigh: 0 });
    expect(r.update?.loss).toBeCloseTo(loss, 6);
    expect(r.questions[0].pairs[0][1][0].ratios?.[0]).toBeCloseTo(Math.exp(-1e-4), 6);
  });

  it('evaluates when due, and always answers its first question before and after', async () => {
    const { trainer } = setUp();
    const first = await finish(trainer);
    const second = await finish(trainer);
    expect(first.evaluation).toMatchObject({ cells: [], before: RESPONSES[0], after: RESPONSES[0] });
    expect(second.evaluation?.cells).toHaveLength(6);
    expect(second.evaluation?.cells.reduce((n, c) => n + c.n, 0)).toBe(12);
    expect(second.metrics['eval_plain/accuracy']).toBeGreaterThanOrEqual(0);
  });

  it('is the same for the same seed, and another for another', async () => {
    const run = async (change?: Partial<Settings>) => {
      const { trainer } = setUp(change);
      return [withoutTiming(await finish(trainer)), withoutTiming(await finish(trainer))];
    };
    const once = await run();
    expect(await run()).toEqual(once);
    const questions = (record: string) => JSON.stringify(JSON.parse(record).questions);
    expect(questions((await run({ seed: 2 }))[0])).not.toBe(questions(once[0]));
  });

  it('lets go of every picture it encoded', async () => {
    const { policy, trainer } = setUp();
    await finish(trainer);
    await finish(trainer);
    expect(policy.released).toBe(policy.encoded);
  });

  it('reports progress with the responses so far', async () => {
    const { trainer } = setUp();
    const onProgress = vi.fn();
    for await (const _ of trainer.run({ onProgress }));
    expect(new Set(onProgress.mock.calls.map(([p]) => p.phase))).toEqual(new Set(PHASES));
    const texts = onProgress.mock.calls.map(([p]) => p.texts).find(Boolean);
    expect(texts.flat(2)).toHaveLength(3 * 2 * 4);
  });

  it('leaves rows across variants out when told to', async () => {
    const { trainer } = setUp({ crossVariant: 'none' });
    const r = await finish(trainer);
    expect(r.update?.rows).toBe(3 * 2 * 4);
    expect(r.questions[0].pairs[0][1][0].weights[0]).toBe(0);
  });

  it('asks the visitor’s questions first', async () => {
    const { trainer } = setUp();
    const own = ownQuestion({ picture: { width: 1, height: 1, data: new Uint8Array(3) }, text: 'what is this?', answer: null });
    for await (const r of trainer.run({ own: [own] })) {
      expect(r.questions.map((q) => q.family === 'own')).toEqual([true, false, false]);
      expect(r.questions[0].variants.map((v) => v.text)).toEqual(['what is this?', 'what is this?']);
    }
  });
});

describe('a step that does not end leaves the adapter as before', () => {
  it('when the generator is left after the update', async () => {
    const { policy, trainer } = setUp();
    await finish(trainer);
    const before = policy.state;
    for await (const r of trainer.run()) {
      if (r.phase === 'update') {
        expect(policy.state.params).not.toEqual(before.params);
        break;
      }
    }
    expect(policy.state).toEqual(before);
    expect(trainer.step).toBe(1);
    expect(policy.released).toBe(policy.encoded);
  });

  it.each(PHASES)('when it is aborted after %s', async (phase) => {
    const { policy, trainer } = setUp();
    const before = policy.state;
    const abort = new AbortController();
    const run = async () => {
      for await (const r of trainer.run({ signal: abort.signal })) if (r.phase === phase) abort.abort();
    };
    if (phase === 'evaluate') {
      await run(); // the last phase is over: the step counts
      expect(trainer.step).toBe(1);
    } else {
      await expect(run()).rejects.toMatchObject({ name: 'AbortError' });
      expect(policy.state).toEqual(before);
      expect(trainer.step).toBe(0);
      expect((await trainer.state()).adapter).toEqual(before);
    }
  });

  it.each(['sample', 'accumulateGradient'] as const)('when %s fails, and the next step is as if nothing had been', async (failing) => {
    const { policy, trainer } = setUp();
    policy.failing = failing;
    await expect(finish(trainer)).rejects.toThrow('no memory');
    expect(policy.released).toBe(policy.encoded);
    policy.failing = null;
    const retried = withoutTiming(await finish(trainer));
    expect(retried).toEqual(withoutTiming(await finish(setUp().trainer)));
  });

  it('and no two steps run at once', async () => {
    const { trainer } = setUp();
    const first = trainer.run();
    await first.next();
    await expect(trainer.run().next()).rejects.toThrow('already under way');
    await first.return();
    await finish(trainer);
  });
});

describe('a run', () => {
  it('goes on from its state as if it had not been interrupted', async () => {
    const { trainer } = setUp();
    await finish(trainer);
    const state = await trainer.state();
    const next = withoutTiming(await finish(trainer));
    const other = setUp();
    other.trainer.restore(state);
    expect(withoutTiming(await finish(other.trainer))).toEqual(next);
  });

  it.each([{ learningRate: 1e9 }, { variants: 0 }, { responses: 1 }])('refuses %j and stays as it is', (change) => {
    const { policy, trainer } = setUp();
    expect(() => new Trainer({ policy, settings: { ...settings, ...change }, digits: null })).toThrow(SettingsError);
    expect(() => trainer.configure({ ...settings, ...change })).toThrow(SettingsError);
    expect(trainer.settings).toEqual(settings);
  });

  it('starts anew when the rank changes', async () => {
    const { policy, trainer } = setUp();
    await finish(trainer);
    trainer.configure({ ...settings, learningRate: 2e-3 });
    expect(trainer.step).toBe(1);
    trainer.configure({ ...settings, rank: 4 });
    expect(trainer.step).toBe(0);
    expect(policy.state.step).toBe(0);
  });
});

describe('variants', () => {
  const variantsOf = (change: Partial<Settings>, steps: number) =>
    Array.from({ length: steps }, (_, s) => {
      const o = { settings: { ...settings, ...change }, step: s + 1, digits: null };
      return drawQuestions(o).map((question, q) => ({ question, variants: drawVariants(question, { ...o, q }) }));
    }).flat();

  it('keep the answer, in m different wordings', () => {
    for (const { variants } of variantsOf({ variants: 3 }, 60)) {
      expect(new Set(variants.map((v) => v.text.text)).size).toBe(3);
      for (const v of variants) expect(v.audit).toBe('kept');
    }
  });

  it('are of both phrasings, and transformed as often as told', () => {
    const all = variantsOf({}, 200).flatMap((x) => x.variants);
    const steps = all.filter((v) => v.text.phrasing === 'steps').length / all.length;
    const changed = all.filter((v) => v.transform.name !== 'identity').length / all.length;
    expect(Math.abs(steps - 0.5)).toBeLessThan(0.06);
    expect(Math.abs(changed - 0.3)).toBeLessThan(0.05);
    for (const v of all) expect(v.hint === '').toBe(v.transform.name === 'identity');
  });

  it('are the question itself for a single one (GRPO)', () => {
    for (const { question, variants } of variantsOf({ variants: 1, transformProbability: 0 }, 20)) {
      expect(variants).toHaveLength(1);
      expect(variants[0]).toMatchObject({ text: question.text, hint: '', madeBy: 'original' });
      expect(variants[0].pictures[0]).toBe(question.picture);
      expect(question.text.phrasing).toBe('plain');
    }
  });
});
