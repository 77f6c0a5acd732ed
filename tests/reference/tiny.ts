/**
 * @file A random decoder of odd sizes (nothing a multiple of a tile) in two forms: tensors named as in a checkpoint, and the
 * matrices of the float64 reference; with a random adapter in both forms. And the naive forward: one whole sequence at a time,
 * without sharing anything.
 */
import type { Gpu } from '../../src/engine/gpu.ts';
import type { DecoderConfig, GroupName, LoraSource } from '../../src/model/decoder.ts';
import type { Tensor } from '../../src/model/safetensors.ts';
import {
  attention,
  loraLinear,
  multiply,
  randoms,
  rmsnorm,
  rope,
  swiglu,
  type LoraMatrices,
  type ReferenceLora,
  type ReferenceModel,
} from './backward.ts';

export const TINY: DecoderConfig = {
  layers: 2,
  hidden: 20,
  heads: 6,
  kvHeads: 2,
  headDim: 6,
  intermediate: 27,
  vocab: 37,
  ropeTheta: 10000,
  rmsEps: 1e-5,
};

export interface Tiny {
  readonly config: DecoderConfig;
  readonly tensors: ReadonlyMap<string, Tensor>;
  readonly reference: ReferenceModel;
}

/** The upper half of each f32, and the f32 that this leaves. */
function toBf16(values: Float32Array): { data: Uint8Array; values: Float32Array } {
  const bits = Uint16Array.from(new Uint32Array(values.buffer), (b) => b >>> 16);
  return { data: new Uint8Array(bits.buffer), values: new Float32Array(Uint32Array.from(bits, (b) => b << 16).buffer) };
}

export function tinyModel(o: { seed: number; dtype: 'BF16' | 'F32'; tied: boolean; config?: DecoderConfig }): Tiny {
  const config = o.config ?? TINY;
  const { hidden, heads, kvHeads, headDim, intermediate, vocab } = config;
  const tensors = new Map<string, Tensor>();
  let seed = o.seed * 1000;
  const make = (name: string, shape: number[], centre = 0, scale = 1 / Math.sqrt(shape[1] ?? 4)): Float32Array => {
    let values = randoms(
      seed++,
      shape.reduce((a, b) => a * b),
      1.7 * scale,
    ).map((x) => x + centre);
    let data = new Uint8Array(values.buffer);
    if (o.dtype === 'BF16') ({ data, values } = toBf16(values) as { data: Uint8Array<ArrayBuffer>; values: Float32Array<ArrayBuffer> });
    tensors.set(name, { dtype: o.dtype, shape, data });
    return values;
  };
  const stack = (...parts: Float32Array[]): Float32Array => Float32Array.from(parts.flatMap((p) => [...p]));
  const text = 'model.text_model.';
  const embedding = make(`${text}embed_tokens.weight`, [vocab, hidden], 0, 1);
  const layers = Array.from({ length: config.layers }, (_, l) => {
    const p = `${text}layers.${l}.`;
    return {
      inputNorm: make(`${p}input_layernorm.weight`, [hidden], 1, 0.2),
      postNorm: make(`${p}post_attention_layernorm.weight`, [hidden], 1, 0.2),
      qkv: stack(
        make(`${p}self_attn.q_proj.weight`, [heads * headDim, hidden]),
        make(`${p}self_attn.k_proj.weight`, [kvHeads * headDim, hidden]),
        make(`${p}self_attn.v_proj.weight`, [kvHeads * headDim, hidden]),
      ),
      o: make(`${p}self_attn.o_proj.weight`, [hidden, heads * headDim]),
      gate_up: stack(make(`${p}mlp.gate_proj.weight`, [intermediate, hidden]), make(`${p}mlp.up_proj.weight`, [intermediate, hidden])),
      down: make(`${p}mlp.down_proj.weight`, [hidden, intermediate]),
    };
  });
  const norm = make(`${text}norm.weight`, [hidden], 1, 0.2);
  const head = o.tied ? embedding : make('lm_head.weight', [vocab, hidden]);
  return { config, tensors, reference: { shape: config, embedding, layers, norm, head } };
}

/** Shapes of the groups: input width, and the outputs of the modules. */
export function groupShape(c: DecoderConfig, name: GroupName): { in: number; outs: number[] } {
  const [q, kv] = [c.heads * c.headDim, c.kvHeads * c.headDim];
  if (name === 'qkv') return { in: c.hidden, outs: [q, kv, kv] };
  if (name === 'o') return { in: q, outs: [c.hidden] };
  if (name === 'gate_up') return { in: c.hidden, outs: [c.intermediate, c.intermediate] };
  return { in: c.intermediate, outs: [c.hidden] };
}

/** A random adapter; `scale` of the weights large enough to matter. */
export function tinyLora(
  config: DecoderConfig,
  rank: number,
  seed: number,
): { reference: ReferenceLora; source: (gpu: Gpu) => LoraSource } {
  const cache = new Map<string, LoraMatrices>();
  const reference: ReferenceLora = (layer, name) => {
    const key = `${layer} ${name}`;
    let found = cache.get(key);
    if (!found) {
      const shape = groupShape(config, name);
      const out = shape.outs.reduce((a, b) => a + b);
      const starts = shape.outs.map((_, i) => shape.outs.slice(0, i).reduce((a, b) => a + b, 0));
      const at = seed * 100 + layer * 10 + name.length;
      found = { a: randoms(at, starts.length * rank * shape.in, 0.4), b: randoms(at + 5, out * rank, 0.4), rank, scale: 1.5, starts };
      cache.set(key, found);
    }
    return found;
  };
  const source = (gpu: Gpu): LoraSource => {
    const buffers = new Map<string, { a: GPUBuffer; b: GPUBuffer }>();
    return {
      group(layer, name) {
        const m = reference(layer, name);
        const key = `${layer} ${name}`;
        const found = buffers.get(key) ?? { a: gpu.upload('a', m.a as Float32Array), b: gpu.upload('b', m.b as Float32Array) };
        buffers.set(key, found);
        return { ...found, rank: m.rank, scale: m.scale, starts: m.starts };
      },
    };
  };
  return { reference, source };
}

const NO_LORA: ReferenceLora = () => ({ a: [], b: [], rank: 0, scale: 0, starts: [0] });

/**
 * Logits [tokens, vocab] of one sequence, all of it, causal. The `features` of an image replace the embeddings from row `start` on.
 */
export function naiveLogits(
  model: ReferenceModel,
  lora: ReferenceLora | null,
  ids: ArrayLike<number>,
  images: readonly { features: ArrayLike<number>; start: number }[] = [],
): Float64Array {
  const { heads, kvHeads, headDim, hidden, intermediate, vocab, ropeTheta, rmsEps } = model.shape;
  const rows = ids.length;
  const plan = Uint32Array.from(Array.from({ length: rows }, (_, i) => [ids[i], i, i, 0, 0, 0, i + 1, rows]).flat());
  let x = Float64Array.from({ length: rows * hidden }, (_, i) => model.embedding[ids[Math.floor(i / hidden)] * hidden + (i % hidden)]);
  for (const image of images) for (let i = 0; i < image.features.length; i++) x[image.start * hidden + i] = image.features[i];
  const source = lora ?? NO_LORA;
  model.layers.forEach((layer, l) => {
    const n1 = rmsnorm(x, layer.inputNorm, rows, hidden, rmsEps);
    const { q, k, v } = rope(
      plan,
      loraLinear(n1, layer.qkv, source(l, 'qkv'), rows, hidden, (heads + 2 * kvHeads) * headDim),
      model.shape,
      ropeTheta,
    );
    const a = attention(plan, q, k, v, model.shape).out;
    const before = x;
    const mid = loraLinear(a, layer.o, source(l, 'o'), rows, heads * headDim, hidden).map((y, i) => y + before[i]);
    const n2 = rmsnorm(mid, layer.postNorm, rows, hidden, rmsEps);
    const s = swiglu(loraLinear(n2, layer.gate_up, source(l, 'gate_up'), rows, hidden, 2 * intermediate), rows, intermediate);
    x = loraLinear(s, layer.down, source(l, 'down'), rows, intermediate, hidden).map((y, i) => y + mid[i]);
  });
  return multiply(rmsnorm(x, model.norm, rows, hidden, rmsEps), model.head, rows, hidden, vocab);
}

/** log softmax(logits/temperature) of one row, and its entropy. */
export function logSoftmax(logits: ArrayLike<number>, temperature: number): { logProbs: number[]; entropy: number } {
  const z = Array.from(logits, (x) => x / temperature);
  const top = Math.max(...z);
  const lse = top + Math.log(z.reduce((sum, x) => sum + Math.exp(x - top), 0));
  const logProbs = z.map((x) => x - lse);
  return { logProbs, entropy: -logProbs.reduce((sum, l) => sum + Math.exp(l) * l, 0) };
}

/** Log-probs and entropies of a response under a prompt, one whole sequence. */
export function naiveScores(
  model: ReferenceModel,
  lora: ReferenceLora | null,
  prompt: ArrayLike<number>,
  response: ArrayLike<number>,
  temperature: number,
  images: readonly { features: ArrayLike<number>; start: number }[] = [],
): { logProbs: number[]; entropies: number[] } {
  const logits = naiveLogits(model, lora, [...Array.from(prompt), ...Array.from(response)], images);
  const { vocab } = model.shape;
  const each = Array.from(response, (token, t) => {
    const at = (prompt.length + t - 1) * vocab;
    const { logProbs, entropy } = logSoftmax(logits.subarray(at, at + vocab), temperature);
    return { logProb: logProbs[token], entropy };
  });
  return { logProbs: each.map((e) => e.logProb), entropies: each.map((e) => e.entropy) };
}
