/**
 * @file What is known of one token of a response, and how strongly each lens colours it.
 */
import type { Selection, TokenLens } from '../../session/selection.svelte.ts';
import type { PairRecord, QuestionRecord, ResponseRecord, Settings } from '../../session/types.ts';
import { advantageFill, inkFill } from '../../ui/advantage.ts';
import { number, signed } from '../../ui/format.ts';

export interface Row {
  readonly response: ResponseRecord;
  readonly pair: PairRecord | null;
}

/** The selected row, null before the rollout. */
export function rowOf(question: QuestionRecord | null, selection: Selection): Row | null {
  const { k, j, i } = selection.place;
  const response = question?.responses[j]?.[i];
  return response ? { response, pair: question?.pairs[k]?.[j]?.[i] ?? null } : null;
}

/** log π_old(o_t|Q_k) where it is known, else under the variant that said it. */
export const logProb = (row: Row, t: number): number => (row.pair ?? row.response).logProbs[t];

/** The number that a lens shows; null where there is none yet. */
export function lensValue(row: Row, t: number, lens: TokenLens): number | null {
  switch (lens) {
    case 'logprob':
      return logProb(row, t);
    case 'entropy':
      return row.response.entropies[t];
    case 'gap':
      return row.pair ? row.pair.transferGap[t] : null;
    case 'advantage':
      return row.pair ? row.pair.advantage : null;
  }
}

/** Full ink: a token of 1 in 400, an even choice of 8, a gap of 3 nats. */
const FULL_INK = { logprob: 6, entropy: Math.log(8), gap: 3 } as const;

export function lensFill(row: Row, t: number, lens: TokenLens): string | null {
  const value = lensValue(row, t, lens);
  if (value === null) return null;
  return lens === 'advantage' ? advantageFill(value) : inkFill(Math.abs(value) / FULL_INK[lens]);
}

/** A token's text with its blanks made visible. */
export function visible(piece: string): string {
  return piece.replace(/ /g, '␣').replace(/\n/g, '↵') || '∅';
}

export function tokenTip(row: Row, t: number, settings: Settings): string {
  const l = logProb(row, t);
  const lines = [
    `Token ${t + 1} of ${row.response.pieces.length}: “${visible(row.response.pieces[t])}”.`,
    `log π_old = ${number(l)}, so its probability was ${number(Math.exp(l))}.`,
    `Entropy of its distribution: ${number(row.response.entropies[t])} nats.`,
  ];
  const { pair } = row;
  if (pair) lines.push(`Transfer gap Δ = ${signed(pair.transferGap[t])} nats; weight w = ${number(pair.weights[t])}.`);
  if (pair?.base) lines.push(`The base model gives it log π_base = ${number(pair.base[t])}.`);
  if (pair?.ratios) {
    const whose = settings.ratioLevel === 'sequence' ? 'Ratio of the whole response' : 'Ratio';
    lines.push(`${whose} after the update: ${number(pair.ratios[t])}${pair.clipped?.[t] ? ', clipped' : ''}.`);
  }
  return lines.join('\n');
}
