/**
 * @file The Llama-style text decoder of an Idefics3 model, forward: embedding, L × (attention, SwiGLU), with LoRA on the
 * seven projections. It keeps what the backward needs.
 *
 * Layer l, per row (DESIGN §5; shapes in brackets):
 *   n1  = rmsnorm(x, inputNorm)                         [rows, hidden]
 *   qkv = linear(n1, qkv)                               [rows, (heads + 2·kvHeads)·headDim]
 *   q, k, v = rope(qkv)                                 q [rows, heads·headDim]; k, v [kvRows, kvHeads·headDim]
 *   a   = attention(q, k, v)                            [rows, heads·headDim], lse [rows, heads]
 *   mid = x + linear(a, o)                              [rows, hidden]
 *   n2  = rmsnorm(mid, postNorm)                        [rows, hidden]
 *   gu  = linear(n2, gate_up)                           [rows, 2·intermediate]: gate, then up
 *   s   = silu(gate) · up                               [rows, intermediate]
 *   x'  = mid + linear(s, down)                         [rows, hidden]
 */
import type { Binding } from '../engine/gpu.ts';

export interface DecoderConfig {
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
  readonly intermediate: number;
  readonly vocab: number;
  readonly ropeTheta: number;
  readonly rmsEps: number;
}

/** A base matrix [out, in], row major: `bf16` is packed two to a u32 (low half first), `f32` is plain. */
export interface Matrix {
  readonly buffer: GPUBuffer;
  readonly dtype: 'bf16' | 'f32';
  readonly out: number;
  readonly in: number;
}

export interface LayerWeights {
  readonly inputNorm: GPUBuffer; // f32 [hidden]
  readonly qkv: Matrix; // [(heads + 2·kvHeads)·headDim, hidden]: q, k, v stacked
  readonly o: Matrix; // [hidden, heads·headDim]
  readonly postNorm: GPUBuffer; // f32 [hidden]
  readonly gate_up: Matrix; // [2·intermediate, hidden]: gate, up stacked
  readonly down: Matrix; // [hidden, intermediate]
}

export interface DecoderWeights {
  readonly embedding: Matrix; // [vocab, hidden]
  readonly layers: readonly LayerWeights[];
  readonly norm: GPUBuffer; // f32 [hidden]
  /** [vocab, hidden]; the embedding itself when tied. */
  readonly head: Matrix;
}

/** Projections that share an input are one matrix, and one LoRA group. */
export type GroupName = 'qkv' | 'o' | 'gate_up' | 'down';

/** The LoRA weights of one group of one layer, as the fused linear kernel wants them. */
export interface LoraGroup {
  /** [modules·rank, in]: the modules' A, stacked. */
  readonly a: Binding;
  /** [sumOut, rank]: the modules' B, stacked by output. */
  readonly b: Binding;
  readonly rank: number;
  /** alpha / rank. */
  readonly scale: number;
  /** First output row of each module: [0] or [0, out0] or [0, out0, out0 + out1]. */
  readonly starts: readonly number[];
}

/** Where the forward finds the adapter; `src/model/lora.ts` implements it over its one parameter buffer. */
export interface LoraSource {
  group(layer: number, name: GroupName): LoraGroup;
}

/**
 * What one layer's forward leaves for its backward. All f32, row major; capacities may be larger than `rows`.
 * Recompute from here: n1 = rmsnorm(x), n2 = rmsnorm(mid), s = swiglu(gateUp): the ops are in engine/ops.
 */
export interface LayerActivations {
  readonly x: GPUBuffer; // [rows, hidden]
  readonly q: GPUBuffer; // [rows, heads·headDim], after RoPE
  readonly k: GPUBuffer; // [rows, kvHeads·headDim], after RoPE (scoring: kvRow = row)
  readonly v: GPUBuffer; // [rows, kvHeads·headDim]
  readonly attention: GPUBuffer; // [rows, heads·headDim]
  readonly lse: GPUBuffer; // [rows, heads]: log Σ exp(q·k/√headDim)
  readonly mid: GPUBuffer; // [rows, hidden]
  readonly gateUp: GPUBuffer; // [rows, 2·intermediate]
  /** X·Aᵀ of each group, [rows, modules·rank]; not written when there is no adapter. */
  readonly xa: Readonly<Record<GroupName, GPUBuffer>>;
}

/**
 * A scoring batch on the GPU. `rows` buffer: one struct of eight u32 per row,
 * { token, position, kvRow, prefixStart, prefixLength, ownStart, ownEnd, queryEnd } (see plan.ts; queryEnd is about the
 * row as a key: rows [r, queryEnd) may see it).
 */
export interface DevicePlan {
  readonly rowCount: number;
  readonly targetCount: number;
  readonly rows: GPUBuffer;
  /** u32 pairs (row, token), one per target, packed by (group, response, t). */
  readonly targets: GPUBuffer;
  /** u32 [rowCount + 1] then u32 [targetCount]: the targets of row r are list[starts[r] .. starts[r+1]) (several may share a row). */
  readonly rowTargets: GPUBuffer;
  /** f32 [imageRows, hidden]. */
  readonly images: GPUBuffer;
}

/** The forward's leavings for one scoring batch; valid until the next forward of the same Decoder. */
export interface Activations {
  readonly plan: DevicePlan;
  readonly layers: readonly LayerActivations[];
  /** [rows, hidden]: output of the last layer, before the final norm. */
  readonly last: GPUBuffer;
  /** [targets, hidden]: rmsnorm(last[target row], norm). */
  readonly normed: GPUBuffer;
  /** f32 ×4 per target: log-prob, entropy, lse (of logits/temperature), 0. */
  readonly scores: GPUBuffer;
}
