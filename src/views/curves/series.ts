/**
 * @file The run as curves: which metrics are drawn, what each means and how to read it, and the points, read off the records.
 */
import { wilson } from '../../algorithm/intervals.ts';
import type { StepRecord } from '../../session/types.ts';
import { number, percent } from '../../ui/format.ts';

export interface Point {
  readonly step: number;
  readonly value: number;
  /** A 95 % interval, where the value is a share of few. */
  readonly low?: number;
  readonly high?: number;
}

export interface Line {
  readonly name: string;
  readonly dashed: boolean;
  readonly points: readonly Point[];
}

export interface Chart {
  readonly title: string;
  readonly unit: string;
  /** What it is, and how to read it. */
  readonly help: string;
  readonly format: (x: number) => string;
  /** Fixed ends of the axis; null follows the data. */
  readonly from: number | null;
  readonly to: number | null;
  readonly lines: readonly Line[];
}

function metric(records: readonly StepRecord[], key: string): Point[] {
  return records.flatMap((r) => (Number.isFinite(r.metrics[key]) ? [{ step: r.step, value: r.metrics[key] }] : []));
}

function accuracy(records: readonly StepRecord[], phrasing: 'plain' | 'steps', key: 'right' | 'careful'): Point[] {
  return records.flatMap((r) => {
    const cells = (r.evaluation?.cells ?? []).filter((c) => c.phrasing === phrasing);
    const n = cells.reduce((sum, c) => sum + c.n, 0);
    if (n === 0) return [];
    const right = cells.reduce((sum, c) => sum + c[key], 0);
    return [{ step: r.step, value: right / n, ...wilson(right, n) }];
  });
}

const one = (points: readonly Point[]): Line[] => [{ name: '', dashed: false, points }];

export function charts(records: readonly StepRecord[]): Chart[] {
  return [
    {
      title: 'reward',
      unit: 'per response',
      help: 'Mean reward of the step’s responses (TRL: reward). It should rise; it is noisy, since every step asks new questions.',
      format: number,
      from: 0,
      to: 1,
      lines: one(metric(records, 'reward')),
    },
    {
      title: 'held-out accuracy',
      unit: 'share right',
      help: 'Greedy answers to questions that are never trained on, with Wilson 95 % intervals. Solid: plain phrasing, where there is something to learn. Dashed: step-by-step phrasing, what the model could do all along.',
      format: percent,
      from: 0,
      to: 1,
      lines: [
        { name: 'plain', dashed: false, points: accuracy(records, 'plain', 'right') },
        { name: 'steps', dashed: true, points: accuracy(records, 'steps', 'right') },
      ],
    },
    {
      title: 'valid advantage',
      unit: 'share of rows',
      help: 'Rows whose advantage is not 0 (ours: share/valid_advantage_ratio). At 0 there is nothing to learn from: every group is dead.',
      format: percent,
      from: 0,
      to: 1,
      lines: one(metric(records, 'share/valid_advantage_ratio')),
    },
    {
      title: 'transfer gap',
      unit: 'nats per token',
      help: 'Mean |Δ_t| between a response’s own variant and the others (ours: share/transfer_gap_abs_mean). Over about 0.1, sharing is more imitation than policy gradient.',
      format: number,
      from: 0,
      to: null,
      lines: one(metric(records, 'share/transfer_gap_abs_mean')),
    },
    {
      title: 'entropy',
      unit: 'nats per token',
      help: 'How undecided the model is while it samples (TRL: entropy). It falls as it settles; near 0 it has stopped exploring.',
      format: number,
      from: 0,
      to: null,
      lines: one(metric(records, 'entropy')),
    },
    {
      title: 'length',
      unit: 'tokens',
      help: 'Mean length of a response (TRL: completions/mean_length). It rises when careful listing takes over.',
      format: number,
      from: 0,
      to: null,
      lines: one(metric(records, 'completions/mean_length')),
    },
    {
      title: 'KL to base',
      unit: 'nats per token',
      help: 'How far the policy is from the frozen base model (TRL: kl). It is only measured, not penalised.',
      format: number,
      from: 0,
      to: null,
      lines: one(metric(records, 'kl')),
    },
  ];
}
