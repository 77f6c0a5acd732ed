/**
 * @file Plots as SVG files that need nothing else: lines with a band and what it is of, and dots with intervals. A white card with
 * dark text, so that they can be read on light and on dark pages; eight colours that colour-blind readers can tell apart (Okabe and
 * Ito 2008, yellow left out), and dashes beside them. Lengths are pixels of the SVG.
 */

/** A number on an axis as text. */
export type Shown = (x: number) => string;

export interface Axis {
  readonly label: string;
  readonly show: Shown;
  /** Ends that the axis never goes beyond, such as 0 and 1 for a share. */
  readonly within?: readonly [number, number];
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Line {
  readonly label: string;
  /** Which colour and dash: the same thing keeps its own in every plot. */
  readonly style: number;
  readonly mean: readonly Point[];
  /** Edges of the band; empty where there is none. */
  readonly band: readonly { readonly x: number; readonly low: number; readonly high: number }[];
  /** What the mean is of, drawn faintly. */
  readonly each: readonly (readonly Point[])[];
}

export interface Dot {
  readonly label: string;
  readonly style: number;
  readonly mean: number;
  /** Null where nothing is known of it. */
  readonly interval: readonly [number, number] | null;
  readonly each: readonly number[];
}

const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#aa4499', '#7a5c00', '#56b4e9', '#e69f00', '#555555'];
const DASHES = ['', '7 3', '2 3', '9 3 2 3', '4 2', '12 4', '1 4', '5 2 1 2'];
const INK = '#222222';
const FAINT = '#6b6b6b';
const GRID = '#e4e4e4';
const WIDTH = 760;
const FONT = 13;

const escape = (text: string): string => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');

/** A length with one digit after the point. */
const px = (x: number): string => String(Math.round(x * 10) / 10);

/** About how wide text is: without a browser nobody knows, and fonts differ. */
const widthOf = (text: string, size = FONT): number => text.length * size * 0.6;

/** Round numbers from at most `low` to at least `high`, about `count` of them: steps of 1, 2 or 5 times a power of ten. */
export function ticks(low: number, high: number, count = 6): number[] {
  if (low === high) return ticks(low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2, count);
  const power = 10 ** Math.floor(Math.log10((high - low) / count));
  const step = [1, 2, 5].map((f) => f * power).find((s) => (high - low) / s <= count + 0.5) ?? 10 * power;
  const first = Math.floor(low / step + 1e-9);
  const last = Math.ceil(high / step - 1e-9);
  // not i·step: 3 · 0.1 is not 0.3
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

interface Scale {
  readonly ticks: readonly number[];
  readonly at: (value: number) => number;
}

function scale(values: readonly number[], axis: Axis, from: number, to: number): Scale {
  const all = values.filter(Number.isFinite);
  const marks = ticks(Math.min(...all), Math.max(...all)).filter((t) => !axis.within || (t >= axis.within[0] && t <= axis.within[1]));
  const [low, high] = [marks[0], marks[marks.length - 1]];
  return { ticks: marks, at: (value) => from + ((value - low) / (high - low)) * (to - from) };
}

const text = (x: number, y: number, content: string, attributes = ''): string =>
  `<text x="${px(x)}" y="${px(y)}"${attributes && ` ${attributes}`}>${escape(content)}</text>`;

const path = (points: readonly (readonly [number, number])[]): string => points.map(([x, y]) => `${px(x)},${px(y)}`).join(' ');

function card(title: string, height: number, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="${escape(title)}" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="${FONT}" fill="${INK}">`,
    `<title>${escape(title)}</title>`,
    `<rect x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8" fill="#ffffff" stroke="#d0d0d0"/>`,
    text(20, 30, title, `font-size="16" font-weight="600"`),
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}

/** Moves places apart until neighbours are `gap` away, within `low`…`high`; in the order given. */
export function spread(places: readonly number[], gap: number, low: number, high: number): number[] {
  const order = places.map((y, at) => ({ y, at })).sort((a, b) => a.y - b.y);
  let floor = low;
  for (const item of order) {
    item.y = Math.max(item.y, floor);
    floor = item.y + gap;
  }
  let ceiling = high;
  for (const item of [...order].reverse()) {
    item.y = Math.min(item.y, ceiling);
    ceiling = item.y - gap;
  }
  const result = [...places];
  for (const { y, at } of order) result[at] = y;
  return result;
}

/** The frame of a plot: grid and numbers of both axes. */
function axes(o: { x: Scale; y: Scale; xAxis: Axis; yAxis: Axis; left: number; right: number; top: number; bottom: number }): string[] {
  const { x, y, xAxis, yAxis, left, right, top, bottom } = o;
  return [
    ...y.ticks.flatMap((t) => [
      `<line x1="${px(left)}" x2="${px(right)}" y1="${px(y.at(t))}" y2="${px(y.at(t))}" stroke="${GRID}"/>`,
      text(left - 8, y.at(t) + 4.5, yAxis.show(t), `text-anchor="end" fill="${FAINT}"`),
    ]),
    ...x.ticks.map((t) => text(x.at(t), bottom + 19, xAxis.show(t), `text-anchor="middle" fill="${FAINT}"`)),
    ...x.ticks.map((t) => `<line x1="${px(x.at(t))}" x2="${px(x.at(t))}" y1="${px(bottom)}" y2="${px(bottom + 5)}" stroke="${FAINT}"/>`),
    `<line x1="${px(left)}" x2="${px(right)}" y1="${px(bottom)}" y2="${px(bottom)}" stroke="${FAINT}"/>`,
    text((left + right) / 2, bottom + 40, xAxis.label, `text-anchor="middle" fill="${FAINT}"`),
    text(20, top - 14, yAxis.label, `fill="${FAINT}"`),
  ];
}

/** Lines over x, each named at its right end. */
export function linePlot(o: { readonly title: string; readonly x: Axis; readonly y: Axis; readonly lines: readonly Line[] }): string {
  const height = 430;
  const [left, top, bottom] = [64, 76, height - 62];
  const right = WIDTH - 40 - Math.min(260, Math.max(...o.lines.map((l) => widthOf(l.label))));
  const points = o.lines.flatMap((l) => [...l.mean, ...l.each.flat()]);
  const edges = o.lines.flatMap((l) => l.band.flatMap((b) => [b.low, b.high]));
  const x = scale([0, ...points.map((p) => p.x)], o.x, left, right);
  const y = scale([...points.map((p) => p.y), ...edges], o.y, bottom, top);
  const place = (line: readonly Point[]) => path(line.map((p) => [x.at(p.x), y.at(p.y)]));
  const ends = o.lines.map((l) => l.mean.at(-1) ?? { x: 0, y: 0 });
  const labels = spread(
    ends.map((p) => y.at(p.y)),
    FONT + 5,
    top,
    bottom,
  );
  const colour = (at: number) => COLOURS[o.lines[at].style % COLOURS.length];
  const drawn = (draw: (line: Line, at: number) => string | readonly string[]) => o.lines.flatMap(draw);
  return card(o.title, height, [
    ...axes({ x, y, xAxis: o.x, yAxis: o.y, left, right, top, bottom }),
    ...drawn(({ band }, at) => {
      if (band.length < 2) return [];
      const around = [
        ...band.map((b) => [x.at(b.x), y.at(b.high)] as const),
        ...[...band].reverse().map((b) => [x.at(b.x), y.at(b.low)] as const),
      ];
      return `<polygon points="${path(around)}" fill="${colour(at)}" fill-opacity="0.13"/>`;
    }),
    ...drawn(({ each }, at) =>
      each.map((line) => `<polyline points="${place(line)}" fill="none" stroke="${colour(at)}" stroke-opacity="0.28" stroke-width="1"/>`),
    ),
    ...drawn(({ mean, style }, at) => {
      const dash = DASHES[style % DASHES.length];
      return `<polyline points="${place(mean)}" fill="none" stroke="${colour(at)}" stroke-width="2.4" stroke-linejoin="round"${dash && ` stroke-dasharray="${dash}"`}/>`;
    }),
    ...drawn(({ label }, at) => [
      `<polyline points="${path([
        [x.at(ends[at].x), y.at(ends[at].y)],
        [right + 6, labels[at]],
        [right + 14, labels[at]],
      ])}" fill="none" stroke="${FAINT}" stroke-width="1" stroke-dasharray="1 3"/>`,
      `<circle cx="${px(right + 17)}" cy="${px(labels[at])}" r="3.5" fill="${colour(at)}"/>`,
      text(right + 25, labels[at] + 4.5, label),
    ]),
  ]);
}

/** A row per dot: the mean with its interval and its number, what it is of, and a line down from the mean of row `reference`. */
export function dotPlot(o: {
  readonly title: string;
  readonly x: Axis;
  readonly dots: readonly Dot[];
  readonly reference: number;
  readonly value: Shown;
}): string {
  const row = 34;
  const top = 52;
  const bottom = top + row * o.dots.length;
  const left = 36 + Math.min(300, Math.max(...o.dots.map((d) => widthOf(d.label))));
  const right = WIDTH - 88;
  const x = scale(
    o.dots.flatMap((d) => [d.mean, ...d.each, ...(d.interval ?? [])]),
    o.x,
    left,
    right,
  );
  const reference = o.dots[o.reference];
  return card(o.title, bottom + 62, [
    ...x.ticks.flatMap((t) => [
      `<line x1="${px(x.at(t))}" x2="${px(x.at(t))}" y1="${top}" y2="${bottom}" stroke="${GRID}"/>`,
      text(x.at(t), bottom + 19, o.x.show(t), `text-anchor="middle" fill="${FAINT}"`),
    ]),
    `<line x1="${px(left)}" x2="${px(right)}" y1="${bottom}" y2="${bottom}" stroke="${FAINT}"/>`,
    text((left + right) / 2, bottom + 40, o.x.label, `text-anchor="middle" fill="${FAINT}"`),
    ...(reference
      ? [
          `<line x1="${px(x.at(reference.mean))}" x2="${px(x.at(reference.mean))}" y1="${top}" y2="${bottom}" stroke="${FAINT}" stroke-dasharray="3 3"/>`,
        ]
      : []),
    ...o.dots.flatMap((d, at) => {
      const y = top + row * (at + 0.5);
      const colour = COLOURS[d.style % COLOURS.length];
      return [
        text(left - 14, y + 4.5, d.label, `text-anchor="end"`),
        ...d.each.map((v) => `<circle cx="${px(x.at(v))}" cy="${px(y)}" r="4" fill="#ffffff" stroke="${colour}" stroke-opacity="0.6"/>`),
        ...(d.interval
          ? [
              `<line x1="${px(x.at(d.interval[0]))}" x2="${px(x.at(d.interval[1]))}" y1="${px(y)}" y2="${px(y)}" stroke="${colour}" stroke-width="3"/>`,
            ]
          : []),
        `<circle cx="${px(x.at(d.mean))}" cy="${px(y)}" r="5.5" fill="${colour}"/>`,
        text(right + 16, y + 4.5, o.value(d.mean)),
      ];
    }),
  ]);
}
