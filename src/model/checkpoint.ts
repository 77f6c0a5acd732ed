/**
 * @file A checkpoint in the Hugging Face layout, read and checked: config, tokenizer and template, the decoder's tensors, and
 * the vision tower as ONNX. Small files come first, so that a model that cannot run is refused before the large download.
 */
import { type ModelConfig, parseConfig, parseJson } from './config.ts';
import { ModelError } from './errors.ts';
import { readSafetensors, type Tensor } from './safetensors.ts';
import type { CheckpointSource } from './source.ts';
import type { LoadProgress } from './types.ts';

export type { CheckpointSource } from './source.ts';
export { folderSource, hubSource, urlSource } from './source.ts';

export interface Checkpoint {
  readonly name: string;
  readonly config: ModelConfig;
  readonly tokenizer: Readonly<Record<string, unknown>>;
  readonly tokenizerConfig: Readonly<Record<string, unknown>>;
  /** Jinja source. */
  readonly chatTemplate: string;
  /** The decoder's tensors, by name; views into the file. */
  readonly tensors: ReadonlyMap<string, Tensor>;
  readonly vision: Uint8Array;
  /** Bytes of each file read. */
  readonly files: Readonly<Record<string, number>>;
}

/** Names and shapes of the decoder's tensors. `lm_head.weight` is absent when it is tied to the embedding. */
export function decoderTensors(config: ModelConfig): { name: string; shape: number[] }[] {
  const { layers, hidden, heads, kvHeads, headDim, intermediate, vocab } = config.text;
  const prefix = 'model.text_model.';
  const list = [
    { name: `${prefix}embed_tokens.weight`, shape: [vocab, hidden] },
    { name: `${prefix}norm.weight`, shape: [hidden] },
  ];
  if (!config.tied) list.push({ name: 'lm_head.weight', shape: [vocab, hidden] });
  for (let layer = 0; layer < layers; layer++) {
    const at = `${prefix}layers.${layer}.`;
    list.push(
      { name: `${at}input_layernorm.weight`, shape: [hidden] },
      { name: `${at}self_attn.q_proj.weight`, shape: [heads * headDim, hidden] },
      { name: `${at}self_attn.k_proj.weight`, shape: [kvHeads * headDim, hidden] },
      { name: `${at}self_attn.v_proj.weight`, shape: [kvHeads * headDim, hidden] },
      { name: `${at}self_attn.o_proj.weight`, shape: [hidden, heads * headDim] },
      { name: `${at}post_attention_layernorm.weight`, shape: [hidden] },
      { name: `${at}mlp.gate_proj.weight`, shape: [intermediate, hidden] },
      { name: `${at}mlp.up_proj.weight`, shape: [intermediate, hidden] },
      { name: `${at}mlp.down_proj.weight`, shape: [hidden, intermediate] },
    );
  }
  return list;
}

/** The decoder's tensors, all there and of the right shapes and types. */
function pickTensors(tensors: ReadonlyMap<string, Tensor>, config: ModelConfig): Map<string, Tensor> {
  const picked = new Map<string, Tensor>();
  for (const { name, shape } of decoderTensors(config)) {
    const tensor = tensors.get(name);
    if (!tensor) throw new ModelError('file', `model.safetensors has no tensor ${name}. The file does not belong to this config.json: fetch both from one place.`);
    if (tensor.shape.join() !== shape.join()) {
      throw new ModelError('file', `model.safetensors: ${name} is [${tensor.shape.join(', ')}], but config.json says [${shape.join(', ')}]. Fetch both from one place.`);
    }
    const { dtype } = tensor;
    if (dtype !== 'F32' && dtype !== 'BF16' && dtype !== 'F16') {
      throw new ModelError('unsupported', `model.safetensors: ${name} is ${dtype}; weights must be F32, BF16 or F16.`);
    }
    picked.set(name, tensor);
  }
  return picked;
}

/** The template from `chat_template.jinja`, `chat_template.json` or `tokenizer_config.json`, whichever there is. */
async function readTemplate(text: (path: string) => Promise<Uint8Array | null>, tokenizerConfig: Readonly<Record<string, unknown>>): Promise<string> {
  const jinja = await text('chat_template.jinja');
  if (jinja) return new TextDecoder().decode(jinja);
  const json = await text('chat_template.json');
  const template = json ? parseJson(json, 'chat_template.json')['chat_template'] : tokenizerConfig['chat_template'];
  if (typeof template !== 'string') throw new ModelError('file', 'This checkpoint has no chat template (chat_template.json): an instruction-tuned model is needed, not a base model.');
  return template;
}

export async function loadCheckpoint(source: CheckpointSource, onProgress?: (p: LoadProgress) => void): Promise<Checkpoint> {
  const files: Record<string, number> = {};
  const optional = async (file: string): Promise<Uint8Array | null> => {
    const bytes = await source.read(file, (loaded, total) => onProgress?.({ phase: 'download', file, loaded, total }));
    if (bytes) {
      files[file] = bytes.byteLength;
      onProgress?.({ phase: 'download', file, loaded: bytes.byteLength, total: bytes.byteLength });
    }
    return bytes;
  };
  const required = async (file: string, why: string): Promise<Uint8Array> => {
    const bytes = await optional(file);
    if (!bytes) throw new ModelError('file', `${source.name} has no ${file}. ${why}`);
    return bytes;
  };
  const optionalJson = async (file: string) => {
    const bytes = await optional(file);
    return bytes && parseJson(bytes, file);
  };
  const config = parseConfig(
    parseJson(await required('config.json', 'Check the name or address of the model folder.'), 'config.json'),
    await optionalJson('generation_config.json'),
    await optionalJson('preprocessor_config.json'),
  );
  const tokenizer = parseJson(await required('tokenizer.json', 'It must hold a fast tokenizer.'), 'tokenizer.json');
  const tokenizerConfig = (await optionalJson('tokenizer_config.json')) ?? {};
  const chatTemplate = await readTemplate(optional, tokenizerConfig);
  const vision = await required('onnx/vision_encoder.onnx', 'Export the vision tower to ONNX (f32), or choose a repository that has an onnx folder.');
  const weights = await required('model.safetensors', 'Only checkpoints in one safetensors file can be loaded.');
  const tensors = pickTensors(readSafetensors(weights, 'model.safetensors').tensors, config);
  return { name: source.name, config, tokenizer, tokenizerConfig, chatTemplate, tensors, vision, files };
}
