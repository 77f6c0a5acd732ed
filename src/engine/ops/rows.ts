/** @file The kernels that work row by row: embedding, RMSNorm, RoPE with the KV store, SwiGLU. */
import embedSource from '../../../kernels/embed.wgsl?raw';
import rmsnormSource from '../../../kernels/rmsnorm.wgsl?raw';
import ropeSource from '../../../kernels/rope_kv.wgsl?raw';
import rowsSource from '../../../kernels/rows.wgsl?raw';
import swigluSource from '../../../kernels/swiglu.wgsl?raw';
import type { Binding, Gpu } from '../gpu.ts';
import { weightPrelude, type Matrix } from './linear.ts';

/** The prelude with `struct Row`. */
export const rowPrelude = rowsSource;

export interface HeadShape {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

/** x[rows, hidden] = embedding[token], or the image feature that the row names. */
export function embed(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: { plan: Binding; embedding: Matrix; images: Binding; x: Binding; rows: number },
): void {
  const kernel = gpu.kernel({
    name: 'embed',
    source: rowPrelude + weightPrelude(o.embedding.dtype) + embedSource,
    constants: { HIDDEN: o.embedding.in },
  });
  gpu.dispatch(pass, kernel, [o.plan, o.images, o.embedding.buffer, o.x], [Math.ceil(o.embedding.in / 64), o.rows]);
}

/** y[i] = x[r]/rms(x[r])·gain with r = i, or r = gather[i].row where gather holds (row, token) pairs. */
export function rmsnorm(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: { x: Binding; gain: Binding; y: Binding; hidden: number; eps: number; rows: number; gather?: Binding },
): void {
  const kernel = gpu.kernel({
    name: 'rmsnorm',
    source: rmsnormSource,
    constants: { HIDDEN: o.hidden, EPS: o.eps, GATHER: o.gather ? 1 : 0 },
  });
  gpu.dispatch(pass, kernel, [o.x, o.gain, o.gather ?? o.x, o.y], [o.rows]);
}

/** Splits qkv, turns q and k by position, stores k and v at their KV rows. `angles` from ropeTable. */
export function ropeKv(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: { plan: Binding; qkv: Binding; angles: Binding; q: Binding; k: Binding; v: Binding; shape: HeadShape; rows: number },
): void {
  const { heads, kvHeads, headDim } = o.shape;
  const kernel = gpu.kernel({
    name: 'rope_kv',
    source: rowPrelude + ropeSource,
    constants: { HEADS: heads, KV_HEADS: kvHeads, HEAD_DIM: headDim },
  });
  gpu.dispatch(pass, kernel, [o.plan, o.qkv, o.angles, o.q, o.k, o.v], [Math.ceil(((heads + 2 * kvHeads) * headDim) / 2 / 64), o.rows]);
}

/** (cos, sin) [positions, headDim/2] of position·θ^(−2i/headDim), in float64 and rounded once. */
export function ropeTable(positions: number, headDim: number, theta: number): Float32Array {
  const half = headDim / 2;
  const table = new Float32Array(positions * headDim);
  for (let p = 0; p < positions; p++) {
    for (let i = 0; i < half; i++) {
      // transformers rounds the frequency to f32 and multiplies in f32
      const angle = Math.fround(p * Math.fround(theta ** ((-2 * i) / headDim)));
      table[(p * half + i) * 2] = Math.cos(angle);
      table[(p * half + i) * 2 + 1] = Math.sin(angle);
    }
  }
  return table;
}

/** y[rows, width] = silu(gate)·up of gateUp[rows, 2·width]. */
export function swiglu(gpu: Gpu, pass: GPUComputePassEncoder, o: { gateUp: Binding; y: Binding; width: number; rows: number }): void {
  const kernel = gpu.kernel({ name: 'swiglu', source: swigluSource, constants: { WIDTH: o.width } });
  gpu.dispatch(pass, kernel, [o.gateUp, o.y], [Math.ceil(o.width / 64), o.rows]);
}
