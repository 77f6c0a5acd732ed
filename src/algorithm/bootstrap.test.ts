/** @file Intervals by the bootstrap against all resamples, written out, and against what is known of them. */
import { describe, expect, it } from 'vitest';
import { bootstrapMean, pairedDifference, quantile } from './bootstrap.ts';

/** Means of all n^n resamples. */
function allMeans(values: readonly number[]): number[] {
  let sums = [0];
  for (const _ of values) sums = sums.flatMap((sum) => values.map((x) => sum + x));
  return sums.map((sum) => sum / values.length);
}

describe('the bootstrap', () => {
  it.each([[[0.81, 0.84, 0.9]], [[1, 2, 4]], [[0.425, 0.79, 0.815]], [[3, 1, 4, 1, 5]]])('of %j is that of all resamples', (values) => {
    const means = allMeans(values);
    const share = (holds: (mean: number) => boolean) => means.filter(holds).length / means.length;
    for (const level of [0.5, 0.8, 0.95]) {
      const { low, high } = bootstrapMean(values, { level })!;
      const ends = [
        [low, (1 - level) / 2],
        [high, (1 + level) / 2],
      ];
      // of a distribution with few values, a quantile is a value below which there is at most, and up to which at least, so much
      for (const [x, q] of ends) {
        expect(share((mean) => mean < x - 1e-9)).toBeLessThan(q + 0.015);
        expect(share((mean) => mean <= x + 1e-9)).toBeGreaterThan(q - 0.015);
      }
    }
  });

  it('draws each of all resamples of three values about equally often', () => {
    // P(mean = all lowest) = 1/27: the interval that leaves out 1/54 at each end begins at the lowest value, one that leaves out 3/54 does not
    const lowest = (level: number) => bootstrapMean([0, 1, 10], { level })!.low;
    expect(lowest(1 - 2 / 54)).toBe(0);
    expect(lowest(1 - 6 / 54)).toBeGreaterThan(0);
  });

  it('comes to the normal interval for many values', () => {
    const values = Array.from({ length: 400 }, (_, i) => Math.sin(i * 12.9898) * 2);
    const mean = values.reduce((a, b) => a + b) / 400;
    const error = Math.sqrt(values.reduce((s, x) => s + (x - mean) ** 2, 0) / 400 / 400);
    const e = bootstrapMean(values)!;
    expect(e.mean).toBeCloseTo(mean, 12);
    expect(e.low).toBeCloseTo(mean - 1.96 * error, 2);
    expect(e.high).toBeCloseTo(mean + 1.96 * error, 2);
  });

  it('is the same for the same values', () => {
    expect(bootstrapMean([1, 2, 3])).toEqual(bootstrapMean([1, 2, 3]));
    expect(bootstrapMean([1, 2, 3, 5], { seed: 2 })?.mean).toBe(2.75);
  });

  it('knows nothing of one value, and has no mean of none', () => {
    expect(bootstrapMean([7])).toEqual({ mean: 7, low: -Infinity, high: Infinity, n: 1 });
    expect(bootstrapMean([])).toBeNull();
    expect(bootstrapMean([2, 2, 2])).toEqual({ mean: 2, low: 2, high: 2, n: 3 });
  });
});

describe('the paired difference', () => {
  const a = new Map([
    [1, 0.9],
    [2, 0.6],
    [3, 0.8],
  ]);

  it('is over the seeds that both have', () => {
    const b = new Map([
      [3, 0.7],
      [1, 0.8],
      [4, 0],
    ]);
    expect(pairedDifference(a, b)?.n).toBe(2);
    expect(pairedDifference(a, b)?.mean).toBeCloseTo(0.1, 12);
    expect(pairedDifference(a, new Map([[9, 1]]))).toBeNull();
  });

  it('is sure where every seed gains the same, however much seeds differ', () => {
    const b = new Map([...a].map(([seed, x]) => [seed, x - 0.05]));
    const d = pairedDifference(a, b)!;
    expect(d.low).toBeCloseTo(0.05, 12);
    expect(d.high).toBeCloseTo(0.05, 12);
    const [x, y] = [bootstrapMean([...a.values()])!, bootstrapMean([...b.values()])!];
    expect(x.low).toBeLessThan(y.high);
  });
});

describe('the quantile', () => {
  it('lies on a straight line between two values', () => {
    expect([0, 0.25, 0.5, 0.9, 1].map((q) => quantile([1, 2, 4, 8, 16], q))).toEqual([1, 2, 4, 12.8, 16]);
  });
});
