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
  /** `stroke-dasharray`; '' is solid. */
  readonly dash: string;
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

const DASHES = ['', '4 3', '1 3', '7 2 1 2'] as const;

type Cell = NonNullable<StepRecord['evaluation']>['cells'][number];
type Tally = { readonly n: number; readonly right: number };

/** The share right of one phrasing, over all tasks, with its interval. */
function accuracy(records: readonly StepRecord[], phrasing: string, tally: (cell: Cell) => Tally | null): Point[] {
  return records.flatMap((r) => {
    const tallies = (r.evaluation?.cells ?? []).filter((c) => c.phrasing === phrasing).flatMap((c) => tally(c) ?? []);
    const n = tallies.reduce((sum, c) => sum + c.n, 0);
    if (n === 0) return [];
    const right = tallies.reduce((sum, c) => sum + c.right, 0);
    return [{ step: r.step, value: right / n, ...wilson(right, n) }];
  });
}

const greedy = (cell: Cell): Tally => cell;
const sampled = ({ sampled: s }: Cell): Tally | null => (s ? { n: s.responses, right: s.right } : null);

/** Lines that have no points are left out, but for the first. */
function lines(named: readonly (readonly [string, Point[]])[]): Line[] {
  return named.map(([name, points], at) => ({ name, dash: DASHES[at], points })).filter((l, at) => at === 0 || l.points.length > 0);
}

/** Greedy and sampled accuracy in both phrasings: plain and steps, or with MiCo weak and strong views. */
function heldOut(records: readonly StepRecord[]): Line[] {
  const mico = records.some((r) => r.settings.mico !== 'off');
  return lines(
    (mico ? ['strong', 'weak'] : ['plain', 'steps']).flatMap((phrasing) => [
      [phrasing, accuracy(records, phrasing, greedy)] as const,
      [`${phrasing}, sampled`, accuracy(records, phrasing, sampled)] as const,
    ]),
  );
}

type Drawn = Omit<Chart, 'lines' | 'from' | 'to' | 'format'> & {
  readonly format?: Chart['format'];
  /** The axis ends at 1. */
  readonly share?: true;
  /** Where else the axis ends. */
  readonly most?: (s: StepRecord['settings']) => number;
  /** The axis follows the data below 0 too. */
  readonly free?: true;
  /** Left out of the strip while there is nothing in it. */
  readonly optional?: true;
  /** Names and metrics, or the lines themselves. */
  readonly of: readonly (readonly [string, string])[] | ((records: readonly StepRecord[]) => Line[]);
};

const CHARTS: readonly Drawn[] = [
  {
    title: 'reward',
    unit: 'per response',
    help: 'Mean reward of the step’s responses (TRL: reward). It should rise; it is noisy, since every step asks new questions.',
    most: (s) => s.accuracyWeight + s.formatWeight,
    of: [['', 'reward']],
  },
  {
    title: 'held-out accuracy',
    unit: 'share right',
    help: 'Greedy answers to questions that are never trained on, with Wilson 95 % intervals. Plain phrasing is where there is something to learn; step-by-step phrasing is what the model could do all along. With MiCo: strong and weak views. “Sampled”: the same questions answered at temperature 1, if the settings ask for it.',
    share: true,
    format: percent,
    of: heldOut,
  },
  {
    title: 'valid advantage',
    unit: 'share of rows',
    help: 'Rows whose advantage is not 0 (ours: share/valid_advantage_ratio). At 0 there is nothing to learn from: every group is dead.',
    share: true,
    format: percent,
    of: [['', 'share/valid_advantage_ratio']],
  },
  {
    title: 'dead questions',
    unit: 'share of questions',
    help: 'Questions whose responses, all variants together, earned the same: all failed, or all passed (ours: share/dead_…). Their global advantages are 0.',
    share: true,
    format: percent,
    of: [
      ['fail', 'share/dead_all_fail'],
      ['pass', 'share/dead_all_pass'],
    ],
  },
  {
    title: 'dead variants',
    unit: 'share of variants',
    help: 'Variants whose own responses earned the same: all failed, or all passed (ours: share/dead_local_…). Their local advantages are 0.',
    share: true,
    format: percent,
    of: [
      ['fail', 'share/dead_local_all_fail'],
      ['pass', 'share/dead_local_all_pass'],
    ],
  },
  {
    title: 'transfer gap',
    unit: 'nats per token',
    help: 'Mean |Δ_t| between a response’s own variant and the others (ours: share/transfer_gap_abs_mean). Over about 0.1, sharing is more imitation than policy gradient.',
    optional: true,
    of: [['', 'share/transfer_gap_abs_mean']],
  },
  {
    title: 'effective sample',
    unit: 'share of rows',
    help: 'Of the shared rows’ importance weights e^ΣΔ: how many rows would count if all were corrected (ours: share/effective_sample_size), and the share above the limit C.',
    share: true,
    format: percent,
    optional: true,
    of: [
      ['', 'share/effective_sample_size'],
      ['above C', 'share/weight_above_cap'],
    ],
  },
  {
    title: 'gradient cosine',
    unit: 'published against corrected',
    help: 'Cosine of the angle between the published and the corrected gradient, in the steps where it was compared: 1 is the same direction.',
    free: true,
    optional: true,
    of: [['', 'share/gradient_cosine']],
  },
  {
    title: 'consistency',
    unit: 'share of variants',
    help: 'Of the variants whose answer can be recomputed, those that keep it (ours: share/consistency_rate). Below 1 something false is taught.',
    share: true,
    format: percent,
    optional: true,
    of: [['', 'share/consistency_rate']],
  },
  {
    title: 'redrawn',
    unit: 'questions per step',
    help: 'Questions that dynamic sampling dropped, since all their advantages were 0 (ours: share/redrawn).',
    optional: true,
    of: [['', 'share/redrawn']],
  },
  {
    title: 'clipped in the loss',
    unit: 'share of tokens',
    help: 'Tokens that a clip held while they were learnt from (ours: share/inner_clip_…). 0 with one pass over one part, where every ratio is 1.',
    format: percent,
    optional: true,
    of: (records) =>
      records.some((r) => (r.update?.inner.length ?? 0) > 1)
        ? lines([
            ['low', metric(records, 'share/inner_clip_low')],
            ['high', metric(records, 'share/inner_clip_high')],
          ])
        : [],
  },
  {
    title: 'entropy',
    unit: 'nats per token',
    help: 'How undecided the model is while it samples (TRL: entropy). It falls as it settles; near 0 it has stopped exploring.',
    of: [['', 'entropy']],
  },
  {
    title: 'length',
    unit: 'tokens',
    help: 'Mean length of a response (TRL: completions/mean_length). It rises when careful listing takes over.',
    of: [['', 'completions/mean_length']],
  },
  {
    title: 'KL to base',
    unit: 'nats per token',
    help: 'How far the policy is from the frozen base model (TRL: kl). It is penalised by β, and only measured where β is 0.',
    of: [['', 'kl']],
  },
];

export function charts(records: readonly StepRecord[]): Chart[] {
  return CHARTS.flatMap(({ of, share, most, free, optional, format = number, ...rest }) => {
    const drawn = typeof of === 'function' ? of(records) : lines(of.map(([name, key]) => [name, metric(records, key)] as const));
    if (optional && drawn.every((l) => l.points.length === 0)) return [];
    const to = share ? 1 : most ? Math.max(1, ...records.map((r) => most(r.settings))) : null;
    return [{ ...rest, format, from: free ? null : 0, to, lines: drawn }];
  });
}
