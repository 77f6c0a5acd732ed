/**
 * @file The objective with the numbers of one row and one token put in. Every formula is called from `algorithm`; this file only
 * says which numbers go where, and adds up.
 */
import { batchSize, clipMark, tokenLoss, tokenScale, type BatchSize } from '../../algorithm/objective.ts';
import { objectiveOf, rowCounts } from '../../algorithm/rows.ts';
import { k3 } from '../../algorithm/transfer.ts';
import type { Place } from '../../session/selection.svelte.ts';
import type { PairRecord, QuestionRecord, Settings, StepRecord } from '../../session/types.ts';

/** One row (k; j,i) of a record. */
export interface RowAt extends Place {
  readonly pair: PairRecord;
  /** Takes part in the objective at all. */
  readonly counts: boolean;
  /** The response was cut off and is left out of the loss. */
  readonly masked: boolean;
}

export function rowAt(question: QuestionRecord, place: Place, settings: Settings): RowAt | null {
  const { k, j, i } = place;
  const pair = question.pairs[k]?.[j]?.[i];
  if (!pair) return null;
  const masked = settings.maskTruncated === 'on' && question.responses[j][i].finish === 'length';
  return { k, j, i, pair, counts: rowCounts(settings, k, j), masked };
}

function rowsOf(record: Pick<StepRecord, 'questions' | 'settings'>): RowAt[] {
  return record.questions.flatMap((q) =>
    q.pairs.flatMap((byJ, k) =>
      byJ.flatMap((group, j) => group.map((_, i) => rowAt(q, { k, j, i }, record.settings) as RowAt).filter((row) => row.counts)),
    ),
  );
}

/**
 * Whether the terms after the update can be told from a record. They cannot where the sequence is judged as one and the
 * distance from the base counts too: that takes each token's own log-prob, of which only the mean is kept.
 */
export const tellsAfter = (s: Settings): boolean => s.ratioLevel === 'token' || s.klBeta === 0;

export interface TokenTerm {
  /** π_θ/π_old, of the token or of the sequence; exactly 1 before the update. */
  readonly ratio: number;
  readonly clipped: number;
  readonly advantage: number;
  readonly unclippedTerm: number;
  readonly clippedTerm: number;
  /** What stands: min(r·A, clip(r)·A), and no less than c·A where A < 0. */
  readonly term: number;
  readonly mark: -1 | 0 | 1;
  readonly weight: number;
  /** k3 distance from the base model; null where β is 0. */
  readonly distance: number | null;
  /** w·term − β·k3, before the mean; 0 in a row that is left out. */
  readonly total: number;
}

export function tokenTerm({ pair, counts, masked }: RowAt, t: number, settings: Settings): TokenTerm {
  const { clip, beta } = objectiveOf(settings);
  const ratio = tellsAfter(settings) ? (pair.ratios?.[t] ?? 1) : 1;
  const { advantage } = pair;
  const clipped = Math.min(1 + clip.high, Math.max(1 - clip.low, ratio));
  const term = -tokenLoss(ratio, advantage, clip);
  const weight = pair.weights[t] ?? 1;
  const distance = beta !== 0 && pair.base ? k3(pair.logProbs[t] + Math.log(ratio), pair.base[t]) : null;
  return {
    ratio,
    clipped,
    advantage,
    unclippedTerm: ratio * advantage,
    clippedTerm: clipped * advantage,
    term,
    mark: clipMark(ratio, advantage, clip),
    weight,
    distance,
    total: counts && !masked ? weight * term - beta * (distance ?? 0) : 0,
  };
}

/** Σ_t w·min(…) and Σ_t β·k3 of one row, before the mean. */
export function rowSum(row: RowAt, settings: Settings): { readonly gain: number; readonly distance: number } {
  const sum = { gain: 0, distance: 0 };
  if (!row.counts || row.masked) return sum;
  for (let t = 0; t < row.pair.logProbs.length; t++) {
    const { term, weight, distance } = tokenTerm(row, t, settings);
    sum.gain += weight * term;
    sum.distance += settings.klBeta * (distance ?? 0);
  }
  return sum;
}

/** What the step's sum is divided by: tokens, rows, or rows · longest response; see `tokenScale`. */
export function divisorOf({ lossAggregation, maxTokens }: Settings, size: BatchSize): number {
  if (lossAggregation === 'grpo') return size.rows;
  return lossAggregation === 'dr_grpo' ? size.rows * maxTokens : size.tokens;
}

export interface Parts {
  readonly size: BatchSize;
  readonly divisor: number;
  /** The sum over rows of a response’s own variant, over the shared ones, and of β·k3; all before the division. */
  readonly own: number;
  readonly shared: number;
  readonly distance: number;
  /** (own + shared − distance) / divisor */
  readonly objective: number;
}

/** The step’s objective, in the parts that sharing tells apart. */
export function parts(record: Pick<StepRecord, 'questions' | 'settings'>): Parts {
  const { settings } = record;
  const rows = rowsOf(record);
  const size = batchSize(rows.map(({ pair, masked }) => ({ logProbs: pair.logProbs, masked })));
  const divisor = divisorOf(settings, size);
  const sum = { own: 0, shared: 0, distance: 0 };
  for (const row of rows) {
    if (row.masked || row.pair.logProbs.length === 0) continue;
    const scale = tokenScale(row.pair.logProbs.length, objectiveOf(settings), size) * divisor;
    const { gain, distance } = rowSum(row, settings);
    sum[row.k === row.j ? 'own' : 'shared'] += scale * gain;
    sum.distance += scale * distance;
  }
  return { size, divisor, ...sum, objective: (sum.own + sum.shared - sum.distance) / Math.max(1, divisor) };
}
