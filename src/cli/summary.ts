/**
 * @file What a run comes to: its cost, and its figures on held-out test questions before, during and after, as JSON beside the
 * records and as a line per wording and family.
 */
import { wilson } from '../algorithm/intervals.ts';
import type { EvaluationRecord, StepRecord } from '../training/record.ts';
import type { Settings } from '../training/settings.ts';

export type Cells = EvaluationRecord['cells'];

/** What steps cost. */
export interface Cost {
  /** Responses drawn, those of questions that were dropped included. */
  readonly samples: number;
  /** Response tokens that went forward and backward in updates. */
  readonly tokenPasses: number;
  /** Sampled tokens. */
  readonly tokens: number;
  /** Of the steps alone. */
  readonly seconds: number;
}

/** Figures after `step` steps, and what had been spent by then. */
export interface CurvePoint extends Pick<Cost, 'samples' | 'tokenPasses'> {
  readonly step: number;
  readonly cells: Cells;
}

export const SUMMARY_KIND = 'grpo-playground summary';

export interface RunSummary extends Cost {
  readonly kind: typeof SUMMARY_KIND;
  readonly settings: Settings;
  readonly steps: number;
  readonly evaluationSeconds: number;
  /** In the order of steps; the first is before training where anything was measured. */
  readonly curve: readonly CurvePoint[];
}

/** What one step cost. */
export function costOf({ metrics, settings, update }: StepRecord): Cost {
  const { questionsPerStep, variants, responses } = settings;
  return {
    samples: metrics['share/samples'] ?? questionsPerStep * variants * responses,
    tokenPasses: metrics['share/token_passes'] ?? update?.tokens ?? 0,
    tokens: metrics.num_tokens,
    seconds: metrics.step_time,
  };
}

export interface Tally {
  readonly n: number;
  readonly right: number;
  readonly careful: number;
}

export type Way = 'greedy' | 'sampled';

/** Cells of one wording, and of one family if it is named, added up; of no responses if nothing was asked this way. */
export function tally(cells: Cells, way: Way, phrasing: string, family?: string): Tally {
  const counts = cells
    .filter((c) => c.phrasing === phrasing && (family === undefined || c.family === family))
    .map((c): Tally => {
      if (way === 'greedy') return c;
      return { n: c.sampled?.responses ?? 0, right: c.sampled?.right ?? 0, careful: c.sampled?.careful ?? 0 };
    });
  const total = (key: keyof Tally) => counts.reduce((sum, c) => sum + c[key], 0);
  return { n: total('n'), right: total('right'), careful: total('careful') };
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Lines that tell what was right and careful before and after, greedily. */
export function describe({ curve, settings }: RunSummary): string {
  const [before, after] = [curve.at(0), curve.length > 1 ? curve.at(-1) : undefined];
  if (!before) return '';
  const lines: string[] = [];
  for (const phrasing of new Set(before.cells.map((c) => c.phrasing))) {
    const families = new Set(before.cells.map((c) => c.family));
    for (const family of [undefined, ...(families.size > 1 ? settings.tasks : [])]) {
      const b = tally(before.cells, 'greedy', phrasing, family);
      const a = after ? tally(after.cells, 'greedy', phrasing, family) : null;
      if (b.n === 0) continue;
      const { low, high } = wilson((a ?? b).right, (a ?? b).n);
      const arrow = (key: 'right' | 'careful') => `${percent(b[key] / b.n)}${a ? ` → ${percent(a[key] / a.n)}` : ''}`;
      lines.push(
        `${phrasing.padEnd(7)}${(family ?? 'all').padEnd(9)} right ${arrow('right')} (95 %: ${percent(low)} to ${percent(high)})   careful ${arrow('careful')}   n = ${(a ?? b).n}`,
      );
    }
  }
  return lines.join('\n');
}
