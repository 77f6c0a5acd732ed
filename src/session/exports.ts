/** @file What can be taken away: metrics as CSV, and the download itself. */
import type { StepRecord } from './types.ts';

/** One row per step; columns are the metrics that occur, in TRL's names. */
export function metricsCsv(records: readonly StepRecord[]): string {
  const columns = [...new Set(records.flatMap((r) => Object.keys(r.metrics)))].sort();
  const rows = records.map((r) => [r.step, ...columns.map((c) => r.metrics[c] ?? '')].join(','));
  return [['step', ...columns].join(','), ...rows, ''].join('\n');
}

/** Hands a file to the visitor. */
export function save(name: string, type: string, content: string | Uint8Array<ArrayBuffer>): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
