/**
 * @file Tables of an experiment in Markdown: a row per lane, and in each cell the mean over its seeds with the 95 % interval.
 */
import { bare, difference, interval } from './format.ts';
import { differenceTo, estimate, median, valuesOf } from './estimates.ts';
import type { Experiment, Lane, Table } from './experiment-types.ts';
import { quantity } from './quantities.ts';
import type { LaneResult, Results } from './results.ts';

interface Row {
  readonly lane: Lane;
  readonly result: LaneResult;
  /** Null for the baseline itself, and until it has been run. */
  readonly baseline: LaneResult | null;
}

interface Column {
  readonly head: string;
  readonly cell: (row: Row) => string;
}

const NONE = '–';

/** Values that are not averaged: when most never got there, a mean says nothing. */
function each(result: LaneResult, name: string): string {
  const q = quantity(name);
  const values = [...valuesOf(result, q).values()].map((x) => bare(x ?? Infinity, q.unit));
  return values.length > 1 ? `${bare(median(result, q), q.unit)} (${values.join(', ')})` : values.join('');
}

function column(name: string, baselineLabel: string): Column {
  if (name === 'shape') return { head: 'm × n', cell: ({ result: { shape } }) => `${shape.variants} × ${shape.responses}` };
  const [, kind = '', rest = name] = /^(setting|difference)\.(.*)$/.exec(name) ?? [];
  if (kind === 'setting') {
    const key = rest as keyof Lane['settings'];
    return { head: `\`${key}\``, cell: ({ lane }) => String(lane.settings[key]) };
  }
  const q = quantity(rest);
  if (kind === 'difference') {
    return {
      head: `${q.label}, against ${baselineLabel}${q.unit === 'share' ? ' (points)' : ''}`,
      cell: ({ result, baseline }) => {
        const d = baseline && differenceTo(baseline, result, q);
        return d ? difference(d, q.unit) : NONE;
      },
    };
  }
  if (q.unit === 'step') return { head: `${q.label}: median (each seed)`, cell: ({ result }) => each(result, rest) };
  return {
    head: q.label,
    cell: ({ result }) => {
      const e = estimate(result, q);
      return e ? interval(e, q.unit) : NONE;
    },
  };
}

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** The table with its title above it, if it has one. Lanes that were not run yet say so. */
export function markdownTable(experiment: Experiment, results: Results | null, table: Table): string {
  const resultOf = (name: string) => results?.lanes.find((l) => l.name === name && l.runs.length > 0) ?? null;
  const baselineLabel = experiment.lanes.find((l) => l.name === experiment.baseline)?.label ?? experiment.baseline;
  const columns = table.columns.map((name) => column(name, baselineLabel));
  const rows = experiment.lanes.map((lane) => {
    const result = resultOf(lane.name);
    if (!result) return [lane.label, ...columns.map((_, at) => (at === 0 ? 'not run yet' : ''))];
    const missing = experiment.seeds.length - result.runs.length;
    const label = missing > 0 ? `${lane.label} (${result.runs.length} of ${experiment.seeds.length} seeds)` : lane.label;
    const baseline = lane.name === experiment.baseline ? null : resultOf(experiment.baseline);
    return [label, ...columns.map(({ cell }) => cell({ lane, result, baseline }))];
  });
  const head = ['', ...columns.map((c) => c.head)];
  const text = [head, head.map(() => '---'), ...rows].map(line).join('\n');
  return table.title ? `*${table.title}*\n\n${text}` : text;
}
