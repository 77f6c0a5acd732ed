/** @file How far apart the variants are: what the step's metrics say of the transfer gap, each with its meaning. */
import type { StepRecord } from '../../session/types.ts';
import { number, percent, signed } from '../../ui/format.ts';

export interface Fact {
  readonly name: string;
  readonly value: string;
  readonly tip: string;
}

/** Empty where no row was scored under another variant than its own. */
export function transferFacts({ metrics, settings }: Pick<StepRecord, 'metrics' | 'settings'>): Fact[] {
  const m = (key: string): number => metrics[`share/${key}`];
  if (!Number.isFinite(m('transfer_gap_abs_mean'))) return [];
  const C = number(settings.truncateAt);
  return [
    {
      name: 'mean |Δ|',
      value: `${number(m('transfer_gap_abs_mean'))} nats`,
      tip: 'By how much a token’s log-prob under another variant differs from that under its own, on average. Over about 0.1, sharing is more imitation than policy gradient.',
    },
    {
      name: 'mean Δ',
      value: `${signed(m('transfer_gap_mean'))} nats`,
      tip: 'The same with its sign. Below 0: the other variants find the tokens less likely than the one that sampled them; its negative estimates the KL between them.',
    },
    {
      name: 'k3',
      value: `${number(m('transfer_gap_k3'))} nats`,
      tip: 'Mean of e^Δ − 1 − Δ: an estimate of KL(π_old(·|Q_j) ‖ π_old(·|Q_k)) per token that is never negative.',
    },
    {
      name: 'effective sample',
      value: percent(m('effective_sample_size')),
      tip: '(Σw)²/(N·Σw²) of the N shared rows’ importance weights w = e^ΣΔ, whether or not they are used: how many rows would count if all were corrected. 100 % where the variants agree.',
    },
    {
      name: 'weights above C',
      value: percent(m('weight_above_cap')),
      tip: `Shared rows whose weight e^ΣΔ is above C = ${C}: truncating holds them there, masking drops them.`,
    },
    {
      name: 'mean weight used',
      value: number(m('cross_weight_mean')),
      tip: `The detached weight w that the tokens of shared rows really have${settings.mico === 'off' ? `, with rows across variants: ${settings.crossVariant}` : `, with MiCo: ${settings.mico}`}. 1 where nothing is corrected.`,
    },
  ];
}

/** What a cosine of two gradients means. */
export function cosineWords(cosine: number): string {
  if (cosine > 0.95) return 'Nearly the same direction: what the published estimate leaves out hardly matters here.';
  if (cosine > 0.5) return 'The same side, but not the same direction: sharing also imitates, besides following the gradient.';
  if (cosine > 0) return 'Far apart: most of the published direction is not that of the corrected gradient.';
  return 'Opposed: the published direction makes the corrected objective worse.';
}
