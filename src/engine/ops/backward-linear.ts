/**
 * @file Backward of a linear layer with a frozen base and a LoRA side path, Y = X·Wᵀ + s·(X·Aᵀ)·blockdiag(B)ᵀ (LoRA, Hu et al.
 * 2021): with dYB = dY·blockdiag(B),  dX = dY·W + s·dYB·A,  dA = s·dYBᵀ·X,  dB = s·dYᵀ·(X·Aᵀ) on the diagonal blocks.
 */
import backwardXSource from '../../../kernels/linear_backward_x.wgsl?raw';
import backwardBSource from '../../../kernels/lora_backward_b.wgsl?raw';
import gradientSource from '../../../kernels/lora_gradient.wgsl?raw';
import sumSource from '../../../kernels/lora_gradient_sum.wgsl?raw';
import type { Binding, Gpu } from '../gpu.ts';
import { NO_START, product, weightPrelude, type Matrix } from './linear.ts';

/**
 * dX = dY·W + s·dYB·A, added to dX if `accumulate`. dY [rows, out], dYB [rows, width], A [width, in]. With `part`, dY belongs to the
 * rows [first, first + out) of W, and what of them lies beyond W's last row counts as zeros.
 */
export function linearBackwardX(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: {
    dy: Binding;
    weight: Matrix;
    part?: { readonly first: number; readonly out: number };
    lora?: { readonly dyb: Binding; readonly a: Binding; readonly width: number; readonly scale: number } | null;
    dx: Binding;
    rows: number;
    accumulate?: boolean;
  },
): void {
  const { dy, weight, lora, dx, rows } = o;
  const { first, out } = o.part ?? { first: 0, out: weight.out };
  const { source, constants, groups } = product(rows, weight.in);
  const kernel = gpu.kernel({
    name: 'linear_backward_x',
    source: weightPrelude(weight.dtype) + backwardXSource + source,
    constants,
  });
  const params = gpu.uniform([rows, { f: lora?.scale ?? 0 }, weight.in, out, lora?.width ?? 0, first, weight.out, o.accumulate ? 1 : 0]);
  gpu.dispatch(pass, kernel, [params, dy, weight.buffer, dx, lora?.dyb ?? dy, lora?.a ?? dy], groups);
}

/** dYB [rows, modules·rank] = dY·blockdiag(B); dY [rows, out], B [out, rank], `starts` the first output of each module. */
export function loraBackwardB(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: { dy: Binding; b: Binding; dyb: Binding; rows: number; out: number; rank: number; starts: readonly number[] },
): void {
  const modules = o.starts.length;
  const { source, constants, groups } = product(o.rows, modules * o.rank);
  const kernel = gpu.kernel({ name: 'lora_backward_b', source: backwardBSource + source, constants });
  const params = gpu.uniform([o.rows, o.out, o.rank, modules, o.starts[1] ?? NO_START, o.starts[2] ?? NO_START]);
  gpu.dispatch(pass, kernel, [params, o.dy, o.b, o.dyb], groups);
}

/** Into how many chunks the rows are cut for the partial sums of the LoRA gradients: at least 128 rows each, at most 32. */
export function gradientChunks(rows: number): { chunks: number; chunkRows: number } {
  const chunkRows = Math.max(128, Math.ceil(rows / 32));
  return { chunks: Math.ceil(rows / chunkRows), chunkRows };
}

interface Partials {
  /** [chunks, stride] f32: the partial sums of several matrices side by side. */
  readonly partials: Binding;
  readonly stride: number;
  /** Where this matrix begins among them. */
  readonly offset: number;
  readonly rows: number;
}

const four = (starts: readonly number[]): number[] => [0, 1, 2, 3].map((i) => starts[i] ?? 0);

/** Partial sums of dYBᵀ·X, [modules·rank, in]. X [rows, in], dYB [rows, width]. */
export function loraGradientA(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: Partials & { x: Binding; in: number; dyb: Binding; width: number },
): void {
  const { chunks, chunkRows } = gradientChunks(o.rows);
  const kernel = gpu.kernel({ name: 'lora_gradient', source: gradientSource });
  const params = gpu.uniform([o.rows, chunkRows, o.in, o.width, 1, o.width, o.stride, o.offset, 1, o.in, 0, 0, 0, 0, 0, 0]);
  gpu.dispatch(pass, kernel, [params, o.x, o.dyb, o.partials], [Math.ceil(o.in / 128), Math.ceil(o.width / 8), chunks]);
}

/** Partial sums of dYᵀ·XA's diagonal blocks, [out, rank]. dY [rows, out], XA [rows, modules·rank]. */
export function loraGradientB(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: Partials & { dy: Binding; out: number; xa: Binding; rank: number; starts: readonly number[] },
): void {
  const { chunks, chunkRows } = gradientChunks(o.rows);
  const kernel = gpu.kernel({ name: 'lora_gradient', source: gradientSource });
  const modules = o.starts.length;
  const widest = Math.max(...o.starts.map((start, i) => (o.starts[i + 1] ?? o.out) - start));
  const params = gpu.uniform([
    o.rows,
    chunkRows,
    o.out,
    modules * o.rank,
    modules,
    o.rank,
    o.stride,
    o.offset,
    o.rank,
    1,
    0,
    0,
    ...four(o.starts),
  ]);
  gpu.dispatch(pass, kernel, [params, o.dy, o.xa, o.partials], [Math.ceil(widest / 128), modules * Math.ceil(o.rank / 8), chunks]);
}

/** gradient[offset + i] += scale · Σ over the chunks of partials[chunk, i], i < stride. */
export function loraGradientSum(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: { partials: Binding; stride: number; rows: number; gradient: Binding; offset: number; scale: number },
): void {
  const kernel = gpu.kernel({ name: 'lora_gradient_sum', source: sumSource });
  const params = gpu.uniform([o.stride, gradientChunks(o.rows).chunks, o.offset, { f: o.scale }]);
  gpu.dispatch(pass, kernel, [params, o.partials, o.gradient], [Math.ceil(o.stride / 64)]);
}
