/**
 * @file What the cells of the sharing matrix show: one number per row (k; j,i), read off the record.
 */
import { mean } from '../../algorithm/metrics.ts';
import { sum } from '../../algorithm/transfer.ts';
import type { MatrixView } from '../../session/selection.svelte.ts';
import type { PairRecord, QuestionRecord } from '../../session/types.ts';
import { number, plus, signed } from '../../ui/format.ts';

/** Σ_t log π_old, Σ_t Δ_t, A, or the mean ratio after the update (null before it). */
export function pairValue(pair: PairRecord, view: MatrixView): number | null {
  switch (view) {
    case 'logprob':
      return sum(pair.logProbs);
    case 'gap':
      return sum(pair.transferGap);
    case 'advantage':
      return pair.advantage;
    case 'ratio':
      return pair.ratios ? mean(pair.ratios) : null;
  }
}

export function pairText(value: number | null, view: MatrixView): string {
  return view === 'gap' || view === 'advantage' ? signed(value) : number(value);
}

/** The largest magnitude in the matrix, for the length of its bars; ratios are measured from 1. */
export function largest(question: QuestionRecord, view: MatrixView): number {
  const values = question.pairs.flat(2).map((pair) => pairValue(pair, view) ?? 0);
  return Math.max(1e-9, ...values.map((v) => Math.abs(view === 'ratio' ? v - 1 : v)));
}

export function pairTip(question: QuestionRecord, k: number, j: number, i: number): string {
  const pair = question.pairs[k][j][i];
  const own = question.pairs[j][j][i];
  const a = question.advantages[j][i];
  const lines = [
    `Response ${i + 1} of variant ${j + 1}, scored under variant ${k + 1}.`,
    `Σ log π_old(o_t|Q${k + 1}) = ${number(sum(pair.logProbs))} nats over ${pair.logProbs.length} tokens.`,
  ];
  if (k === j)
    lines.push(
      'Its own variant, so its transfer gap is 0.',
      question.variants.length > 1
        ? `A = G + L = ${signed(a.global)} ${plus(a.local)} = ${signed(pair.advantage)}.`
        : `A = G = ${signed(pair.advantage)}.`,
    );
  else {
    lines.push(
      `Gap ΣΔ = ${number(sum(pair.logProbs))} − (${number(sum(own.logProbs))}) = ${signed(sum(pair.transferGap))}: variant ${k + 1} finds it ${sum(pair.transferGap) < 0 ? 'less' : 'more'} likely than the variant that said it.`,
      `A = G = ${signed(pair.advantage)}; weight ${number(pair.weights[0] ?? 1)}.`,
    );
  }
  if (pair.ratios) lines.push(`Mean ratio after the update: ${number(mean(pair.ratios))}.`);
  return lines.join('\n');
}
