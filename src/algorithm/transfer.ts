/**
 * @file The transfer gap: how much likelier prompt k finds a response than the prompt j it was sampled under.
 *
 *   Δ_t = log π_old(o_t | Q_k, o_<t) − log π_old(o_t | Q_j, o_<t)
 *
 * Share-GRPO as published scores o_ji under Q_k with the ratio π_θ/π_old on Q_k alone, so rows with j ≠ k lack the factor
 * e^ΣΔ that would make them importance-sampled. `crossVariant` chooses what stands in for it. The factor is detached and
 * multiplies the clipped term. Names follow TRL's sampling correction.
 */

/** `published`: 1. `sequence_truncate`: min(e^ΣΔ, C). `none`: rows with j ≠ k are left out. */
export type CrossVariant = 'published' | 'sequence_truncate' | 'none';

/** Δ_t of one row; both arguments are log-probs per token, nats. */
export function transferGap(underK: ArrayLike<number>, underJ: ArrayLike<number>): Float32Array {
  return Float32Array.from({ length: underK.length }, (_, t) => underK[t] - underJ[t]);
}

export const sum = (values: ArrayLike<number>): number => {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i];
  return total;
};

/** Whether row (k; j) takes part in the objective at all. */
export const rowCounts = (mode: CrossVariant, k: number, j: number): boolean => mode !== 'none' || k === j;

/** The detached factor of row (k; j), the same for each of its tokens; 1 on the diagonal, 0 for a row that is left out. */
export function rowWeight(mode: CrossVariant, k: number, j: number, gap: ArrayLike<number>, truncateAt: number): number {
  if (k === j) return 1;
  if (mode === 'none') return 0;
  return mode === 'published' ? 1 : Math.min(Math.exp(sum(gap)), truncateAt);
}

/** (Σw)²/(N·Σw²), the fraction of N rows that weights w leave in effect; 1 for equal weights, 0 for none. */
export function effectiveSampleSize(weights: readonly number[]): number {
  const total = sum(weights);
  const squares = weights.reduce((s, w) => s + w * w, 0);
  return squares === 0 ? 0 : (total * total) / (weights.length * squares);
}

/**
 * Schulman's k3 estimate of KL(p ‖ q) from one token drawn from p: e^d − 1 − d with d = log q − log p; never negative.
 * (http://joschu.net/blog/kl-approx.html)
 */
export const k3 = (logP: number, logQ: number): number => Math.expm1(logQ - logP) - (logQ - logP);
