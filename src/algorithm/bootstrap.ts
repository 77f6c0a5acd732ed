/**
 * @file How sure a mean over a few runs is: the percentile bootstrap (Efron 1979; Efron and Tibshirani 1993, chapter 13), which asks how
 * the mean would vary if the runs were drawn again from those that there are. It assumes no distribution, and it is honest only as far as
 * the runs are many: over three to five it is too narrow, so a difference whose interval just leaves out 0 is a hint, not a proof.
 */

export interface Estimate {
  readonly mean: number;
  /** Ends of the interval; −∞ and ∞ for a single value, of which nothing is known. */
  readonly low: number;
  readonly high: number;
  /** How many values the mean is of. */
  readonly n: number;
}

export interface BootstrapOptions {
  readonly resamples?: number;
  /** Share of the resampled means inside the interval. */
  readonly level?: number;
  readonly seed?: number;
}

/** Uniform numbers in [0, 1): mulberry32 (Tommy Ettinger, public domain), enough for drawing with replacement. */
function generator(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** The q-quantile of sorted values, between two of them by a straight line (type 7 of Hyndman and Fan 1996). */
export function quantile(sorted: ArrayLike<number>, q: number): number {
  const at = q * (sorted.length - 1);
  const below = Math.floor(at);
  const above = Math.min(sorted.length - 1, below + 1);
  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

/** The mean with its interval, by default 95 % over 10 000 resamples; null of no values. The same values give the same interval. */
export function bootstrapMean(values: readonly number[], o: BootstrapOptions = {}): Estimate | null {
  const { resamples = 10_000, level = 0.95, seed = 1 } = o;
  const n = values.length;
  if (n === 0) return null;
  const mean = values.reduce((sum, x) => sum + x, 0) / n;
  if (n === 1) return { mean, low: -Infinity, high: Infinity, n };
  const random = generator(seed);
  const means = Float64Array.from({ length: resamples }, () => {
    let sum = 0;
    for (let i = 0; i < n; i++) sum += values[Math.floor(random() * n)];
    return sum / n;
  }).sort();
  return { mean, low: quantile(means, (1 - level) / 2), high: quantile(means, (1 + level) / 2), n };
}

/**
 * The mean of a − b over the keys (seeds) that both have, with its interval: what the two have in common, such as an easy seed, falls out.
 * Null if they share no key.
 */
export function pairedDifference(
  a: ReadonlyMap<number, number>,
  b: ReadonlyMap<number, number>,
  o: BootstrapOptions = {},
): Estimate | null {
  const differences = [...a].flatMap(([key, x]) => {
    const y = b.get(key);
    return y === undefined ? [] : [x - y];
  });
  return bootstrapMean(differences, o);
}
