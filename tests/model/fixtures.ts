/** @file Reads the fixtures of the model tests; noise() and pattern() are those of tools/oracle. */
import type { Picture } from '../../src/model/types.ts';

export const PICO = '/models/pico/';

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

/** float32, little-endian, base64. */
export function floats(text: string): Float32Array {
  return new Float32Array(fromBase64(text).buffer);
}

/** uint8, deflated, base64. */
export async function bytes(text: string): Promise<Uint8Array> {
  const stream = new Blob([fromBase64(text)]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function pictureOf(q: { readonly width: number; readonly height: number; readonly rgb: string }): Promise<Picture> {
  return { width: q.width, height: q.height, data: await bytes(q.rgb) };
}

export function mirrored({ width, height, data }: Picture): Picture {
  const flipped = data.map((_, i) => {
    const pixel = Math.floor(i / 3);
    const x = pixel % width;
    return data[(pixel - x + width - 1 - x) * 3 + (i % 3)] as number;
  });
  return { width, height, data: flipped };
}

/** A 32-bit linear congruential generator, uniform in −scale..scale. */
export function noise(count: number, seed: number, scale: number): Float32Array {
  let state = seed >>> 0;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state / 4294967296 - 0.5) * 2 * scale;
  });
}

export function pattern(width: number, height: number): Picture {
  const data = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      for (let c = 0; c < 3; c++) data[(y * width + x) * 3 + c] = (x * 7 + y * 13 + c * 50 + ((x * y) % 31) * 3) % 256;
    }
  }
  return { width, height, data };
}

export function maxDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Infinity;
  let most = 0;
  for (let i = 0; i < a.length; i++) {
    const difference = Math.abs((a[i] as number) - (b[i] as number));
    if (!(difference <= most)) most = difference; // NaN counts as the largest
  }
  return most;
}

/** Largest difference, in parts of the largest value of `want`. */
export function relative(got: ArrayLike<number>, want: ArrayLike<number>): number {
  return maxDifference(got, want) / Math.max(...Array.from(want, Math.abs), 1e-30);
}

/** log-softmax, in float64. */
export function logSoftmax(logits: ArrayLike<number>): Float64Array {
  const most = Math.max(...Array.from(logits));
  const sum = Array.from(logits).reduce((total, x) => total + Math.exp(x - most), 0);
  return Float64Array.from(logits, (x) => x - most - Math.log(sum));
}
