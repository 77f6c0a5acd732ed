/**
 * @file The quantities that tables, plots and conclusions can name, each a function of a run's results:
 *
 *   WAY.WORDING[.FAMILY]      share on held-out questions after the run; WAY is greedy, sampled (right), careful or
 *                             careful-sampled (answered the careful way), WORDING is plain, steps, weak or strong
 *   before.WAY.WORDING…       the same before training
 *   area.WAY.WORDING…         its mean over the run (area under the curve by steps): high for one that learns early
 *   mean.SERIES, late.SERIES  a series of the steps (series.ts) on average, over all steps or the last ten
 *   found                     the step at which half of the responses to plain wordings were careful
 *   samples, token-passes, tokens, hours
 *
 * Over the run, a plot can show WAY.WORDING[.FAMILY] and every SERIES.
 */
import type { RunResult } from './results.ts';
import { SERIES, type SeriesName } from './series.ts';
import { tally, type Cells } from './summary.ts';

export type Unit = 'share' | 'number' | 'count' | 'step' | 'hours';

export interface Quantity {
  readonly label: string;
  readonly unit: Unit;
  /** Null if the run has none. */
  readonly of: (run: RunResult) => number | null;
}

export interface CurveQuantity {
  readonly label: string;
  readonly unit: Unit;
  /** The points of a run, in order; a point's cost is what had been spent by then. */
  readonly points: (
    run: RunResult,
  ) => readonly { readonly step: number; readonly samples: number; readonly tokenPasses: number; readonly y: number }[];
}

const WAYS = {
  greedy: { way: 'greedy', key: 'right', label: 'right, greedy' },
  sampled: { way: 'sampled', key: 'right', label: 'right, sampled' },
  careful: { way: 'greedy', key: 'careful', label: 'careful, greedy' },
  'careful-sampled': { way: 'sampled', key: 'careful', label: 'careful, sampled' },
} as const;

const WORDINGS: Readonly<Record<string, string>> = { plain: 'plain', steps: 'step by step', weak: 'weak views', strong: 'strong views' };

const CELL = /^(greedy|sampled|careful|careful-sampled)\.(plain|steps|weak|strong)(?:\.([a-z]+))?$/;

interface CellQuantity {
  readonly label: string;
  readonly of: (cells: Cells) => number | null;
}

function cellQuantity(name: string): CellQuantity | null {
  const match = CELL.exec(name);
  if (!match) return null;
  const { way, key, label } = WAYS[match[1] as keyof typeof WAYS];
  const [, , phrasing, family] = match;
  return {
    label: `${WORDINGS[phrasing]}${family ? `, ${family}` : ''}: ${label}`,
    of: (cells) => {
      const t = tally(cells, way, phrasing, family);
      return t.n === 0 ? null : t[key] / t.n;
    },
  };
}

const SERIES_LABELS: Partial<Record<SeriesName, { readonly label: string; readonly unit: Unit }>> = {
  reward: { label: 'reward', unit: 'number' },
  'share/careful': { label: 'careful share of responses', unit: 'share' },
  'right/plain': { label: 'right share of responses to plain wordings, in training', unit: 'share' },
  'careful/plain': { label: 'careful share of responses to plain wordings, in training', unit: 'share' },
  'share/valid_advantage_ratio': { label: 'rows that teach', unit: 'share' },
  frac_reward_zero_std: { label: 'variants whose responses all earn the same', unit: 'share' },
  'share/dead_all_fail': { label: 'questions that all responses fail', unit: 'share' },
  'share/dead_all_pass': { label: 'questions that all responses pass', unit: 'share' },
  'share/transfer_gap_abs_mean': { label: 'transfer gap |Δ|, nats per token', unit: 'number' },
  'share/transfer_gap_kl': { label: 'transfer gap −Δ, nats per token', unit: 'number' },
  'share/transfer_gap_k3': { label: 'transfer gap k3, nats per token', unit: 'number' },
  'share/effective_sample_size': { label: 'effective sample size', unit: 'share' },
  'share/weight_above_cap': { label: 'rows with a weight above C', unit: 'share' },
  'share/gradient_cosine': { label: 'cosine of published and corrected gradient', unit: 'number' },
  'share/consistency_rate': { label: 'variants that keep the answer', unit: 'share' },
  'share/kept_weak': { label: 'weak views that show the difference', unit: 'share' },
  'share/kept_strong': { label: 'strong views that show the difference', unit: 'share' },
  'share/redrawn': { label: 'questions drawn anew', unit: 'number' },
  'cost/samples': { label: 'samples per step', unit: 'count' },
  'cost/token_passes': { label: 'token-passes per step', unit: 'count' },
};

const isSeries = (name: string): name is SeriesName => (SERIES as readonly string[]).includes(name);
const seriesLabel = (name: SeriesName) => SERIES_LABELS[name] ?? { label: name, unit: 'number' as const };

const PLAIN: Readonly<Record<string, Quantity>> = {
  found: { label: 'half careful at step', unit: 'step', of: (run) => run.foundAt },
  samples: { label: 'samples', unit: 'count', of: (run) => run.samples },
  'token-passes': { label: 'token-passes', unit: 'count', of: (run) => run.tokenPasses },
  tokens: { label: 'sampled tokens', unit: 'count', of: (run) => run.tokens },
  hours: { label: 'hours', unit: 'hours', of: (run) => (run.seconds + run.evaluationSeconds) / 3600 },
};

/** Mean of what is there. */
function mean(values: readonly (number | null)[]): number | null {
  const there = values.filter((x) => x !== null);
  return there.length === 0 ? null : there.reduce((a, b) => a + b, 0) / there.length;
}

/** Mean height of a line through points, by the trapezoid rule. */
function height(points: readonly { readonly step: number; readonly y: number }[]): number | null {
  const span = points.length > 1 ? (points.at(-1)?.step ?? 0) - points[0].step : 0;
  if (span === 0) return null;
  const pieces = points.slice(1).map((b, at) => ((points[at].y + b.y) / 2) * (b.step - points[at].step));
  return pieces.reduce((x, y) => x + y, 0) / span;
}

/** Steps that `late.` looks at. */
const LATE = 10;

/** The quantity of that name. Throws an Error that says which there are. */
export function quantity(name: string): Quantity {
  const plain = PLAIN[name];
  if (plain) return plain;
  const [, when = '', rest = name] = /^(before|area|mean|late)\.(.*)$/.exec(name) ?? [];
  const cell = cellQuantity(rest);
  if (cell && (when === '' || when === 'before')) {
    const at = when === '' ? -1 : 0;
    return { label: `${cell.label}${when && ', before'}`, unit: 'share', of: ({ curve }) => cell.of(curve.at(at)?.cells ?? []) };
  }
  if (cell && when === 'area') {
    const curve = curveQuantity(rest);
    return { label: `${cell.label}, mean over the run`, unit: 'share', of: (run) => height(curve.points(run)) };
  }
  if ((when === 'mean' || when === 'late') && isSeries(rest)) {
    const { label, unit } = seriesLabel(rest);
    return {
      label: when === 'mean' ? label : `${label}, last ${LATE} steps`,
      unit,
      of: ({ series }) => mean(when === 'mean' ? (series[rest] ?? []) : (series[rest] ?? []).slice(-LATE)),
    };
  }
  throw new Error(
    `there is no quantity “${name}”; there are ${Object.keys(PLAIN).join(', ')}, greedy.plain, sampled.steps, careful.plain.count, before.greedy.plain, area.sampled.plain, mean.reward, late.reward and the like (src/cli/quantities.ts).`,
  );
}

/** Steps over which a series is averaged before it is drawn. */
const WINDOW = 5;

/** What can be drawn over the run under that name. Throws an Error that says what there is. */
export function curveQuantity(name: string): CurveQuantity {
  const cell = cellQuantity(name);
  if (cell)
    return {
      label: cell.label,
      unit: 'share',
      points: ({ curve }) =>
        curve.flatMap(({ cells, ...at }) => {
          const y = cell.of(cells);
          return y === null ? [] : [{ ...at, y }];
        }),
    };
  if (!isSeries(name))
    throw new Error(`there is no “${name}” to draw over the run; there are greedy.plain and the like, and ${SERIES.join(', ')}.`);
  const { label, unit } = seriesLabel(name);
  return {
    label: `${label} (mean of ${WINDOW} steps)`,
    unit,
    points: ({ series }) => {
      const values = series[name] ?? [];
      let [samples, tokenPasses] = [0, 0];
      return values.flatMap((_, at) => {
        samples += series['cost/samples']?.[at] ?? 0;
        tokenPasses += series['cost/token_passes']?.[at] ?? 0;
        const y = mean(values.slice(Math.max(0, at + 1 - WINDOW), at + 1));
        return y === null ? [] : [{ step: at + 1, samples, tokenPasses, y }];
      });
    },
  };
}
