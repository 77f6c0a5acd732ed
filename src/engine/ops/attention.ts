/** @file Attention over (prefix ∪ own) ranges: scoring takes tiles of neighbouring rows, decoding a row at a time. */
import attentionSource from '../../../kernels/attention.wgsl?raw';
import type { Binding, Gpu } from '../gpu.ts';
import { rowPrelude, type HeadShape } from './rows.ts';

/** Lanes of a workgroup, as in the kernel. */
const LANES = 64;
/** vec4s of workgroup memory that the tiles may take: 16 KB less what the kernel takes besides. */
const VEC4S = 1024 - 2 * LANES;

/** Rows and keys per tile. */
function tiles(shape: HeadShape, neighbours: boolean): { rows: number; keys: number; m4: number; d4: number } {
  const shared = shape.heads / shape.kvHeads;
  const d4 = Math.ceil(shape.headDim / 4);
  const mostFours = Math.min(4, Math.floor(LANES / d4));
  const rows = neighbours ? Math.max(1, Math.floor((4 * mostFours) / shared)) : 1;
  const m4 = Math.ceil((rows * shared) / 4);
  if (m4 * d4 > LANES) throw new RangeError(`Attention with ${shared} query heads of ${shape.headDim} per key head is too wide.`);
  const room = Math.floor((VEC4S - 4 * m4 * d4) / (d4 + 1 + m4));
  return { rows, keys: 2 * Math.min(16, Math.floor(LANES / m4), Math.floor(room / 2)), m4, d4 };
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
  const { rows, keys, m4, d4 } = tiles(o.shape, o.neighbours);
  const kernel = gpu.kernel({
    name: 'attention',
    source: rowPrelude + attentionSource,
    constants: {
      HEADS: heads,
      KV_HEADS: kvHeads,
      HEAD_DIM: headDim,
      ROWS: rows,
      KEYS: keys,
      SCALE: 1 / Math.sqrt(headDim),
      M4: m4,
      D4: d4,
      Q_SIZE: 4 * m4 * d4,
      K_SIZE: keys * (d4 + 1),
      P_SIZE: keys * m4,
    },
  });
  gpu.dispatch(pass, kernel, [gpu.uniform([o.rows]), o.plan, o.q, o.k, o.v, o.out, o.lse], [Math.ceil(o.rows / rows), kvHeads]);
}
