/** @file Quantities, their means and intervals, and the tables made of them, from made-up results. */
import { describe, expect, it } from 'vitest';
import { difference, duration, interval, value, whole } from './format.ts';
import { differenceTo, estimate, median, valuesOf } from './estimates.ts';
import { curveQuantity, quantity } from './quantities.ts';
import { experiment, results } from './results.fixture.ts';
import { markdownTable } from './tables.ts';

const [grpo, share] = results.lanes;
const of = (name: string, lane = share) => [...valuesOf(lane, quantity(name)).values()];

describe('quantities', () => {
  it.each([
    ['sampled.plain', [0.8, 0.88, 0.81]],
    ['greedy.plain', [5 / 6, 5 / 6, 5 / 6]],
    ['greedy.plain.count', [5 / 6, 5 / 6, 5 / 6]],
    ['careful.plain', [1, 1, 1]],
    ['before.sampled.plain', [0.4, 0.4, 0.4]],
    ['area.sampled.plain', [0.6, 0.64, 0.605]],
    ['sampled.steps', [null, null, null]],
    ['found', [3, 4, 2]],
    ['samples', [288, 288, 288]],
    ['token-passes', [28800, 28800, 28800]],
    ['hours', [0.75, 0.75, 0.75]],
    ['mean.reward', [0.36, 0.37, 0.38]],
    ['mean.share/gradient_cosine', [0.375, 0.375, 0.375]],
    ['mean.share/redrawn', [null, null, null]],
  ])('%s', (name, expected) => {
    const got = of(name);
    expect(got.map((x) => x === null)).toEqual(expected.map((x) => x === null));
    got.forEach((x, at) => expect(x ?? 0).toBeCloseTo(expected[at] ?? 0, 9));
  });

  it('are refused by names that mean nothing', () => {
    for (const name of ['plain', 'greedy.loud', 'mean.happiness', 'area.reward', 'before.found'])
      expect(() => quantity(name)).toThrow(`there is no quantity “${name}”`);
    expect(() => curveQuantity('found')).toThrow('there is no “found” to draw over the run');
  });

  it('over the run come with what had been spent', () => {
    expect(
      curveQuantity('sampled.plain')
        .points(share.runs[0])
        .map((p) => [p.step, p.samples, p.tokenPasses]),
    ).toEqual([
      [0, 0, 0],
      [2, 96, 9600],
      [4, 192, 19200],
      [6, 288, 28800],
    ]);
    const reward = curveQuantity('reward').points(grpo.runs[0]);
    expect(reward.at(-1)).toMatchObject({ step: 6, samples: 144, tokenPasses: 14400 });
    // the mean of at most five steps
    expect(reward.map((p) => Number(p.y.toFixed(3)))).toEqual([0.11, 0.16, 0.21, 0.26, 0.31, 0.41]);
    // steps at which nothing was measured within five are left out
    expect(
      curveQuantity('share/gradient_cosine')
        .points(grpo.runs[0])
        .map((p) => [p.step, p.y]),
    ).toEqual([
      [3, 0.5],
      [4, 0.5],
      [5, 0.5],
      [6, 0.375],
    ]);
  });
});

describe('over seeds', () => {
  it('there are mean, interval and paired difference', () => {
    const e = estimate(share, quantity('sampled.plain'))!;
    expect(e.mean).toBeCloseTo(0.83, 9);
    expect([e.low, e.high]).toEqual([0.8, 0.88].map((x) => expect.closeTo(x, 9)));
    const d = differenceTo(grpo, share, quantity('sampled.plain'))!;
    expect(d.mean).toBeCloseTo((0.3 + 0.28 + 0.29) / 3, 9);
    expect([d.low, d.high]).toEqual([0.28, 0.3].map((x) => expect.closeTo(x, 9)));
    expect(estimate(share, quantity('sampled.steps'))).toBeNull();
  });

  it('a run that never got there counts as the last in a median', () => {
    expect(median(share, quantity('found'))).toBe(3);
    expect(median(grpo, quantity('found'))).toBe(Infinity);
    expect(median({ ...grpo, runs: grpo.runs.slice(1, 2) }, quantity('found'))).toBe(6);
    expect(median({ ...share, runs: [...share.runs.slice(0, 1), ...grpo.runs.slice(0, 1)] }, quantity('found'))).toBe(Infinity);
  });
});

describe('numbers', () => {
  it('are written as people read them', () => {
    expect([value(0.8434, 'share'), value(28800, 'count'), value(3, 'step'), value(2.5, 'step'), value(1.25, 'hours')]).toEqual([
      '84.3 %',
      '28,800',
      '3',
      '2.5',
      '1.3 h',
    ]);
    expect([value(0.01234, 'number'), value(-0.00001, 'number'), value(0, 'number'), value(Infinity, 'step')]).toEqual([
      '0.0123',
      '−1.0e-5',
      '0',
      'never',
    ]);
    expect([duration(50), duration(600), duration(7200), whole(1234567), whole(999)]).toEqual([
      '50 s',
      '10 min',
      '2.0 h',
      '1,234,567',
      '999',
    ]);
    const e = { mean: 0.5, low: 0.4, high: 0.6, n: 3 };
    expect(interval(e, 'share')).toBe('50.0 % (40.0–60.0)');
    expect(interval({ ...e, low: -0.1 }, 'number')).toBe('0.500 (−0.100 to 0.600)');
    expect(interval({ ...e, low: -Infinity, high: Infinity }, 'share')).toBe('50.0 %');
    expect(interval({ ...e, low: 0.5, high: 0.5 }, 'share')).toBe('50.0 %');
    expect(difference({ mean: 0.021, low: -0.005, high: 0.047, n: 3 }, 'share')).toBe('+2.1 (−0.5 to +4.7)');
    expect(difference({ mean: -0.021, low: -Infinity, high: Infinity, n: 1 }, 'share')).toBe('−2.1');
  });
});

describe('a table', () => {
  const table = (columns: string[], r: typeof results | null = results) => markdownTable(experiment, r, { title: '', columns }).split('\n');

  it('has a row per lane, with means, intervals and differences', () => {
    expect(table(['shape', 'setting.learningRate', 'sampled.plain', 'difference.sampled.plain', 'found', 'token-passes'])).toEqual([
      '|  | m × n | `learningRate` | plain: right, sampled | plain: right, sampled, against GRPO (points) | half careful at step: median (each seed) | token-passes |',
      '| --- | --- | --- | --- | --- | --- | --- |',
      '| GRPO | 1 × 6 | 0.001 | 54.0 % (50.0–60.0) | – | never (never, 6, never) | 14,400 |',
      '| Share-GRPO | 2 × 6 | 0.003 | 83.0 % (80.0–88.0) | +29.0 (+28.0 to +30.0) | 3 (3, 4, 2) | 28,800 |',
    ]);
  });

  it('says what was not run yet, and of how many seeds the others are', () => {
    expect(table(['samples', 'found'], null)[2]).toBe('| GRPO | not run yet |  |');
    const two = { ...results, lanes: [{ ...share, runs: share.runs.slice(0, 2) }] };
    expect(table(['samples', 'difference.samples'], two).slice(2)).toEqual([
      '| GRPO | not run yet |  |',
      '| Share-GRPO (2 of 3 seeds) | 288 | – |',
    ]);
  });
});
