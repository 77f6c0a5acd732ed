/** @file The gradient's norm and AdamW, each over one buffer that holds all parameters. */
import adamwSource from '../../../kernels/adamw.wgsl?raw';
import normSource from '../../../kernels/grad_norm.wgsl?raw';
import type { Binding, Gpu } from '../gpu.ts';

/** Stands for “no clipping”: infinity is not portable in WGSL. */
const LARGEST_NORM = 1e30;

/** Workgroups, and so partial sums, of the norm. */
export const NORM_SUMS = 128;

/** norm[0] = ‖gradient‖₂; not finite if any element is not. `sums` has room for NORM_SUMS f32. */
export function gradNorm(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: { gradient: Binding; sums: Binding; norm: Binding; count: number },
): void {
  const groups = Math.min(NORM_SUMS, Math.ceil(o.count / 256));
  const squares = gpu.kernel({ name: 'grad_norm squares', source: normSource, entryPoint: 'squares' });
  gpu.dispatch(pass, squares, [gpu.uniform([o.count]), o.gradient, o.sums], [groups]);
  const norm = gpu.kernel({ name: 'grad_norm norm', source: normSource, entryPoint: 'norm' });
  gpu.dispatch(pass, norm, [gpu.uniform([groups]), o.sums, o.norm], [1]);
}

export interface AdamWStep {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  readonly maxGradNorm: number;
  /** 1 for the first update. */
  readonly step: number;
}

/** One AdamW update of `weights` with the gradient clipped to maxGradNorm; changes nothing if norm[0] is not finite. */
export function adamw(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: { norm: Binding; gradient: Binding; weights: Binding; m: Binding; v: Binding; count: number; settings: AdamWStep },
): void {
  const { learningRate, beta1, beta2, epsilon, weightDecay, maxGradNorm, step } = o.settings;
  const kernel = gpu.kernel({ name: 'adamw', source: adamwSource });
  const params = gpu.uniform([
    o.count,
    { f: beta1 },
    { f: beta2 },
    { f: epsilon },
    { f: 1 - learningRate * weightDecay },
    { f: learningRate / (1 - beta1 ** step) },
    { f: 1 / Math.sqrt(1 - beta2 ** step) },
    { f: Math.min(maxGradNorm, LARGEST_NORM) },
  ]);
  gpu.dispatch(pass, kernel, [params, o.norm, o.gradient, o.weights, o.m, o.v], [Math.ceil(o.count / 256)]);
}
