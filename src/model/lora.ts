/**
 * @file The trainable adapter: LoRA (Hu et al. 2021, arXiv 2106.09685) on the seven projections of every layer, by PEFT's
 * conventions: ΔW = s·B·A with s = alpha/rank, A ~ U(−1/√in, 1/√in) (kaiming_uniform with a = √5), B = 0.
 *
 * All parameters lie in one f32 buffer, so that AdamW and the gradient's norm are one dispatch each; the gradient and the moments
 * have buffers of the same layout. For each layer and each group of modules that share an input: the modules' A stacked,
 * [modules·rank, in], then their B stacked by output, [out, rank]. Every block begins at a multiple of 64 floats, so that it can be
 * bound by itself; the floats in between are 0 and stay 0.
 */
import type { Binding, Gpu } from '../engine/gpu.ts';
import type { DecoderConfig, GroupName, LoraGroup, LoraSource } from './decoder.ts';
import type { ModuleNorm } from './types.ts';

export type ModuleName = 'q_proj' | 'k_proj' | 'v_proj' | 'o_proj' | 'gate_proj' | 'up_proj' | 'down_proj';

export interface LoraModule {
  readonly name: ModuleName;
  readonly out: number;
  /** First of its rows among the group's outputs. */
  readonly outOffset: number;
}

export interface LoraBlock {
  readonly layer: number;
  readonly group: GroupName;
  readonly modules: readonly LoraModule[];
  readonly in: number;
  readonly sumOut: number;
  /** In floats from the start of the buffer: module i's A, [rank, in], is at aOffset + i·rank·in. */
  readonly aOffset: number;
  /** Module i's B, [out, rank], is at bOffset + outOffset·rank. */
  readonly bOffset: number;
}

export interface LoraLayout {
  readonly rank: number;
  /** By layer, then qkv, o, gate_up, down. */
  readonly blocks: readonly LoraBlock[];
  /** Floats of one layer; layer l begins at l·layerFloats. */
  readonly layerFloats: number;
  /** Floats of the whole buffer. */
  readonly total: number;
  /** Parameters: `total` without the gaps. */
  readonly parameters: number;
}

export const GROUPS: readonly GroupName[] = ['qkv', 'o', 'gate_up', 'down'];

/** A storage binding begins at a multiple of 256 bytes. */
const ALIGNMENT = 64;
const aligned = (floats: number): number => Math.ceil(floats / ALIGNMENT) * ALIGNMENT;

function groupShape(config: DecoderConfig, group: GroupName): { in: number; modules: [ModuleName, number][] } {
  const { hidden, heads, kvHeads, headDim, intermediate } = config;
  const kv = kvHeads * headDim;
  switch (group) {
    case 'qkv':
      return {
        in: hidden,
        modules: [
          ['q_proj', heads * headDim],
          ['k_proj', kv],
          ['v_proj', kv],
        ],
      };
    case 'o':
      return { in: heads * headDim, modules: [['o_proj', hidden]] };
    case 'gate_up':
      return {
        in: hidden,
        modules: [
          ['gate_proj', intermediate],
          ['up_proj', intermediate],
        ],
      };
    case 'down':
      return { in: intermediate, modules: [['down_proj', hidden]] };
  }
}

export function loraLayout(config: DecoderConfig, rank: number): LoraLayout {
  const blocks: LoraBlock[] = [];
  let at = 0;
  let parameters = 0;
  for (let layer = 0; layer < config.layers; layer++) {
    for (const group of GROUPS) {
      const shape = groupShape(config, group);
      let sumOut = 0;
      const modules = shape.modules.map(([name, out]) => {
        const module = { name, out, outOffset: sumOut };
        sumOut += out;
        return module;
      });
      const aOffset = at;
      const bOffset = aligned(aOffset + modules.length * rank * shape.in);
      at = aligned(bOffset + sumOut * rank);
      parameters += modules.length * rank * shape.in + sumOut * rank;
      blocks.push({ layer, group, modules, in: shape.in, sumOut, aOffset, bOffset });
    }
  }
  return { rank, blocks, layerFloats: at / config.layers, total: at, parameters };
}

/** PEFT's initial adapter: A uniform in ±1/√in, B zero, so that ΔW = 0. The same seed gives the same numbers everywhere. */
export function initialLora(layout: LoraLayout, seed: number): Float32Array {
  const params = new Float32Array(layout.total);
  let state = seed >>> 0;
  // mulberry32
  const uniform = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  for (const block of layout.blocks) {
    const bound = 1 / Math.sqrt(block.in);
    const count = block.modules.length * layout.rank * block.in;
    for (let i = 0; i < count; i++) params[block.aOffset + i] = (2 * uniform() - 1) * bound;
  }
  return params;
}

/**
 * ‖s·B·A‖_F of every module, and how far A and B have moved since `before` (other parameters of the same layout). With the
 * rank × rank Gram matrices, ‖BA‖² = tr(AᵀBᵀBA) = Σᵢⱼ (BᵀB)ᵢⱼ (AAᵀ)ᵢⱼ: no product of the full size is made.
 */
export function moduleNorms(layout: LoraLayout, params: Float32Array, scale: number, before: Float32Array = params): ModuleNorm[] {
  const { rank } = layout;
  const moved = (start: number, count: number): number => {
    let sum = 0;
    for (let i = start; i < start + count; i++) sum += (params[i] - before[i]) ** 2;
    return sum;
  };
  return layout.blocks.flatMap((block) =>
    block.modules.map(({ name, out, outOffset }, m) => {
      const aStart = block.aOffset + m * rank * block.in;
      const bStart = block.bOffset + outOffset * rank;
      const a = params.subarray(aStart);
      const b = params.subarray(bStart);
      let square = 0;
      for (let i = 0; i < rank; i++) {
        for (let j = 0; j <= i; j++) {
          let aa = 0;
          let bb = 0;
          for (let c = 0; c < block.in; c++) aa += a[i * block.in + c] * a[j * block.in + c];
          for (let o = 0; o < out; o++) bb += b[o * rank + i] * b[o * rank + j];
          square += (i === j ? 1 : 2) * aa * bb;
        }
      }
      return {
        name,
        layer: block.layer,
        deltaNorm: Math.abs(scale) * Math.sqrt(Math.max(0, square)),
        stepNorm: Math.sqrt(moved(aStart, rank * block.in) + moved(bStart, out * rank)),
      };
    }),
  );
}

export interface LoraOptions {
  readonly rank: number;
  readonly alpha: number;
  readonly seed: number;
}

/** The adapter on the GPU: its parameters and their gradient. */
export class Lora implements LoraSource {
  readonly layout: LoraLayout;
  readonly rank: number;
  readonly alpha: number;
  /** alpha / rank. */
  readonly scale: number;
  readonly params: GPUBuffer;
  readonly gradient: GPUBuffer;
  private readonly gpu: Gpu;
  private readonly groups: ReadonlyMap<GroupName, LoraGroup>[] = [];

  constructor(gpu: Gpu, config: DecoderConfig, o: LoraOptions) {
    this.gpu = gpu;
    this.layout = loraLayout(config, o.rank);
    this.rank = o.rank;
    this.alpha = o.alpha;
    this.scale = o.alpha / o.rank;
    this.params = gpu.upload('lora', initialLora(this.layout, o.seed));
    this.gradient = gpu.buffer('lora gradient', this.layout.total * 4);
    for (let layer = 0; layer < config.layers; layer++) this.groups.push(new Map());
    for (const block of this.layout.blocks) {
      const part = (offset: number, floats: number): Binding => ({ buffer: this.params, offset: offset * 4, size: floats * 4 });
      (this.groups[block.layer] as Map<GroupName, LoraGroup>).set(block.group, {
        a: part(block.aOffset, block.modules.length * o.rank * block.in),
        b: part(block.bOffset, block.sumOut * o.rank),
        rank: o.rank,
        scale: this.scale,
        starts: block.modules.map((m) => m.outOffset),
      });
    }
  }

  group(layer: number, name: GroupName): LoraGroup {
    return this.groups[layer].get(name)!;
  }

  block(layer: number, name: GroupName): LoraBlock {
    return this.layout.blocks[layer * GROUPS.length + GROUPS.indexOf(name)];
  }

  zeroGradient(): void {
    const encoder = this.gpu.device.createCommandEncoder({ label: 'zero gradient' });
    encoder.clearBuffer(this.gradient);
    this.gpu.device.queue.submit([encoder.finish()]);
    this.gpu.counters.submits++;
  }

  async readGradient(): Promise<Float32Array> {
    const [bytes] = await this.gpu.read({ buffer: this.gradient, bytes: this.layout.total * 4 });
    return new Float32Array(bytes);
  }

  destroy(): void {
    this.params.destroy();
    this.gradient.destroy();
  }
}
