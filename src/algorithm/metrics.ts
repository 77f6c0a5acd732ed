/**
 * @file A step's summary numbers. TRL's GRPOTrainer names where TRL has the metric, ours under `share/`. Counts are plain
 * numbers, lengths are tokens, log-probs and entropies nats per token, shares are 0…1.
 */
import { STRONG, WEAK } from './rows.ts';
import { effectiveSampleSize, k3, sum, weightOf } from './transfer.ts';

export interface MetricResponse {
  readonly accuracy: number;
  readonly format: number;
  readonly total: number;
  readonly careful: boolean;
  /** Tokens, the end token included. */
  readonly length: number;
  /** False if the response ran into the token limit. */
  readonly stopped: boolean;
  readonly entropies: ArrayLike<number>;
}

export interface MetricRow {
  readonly j: number;
  readonly k: number;
  readonly advantage: number;
  /** Detached factor per token. */
  readonly weights: ArrayLike<number>;
  readonly gap: ArrayLike<number>;
}

export interface MetricQuestion {
  /** [m][n] */
  readonly responses: readonly (readonly MetricResponse[])[];
  /** The pooled group of m·n: alive, all-fail or all-pass; and the group of each variant. */
  readonly pooled: string;
  readonly local: readonly string[];
  /** What the audit says of each variant: kept, changed or unknown. */
  readonly audits: readonly string[];
  /** Rows that count; empty before the share phase. */
  readonly rows: readonly MetricRow[];
}

/** |A| above this teaches (reference: the paper's valid-advantage ratio, whose threshold is unpublished). */
const VALID = 1e-4;

export const mean = (values: ArrayLike<number>): number => (values.length === 0 ? 0 : sum(values) / values.length);

/** Bessel's deviation, 0 for fewer than two values. */
export function sampleStd(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const centre = mean(values);
  return Math.sqrt(values.reduce((s, v) => s + (v - centre) ** 2, 0) / (values.length - 1));
}

const share = <T>(items: readonly T[], holds: (item: T) => boolean): number =>
  items.length === 0 ? 0 : items.filter(holds).length / items.length;

/** What is known once the responses are rewarded. */
export function rewardMetrics(questions: readonly MetricQuestion[]): Record<string, number> {
  const groups = questions.flatMap((q) => q.responses).filter((group) => group.length > 0);
  const states = questions.flatMap((q) => q.local);
  const all = groups.flat();
  const lengths = all.map((r) => r.length);
  const ended = all.filter((r) => r.stopped).map((r) => r.length);
  const totals = all.map((r) => r.total);
  const entropies = all.flatMap((r) => Array.from(r.entropies));
  return {
    num_tokens: sum(lengths),
    reward: mean(totals),
    reward_std: sampleStd(totals),
    'rewards/accuracy/mean': mean(all.map((r) => r.accuracy)),
    'rewards/accuracy/std': sampleStd(all.map((r) => r.accuracy)),
    'rewards/format/mean': mean(all.map((r) => r.format)),
    'rewards/format/std': sampleStd(all.map((r) => r.format)),
    frac_reward_zero_std: share(groups, (g) => g.every((r) => r.total === g[0].total)),
    entropy: mean(entropies),
    'completions/mean_length': mean(lengths),
    'completions/min_length': Math.min(...lengths),
    'completions/max_length': Math.max(...lengths),
    'completions/mean_terminated_length': mean(ended),
    'completions/clipped_ratio': share(all, (r) => !r.stopped),
    'share/careful': share(all, (r) => r.careful),
    'share/dead_all_fail': share(questions, (q) => q.pooled === 'all-fail'),
    'share/dead_all_pass': share(questions, (q) => q.pooled === 'all-pass'),
    'share/dead_local_all_fail': share(states, (s) => s === 'all-fail'),
    'share/dead_local_all_pass': share(states, (s) => s === 'all-pass'),
  };
}

/** How many variants still have their question's answer, as far as anybody can say; and of those, which share. */
export function auditMetrics(questions: readonly Pick<MetricQuestion, 'audits'>[]): Record<string, number> {
  const audits = questions.flatMap((q) => q.audits);
  const known = audits.filter((a) => a !== 'unknown');
  const unknown = { 'share/audit_unknown': share(audits, (a) => a === 'unknown') };
  return known.length === 0 ? unknown : { ...unknown, 'share/consistency_rate': share(known, (a) => a === 'kept') };
}

/** The same for MiCo's weak and strong views: in how many triplets the one difference is still in sight. */
export function viewMetrics(questions: readonly Pick<MetricQuestion, 'audits'>[]): Record<string, number> {
  const kept = (view: number) => auditMetrics(questions.map((q) => ({ audits: [q.audits[view]] })))['share/consistency_rate'];
  const [weak, strong] = [kept(WEAK), kept(STRONG)];
  return weak === undefined || strong === undefined ? {} : { 'share/kept_weak': weak, 'share/kept_strong': strong };
}

/**
 * What is known once every response is scored under every variant; the gap is taken over rows with j ≠ k. `cap` is C, above
 * which the truncating and masking corrections cut the weight e^ΣΔ.
 */
export function shareMetrics(questions: readonly MetricQuestion[], cap: number): Record<string, number> {
  const rows = questions.flatMap((q) => q.rows);
  const across = rows.filter((row) => row.j !== row.k);
  const gaps = across.flatMap((row) => Array.from(row.gap));
  const metrics: Record<string, number> = { 'share/valid_advantage_ratio': share(rows, (row) => Math.abs(row.advantage) > VALID) };
  if (gaps.length === 0) return metrics;
  const importance = across.map((row) => weightOf(sum(row.gap)));
  return {
    ...metrics,
    'share/transfer_gap_abs_mean': mean(gaps.map(Math.abs)),
    'share/transfer_gap_mean': mean(gaps),
    'share/transfer_gap_kl': -mean(gaps),
    'share/transfer_gap_k3': mean(gaps.map((d) => k3(0, d))),
    // of the importance weights e^ΣΔ, whether or not they are used
    'share/effective_sample_size': effectiveSampleSize(importance),
    'share/weight_above_cap': share(importance, (w) => w > cap),
    'share/cross_weight_mean': mean(across.flatMap((row) => Array.from(row.weights))),
  };
}

/** Of all tokens of a batch: the share clipped low, clipped high and either (marks of objective.ts). */
export function clipMetrics(marks: readonly ArrayLike<number>[]): Record<string, number> {
  const all = marks.flatMap((m) => Array.from(m));
  const low = share(all, (x) => x < 0);
  const high = share(all, (x) => x > 0);
  return { 'clip_ratio/low_mean': low, 'clip_ratio/high_mean': high, 'clip_ratio/region_mean': low + high };
}
