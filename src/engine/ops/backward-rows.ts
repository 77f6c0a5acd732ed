/** @file Backward of what works row by row: the head with its log-softmax, RMSNorm, SwiGLU. */
import gatherSource from '../../../kernels/gather_targets.wgsl?raw';
import headSource from '../../../kernels/head_backward.wgsl?raw';
import rmsnormSource from '../../../kernels/rmsnorm_backward.wgsl?raw';
import swigluSource from '../../../kernels/swiglu_backward.wgsl?raw';
import type { Binding, Gpu } from '../gpu.ts';
import { linearBackwardX } from './backward-linear.ts';
import { product, weightPrelude, type Matrix } from './linear.ts';

/** Floats that the gradient of a vocabulary chunk's logits may take: 16 MB. */
const CHUNK_FLOATS = 2 ** 22;

/** Tokens of one vocabulary chunk: the whole vocabulary, or a power of two. */
export function vocabularyChunk(targets: number, vocab: number): number {
  const most = CHUNK_FLOATS / Math.max(1, targets);
  return vocab <= most ? vocab : Math.min(vocab, 2 ** Math.max(6, Math.floor(Math.log2(most))));
}

/**
 * dh[target, hidden] = ∂/∂h Σ coefficientₜ · log softmax(h·headᵀ/temperature)[tokenₜ], the logits recomputed with the
 * forward's log-sum-exp, `chunk` tokens at a time. `targets` holds (row, token), `scores` (log-prob, entropy, lse, 0); `dz` has
 * room for count · chunk f32.
 */
export function headBackward(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: {
    h: Binding;
    head: Matrix;
    targets: Binding;
    scores: Binding;
    coefficients: Binding;
    dz: Binding;
    dh: Binding;
    count: number;
    temperature: number;
    chunk: number;
  },
): void {
  const { head, count } = o;
  const { source, constants, groups } = product(count, o.chunk);
  const kernel = gpu.kernel({ name: 'head_backward', source: weightPrelude(head.dtype) + headSource + source, constants });
  for (let first = 0; first < head.out; first += o.chunk) {
    const params = gpu.uniform([count, { f: 1 / o.temperature }, head.in, head.out, o.chunk, first]);
    gpu.dispatch(pass, kernel, [params, o.h, head.buffer, o.dz, o.targets, o.scores, o.coefficients], groups);
    linearBackwardX(gpu, pass, { dy: o.dz, weight: head, part: { first, out: o.chunk }, dx: o.dh, rows: count, accumulate: first > 0 });
  }
}

/** dRow[row] = Σ dTarget[t] over the row's targets. `rowTargets`: u32 [rows + 1] starts, then the targets sorted by row. */
export function gatherTargets(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: { dTarget: Binding; rowTargets: Binding; dRow: Binding; rows: number; hidden: number },
): void {
  const kernel = gpu.kernel({ name: 'gather_targets', source: gatherSource });
  gpu.dispatch(
    pass,
    kernel,
    [gpu.uniform([o.rows, o.hidden]), o.dTarget, o.rowTargets, o.dRow],
    [Math.ceil(o.hidden / 64), Math.ceil(o.rows / 4)],
  );
}

/** d (+)= ∂/∂x of n = x/rms(x)·gain for the gradient dn; n is written too. All [rows, hidden]. */
export function rmsnormBackward(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: { x: Binding; gain: Binding; dn: Binding; d: Binding; n: Binding; rows: number; hidden: number; eps: number; accumulate: boolean },
): void {
  const kernel = gpu.kernel({ name: 'rmsnorm_backward', source: rmsnormSource });
  const params = gpu.uniform([o.rows, o.hidden, o.accumulate ? 1 : 0, { f: o.eps }]);
  gpu.dispatch(pass, kernel, [params, o.x, o.gain, o.dn, o.d, o.n], [Math.ceil(o.rows / 4)]);
}

/** dGateUp [rows, 2·width] of s = silu(gate)·up for the gradient in `ds` [rows, width], which s itself then replaces. */
export function swigluBackward(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: { gateUp: Binding; ds: Binding; dGateUp: Binding; rows: number; width: number },
): void {
  const kernel = gpu.kernel({ name: 'swiglu_backward', source: swigluSource });
  gpu.dispatch(pass, kernel, [gpu.uniform([o.rows, o.width]), o.gateUp, o.ds, o.dGateUp], [Math.ceil(o.width / 64), Math.ceil(o.rows / 4)]);
}
