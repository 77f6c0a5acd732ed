/**
 * @file The transfer gap: how much likelier prompt k finds a response than the prompt j it was sampled under.
 *
 *   Δ_t = log π_old(o_t | Q_k, o_<t) − log π_old(o_t | Q_j, o_<t)
 *
 * Share-GRPO as published scores o_ji under Q_k with the ratio π_θ/π_old on Q_k alone, so rows with j ≠ k lack the factor
 * e^ΣΔ that would make them importance-sampled. `crossVariant` chooses what stands in for it. The factor is detached and
 * multiplies the clipped term, never the ratio: inside the clip it would put tokens out of range before anything has moved.
 * Names and meaning are those of TRL's correction for sampler mismatch (`vllm_importance_sampling_mode`), with the sampler's
 * policy := π_old(·|Q_j).
 */

/**
 * - `published`: 1
 * - `token_truncate`: min(e^Δ_t, C); `token_mask`: e^Δ_t, 0 where it is above C
 * - `sequence_truncate`: min(e^ΣΔ, C); `sequence_mask`: e^ΣΔ, 0 where it is above C
 * - `geometric`: e^(mean Δ), the per-token geometric mean (as GSPO takes it of ratios)
 * - `none`: rows with j ≠ k are left out
 */
export type CrossVariant =
  'published' | 'token_truncate' | 'token_mask' | 'sequence_truncate' | 'sequence_mask' | 'geometric' | 'sequence' | 'none';

/** Δ_t of one row; both arguments are log-probs per token, nats. */
export function transferGap(underK: ArrayLike<number>, underJ: ArrayLike<number>): Float32Array {
  return Float32Array.from({ length: underK.length }, (_, t) => underK[t] - underJ[t]);
}

export const sum = (values: ArrayLike<number>): number => {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i];
  return total;
};

/** e^x with x held within ±20, so that a hopeless prompt gives a large weight and not an infinite one. */
export const weightOf = (x: number): number => Math.exp(Math.min(20, Math.max(-20, x)));

const truncate = (w: number, cap: number): number => Math.min(w, cap);
const mask = (w: number, cap: number): number => (w > cap ? 0 : w);

/**
 * The detached factor of every token of a row; 1 on the diagonal (`own`), 0 in a row that is left out. `gap` is Δ_t, `cap` is C.
 * `sequence` is the exact factor e^ΣΔ, unlimited: MiCo's `corrected` estimator uses it.
 */
export function rowWeights(mode: CrossVariant, own: boolean, gap: ArrayLike<number>, cap: number): Float32Array {
  const weights = new Float32Array(gap.length);
  if (own) return weights.fill(1);
  switch (mode) {
    case 'published':
      return weights.fill(1);
    case 'none':
      return weights;
    case 'token_truncate':
    case 'token_mask':
      return weights.map((_, t) => (mode === 'token_mask' ? mask : truncate)(weightOf(gap[t]), cap));
    case 'sequence_truncate':
      return weights.fill(truncate(weightOf(sum(gap)), cap));
    case 'sequence_mask':
      return weights.fill(mask(weightOf(sum(gap)), cap));
    case 'sequence':
      return weights.fill(weightOf(sum(gap)));
    case 'geometric':
      return weights.fill(gap.length === 0 ? 1 : weightOf(sum(gap) / gap.length));
  }
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

/** a·b/(‖a‖‖b‖) of two vectors; NaN if either is 0. */
export function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [dot, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    dot += a[i] * b[i];
    aa += a[i] * a[i];
    bb += b[i] * b[i];
  }
  return dot / Math.sqrt(aa * bb);
}
