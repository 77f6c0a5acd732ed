/** @file Attention over (prefix ∪ own) ranges: scoring takes tiles of neighbouring rows, decoding a row at a time. */
import attentionSource from '../../../kernels/attention.wgsl?raw';
import type { Binding, Gpu } from '../gpu.ts';
import { rowPrelude, type HeadShape } from './rows.ts';

/** Words of workgroup memory that the kernel may take: under 16 KB. */
const WORDS = 3900;

/** Rows and keys per tile that fit the workgroup memory. */
function tiles(shape: HeadShape, neighbours: boolean): { rows: number; keys: number } {
  const shared = shape.heads / shape.kvHeads;
  let rows = neighbours ? Math.max(1, Math.floor(16 / shared)) : 1;
  let keys = 32;
  const words = (): number => 2 * rows * shared * shape.headDim + keys * (shape.headDim + 1) + rows * shared * (keys + 3);
  while (words() > WORDS && keys > 8) keys /= 2;
  while (words() > WORDS && rows > 1) rows = Math.ceil(rows / 2);
  while (words() > WORDS && keys > 1) keys /= 2;
  return { rows, keys };
}

/**
 * out[rows, heads·headDim], lse[rows, heads]. `neighbours`: consecutive rows mostly share their prefix (scoring, prefill),
 * so a tile of them reads the keys once.
 */
export function attention(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: { plan: Binding; q: Binding; k: Binding; v: Binding; out: Binding; lse: Binding; shape: HeadShape; rows: number; neighbours: boolean },
): void {
  const { heads, kvHeads, headDim } = o.shape;
  const tile = tiles(o.shape, o.neighbours);
  const m = (tile.rows * heads) / kvHeads;
  const kernel = gpu.kernel({
    name: 'attention',
    source: rowPrelude + attentionSource,
    constants: {
      HEADS: heads, KV_HEADS: kvHeads, HEAD_DIM: headDim, ROWS: tile.rows, KEYS: tile.keys, SCALE: 1 / Math.sqrt(headDim), M: m,
      Q_SIZE: m * headDim, K_SIZE: tile.keys * (headDim + 1), S_SIZE: m * tile.keys,
    },
  });
  gpu.dispatch(pass, kernel, [gpu.uniform([o.rows]), o.plan, o.q, o.k, o.v, o.out, o.lse], [Math.ceil(o.rows / tile.rows), kvHeads]);
}
