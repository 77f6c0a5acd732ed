/**
 * @file The objective (Share-GRPO Eq. 8 as coded) and its derivative: the one home of the formula. The GPU gets the
 * coefficients that `rowTerms` returns and knows nothing of clipping.
 *
 *   loss = (1/N) Σ_(k,j,i) Σ_t w_kji · ℓ(r_t, A_kji),   N = tokens of all rows that count
 *   r_t  = π_θ(o_t|Q_k)/π_old(o_t|Q_k)
 *   ℓ    = −min(r·A, clip(r, 1−ε_lo, 1+ε_hi)·A),  and at most −c·A where A < 0 (dual clip, Ye et al. 2020)
 *
 * The mean is over tokens, not over responses (the published code's `masked_mean`; TRL calls it `bnpo`).
 */

export interface ClipRange {
  /** ε_lo */
  readonly low: number;
  /** ε_hi */
  readonly high: number;
  /** c of the dual clip, > 1. */
  readonly dual: number;
}

/** Log-ratios are held within ±20, as in the published code, so that e^x stays finite. */
const MAX_LOG_RATIO = 20;

export const ratio = (logProb: number, oldLogProb: number): number =>
  Math.exp(Math.min(MAX_LOG_RATIO, Math.max(-MAX_LOG_RATIO, logProb - oldLogProb)));

/** ℓ(r, A): what one token adds to the loss, before weight and mean. */
export function tokenLoss(r: number, advantage: number, clip: ClipRange): number {
  const clipped = Math.min(1 + clip.high, Math.max(1 - clip.low, r));
  const loss = Math.max(-r * advantage, -clipped * advantage);
  return advantage < 0 ? Math.min(loss, -clip.dual * advantage) : loss;
}

/** dℓ/d log π_θ(o_t): −r·A, or 0 where a clip holds. */
export function tokenSlope(r: number, advantage: number, clip: ClipRange): number {
  const held = advantage > 0 ? r > 1 + clip.high : r < 1 - clip.low || r > clip.dual;
  return held ? 0 : -r * advantage;
}

/** −1: clipped low (r < 1−ε_lo, A < 0); +1: clipped high (r > 1+ε_hi, A > 0); 0: neither. TRL counts them so. */
export function clipMark(r: number, advantage: number, clip: ClipRange): -1 | 0 | 1 {
  if (advantage < 0 && r < 1 - clip.low) return -1;
  return advantage > 0 && r > 1 + clip.high ? 1 : 0;
}

/** One row (k; j, i): response (j, i) scored under prompt k. Arrays have one number per token of the response. */
export interface Row {
  /** log π_θ(o_t|Q_k), nats */
  readonly logProbs: ArrayLike<number>;
  /** log π_old(o_t|Q_k), nats */
  readonly oldLogProbs: ArrayLike<number>;
  /** A_kji */
  readonly advantage: number;
  /** Detached factor of the row; see transfer.ts. */
  readonly weight: number;
}

export interface RowTerms {
  /** What the row adds to the loss. */
  readonly loss: number;
  /** dLoss/d log π_θ(o_t|Q_k), per token. */
  readonly slopes: Float32Array;
}

/** A row's share of the loss and its derivative. `tokens` is N, the count over all rows of the batch that count. */
export function rowTerms(row: Row, clip: ClipRange, tokens: number): RowTerms {
  const slopes = new Float32Array(row.logProbs.length);
  let loss = 0;
  for (let t = 0; t < slopes.length; t++) {
    const r = ratio(row.logProbs[t], row.oldLogProbs[t]);
    loss += tokenLoss(r, row.advantage, clip);
    slopes[t] = (row.weight * tokenSlope(r, row.advantage, clip)) / tokens;
  }
  return { loss: (row.weight * loss) / tokens, slopes };
}

/** The loss of a batch of rows; each of them counts, whatever its weight. */
export function batchLoss(rows: readonly Row[], clip: ClipRange): number {
  const tokens = rows.reduce((total, row) => total + row.logProbs.length, 0);
  return rows.reduce((total, row) => total + rowTerms(row, clip, tokens).loss, 0);
}
