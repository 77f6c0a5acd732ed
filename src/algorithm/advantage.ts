/**
 * @file Advantages of one question's m·n responses (Share-GRPO Eq. 5–7):
 *
 *   local   L_ji = (R_ji − μ_j)/(σ_j + ε)   over the n responses of variant j
 *   global  G_ji = (R_ji − μ)/(σ + ε)       over all m·n responses of the question
 *   row     A_kji = w_g·G_ji + [j = k]·w_l·L_ji       (as published w_g = w_l = 1)
 *
 * All in float64. A group whose rewards are equal has advantage exactly 0 (in float32 the published code gives ±.056 to a
 * group of 0.9s). The local σ is always the sample deviation, as published; which σ the global group takes is a setting, and so
 * is what both are divided by (`scale_rewards` of TRL; `none` is Dr. GRPO, arXiv 2503.20783).
 */

/** ε of the published code. */
export const EPSILON = 1e-6;

/**
 * σ of the global group: `population` divides by mn, `sample` by mn − 1; `replicated` is the published code's: the sample
 * deviation of the m²n rows, in which every response stands m times, so m·Σ(R−μ)²/(m·mn − 1).
 */
export type Sigma = 'population' | 'sample' | 'replicated';

/** What a centred reward is divided by: its group's σ, the σ of the whole batch's rewards, or nothing. */
export type ScaleRewards = 'group' | 'batch' | 'none';

export type GroupState = 'alive' | 'all-fail' | 'all-pass';

export interface GroupStatistics {
  readonly mean: number;
  readonly std: number;
}

/** Mean and σ of a group; `copies` is m for `replicated`. Equal values give σ = 0 exactly, and so does a single one. */
export function groupStatistics(values: readonly number[], sigma: Sigma, copies = 1): GroupStatistics {
  const count = values.length;
  if (values.every((v) => v === values[0])) return { mean: count > 0 ? values[0] : 0, std: 0 };
  // sorted, so that neither moment depends on the order in which the responses came
  const sorted = [...values].sort((a, b) => a - b);
  const mean = sorted.reduce((sum, v) => sum + v, 0) / count;
  const squares = sorted.reduce((sum, v) => sum + (v - mean) ** 2, 0);
  if (sigma === 'population') return { mean, std: Math.sqrt(squares / count) };
  const times = sigma === 'replicated' ? copies : 1;
  return { mean, std: Math.sqrt((times * squares) / (times * count - 1)) };
}

/** (R − μ)/(σ + ε) of each value; exactly 0 for all if they are equal. */
export function normalise(values: readonly number[], { mean, std }: GroupStatistics, epsilon = EPSILON): number[] {
  return values.map((v) => (std === 0 ? 0 : (v - mean) / (std + epsilon)));
}

/** A group with equal rewards teaches nothing: `all-fail` if none of its responses was right, `all-pass` otherwise. */
export function groupState(totals: readonly number[], accuracies: readonly number[]): GroupState {
  if (totals.some((r) => r !== totals[0])) return 'alive';
  return accuracies.some((a) => a > 0) ? 'all-pass' : 'all-fail';
}

export interface AdvantageOptions {
  readonly sigma: Sigma;
  readonly scale: ScaleRewards;
  /** The sample deviation of all rewards of the step, over all its questions; only `scale: 'batch'` reads it. */
  readonly batchStd: number;
  readonly epsilon?: number;
}

const AS_PUBLISHED: AdvantageOptions = { sigma: 'replicated', scale: 'group', batchStd: 0 };

export interface Advantages {
  /** [m][n] */
  readonly local: number[][];
  /** [m][n] */
  readonly global: number[][];
  readonly mean: number;
  readonly std: number;
}

/** L and G of one question. `rewards[j][i]` is R_ji; a variant that nothing was sampled under has an empty group. */
export function advantages(rewards: readonly (readonly number[])[], o: AdvantageOptions = AS_PUBLISHED): Advantages {
  const epsilon = o.epsilon ?? EPSILON;
  const scaled = (group: readonly number[], own: GroupStatistics): number[] => {
    if (own.std === 0 || o.scale === 'group') return normalise(group, own, epsilon);
    const divisor = o.scale === 'batch' ? o.batchStd + epsilon : 1;
    return group.map((r) => (r - own.mean) / divisor);
  };
  const pooled = groupStatistics(rewards.flat(), o.sigma, rewards.length);
  const global = rewards.map((group) => scaled(group, pooled));
  const local = rewards.map((group) => scaled(group, groupStatistics(group, 'sample')));
  return { local, global, ...pooled };
}

/** w_l and w_g. */
export interface HierarchicalWeights {
  readonly localWeight: number;
  readonly globalWeight: number;
}

export interface PairPlace extends Partial<HierarchicalWeights> {
  readonly local: number;
  readonly global: number;
  readonly j: number;
  readonly k: number;
  /** How many variants responses were sampled under. */
  readonly m: number;
}

/**
 * A_kji, the advantage of response (j, i) when it is scored under prompt k of m. With m = 1 both groups are one and the
 * same, and it counts once whatever the weights: that is GRPO. (The published code would count it twice, which only scales
 * the gradient.)
 */
export function pairAdvantage({ local, global, j, k, m, localWeight = 1, globalWeight = 1 }: PairPlace): number {
  if (m === 1) return global;
  return globalWeight * global + (j === k ? localWeight * local : 0);
}
