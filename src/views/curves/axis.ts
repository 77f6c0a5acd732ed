/** @file What the curves are drawn over: steps, or what they have cost so far. */
import type { StepRecord } from '../../session/types.ts';
import { count } from '../../ui/format.ts';

export type AxisName = 'steps' | 'samples' | 'token passes';

export const AXES: readonly { readonly value: AxisName; readonly label: string; readonly tip: string }[] = [
  { value: 'steps', label: 'steps', tip: 'Over the steps of the run.' },
  {
    value: 'samples',
    label: 'samples',
    tip: 'Over the responses sampled so far, those of dropped questions included: a fair way to compare runs.',
  },
  {
    value: 'token passes',
    label: 'token passes',
    tip: 'Over the response tokens that have gone forward and backward so far: sharing scores each response under every variant, and this is what that costs.',
  },
];

const METRIC = { samples: 'share/samples', 'token passes': 'share/token_passes' } as const;

export interface Axis {
  readonly name: AxisName;
  /** Where a step lies, 0…1. */
  at(step: number): number;
  /** The step nearest to a place. */
  stepAt(place: number): number;
  /** “96 samples” */
  words(step: number): string;
}

export function axisOf(records: readonly StepRecord[], name: AxisName): Axis {
  let total = 0;
  const values = new Map(
    records.map((r) => {
      total = name === 'steps' ? r.step : total + (r.metrics[METRIC[name]] ?? 0);
      return [r.step, total];
    }),
  );
  const first = name === 'steps' ? (records[0]?.step ?? 0) : 0;
  const span = total - first;
  const at = (step: number): number => (span > 0 ? ((values.get(step) ?? first) - first) / span : 0.5);
  return {
    name,
    at,
    stepAt: (place) =>
      [...values.keys()].reduce(
        (best, step) => (Math.abs(at(step) - place) < Math.abs(at(best) - place) ? step : best),
        records[0]?.step ?? 1,
      ),
    words: (step) => (name === 'steps' ? `step ${step}` : `${count(values.get(step) ?? 0)} ${name}`),
  };
}
