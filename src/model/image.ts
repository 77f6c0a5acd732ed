/**
 * @file From a picture to `pixel_values`: squashed to the model's square with PIL's antialiased Lanczos-3 when the size
 * differs, then (x/255 − mean) / std. Reference: image_processing_idefics3.py without splitting; Pillow's Resample.c.
 */
import type { ImageConfig } from './config.ts';
import { ModelError } from './errors.ts';
import type { Picture } from './types.ts';

const LOBES = 3;
const MAX_SIDE = 8192;

/** sinc(x)·sinc(x/3) on (−3, 3). */
function lanczos(x: number): number {
  if (x === 0) return 1;
  if (Math.abs(x) >= LOBES) return 0;
  const a = Math.PI * x;
  return (LOBES * Math.sin(a) * Math.sin(a / LOBES)) / (a * a);
}

interface Taps {
  readonly first: number;
  readonly weights: Float64Array;
}

/** Pillow's precompute_coeffs: when shrinking, the filter is stretched by the scale, which is what antialiases. */
function taps(from: number, to: number): Taps[] {
  const scale = from / to;
  const stretch = Math.max(scale, 1);
  const support = LOBES * stretch;
  return Array.from({ length: to }, (_, i) => {
    const centre = (i + 0.5) * scale;
    const first = Math.max(0, Math.trunc(centre - support + 0.5));
    const last = Math.min(from, Math.trunc(centre + support + 0.5));
    const weights = Float64Array.from({ length: last - first }, (_w, x) => lanczos((x + first - centre + 0.5) / stretch));
    const sum = weights.reduce((a, b) => a + b, 0);
    return { first, weights: weights.map((w) => w / sum) };
  });
}

const byte = (x: number): number => Math.max(0, Math.min(255, Math.round(x)));

/** Rows first and rounded to bytes in between, as Pillow does. */
export function resize(picture: Picture, width: number, height: number): Picture {
  checkPicture(picture);
  if (picture.width === width && picture.height === height) return picture;
  const across = taps(picture.width, width);
  const down = taps(picture.height, height);
  const narrow = new Uint8Array(width * picture.height * 3);
  for (let y = 0; y < picture.height; y++) {
    for (let x = 0; x < width; x++) {
      const { first, weights } = across[x] as Taps;
      for (let c = 0; c < 3; c++) {
        let sum = 0;
        for (let i = 0; i < weights.length; i++)
          sum += (weights[i] as number) * (picture.data[(y * picture.width + first + i) * 3 + c] as number);
        narrow[(y * width + x) * 3 + c] = byte(sum);
      }
    }
  }
  const data = new Uint8Array(width * height * 3);
  for (let y = 0; y < height; y++) {
    const { first, weights } = down[y] as Taps;
    for (let at = 0; at < width * 3; at++) {
      let sum = 0;
      for (let i = 0; i < weights.length; i++) sum += (weights[i] as number) * (narrow[(first + i) * width * 3 + at] as number);
      data[y * width * 3 + at] = byte(sum);
    }
  }
  return { width, height, data };
}

export function checkPicture({ width, height, data }: Picture): void {
  const whole = Number.isInteger(width) && Number.isInteger(height) && width >= 1 && height >= 1;
  if (!whole || width > MAX_SIDE || height > MAX_SIDE)
    throw new ModelError('prompt', `A picture of ${width}×${height} pixels cannot be used; sides from 1 to ${MAX_SIDE} can.`);
  if (data.length !== width * height * 3)
    throw new ModelError(
      'prompt',
      `A picture of ${width}×${height} pixels needs ${width * height * 3} bytes of RGB; ${data.length} were given.`,
    );
}

/** `pixel_values` of a batch, f32 [pictures, 3, size, size]. */
export function pixelValues(pictures: readonly Picture[], { size, mean, std }: ImageConfig): Float32Array {
  const plane = size * size;
  const values = new Float32Array(pictures.length * 3 * plane);
  pictures.forEach((picture, p) => {
    const { data } = resize(picture, size, size);
    for (let c = 0; c < 3; c++) {
      const at = (p * 3 + c) * plane;
      for (let i = 0; i < plane; i++) values[at + i] = ((data[i * 3 + c] as number) / 255 - (mean[c] as number)) / (std[c] as number);
    }
  });
  return values;
}
