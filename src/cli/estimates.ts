/**
 * @file A lane's figures over its seeds: the mean with its 95 % interval, the median, and the paired difference to the baseline.
 */
import { bootstrapMean, pairedDifference, quantile, type Estimate } from '../algorithm/bootstrap.ts';
import type { Quantity } from './quantities.ts';
import type { LaneResult } from './results.ts';

/** Values by seed, in the order of the seeds; null for a run that has none (it never got there). */
export const valuesOf = (lane: LaneResult, quantity: Quantity): ReadonlyMap<number, number | null> =>
  new Map(lane.runs.map((run) => [run.seed, quantity.of(run)]));

const known = (values: ReadonlyMap<number, number | null>): Map<number, number> =>
  new Map([...values].flatMap(([seed, x]) => (x === null ? [] : [[seed, x]])));

export const estimate = (lane: LaneResult, quantity: Quantity): Estimate | null =>
  bootstrapMean([...known(valuesOf(lane, quantity)).values()]);

/** Null without a common seed. */
export const differenceTo = (baseline: LaneResult, lane: LaneResult, quantity: Quantity): Estimate | null =>
  pairedDifference(known(valuesOf(lane, quantity)), known(valuesOf(baseline, quantity)));

/** A run that never got there counts as later than all: the median is ∞ if most never did. */
export function median(lane: LaneResult, quantity: Quantity): number {
  const sorted = [...valuesOf(lane, quantity).values()].map((x) => x ?? Infinity).sort((a, b) => a - b);
  const middle = quantile(sorted, 0.5);
  return Number.isNaN(middle) ? Infinity : middle;
}
