/**
 * @file What the cells of the sharing matrix show: one number per row (k; j,i), read off the record.
 */
import { mean } from '../../algorithm/metrics.ts';
import { rowCounts, type Mico } from '../../algorithm/rows.ts';
import { sum } from '../../algorithm/transfer.ts';
import type { MatrixView } from '../../session/selection.svelte.ts';
import type { PairRecord, QuestionRecord, Settings } from '../../session/types.ts';
import { number, signed } from '../../ui/format.ts';
import { capital, responseName, variantName } from '../../ui/names.ts';
import { advantageSum } from '../objective/advantage.ts';

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

export function pairTip(question: QuestionRecord, settings: Settings, k: number, j: number, i: number): string {
  const pair = question.pairs[k][j][i];
  const own = question.pairs[j][j][i];
  const scoring = variantName(settings, k);
  const a = question.advantages[j][i];
  const gap = sum(pair.transferGap);
  const lines = [
    `${capital(responseName(settings, j, i))}, scored under ${settings.mico === 'off' ? '' : 'the '}${scoring}.`,
    `Σ log π_old(o_t|Q${k + 1}) = ${number(sum(pair.logProbs))} nats over ${pair.logProbs.length} tokens.`,
    k === j
      ? 'Scored as it was sampled, so its transfer gap is 0.'
      : `Gap ΣΔ = ${number(sum(pair.logProbs))} − (${number(sum(own.logProbs))}) = ${signed(gap)}: here it is ${gap < 0 ? 'less' : 'more'} likely than where it was sampled.`,
    `A = ${advantageSum(a, { k, j }, settings) || (settings.variants > 1 ? 'G = ' : '')}${signed(pair.advantage)}${k === j ? '' : `; mean weight ${number(mean(pair.weights))}`}.`,
  ];
  if (!rowCounts(settings, k, j)) lines.push('This row does not count under these settings.');
  if (pair.ratios)
    lines.push(`${settings.ratioLevel === 'sequence' ? 'Ratio' : 'Mean ratio'} after the update: ${number(mean(pair.ratios))}.`);
  return lines.join('\n');
}

/** Which row counts with MiCo, and what that estimates. */
export const ESTIMATOR_WORDS: Readonly<Record<Exclude<Mico, 'off'>, string>> = {
  'as-written':
    'as-written: sampled under the weak views, ratio on the strong ones. The factor e^ΣΔ is missing, so this is imitation of what the weak views made possible, weighted by advantage.',
  strong: 'strong: sampled under the strong views, ratio on the same. Plain GRPO on the harder pictures; unbiased.',
  corrected:
    'corrected: as-written times the detached e^ΣΔ, which makes the rows importance-sampled. Unbiased, but a few large weights can outweigh the rest.',
  weak: 'weak: sampled under the weak views, ratio on the same. The control: plain GRPO on the easier pictures.',
};
