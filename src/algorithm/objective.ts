/**
 * @file The objective (Share-GRPO Eq. 8 and its relatives) and its derivative: the one home of the formula. The GPU gets the
 * coefficients that `rowTerms` returns and knows nothing of clipping.
 *
 *   loss = Σ_(k,j,i) Σ_t c · ( w_t·ℓ(r_t, A_kji) + β·k3_t )
 *   r_t  = π_θ(o_t|Q_k)/π_old(o_t|Q_k), or for ratios of the sequence (GSPO, arXiv 2507.18071) e^(mean_t log r_t)
 *   ℓ    = −min(r·A, clip(r, 1−ε_lo, 1+ε_hi)·A),  and at most −c·A where A < 0 (dual clip, Ye et al. 2020)
 *   k3_t = e^d − 1 − d with d = log π_base − log π_θ: the distance from the frozen base model
 *
 * The aggregation decides c; names and meaning are those of TRL's `loss_type`, with R rows, N tokens and T the row's length:
 *
 *   grpo     1/(R·T)   the mean over rows of each row's mean (DeepSeekMath, arXiv 2402.03300)
 *   bnpo     1/N       the mean over the tokens of the micro-batch (the published Share-GRPO code)
 *   dapo     1/N       N counted over the whole batch of an update, however it is cut (DAPO, arXiv 2503.14476)
 *   dr_grpo  1/(R·L)   L the longest response allowed (Dr. GRPO, arXiv 2503.20783)
 *
 * A masked row (a response that was cut off) adds nothing; it still counts in R, not in N, as in TRL.
 */

export interface ClipRange {
  /** ε_lo */
  readonly low: number;
  /** ε_hi */
  readonly high: number;
  /** c of the dual clip, > 1; null for none. */
  readonly dual: number | null;
}

export type Aggregation = 'grpo' | 'bnpo' | 'dr_grpo' | 'dapo';
export type RatioLevel = 'token' | 'sequence';

export interface Objective {
  readonly clip: ClipRange;
  readonly level: RatioLevel;
  readonly aggregation: Aggregation;
  /** β of the distance from the base model. */
  readonly beta: number;
  /** L: tokens of the longest response allowed. */
  readonly maxTokens: number;
}

/** Log-ratios are held within ±20, as in the published code, so that e^x stays finite. */
const MAX_LOG_RATIO = 20;

const bounded = (logRatio: number): number => Math.min(MAX_LOG_RATIO, Math.max(-MAX_LOG_RATIO, logRatio));

export const ratio = (logProb: number, oldLogProb: number): number => Math.exp(bounded(logProb - oldLogProb));

/** The ratio that each token of a row is judged by: its own, or the sequence's for all. */
export function rowRatios(row: Pick<Row, 'logProbs' | 'oldLogProbs'>, level: RatioLevel): Float64Array {
  const { logProbs, oldLogProbs } = row;
  const length = logProbs.length;
  const ratios = new Float64Array(length);
  if (level === 'token') return ratios.map((_, t) => ratio(logProbs[t], oldLogProbs[t]));
  let total = 0;
  for (let t = 0; t < length; t++) total += logProbs[t] - oldLogProbs[t];
  return ratios.fill(Math.exp(bounded(total / Math.max(1, length))));
}

/** ℓ(r, A): what one token adds to the loss, before weight and mean. */
export function tokenLoss(r: number, advantage: number, clip: ClipRange): number {
  const clipped = Math.min(1 + clip.high, Math.max(1 - clip.low, r));
  const loss = Math.max(-r * advantage, -clipped * advantage);
  return advantage < 0 && clip.dual !== null ? Math.min(loss, -clip.dual * advantage) : loss;
}

/** dℓ/d log r: −r·A, or 0 where a clip holds. */
export function tokenSlope(r: number, advantage: number, clip: ClipRange): number {
  const held = advantage > 0 ? r > 1 + clip.high : r < 1 - clip.low || (clip.dual !== null && r > clip.dual);
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
  /** log π_base(o_t|Q_k), nats; needed where β is not 0. */
  readonly baseLogProbs?: ArrayLike<number> | null;
  /** A_kji */
  readonly advantage: number;
  /** Detached factor per token; see transfer.ts. */
  readonly weights: ArrayLike<number>;
  /** The response was cut off and is left out of the loss. */
  readonly masked?: boolean;
}

/** What the aggregation divides by. */
export interface BatchSize {
  readonly rows: number;
  /** Tokens of rows that are not masked. For `dapo` with several parts of a batch: those of the whole batch / parts. */
  readonly tokens: number;
}

export function batchSize(rows: readonly Pick<Row, 'logProbs' | 'masked'>[]): BatchSize {
  return { rows: rows.length, tokens: rows.reduce((n, row) => n + (row.masked ? 0 : row.logProbs.length), 0) };
}

/** c: what each token of a row of `length` tokens is multiplied by. */
export function tokenScale(length: number, { aggregation, maxTokens }: Objective, size: BatchSize): number {
  switch (aggregation) {
    case 'grpo':
      return 1 / (size.rows * length);
    case 'dr_grpo':
      return 1 / (size.rows * maxTokens);
    case 'bnpo':
    case 'dapo':
      return 1 / size.tokens;
  }
}

export interface RowTerms {
  /** What the row adds to the loss. */
  readonly loss: number;
  /** dLoss/d log π_θ(o_t|Q_k), per token. */
  readonly slopes: Float32Array;
}

/** A row's part of the loss and its derivative. `size` is that of all rows of the batch that count. */
export function rowTerms(row: Row, objective: Objective, size: BatchSize): RowTerms {
  const { advantage, weights, logProbs, baseLogProbs } = row;
  const { clip, level, beta } = objective;
  const length = logProbs.length;
  const slopes = new Float32Array(length);
  if (row.masked || length === 0) return { loss: 0, slopes };
  const scale = tokenScale(length, objective, size);
  const ratios = rowRatios(row, level);
  let loss = 0;
  let meanWeight = 0; // of the sequence's ratio every token's log-prob has a share of 1/T
  for (let t = 0; t < length; t++) meanWeight += weights[t] / length;
  for (let t = 0; t < length; t++) {
    const r = ratios[t];
    loss += weights[t] * tokenLoss(r, advantage, clip);
    let slope = (level === 'sequence' ? meanWeight : weights[t]) * tokenSlope(r, advantage, clip);
    if (beta !== 0 && baseLogProbs) {
      const d = bounded(baseLogProbs[t] - logProbs[t]);
      loss += beta * (Math.expm1(d) - d);
      slope += beta * -Math.expm1(d);
    }
    slopes[t] = slope * scale;
  }
  return { loss: loss * scale, slopes };
}

/** The loss of a batch of rows; each of them counts, whatever its weight. */
export function batchLoss(rows: readonly Row[], objective: Objective): number {
  const size = batchSize(rows);
  return rows.reduce((total, row) => total + rowTerms(row, objective, size).loss, 0);
}
