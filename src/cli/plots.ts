/** @file The plots that an experiment's file asks for, drawn from its results: means over seeds, 95 % intervals, and the seeds. */
import { bootstrapMean, type Estimate } from '../algorithm/bootstrap.ts';
import { estimate, valuesOf } from './estimates.ts';
import type { Experiment, Plot, XAxis } from './experiment-types.ts';
import { bare, value, whole } from './format.ts';
import { dotPlot, linePlot, type Axis, type Dot, type Line } from './plot.ts';
import { curveQuantity, quantity, type CurveQuantity, type Unit } from './quantities.ts';
import type { LaneResult, Results } from './results.ts';

/** A count on an axis: 12k, 3M. */
function short(x: number): string {
  if (x >= 1e6) return `${Number((x / 1e6).toPrecision(3))}M`;
  return x >= 1e4 ? `${Number((x / 1e3).toPrecision(3))}k` : whole(x);
}

function axisOf(label: string, unit: Unit): Axis {
  switch (unit) {
    case 'share':
      return { label, show: (x) => `${Number((100 * x).toPrecision(6))} %`, within: [0, 1] };
    case 'count':
      return { label, show: short };
    case 'step':
    case 'hours':
    case 'number':
      return { label, show: (x) => String(x).replace('-', '−') };
  }
}

const X: Readonly<Record<XAxis, { readonly label: string; readonly of: (p: Place) => number }>> = {
  step: { label: 'step', of: (p) => p.step },
  samples: { label: 'samples drawn', of: (p) => p.samples },
  'token-passes': { label: 'token-passes (response tokens that went forward and backward)', of: (p) => p.tokenPasses },
};

type Place = ReturnType<CurveQuantity['points']>[number];

const average = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;

const isKnown = (e: Estimate): boolean => Number.isFinite(e.low);

/** Means are taken by step: at a step, seeds may have spent differently, and then x is their mean too. */
function lineOf({ label, style }: Pick<Line, 'label' | 'style'>, { runs }: LaneResult, y: CurveQuantity, x: (p: Place) => number): Line {
  const each = runs.map((run) => y.points(run));
  const steps = [...new Set(each.flat().map((p) => p.step))].sort((a, b) => a - b);
  const at = steps.map((step) => {
    const points = each.flatMap((line) => line.filter((p) => p.step === step));
    return { x: average(points.map(x)), e: bootstrapMean(points.map((p) => p.y))! };
  });
  return {
    label,
    style,
    mean: at.map((p) => ({ x: p.x, y: p.e.mean })),
    band: at.filter((p) => isKnown(p.e)).map((p) => ({ x: p.x, low: p.e.low, high: p.e.high })),
    each: each.length > 1 ? each.map((line) => line.map((p) => ({ x: x(p), y: p.y }))) : [],
  };
}

/** The SVG, null if no lane that it shows has what it shows. */
export function drawPlot(experiment: Experiment, results: Results, plot: Plot): string | null {
  const lanes = experiment.lanes.flatMap(({ name, label }, style) => {
    const result = results.lanes.find((l) => l.name === name && l.runs.length > 0);
    return result && plot.lanes.includes(name) ? [{ name, label, style, result }] : [];
  });
  if (plot.kind === 'curve') {
    const y = curveQuantity(plot.y);
    const x = X[plot.x];
    const lines = lanes.map((lane) => lineOf(lane, lane.result, y, x.of)).filter((line) => line.mean.length > 0);
    if (lines.length === 0) return null;
    return linePlot({ title: plot.title, x: axisOf(x.label, plot.x === 'step' ? 'step' : 'count'), y: axisOf(y.label, y.unit), lines });
  }
  const q = quantity(plot.y);
  const dots = lanes.flatMap(({ name, label, style, result }): (Dot & { readonly name: string })[] => {
    const e = estimate(result, q);
    if (!e) return [];
    const each = [...valuesOf(result, q).values()].filter((x) => x !== null);
    return [{ name, label, style, mean: e.mean, interval: isKnown(e) ? [e.low, e.high] : null, each }];
  });
  if (dots.length === 0) return null;
  return dotPlot({
    title: plot.title,
    x: axisOf(q.label, q.unit),
    dots,
    reference: dots.findIndex((d) => d.name === experiment.baseline),
    value: (x) => (q.unit === 'share' ? value(x, q.unit) : bare(x, q.unit)),
  });
}

/** Names and contents of an experiment's plots, as far as they can be drawn. */
export function drawPlots(
  experiment: Experiment,
  results: Results,
): { readonly plot: Plot; readonly file: string; readonly svg: string }[] {
  return experiment.plots.flatMap((plot) => {
    const svg = drawPlot(experiment, results, plot);
    return svg === null ? [] : [{ plot, file: `${experiment.name}-${plot.name}.svg`, svg }];
  });
}
