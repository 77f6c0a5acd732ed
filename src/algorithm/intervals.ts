/**
 * @file How sure a share is: the Wilson score interval (Wilson 1927), which stays inside 0…1 and behaves at 0 and at n of n.
 */

export interface Interval {
  readonly low: number;
  readonly high: number;
}

/** The interval for `right` of `n`; z = 1.96 is 95 %. With n = 0 nothing is known: 0…1. */
export function wilson(right: number, n: number, z = 1.959963984540054): Interval {
  if (n === 0) return { low: 0, high: 1 };
  const share = right / n;
  const centre = share + (z * z) / (2 * n);
  const half = z * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n));
  const scale = 1 + (z * z) / n;
  return { low: Math.max(0, (centre - half) / scale), high: Math.min(1, (centre + half) / scale) };
}
