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
import { Arena } from '../engine/arena.ts';
import type { Binding, Gpu } from '../engine/gpu.ts';
import { attention } from '../engine/ops/attention.ts';
import { headLogprob, vocabularyParts } from '../engine/ops/head.ts';
import { linear, type Matrix } from '../engine/ops/linear.ts';
import { embed, rmsnorm, ropeKv, ropeTable, swiglu } from '../engine/ops/rows.ts';
import { Submitter } from '../engine/submitter.ts';
import type { RowPlan, ScoringPlan } from './plan.ts';

export type { Matrix } from '../engine/ops/linear.ts';

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

/** Modules stacked in each group. */
export const GROUP_MODULES: Readonly<Record<GroupName, number>> = { qkv: 3, o: 1, gate_up: 2, down: 1 };

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
  readonly k: GPUBuffer; // [kvRows, kvHeads·headDim], after RoPE (scoring: kvRow = row)
  readonly v: GPUBuffer; // [kvRows, kvHeads·headDim]
  readonly attention: GPUBuffer; // [rows, heads·headDim]
  readonly lse: GPUBuffer; // [rows, heads]: log Σ exp(q·k/√headDim)
  readonly mid: GPUBuffer; // [rows, hidden]
  readonly gateUp: GPUBuffer; // [rows, 2·intermediate]
  /** X·Aᵀ of each group, [rows, modules·rank]; not written when there is no adapter. */
  readonly xa: Readonly<Record<GroupName, GPUBuffer>>;
}

/** Packed rows on the GPU; the struct of a row is in kernels/rows.wgsl and made by plan.ts. */
export interface DeviceRows {
  readonly rowCount: number;
  readonly rows: GPUBuffer;
  /** f32 [imageRows, hidden]. */
  readonly images: GPUBuffer;
  /** f32 (cos, sin) [positions, headDim/2] for RoPE. */
  readonly angles: GPUBuffer;
}

/** A scoring batch on the GPU. */
export interface DevicePlan extends DeviceRows {
  readonly targetCount: number;
  /** u32 pairs (row, token), one per target, packed by (group, response, t). */
  readonly targets: GPUBuffer;
  /** u32 [rowCount + 1] then u32 [targetCount]: the targets of row r are list[starts[r] .. starts[r+1]) (several may share a row). */
  readonly rowTargets: GPUBuffer;
}

/** The forward's leavings for one scoring batch; valid until the next forward of the same Decoder. */
export interface Activations {
  readonly plan: DevicePlan;
  /** Call `decoder.restore(layer)` before reading a layer's: a large model keeps only `x` of each. */
  readonly layers: readonly LayerActivations[];
  /** [rows, hidden]: output of the last layer, before the final norm. */
  readonly last: GPUBuffer;
  /** [targets, hidden]: rmsnorm(last[target row], norm). */
  readonly normed: GPUBuffer;
  /** f32 ×4 per target: log-prob, entropy, lse (of logits/temperature), 0. */
  readonly scores: GPUBuffer;
  readonly lora: LoraSource | null;
  /** True when the layers other than `x` share buffers and must be restored. */
  readonly checkpointed: boolean;
}

export interface ForwardOptions {
  readonly lora: LoraSource | null;
  readonly temperature: number;
  /** Keep what the backward needs. */
  readonly save: boolean;
  /** Activations above this many bytes are recomputed layer by layer in the backward. */
  readonly mostBytes?: number;
}

/** Where the layers write: keys and values may be one pair per layer (a cache), the rest is shared or kept per layer. */
type Keep = 'nothing' | 'inputs' | 'all';

const MOST_ACTIVATION_BYTES = 1.5 * 2 ** 30;

export class Decoder {
  readonly gpu: Gpu;
  readonly config: DecoderConfig;
  readonly weights: DecoderWeights;
  readonly arena: Arena;
  private positions = 0;

  constructor(gpu: Gpu, config: DecoderConfig, weights: DecoderWeights) {
    this.gpu = gpu;
    this.config = config;
    this.weights = weights;
    this.arena = new Arena(gpu, 'decoder');
  }

  /** f32 values per row that one layer keeps. */
  private get layerWidth(): number {
    const { hidden, heads, kvHeads, headDim, intermediate } = this.config;
    return 2 * hidden + 2 * (heads + kvHeads) * headDim + heads + 2 * intermediate;
  }

  /** The table of RoPE angles for at least `positions` positions. */
  angles(positions: number): GPUBuffer {
    const { headDim, ropeTheta } = this.config;
    if (positions > this.positions) {
      this.positions = Math.max(256, 2 ** Math.ceil(Math.log2(positions)));
      this.gpu.write(this.arena.words('angles', this.positions * headDim), ropeTable(this.positions, headDim, ropeTheta));
    }
    return this.arena.words('angles', this.positions * headDim);
  }

  /** Packs rows and image features into buffers named after `name`. */
  uploadRows(submitter: Submitter, plan: RowPlan, name: string): DeviceRows {
    const rows = this.arena.words(`${name}.rows`, plan.rows.length);
    this.gpu.write(rows, plan.rows);
    const width = this.config.hidden * 4;
    const images = this.arena.get(`${name}.images`, plan.imageRows * width);
    for (const { features, firstRow } of plan.images) {
      submitter.copy(features.buffer, features.offsetRows * width, images, firstRow * width, features.tokens * width);
    }
    return { rowCount: plan.rowCount, rows, images, angles: this.angles(plan.positions) };
  }

  /** Working buffers of layer l for `rows` rows and `kvRows` rows of keys and values. */
  buffers(
    l: number,
    rows: number,
    keep: Keep,
    cache: { readonly name: string; readonly kvRows: number } | null,
    rank: number,
  ): LayerActivations {
    const { hidden, heads, kvHeads, headDim, intermediate } = this.config;
    const own = keep === 'all' ? `.${l}` : '';
    const get = (name: string, width: number): GPUBuffer => this.arena.words(name + own, rows * width);
    const kv = (name: string): GPUBuffer =>
      cache ? this.arena.words(`${cache.name}.${name}.${l}`, cache.kvRows * kvHeads * headDim) : get(name, kvHeads * headDim);
    const xa = (name: GroupName): GPUBuffer => get(`xa.${name}`, GROUP_MODULES[name] * rank);
    return {
      x: this.arena.words(keep === 'nothing' ? `x~${l % 2}` : `x.${l}`, rows * hidden),
      q: get('q', heads * headDim),
      k: kv('k'),
      v: kv('v'),
      attention: get('attention', heads * headDim),
      lse: get('lse', heads),
      mid: get('mid', hidden),
      gateUp: get('gateUp', 2 * intermediate),
      xa: { qkv: xa('qkv'), o: xa('o'), gate_up: xa('gate_up'), down: xa('down') },
    };
  }

  /** y = linear of one group with its LoRA term; writes xa, and only that where y is null. */
  private project(
    submitter: Submitter,
    name: GroupName,
    l: number,
    rows: number,
    o: { x: GPUBuffer; y: GPUBuffer | null; xa: GPUBuffer; residual?: GPUBuffer },
    lora: LoraSource | null,
  ): void {
    const weight = this.weights.layers[l][name];
    const pass = submitter.pass(2 * rows * weight.in * weight.out);
    const group = lora?.group(l, name);
    if (group)
      linear(this.gpu, pass, {
        x: o.x,
        weight: { buffer: group.a, dtype: 'f32', out: group.starts.length * group.rank, in: weight.in },
        y: o.xa,
        rows,
      });
    if (o.y)
      linear(this.gpu, pass, { x: o.x, weight, y: o.y, rows, residual: o.residual ?? null, lora: group ? { ...group, xa: o.xa } : null });
  }

  /** One layer: reads a.x, fills the rest of a, and writes the next x to `out` unless that is null. */
  layer(
    submitter: Submitter,
    l: number,
    plan: DeviceRows,
    a: LayerActivations,
    out: GPUBuffer | null,
    lora: LoraSource | null,
    neighbours: boolean,
  ): void {
    const { gpu, config, arena } = this;
    const { hidden, intermediate, rmsEps: eps } = config;
    const weights = this.weights.layers[l];
    const rows = plan.rowCount;
    const normed = arena.words('normed', rows * hidden);
    const qkv = arena.words('qkv', rows * weights.qkv.out);
    rmsnorm(gpu, submitter.pass(), { x: a.x, gain: weights.inputNorm, y: normed, hidden, eps, rows });
    this.project(submitter, 'qkv', l, rows, { x: normed, y: qkv, xa: a.xa.qkv }, lora);
    const pass = submitter.pass();
    ropeKv(gpu, pass, { plan: plan.rows, qkv, angles: plan.angles, q: a.q, k: a.k, v: a.v, shape: config, rows });
    attention(gpu, pass, { plan: plan.rows, q: a.q, k: a.k, v: a.v, out: a.attention, lse: a.lse, shape: config, rows, neighbours });
    this.project(submitter, 'o', l, rows, { x: a.attention, y: a.mid, xa: a.xa.o, residual: a.x }, lora);
    rmsnorm(gpu, submitter.pass(), { x: a.mid, gain: weights.postNorm, y: normed, hidden, eps, rows });
    this.project(submitter, 'gate_up', l, rows, { x: normed, y: a.gateUp, xa: a.xa.gate_up }, lora);
    const gated = arena.words('gated', rows * intermediate);
    swiglu(gpu, submitter.pass(), { gateUp: a.gateUp, y: gated, width: intermediate, rows });
    this.project(submitter, 'down', l, rows, { x: gated, y: out, xa: a.xa.down, residual: a.mid }, lora);
  }

  /** Embedding and all layers over the rows of `plan`; the result [rows, hidden] is the returned buffer. */
  run(
    submitter: Submitter,
    plan: DeviceRows,
    o: {
      lora: LoraSource | null;
      rank: number;
      keep: Keep;
      cache: { readonly name: string; readonly kvRows: number } | null;
      neighbours: boolean;
    },
  ): { layers: LayerActivations[]; last: GPUBuffer } {
    const { layers: count, hidden } = this.config;
    const rows = plan.rowCount;
    const layers = Array.from({ length: count }, (_, l) => this.buffers(l, rows, o.keep, o.cache, o.rank));
    const last = this.arena.words(o.keep === 'nothing' ? `x~${count % 2}` : `x.${count}`, rows * hidden);
    embed(this.gpu, submitter.pass(), { plan: plan.rows, embedding: this.weights.embedding, images: plan.images, x: layers[0].x, rows });
    for (let l = 0; l < count; l++) this.layer(submitter, l, plan, layers[l], layers[l + 1]?.x ?? last, o.lora, o.neighbours);
    return { layers, last };
  }

  /** normed[i] = final norm of the row named by pair i of `targets`. */
  finalNorm(submitter: Submitter, last: GPUBuffer, targets: GPUBuffer, count: number, normed: GPUBuffer): void {
    const { hidden, rmsEps: eps } = this.config;
    rmsnorm(this.gpu, submitter.pass(), { x: last, gain: this.weights.norm, y: normed, hidden, eps, rows: count, gather: targets });
  }

  /** The forward of a scoring batch up to the log-probs of its targets, submitted; nothing is read back. */
  forward(plan: ScoringPlan, o: ForwardOptions): Activations {
    const { arena, gpu } = this;
    const { hidden, layers: count, vocab } = this.config;
    arena.collect();
    const submitter = new Submitter(gpu, 'forward');
    const { rowCount, targetCount } = plan;
    const targets = arena.words('score.targets', plan.targets.length);
    const rowTargets = arena.words('score.rowTargets', plan.rowTargets.length);
    gpu.write(targets, plan.targets);
    gpu.write(rowTargets, plan.rowTargets);
    const device: DevicePlan = { ...this.uploadRows(submitter, plan, 'score'), targetCount, targets, rowTargets };

    const rank = o.lora?.group(0, 'o').rank ?? 0;
    const bytes = 4 * rowCount * count * (this.layerWidth + 7 * rank);
    const keep: Keep = !o.save ? 'nothing' : bytes <= (o.mostBytes ?? MOST_ACTIVATION_BYTES) ? 'all' : 'inputs';
    const { layers, last } = this.run(submitter, device, { lora: o.lora, rank, keep, cache: null, neighbours: true });

    const normed = arena.words('score.normed', targetCount * hidden);
    const scores = arena.words('score.scores', targetCount * 4);
    const partials = arena.words('score.partials', targetCount * 4 * vocabularyParts(targetCount, vocab).parts);
    this.finalNorm(submitter, last, targets, targetCount, normed);
    const pass = submitter.pass(2 * targetCount * hidden * vocab);
    headLogprob(gpu, pass, {
      x: normed,
      head: this.weights.head,
      targets,
      partials,
      scores,
      count: targetCount,
      temperature: o.temperature,
    });
    submitter.finish();
    return { plan: device, layers, last, normed, scores, lora: o.lora, checkpointed: keep === 'inputs' };
  }

  /** Makes the activations of layer l readable: recomputes them from its `x` where only that was kept. */
  restore(submitter: Submitter, activations: Activations, l: number): void {
    if (!activations.checkpointed) return;
    this.layer(submitter, l, activations.plan, activations.layers[l], null, activations.lora, true);
  }

  destroy(): void {
    this.arena.destroy();
  }
}
