/**
 * @file Which rows (k; j) a step has, what each weighs, and the objective that they are put into: the rules that settings make.
 *
 * Share-GRPO samples under all m variants and scores every response under all of them. MiCo (arXiv 2506.22434, Algorithm 1) has
 * two variants of a triplet, the weak views (0) and the strong ones (1), and one row per response. Its four estimators:
 *
 *   as-written   o ~ weak, ratio on strong: the published surrogate, which lacks the factor e^ΣΔ
 *   strong       o ~ strong, ratio on strong
 *   corrected    as-written times the detached e^ΣΔ
 *   weak         o ~ weak, ratio on weak: the control
 */
import { pairAdvantage, type HierarchicalWeights } from './advantage.ts';
import type { Aggregation, Objective, RatioLevel } from './objective.ts';
import { rowWeights, type CrossVariant } from './transfer.ts';

export type Mico = 'off' | 'as-written' | 'strong' | 'corrected' | 'weak';

export const WEAK = 0;
export const STRONG = 1;

/** The settings that rows depend on; see training/settings.ts. */
export interface RowRules extends HierarchicalWeights {
  readonly variants: number;
  readonly crossVariant: CrossVariant;
  readonly truncateAt: number;
  readonly mico: Mico;
}

/** The settings that the objective depends on. */
export interface ObjectiveRules {
  readonly clipLow: number;
  readonly clipHigh: number;
  /** 0 for none. */
  readonly dualClip: number;
  readonly ratioLevel: RatioLevel;
  readonly lossAggregation: Aggregation;
  readonly klBeta: number;
  readonly maxTokens: number;
}

/** The variants j that responses are sampled under. */
export function sampledVariants({ mico, variants }: Pick<RowRules, 'mico' | 'variants'>): number[] {
  if (mico === 'off') return Array.from({ length: variants }, (_, j) => j);
  return [mico === 'strong' ? STRONG : WEAK];
}

/** Whether row (k; j) takes part in the objective at all. */
export function rowCounts(rules: Pick<RowRules, 'mico' | 'crossVariant'>, k: number, j: number): boolean {
  if (rules.mico === 'off') return rules.crossVariant !== 'none' || k === j;
  const target = rules.mico === 'weak' ? WEAK : STRONG;
  return k === target && j === (rules.mico === 'strong' ? STRONG : WEAK);
}

/** The detached factor of each token of row (k; j); `gap` is Δ_t. */
export function weightsOfRow(rules: RowRules, k: number, j: number, gap: ArrayLike<number>): Float32Array {
  const mode = rules.mico === 'off' ? rules.crossVariant : rules.mico === 'corrected' ? 'sequence' : 'published';
  return rowWeights(mode, k === j, gap, rules.truncateAt);
}

/** A_kji. With MiCo all responses to a triplet are one group, whatever they are scored under. */
export function rowAdvantage(
  rules: RowRules,
  o: { readonly local: number; readonly global: number; readonly j: number; readonly k: number },
): number {
  const { localWeight, globalWeight } = rules;
  return pairAdvantage({ ...o, localWeight, globalWeight, m: rules.mico === 'off' ? rules.variants : 1 });
}

export function objectiveOf(s: ObjectiveRules): Objective {
  return {
    clip: { low: s.clipLow, high: s.clipHigh, dual: s.dualClip === 0 ? null : s.dualClip },
    level: s.ratioLevel,
    aggregation: s.lossAggregation,
    beta: s.klBeta,
    maxTokens: s.maxTokens,
  };
}
