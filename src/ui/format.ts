/**
 * @file How numbers read, everywhere alike: three significant digits, a real minus sign, tabular figures (theme.css).
 */

const MINUS = '−';
const SUPERSCRIPT = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

const superscript = (n: number): string => (n < 0 ? '⁻' : '') + [...String(Math.abs(n))].map((d) => SUPERSCRIPT[Number(d)]).join('');

function magnitude(x: number): string {
  if (x === 0) return '0';
  if (x >= 1e-3 && x < 1e5) {
    const digits = x.toPrecision(3);
    return digits.includes('e') ? String(Math.round(x)) : digits;
  }
  const [mantissa, exponent] = x.toExponential(2).split('e');
  return `${mantissa}·10${superscript(Number(exponent))}`;
}

/** 0.123, −4.57, 12.0, 1.20·10⁻⁵; “–” where there is no number. */
export function number(x: number | null | undefined): string {
  if (x === null || x === undefined) return '–';
  if (Number.isNaN(x)) return 'not a number';
  if (!Number.isFinite(x)) return x > 0 ? '∞' : `${MINUS}∞`;
  return x < 0 ? MINUS + magnitude(-x) : magnitude(x);
}

/** As `number`, with its sign always there; exactly zero has none. */
export function signed(x: number | null | undefined): string {
  return typeof x === 'number' && x > 0 ? `+${number(x)}` : number(x);
}

/** “+ 0.123”, “− 0.123”, “+ 0”: as the next part of a sum. */
export function plus(x: number): string {
  return x < 0 ? `${MINUS} ${number(-x)}` : `+ ${number(x)}`;
}

/** A whole number, thousands apart. */
export function count(x: number): string {
  const text = String(Math.abs(Math.round(x)));
  return (x < 0 ? MINUS : '') + (text.length > 4 ? text.replace(/\B(?=(\d{3})+$)/g, ' ') : text);
}

/** 47.5 % */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || Number.isNaN(share)) return '–';
  return `${share === 1 ? '100' : number(share * 100)} %`;
}

/** 340 ms, 1.24 s, 2 min 5 s */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  return seconds < 60 ? `${seconds.toPrecision(3)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** 340 kB, 5.21 MB */
export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  return n < 1e6 ? `${(n / 1e3).toPrecision(3)} kB` : `${(n / 1e6).toPrecision(3)} MB`;
}

/** The sign of an advantage as the legend shows it. */
export function glyph(x: number): '+' | '−' | '0' {
  if (x > 0) return '+';
  return x < 0 ? '−' : '0';
}
