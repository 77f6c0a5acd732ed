/**
 * @file A stand-in for the file of handwritten digits, for tests: 400 examples with made-up ink, packed in the same layout.
 */

import { loadDigits } from './digit-set.ts';
import { Rng } from './random.ts';
import type { DigitSet } from './types.ts';

export function fakeDigitBytes(count = 400): Uint8Array {
  const bytes = new Uint8Array(8 + count * 201);
  bytes.set([68, 73, 71, 49]);
  new DataView(bytes.buffer).setUint32(4, count, true);
  const rng = new Rng('fake digits');
  for (let i = 0; i < count; i++) bytes[8 + i] = i % 10;
  for (let i = 8 + count; i < bytes.length; i++) bytes[i] = rng.int(0, 255);
  return bytes;
}

export function fakeDigits(): DigitSet {
  return loadDigits(fakeDigitBytes());
}
