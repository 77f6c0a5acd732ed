/**
 * @file What is kept of every step of a run: a handful of metrics as series, and the step at which the run found the careful way.
 */
import type { RewardRecord, StepRecord } from '../training/record.ts';
import { costOf } from './summary.ts';

/** Metrics of the records that are kept; a series is dropped where no step has the metric. */
export const METRICS = [
  'reward',
  'share/careful',
  'share/valid_advantage_ratio',
  'frac_reward_zero_std',
  'share/dead_all_fail',
  'share/dead_all_pass',
  'share/transfer_gap_abs_mean',
  'share/transfer_gap_kl',
  'share/transfer_gap_k3',
  'share/effective_sample_size',
  'share/weight_above_cap',
  'share/gradient_cosine',
  'share/consistency_rate',
  'share/kept_weak',
  'share/kept_strong',
  'share/redrawn',
] as const;

/**
 * The same, and what is computed from records: the right and the careful share of responses to plain wordings (every question of a
 * run is a new one, so that is the accuracy at the temperature of the run), and each step's cost.
 */
export const SERIES = [...METRICS, 'right/plain', 'careful/plain', 'cost/samples', 'cost/token_passes'] as const;
export type SeriesName = (typeof SERIES)[number];

/** One number per step, null where the step has none. */
export type Series = readonly (number | null)[];

const DIGITS = 4;

/** Four significant digits; whole numbers stay as they are. */
export const rounded = (x: number): number => (Number.isInteger(x) ? x : Number(x.toPrecision(DIGITS)));

/** Of each response to a plain wording, whether it was careful, or right. */
const ofPlain = ({ questions }: StepRecord, holds: (r: RewardRecord) => boolean): boolean[] =>
  questions.flatMap((q) => q.variants.flatMap((v, j) => (v.phrasing === 'plain' ? (q.rewards[j] ?? []).map(holds) : [])));

const isCareful = (r: RewardRecord): boolean => r.careful;
const isRight = (r: RewardRecord): boolean => r.accuracy === 1;

export function seriesOf(records: readonly StepRecord[]): Partial<Record<SeriesName, Series>> {
  const value = (name: SeriesName, record: StepRecord): number | undefined => {
    if (name === 'cost/samples') return costOf(record).samples;
    if (name === 'cost/token_passes') return costOf(record).tokenPasses;
    if (name !== 'careful/plain' && name !== 'right/plain') return record.metrics[name];
    const held = ofPlain(record, name === 'careful/plain' ? isCareful : isRight);
    return held.length > 0 ? held.filter(Boolean).length / held.length : undefined;
  };
  const all = SERIES.map((name) => {
    const series = records.map((record) => {
      const x = value(name, record);
      return x === undefined || !Number.isFinite(x) ? null : rounded(x);
    });
    return [name, series] as const;
  });
  return Object.fromEntries(all.filter(([, series]) => series.some((x) => x !== null)));
}

/** Steps over which the careful share of a run's own responses is taken. */
const WINDOW = 5;

/**
 * The first step at which at least half of the plain responses of the last five steps were careful: when the run found out.
 * Null if it never did.
 */
export function foundAt(records: readonly StepRecord[]): number | null {
  const careful = records.map((record) => ofPlain(record, isCareful));
  for (let at = WINDOW; at <= careful.length; at++) {
    const recent = careful.slice(at - WINDOW, at).flat();
    if (recent.length > 0 && recent.filter(Boolean).length * 2 >= recent.length) return records[at - 1].step;
  }
  return null;
}
