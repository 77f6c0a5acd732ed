/** @file Numbers as people read them: times, shares, counts, and means with their intervals. */
import type { Estimate } from '../algorithm/bootstrap.ts';
import type { Unit } from './quantities.ts';

/** Seconds in the unit that fits. */
export function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** With commas between thousands. */
export const whole = (x: number): string =>
  Math.round(x)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ',');

const withSign = (text: string): string => text.replace('-', '−');

/** The bare number, in percent for shares. */
export function bare(x: number, unit: Unit): string {
  if (!Number.isFinite(x)) return 'never';
  switch (unit) {
    case 'share':
      return withSign((100 * x).toFixed(1));
    case 'count':
      return withSign(whole(x));
    case 'step':
      return Number.isInteger(x) ? String(x) : x.toFixed(1);
    case 'hours':
      return x.toFixed(1);
    case 'number':
      return withSign(x === 0 ? '0' : Math.abs(x) < 1e-3 ? x.toExponential(1) : x.toPrecision(3));
  }
}

const SUFFIX: Readonly<Record<Unit, string>> = { share: ' %', count: '', step: '', hours: ' h', number: '' };

export const value = (x: number, unit: Unit): string => bare(x, unit) + (Number.isFinite(x) ? SUFFIX[unit] : '');

/** `84.3 % (82.0–86.1)`; without an interval where nothing is known of it, or where it is the mean. */
export function interval({ mean, low, high }: Estimate, unit: Unit): string {
  const ends = [bare(low, unit), bare(high, unit)];
  const text = value(mean, unit);
  if (!Number.isFinite(low) || ends.every((end) => end === bare(mean, unit))) return text;
  return `${text} (${ends.join(low < 0 ? ' to ' : '–')})`;
}

const signed = (x: number, unit: Unit): string => `${x > 0 ? '+' : ''}${bare(x, unit)}`;

/** `+2.1 (−0.5 to +4.7)`; shares in points. */
export function difference({ mean, low, high }: Estimate, unit: Unit): string {
  const text = signed(mean, unit);
  return Number.isFinite(low) ? `${text} (${signed(low, unit)} to ${signed(high, unit)})` : text;
}
