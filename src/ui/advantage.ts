/**
 * @file Colour means advantage: blue raises, orange lowers, grey is exactly zero. The scale is the same for every step of
 * every run, so that colours can be compared.
 */
import { glyph, signed } from './format.ts';

/** An advantage of this size has full colour: about the largest of a group of 12 with one right response. */
export const FULL = 3.5;

/** A CSS background for an advantage. */
export function advantageFill(a: number): string {
  if (a === 0) return 'color-mix(in oklab, var(--zero) 22%, var(--surface))';
  const share = 10 + 48 * Math.min(1, Math.abs(a) / FULL);
  return `color-mix(in oklab, var(${a > 0 ? '--raise' : '--lower'}) ${share.toFixed(1)}%, var(--surface))`;
}

/** “+ 0.957” for a cell: the glyph stands apart, so that it reads without the colour. */
export function advantageText(a: number): string {
  return a === 0 ? '0' : `${glyph(a)} ${signed(a).slice(1)}`;
}

/** A neutral underlay for quantities that are no advantages: more ink, more of it. */
export function inkFill(share: number): string {
  return `color-mix(in oklab, var(--ink) ${(Math.min(1, Math.max(0, share)) * 30).toFixed(1)}%, var(--surface))`;
}
