/**
 * @file Y = X·Wᵀ with the LoRA term and the residual in the same kernel, and X·Aᵀ by the same kernel.
 * LoRA: Hu et al. 2021, h = W·x + (alpha/r)·B·A·x; modules that share an input are one fused product.
 */
import linearSource from '../../../kernels/linear.wgsl?raw';
import forwardSource from '../../../kernels/linear_forward.wgsl?raw';
import largeSource from '../../../kernels/linear_large.wgsl?raw';
import tilesSource from '../../../kernels/linear_tiles.wgsl?raw';
import bf16Source from '../../../kernels/weights_bf16.wgsl?raw';
import f32Source from '../../../kernels/weights_f32.wgsl?raw';
import type { Binding, Gpu } from '../gpu.ts';

/** A matrix [out, in], row major: `bf16` is packed two to a u32 (low half first), `f32` is plain. */
export interface Matrix {
  readonly buffer: Binding;
  readonly dtype: 'bf16' | 'f32';
  readonly out: number;
  readonly in: number;
}

/** The prelude that defines `weight(i)` at binding 2. */
export function weightPrelude(dtype: 'bf16' | 'f32'): string {
  return dtype === 'bf16' ? bf16Source : f32Source;
}

/** The low-rank term of a fused product: Y += scale · XA · blockdiag(B)ᵀ. */
export interface LowRank {
  /** [rows, starts.length·rank]. */
  readonly xa: Binding;
  /** [out, rank]. */
  readonly b: Binding;
  readonly rank: number;
  readonly scale: number;
  /** First output row of each of the one to three modules. */
  readonly starts: readonly number[];
}

/** Where a module begins that does not exist. */
export const NO_START = 0xffffffff;

/** Threads along a dimension of `n`, four elements each: wide tiles for large, narrow for small. */
function threads(n: number): number {
  return n <= 16 ? 4 : n <= 32 ? 8 : 16;
}

/** From here on 8×8 elements a thread pay, eight threads along either side: tiles of 64×64. */
const LARGE = { rows: 40, out: 64 };

/** The kernel that makes a [rows, out] product, still without the prelude that says of what (see linear_tiles.wgsl). */
export function product(
  rows: number,
  out: number,
): { large: boolean; source: string; constants: { GROUP_X: number; GROUP_Y: number }; groups: [number, number] } {
  const large = rows >= LARGE.rows && out >= LARGE.out;
  const x = large ? 8 : threads(out);
  const y = large ? 8 : threads(rows);
  const each = large ? 8 : 4;
  return {
    large,
    source: tilesSource + (large ? largeSource : linearSource),
    constants: { GROUP_X: x, GROUP_Y: y },
    groups: [Math.ceil(out / (each * x)), Math.ceil(rows / (each * y))],
  };
}

/** y[rows, out] = x[rows, in]·Wᵀ (+ low rank) (+ residual [rows, out], a buffer other than y). */
export function linear(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: { x: Binding; weight: Matrix; y: Binding; rows: number; lora?: LowRank | null; residual?: Binding | null },
): void {
  const { x, weight, y, rows, lora, residual } = o;
  const { large, source, constants, groups } = product(rows, weight.out);
  const kernel = gpu.kernel({
    name: large ? 'linear_large' : 'linear',
    source: weightPrelude(weight.dtype) + forwardSource + source,
    constants,
  });
  const params = gpu.uniform([
    rows,
    { f: lora?.scale ?? 0 },
    weight.in,
    weight.out,
    residual ? 1 : 0,
    lora?.rank ?? 0,
    lora?.starts.length ?? 0,
    lora?.starts[1] ?? NO_START,
    lora?.starts[2] ?? NO_START,
  ]);
  gpu.dispatch(pass, kernel, [params, x, weight.buffer, y, residual ?? x, lora?.xa ?? x, lora?.b ?? x], groups);
}
