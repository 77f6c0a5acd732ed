import { describe, expect, it } from 'vitest';
import { bytes, count, duration, glyph, number, percent, plus, signed } from './format.ts';

describe('numbers read alike everywhere', () => {
  it.each([
    [0, '0'],
    [-0, '0'],
    [1, '1.00'],
    [-4.5678, '−4.57'],
    [12, '12.0'],
    [1234.5, '1235'],
    [99999.4, '99999'],
    [0.001, '0.00100'],
    [1.2e-5, '1.20·10⁻⁵'],
    [-3e9, '−3.00·10⁹'],
    [Infinity, '∞'],
    [-Infinity, '−∞'],
    [NaN, 'not a number'],
    [null, '–'],
  ])('%d is %s', (x, text) => expect(number(x)).toBe(text));

  it('carries its sign where the sign is the point', () => {
    expect([signed(0.5), signed(-0.5), signed(0)]).toEqual(['+0.500', '−0.500', '0']);
    expect([plus(0.5), plus(-0.5), plus(0)]).toEqual(['+ 0.500', '− 0.500', '+ 0']);
    expect([glyph(2), glyph(-2), glyph(0)]).toEqual(['+', '−', '0']);
  });

  it('has units', () => {
    expect([percent(0.475), percent(1), percent(0)]).toEqual(['47.5 %', '100 %', '0 %']);
    expect([duration(12.4), duration(1240), duration(125000)]).toEqual(['12 ms', '1.24 s', '2 min 5 s']);
    expect([bytes(12), bytes(340_000), bytes(5_213_000)]).toEqual(['12 B', '340 kB', '5.21 MB']);
    expect([count(1234), count(1_234_567), count(-12_345)]).toEqual(['1234', '1 234 567', '−12 345']);
  });
});
