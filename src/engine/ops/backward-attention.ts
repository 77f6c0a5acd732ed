/** @file Backward of attention over (prefix ∪ own) ranges and of the rotary embedding, for scoring batches (KV row = row). */
import deltaSource from '../../../kernels/attention_backward_d.wgsl?raw';
import dkvSource from '../../../kernels/attention_backward_dkv.wgsl?raw';
import dqSource from '../../../kernels/attention_backward_dq.wgsl?raw';
import ropeSource from '../../../kernels/rope_backward.wgsl?raw';
import type { Binding, Gpu } from '../gpu.ts';
import { rowPrelude, type HeadShape } from './rows.ts';

/** Rows and keys of a tile. */
const TILE = 32;
/** Dimensions that a workgroup sums up in registers. */
const DIMENSIONS = 64;

/**
 * dQkv [rows, (heads + 2·kvHeads)·headDim] from dOut and what the forward kept: q, k, v after RoPE, out, lse.
 * `deltas` has room for [rows, heads]. The gradient of q and k is still that of the turned ones: ropeBackward comes next.
 */
export function attentionBackward(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: {
    plan: Binding;
    q: Binding;
    k: Binding;
    v: Binding;
    out: Binding;
    lse: Binding;
    dOut: Binding;
    deltas: Binding;
    dQkv: Binding;
    shape: HeadShape;
    rows: number;
  },
): void {
  const { heads, kvHeads, headDim } = o.shape;
  const params = gpu.uniform([o.rows]);
  const deltas = gpu.kernel({ name: 'attention_backward_d', source: deltaSource, constants: { HEADS: heads, HEAD_DIM: headDim } });
  gpu.dispatch(pass, deltas, [params, o.out, o.dOut, o.deltas], [Math.ceil((o.rows * heads) / 64)]);
  const constants = { HEADS: heads, KV_HEADS: kvHeads, HEAD_DIM: headDim, SCALE: 1 / Math.sqrt(headDim) };
  const bindings = [params, o.plan, o.q, o.k, o.v, o.dOut, o.lse, o.deltas, o.dQkv];
  const dq = gpu.kernel({ name: 'attention_backward_dq', source: rowPrelude + dqSource, constants });
  gpu.dispatch(pass, dq, bindings, [Math.ceil(o.rows / TILE), heads, Math.ceil(headDim / DIMENSIONS)]);
  const dkv = gpu.kernel({ name: 'attention_backward_dkv', source: rowPrelude + dkvSource, constants });
  gpu.dispatch(pass, dkv, bindings, [Math.ceil(o.rows / TILE), kvHeads, Math.ceil(headDim / DIMENSIONS)]);
}

/** Turns the query and key columns of dQkv back, in place. `angles` from ropeTable. */
export function ropeBackward(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: { plan: Binding; angles: Binding; dQkv: Binding; shape: HeadShape; rows: number },
): void {
  const { heads, kvHeads, headDim } = o.shape;
  const kernel = gpu.kernel({
    name: 'rope_backward',
    source: rowPrelude + ropeSource,
    constants: { HEADS: heads, KV_HEADS: kvHeads, HEAD_DIM: headDim },
  });
  gpu.dispatch(
    pass,
    kernel,
    [gpu.uniform([o.rows]), o.plan, o.angles, o.dQkv],
    [Math.ceil(((heads + kvHeads) * headDim) / 2 / 64), Math.ceil(o.rows / 4)],
  );
}
