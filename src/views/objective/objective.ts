/**
 * @file The objective with the numbers of one row and one token put in. Every formula is called from `algorithm`; this file only
 * says which numbers go where, and adds up.
 */
import { clipMark, tokenLoss, type ClipRange } from '../../algorithm/objective.ts';
import { objectiveOf, rowCounts } from '../../algorithm/rows.ts';
import type { Place } from '../../session/selection.svelte.ts';
import type { PairRecord, QuestionRecord, Settings, StepRecord } from '../../session/types.ts';

export const clipRange = (s: Settings): ClipRange => objectiveOf(s).clip;

export interface TokenTerm {
  /** π_θ/π_old; exactly 1 before the update. */
  readonly ratio: number;
  readonly clipped: number;
  readonly advantage: number;
  readonly unclippedTerm: number;
  readonly clippedTerm: number;
  /** What stands: min(r·A, clip(r)·A), and no less than c·A where A < 0. */
  readonly term: number;
  readonly mark: -1 | 0 | 1;
  readonly weight: number;
  /** Whether the row takes part at all. */
  readonly counts: boolean;
}

export function tokenTerm(pair: PairRecord, place: Place, t: number, settings: Settings): TokenTerm {
  const clip = clipRange(settings);
  const ratio = pair.ratios?.[t] ?? 1;
  const { advantage } = pair;
  const clipped = Math.min(1 + clip.high, Math.max(1 - clip.low, ratio));
  return {
    ratio,
    clipped,
    advantage,
    unclippedTerm: ratio * advantage,
    clippedTerm: clipped * advantage,
    term: -tokenLoss(ratio, advantage, clip),
    mark: clipMark(ratio, advantage, clip),
    weight: pair.weights[t] ?? 1,
    counts: rowCounts(settings, place.k, place.j),
  };
}

/** Σ_t w·min(…) of one row: N times what it adds to J. */
export function rowSum(pair: PairRecord, place: Place, settings: Settings): number {
  let total = 0;
  for (let t = 0; t < pair.logProbs.length; t++) {
    const { term, weight, counts } = tokenTerm(pair, place, t, settings);
    if (counts) total += weight * term;
  }
  return total;
}

export interface Parts {
  /** N: tokens of all rows that count. */
  readonly tokens: number;
  /** Σ over rows of a response’s own variant, and over the shared ones. */
  readonly own: number;
  readonly shared: number;
}

function each(question: QuestionRecord, visit: (pair: PairRecord, place: Place) => void): void {
  question.pairs.forEach((byJ, k) => byJ.forEach((row, j) => row.forEach((pair, i) => visit(pair, { k, j, i }))));
}

/** The step’s objective, in the two parts that sharing tells apart. */
export function parts(record: StepRecord): Parts {
  const sum = { tokens: 0, own: 0, shared: 0 };
  for (const question of record.questions) {
    each(question, (pair, place) => {
      if (!rowCounts(record.settings, place.k, place.j)) return;
      sum.tokens += pair.logProbs.length;
      sum[place.k === place.j ? 'own' : 'shared'] += rowSum(pair, place, record.settings);
    });
  }
  return sum;
}
