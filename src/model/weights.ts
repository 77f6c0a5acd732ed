/**
 * @file Decoder weights onto the GPU, from tensors with the names of the Hugging Face checkpoint
 * (`model.text_model.layers.N.self_attn.q_proj.weight`, …). Projections that share an input become one matrix. bf16 stays packed;
 * f16 becomes f32 (WGSL reads no f16 without an extension).
 */
import type { Gpu } from '../engine/gpu.ts';
import type { Matrix } from '../engine/ops/linear.ts';
import type { DecoderConfig, DecoderWeights } from './decoder.ts';
import { ModelError } from './errors.ts';
import type { Tensor } from './safetensors.ts';

/** As the safetensors reader gives them: BF16, F32 or F16. */
export type NamedTensors = ReadonlyMap<string, Tensor>;

function halfToFloat(h: number): number {
  const sign = h & 0x8000 ? -1 : 1;
  const exponent = (h >> 10) & 31;
  const fraction = h & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The tensor's numbers as f32. */
export function toFloat32(tensor: Tensor): Float32Array {
  const { dtype, data } = tensor;
  if (dtype !== 'F32' && dtype !== 'BF16' && dtype !== 'F16')
    throw new ModelError('unsupported', `Weights of type ${dtype} cannot be read. Save the checkpoint as F32, BF16 or F16.`);
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const size = dtype === 'F32' ? 4 : 2;
  const out = new Float32Array(data.byteLength / size);
  const bits = new Uint32Array(out.buffer);
  for (let i = 0; i < out.length; i++) {
    if (dtype === 'F32') bits[i] = view.getUint32(4 * i, true);
    else if (dtype === 'BF16') bits[i] = view.getUint16(2 * i, true) << 16;
    else out[i] = halfToFloat(view.getUint16(2 * i, true));
  }
  return out;
}

function find(tensors: NamedTensors, name: string, shape: readonly number[]): Tensor {
  const tensor = tensors.get(name);
  if (!tensor) throw new ModelError('file', `The checkpoint has no tensor ${name}. Choose a whole Idefics3 or SmolVLM checkpoint.`);
  if (tensor.shape.join() !== shape.join())
    throw new ModelError(
      'file',
      `${name} has shape [${tensor.shape.join(', ')}], but config.json says [${shape.join(', ')}]. Take both files from one checkpoint.`,
    );
  return tensor;
}

/** Tensors stacked by rows. bf16 stays packed if all are bf16. */
function matrix(gpu: Gpu, tensors: NamedTensors, parts: readonly { readonly name: string; readonly out: number }[], width: number): Matrix {
  const found = parts.map(({ name, out }) => find(tensors, name, [out, width]));
  const dtype = found.every((t) => t.dtype === 'BF16') ? 'bf16' : 'f32';
  const bytes = found.map((t) => {
    if (dtype === 'bf16') return t.data;
    const floats = toFloat32(t);
    return new Uint8Array(floats.buffer, 0, floats.byteLength);
  });
  const all = new Uint8Array(bytes.reduce((sum, b) => sum + b.byteLength, 0));
  let at = 0;
  for (const b of bytes) {
    all.set(b, at);
    at += b.byteLength;
  }
  return { buffer: gpu.upload(parts[0].name, all), dtype, out: parts.reduce((sum, p) => sum + p.out, 0), in: width };
}

/** Names of all tensors that the decoder reads; `lm_head.weight` only when not tied. */
export function decoderTensorNames(config: DecoderConfig, tied: boolean): string[] {
  const names = ['model.text_model.embed_tokens.weight', 'model.text_model.norm.weight'];
  if (!tied) names.push('lm_head.weight');
  for (let l = 0; l < config.layers; l++) {
    const prefix = `model.text_model.layers.${l}.`;
    names.push(`${prefix}input_layernorm.weight`, `${prefix}post_attention_layernorm.weight`);
    for (const p of ['q', 'k', 'v', 'o']) names.push(`${prefix}self_attn.${p}_proj.weight`);
    for (const p of ['gate', 'up', 'down']) names.push(`${prefix}mlp.${p}_proj.weight`);
  }
  return names;
}

export function uploadDecoder(gpu: Gpu, config: DecoderConfig, tensors: NamedTensors, tied: boolean): DecoderWeights {
  const { hidden, heads, kvHeads, headDim, intermediate, vocab } = config;
  const norm = (name: string): GPUBuffer => gpu.upload(name, toFloat32(find(tensors, name, [hidden])));
  const embedding = matrix(gpu, tensors, [{ name: 'model.text_model.embed_tokens.weight', out: vocab }], hidden);
  const layers = Array.from({ length: config.layers }, (_, l) => {
    const attention = (p: string): string => `model.text_model.layers.${l}.self_attn.${p}_proj.weight`;
    const mlp = (p: string): string => `model.text_model.layers.${l}.mlp.${p}_proj.weight`;
    return {
      inputNorm: norm(`model.text_model.layers.${l}.input_layernorm.weight`),
      qkv: matrix(
        gpu,
        tensors,
        [
          { name: attention('q'), out: heads * headDim },
          { name: attention('k'), out: kvHeads * headDim },
          { name: attention('v'), out: kvHeads * headDim },
        ],
        hidden,
      ),
      o: matrix(gpu, tensors, [{ name: attention('o'), out: hidden }], heads * headDim),
      postNorm: norm(`model.text_model.layers.${l}.post_attention_layernorm.weight`),
      gate_up: matrix(
        gpu,
        tensors,
        [
          { name: mlp('gate'), out: intermediate },
          { name: mlp('up'), out: intermediate },
        ],
        hidden,
      ),
      down: matrix(gpu, tensors, [{ name: mlp('down'), out: hidden }], intermediate),
    };
  });
  return {
    embedding,
    layers,
    norm: norm('model.text_model.norm.weight'),
    head: tied ? embedding : matrix(gpu, tensors, [{ name: 'lm_head.weight', out: vocab }], hidden),
  };
}

/** Gives the GPU memory back. */
export function destroyDecoder(weights: DecoderWeights): void {
  const all = [weights.embedding, weights.head, ...weights.layers.flatMap((l) => [l.qkv, l.o, l.gate_up, l.down])].map((m) => m.buffer);
  for (const b of [...all, weights.norm, ...weights.layers.flatMap((l) => [l.inputNorm, l.postNorm])])
    (b instanceof GPUBuffer ? b : b.buffer).destroy();
}
