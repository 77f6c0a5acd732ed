/**
 * @file Views: random crops of a picture, brought back to its size. MiCo (arXiv 2506.22434) shows the model two views of one picture
 * and one of another; how much a view may leave out is a range, weak (nearly all) or strong.
 *
 * A view is cut at whole pixels and enlarged by bilinear interpolation in whole numbers, so that it is the same bytes everywhere.
 */
import type { Rng } from './random.ts';
import type { Picture } from './types.ts';

/** The sides of a crop as a share of the picture's, 0 < low ≤ high ≤ 1. A crop has the proportions of its picture. */
export interface ViewRange {
  readonly low: number;
  readonly high: number;
}

/** A rectangle in pixels, x from the left and y from the top. A crop's are whole numbers. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}
export type Crop = Box;

/** A crop whose share is uniform in the range and whose place is uniform. At least one pixel. Throws RangeError on a bad range. */
export function drawCrop(picture: Picture, range: ViewRange, rng: Rng): Crop {
  const { low, high } = range;
  if (!(low > 0 && low <= high && high <= 1)) throw new RangeError(`A view's range must be 0 < low ≤ high ≤ 1, not ${low} to ${high}.`);
  const share = low + (high - low) * rng.uniform();
  const width = Math.max(1, Math.round(share * picture.width));
  const height = Math.max(1, Math.round(share * picture.height));
  return { x: rng.int(0, picture.width - width), y: rng.int(0, picture.height - height), width, height };
}

/** Where the centre of pixel `i` of `n` lies among the `m` pixels of a crop: the two pixels beside it, and the second one's weight of 2n. */
function between(i: number, m: number, n: number): { first: number; second: number; weight: number } {
  const at = (2 * i + 1) * m - n;
  const floor = Math.floor(at / (2 * n));
  return { first: Math.max(0, floor), second: Math.min(m - 1, floor + 1), weight: at - floor * 2 * n };
}

/** The crop, enlarged to the size of the picture it is cut from. */
export function view(picture: Picture, crop: Crop): Picture {
  const { width, height } = picture;
  const data = new Uint8Array(picture.data.length);
  const columns = Array.from({ length: width }, (_, x) => between(x, crop.width, width));
  const one = 4 * width * height;
  for (let y = 0; y < height; y++) {
    const row = between(y, crop.height, height);
    const top = (crop.y + row.first) * width + crop.x;
    const bottom = (crop.y + row.second) * width + crop.x;
    columns.forEach((column, x) => {
      for (let c = 0; c < 3; c++) {
        const mix = (start: number): number =>
          picture.data[(start + column.first) * 3 + c] * (2 * width - column.weight) +
          picture.data[(start + column.second) * 3 + c] * column.weight;
        const sum = mix(top) * (2 * height - row.weight) + mix(bottom) * row.weight;
        data[(y * width + x) * 3 + c] = Math.floor((sum + one / 2) / one);
      }
    });
  }
  return { width, height, data };
}

/** Is at least half of the box inside the crop? */
export function halfInside(box: Box, crop: Crop): boolean {
  const width = Math.min(box.x + box.width, crop.x + crop.width) - Math.max(box.x, crop.x);
  const height = Math.min(box.y + box.height, crop.y + crop.height) - Math.max(box.y, crop.y);
  return Math.max(0, width) * Math.max(0, height) * 2 >= box.width * box.height;
}
