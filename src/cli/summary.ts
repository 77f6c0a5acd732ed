/**
 * @file What a finished run comes to: accuracy and careful share on held-out test questions, before and after; as JSON beside
 * the run, as a line per phrasing and family, and as a table over several runs.
 */
import { wilson } from '../algorithm/intervals.ts';
import { tally } from '../training/evaluation.ts';
import type { EvaluationRecord, StepRecord } from '../training/record.ts';
import type { Settings } from '../training/settings.ts';

type Cells = EvaluationRecord['cells'];

export interface RunSummary {
  readonly kind: 'grpo-playground summary';
  readonly settings: Settings;
  readonly steps: number;
  /** Sampled responses and tokens of the whole run. */
  readonly samples: number;
  readonly tokens: number;
  /** Seconds of all steps, evaluation in between included. */
  readonly seconds: number;
  readonly before: Cells;
  readonly after: Cells | null;
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** Lines that tell what was right and careful before and after. */
export function describe({ before, after, settings }: RunSummary): string {
  const lines: string[] = [];
  for (const phrasing of ['plain', 'steps'] as const) {
    for (const family of [undefined, ...settings.tasks]) {
      const b = tally(before, phrasing, family);
      const a = after ? tally(after, phrasing, family) : null;
      if (b.n === 0) continue;
      const { low, high } = wilson((a ?? b).right, (a ?? b).n);
      const arrow = (key: 'right' | 'careful') => `${percent(b[key] / b.n)}${a ? ` → ${percent(a[key] / a.n)}` : ''}`;
      lines.push(
        `${phrasing.padEnd(6)}${(family ?? 'all').padEnd(9)} right ${arrow('right')} (95 %: ${percent(low)} to ${percent(high)})   careful ${arrow('careful')}   n = ${b.n}`,
      );
    }
  }
  return lines.join('\n');
}

const average = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

/** `47 → 83 % (81–87)`: mean before, mean after, range after. */
function span(before: readonly number[], after: readonly number[]): string {
  const whole = (x: number) => (100 * x).toFixed(0);
  return `${whole(average(before))} → ${whole(average(after))} % (${whole(Math.min(...after))}–${whole(Math.max(...after))})`;
}

/** Steps over which the careful share of a run's own responses is taken. */
const WINDOW = 5;

/**
 * The first step at which at least half of the plain responses of the last five steps were careful: when the run found out.
 * Null if it never did.
 */
export function foundAt(records: readonly StepRecord[]): number | null {
  const careful = records.map((r) =>
    r.questions.flatMap((q) => q.variants.flatMap((v, j) => (v.phrasing === 'plain' ? q.rewards[j].map((x) => x.careful) : []))),
  );
  for (let at = WINDOW; at <= careful.length; at++) {
    const recent = careful.slice(at - WINDOW, at).flat();
    if (recent.length > 0 && recent.filter(Boolean).length * 2 >= recent.length) return records[at - 1].step;
  }
  return null;
}

export interface FinishedRun {
  readonly summary: RunSummary;
  readonly foundAt: number | null;
}

/** A Markdown table: one row per preset, mean and range over its runs. Unfinished runs are left out. */
export function table(all: readonly FinishedRun[]): string {
  const done = all.flatMap(({ summary, foundAt }) => (summary.after ? [{ ...summary, after: summary.after, foundAt }] : []));
  const rows = [...new Set(done.map((r) => r.settings.preset))].map((preset) => {
    const mine = done.filter((r) => r.settings.preset === preset);
    const shares = (cells: (r: (typeof mine)[number]) => Cells, phrasing: 'plain' | 'steps', key: 'right' | 'careful') =>
      mine.map((r) => {
        const t = tally(cells(r), phrasing);
        return t[key] / Math.max(1, t.n);
      });
    const cell = (phrasing: 'plain' | 'steps', key: 'right' | 'careful') =>
      span(
        shares((r) => r.before, phrasing, key),
        shares((r) => r.after, phrasing, key),
      );
    const { variants, responses } = mine[0].settings;
    return [
      `\`${preset}\``,
      `${variants} × ${responses}`,
      mine.length,
      [...new Set(mine.map((r) => r.steps))].join(', '),
      cell('plain', 'right'),
      cell('plain', 'careful'),
      cell('steps', 'right'),
      mine.map((r) => r.foundAt ?? 'never').join(', '),
      average(mine.map((r) => r.samples)).toFixed(0),
    ];
  });
  const head = [
    'preset',
    'm × n',
    'runs',
    'steps',
    'right, plain',
    'careful, plain',
    'right, step by step',
    'half careful at step',
    'samples per run',
  ];
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
