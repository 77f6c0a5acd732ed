/** @file Round ticks, labels that do not overlap, and SVG that is well-formed and keeps to its card. */
import { describe, expect, it } from 'vitest';
import { dotPlot, linePlot, spread, ticks, type Dot, type Line } from './plot.ts';

describe('ticks', () => {
  it.each([
    [0, 60, [0, 10, 20, 30, 40, 50, 60]],
    [0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]],
    [0.38, 0.85, [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]],
    [-0.021, 0.043, [-0.03, -0.02, -0.01, 0, 0.01, 0.02, 0.03, 0.04, 0.05]],
    [0, 14400, [0, 5000, 10000, 15000]],
    [1, 1, [0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.6]],
    [0, 0, [-0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6]],
  ])('from %d to %d are round and reach both', (low, high, expected) => {
    expect(ticks(low, high)).toEqual(expected);
  });
});

describe('labels', () => {
  it('are moved apart, in order, within their column', () => {
    expect(spread([10, 12, 100], 15, 0, 200)).toEqual([10, 25, 100]);
    expect(spread([195, 198, 20], 15, 0, 200)).toEqual([185, 200, 20]);
    expect(spread([50, 40], 15, 0, 200)).toEqual([55, 40]);
  });
});

/** Checks that every tag is closed in order, and gives the attributes of each. */
function parse(svg: string): { tag: string; attributes: Record<string, string> }[] {
  const open: string[] = [];
  const elements: { tag: string; attributes: Record<string, string> }[] = [];
  for (const [, close, tag, rest, self] of svg.matchAll(/<(\/?)([a-z]+)((?:\s+[\w:-]+="[^"<>]*")*)\s*(\/?)>/g)) {
    if (close) expect(open.pop()).toBe(tag);
    else {
      elements.push({ tag, attributes: Object.fromEntries([...rest.matchAll(/([\w:-]+)="([^"]*)"/g)].map(([, k, v]) => [k, v])) });
      if (!self) open.push(tag);
    }
  }
  expect(open).toEqual([]);
  expect(svg.replace(/<\/?[a-z][^<>]*>/g, '')).not.toMatch(/[<>]|&(?!amp;|lt;|gt;|quot;)/);
  return elements;
}

/** Every place is a number within the card. */
function keepsToItsCard(svg: string) {
  const elements = parse(svg);
  const { width, height } = elements[0].attributes;
  for (const { attributes } of elements.slice(1)) {
    const [xs, ys] = [
      ['x', 'x1', 'x2', 'cx'],
      ['y', 'y1', 'y2', 'cy'],
    ].map((names) => names.flatMap((n) => (n in attributes ? [Number(attributes[n])] : [])));
    for (const pair of attributes.points?.split(' ') ?? []) {
      const [x, y] = pair.split(',').map(Number);
      xs.push(x);
      ys.push(y);
    }
    for (const x of xs) expect(x >= 0 && x <= Number(width), `x ${x}`).toBe(true);
    for (const y of ys) expect(y >= 0 && y <= Number(height), `y ${y}`).toBe(true);
  }
  return elements;
}

const show = (x: number) => String(x);
const line = (label: string, slope: number, style: number): Line => ({
  label,
  style,
  mean: [0, 5, 10].map((x) => ({ x, y: slope * x })),
  band: [0, 5, 10].map((x) => ({ x, low: slope * x - 0.1, high: slope * x + 0.1 })),
  each: [[0, 5, 10].map((x) => ({ x, y: slope * x + 0.05 }))],
});

describe('a line plot', () => {
  const axis = { label: 'a & b', show };
  const svg = linePlot({ title: 'One <two> "three" & four', x: axis, y: axis, lines: [line('A & B', 0.1, 0), line('C', 0.101, 5)] });

  it('is SVG with everything on it', () => {
    const elements = keepsToItsCard(svg);
    const count = (tag: string) => elements.filter((e) => e.tag === tag).length;
    expect([count('polygon'), count('polyline'), count('circle')]).toEqual([2, 2 * 3, 2]);
    expect(svg).toContain('<title>One &lt;two&gt; &quot;three&quot; &amp; four</title>');
    expect(svg).toContain('>A &amp; B</text>');
    expect(svg).not.toMatch(/href|url\(|@import|NaN|undefined|Infinity/);
  });

  it('gives a style its colour whatever else is drawn', () => {
    const colour = svg.match(/<polygon[^>]*fill="(#\w+)"/g)?.[1];
    const alone = linePlot({ title: 't', x: axis, y: axis, lines: [line('C', 0.101, 5)] });
    expect(colour).toContain('#');
    expect(alone).toContain(colour?.match(/#\w+/)?.[0] as string);
  });

  it('never shows shares beyond 0 and 1', () => {
    const share = { label: 's', show: (x: number) => `${x}!`, within: [0, 1] as const };
    const marks = linePlot({ title: 't', x: axis, y: share, lines: [{ ...line('A', 0.1, 0), band: [], each: [] }] }).match(/[-\d.]+!/g);
    expect(marks?.map(parseFloat)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  });

  it('draws a single point too', () => {
    keepsToItsCard(
      linePlot({ title: 't', x: axis, y: axis, lines: [{ label: 'l', style: 0, mean: [{ x: 1, y: 0 }], band: [], each: [] }] }),
    );
  });
});

describe('a dot plot', () => {
  const dots: Dot[] = [
    { label: 'A', style: 0, mean: 0.5, interval: [0.4, 0.6], each: [0.4, 0.6] },
    { label: 'B', style: 1, mean: 0.7, interval: null, each: [0.7] },
  ];

  it('is SVG with a row for each, and a line at the one that the others are compared with', () => {
    const svg = dotPlot({ title: 't', x: { label: 'x', show }, dots, reference: 0, value: (x) => `${x} of 1` });
    expect(keepsToItsCard(svg).filter((e) => e.tag === 'circle')).toHaveLength(5);
    expect(svg).toContain('>0.7 of 1</text>');
    expect(svg.match(/stroke-dasharray/g)).toHaveLength(1);
    expect(dotPlot({ title: 't', x: { label: 'x', show }, dots, reference: -1, value: show })).not.toContain('stroke-dasharray');
  });
});
