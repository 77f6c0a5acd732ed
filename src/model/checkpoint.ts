/**
 * @file A checkpoint in the Hugging Face layout, read and checked: config, tokenizer and template, the decoder's tensors, and
 * the vision tower as ONNX. Small files come first, so that a model that cannot run is refused before the large download.
 */
import { type ModelConfig, parseConfig, parseJson } from './config.ts';
import { ModelError } from './errors.ts';
import { headerLength, parseHeader, readSafetensors, type Tensor, type TensorEntry } from './safetensors.ts';
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
    if (!tensor)
      throw new ModelError(
        'file',
        `model.safetensors has no tensor ${name}. The file does not belong to this config.json: fetch both from one place.`,
      );
    if (tensor.shape.join() !== shape.join()) {
      throw new ModelError(
        'file',
        `model.safetensors: ${name} is [${tensor.shape.join(', ')}], but config.json says [${shape.join(', ')}]. Fetch both from one place.`,
      );
    }
    const { dtype } = tensor;
    if (dtype !== 'F32' && dtype !== 'BF16' && dtype !== 'F16') {
      throw new ModelError('unsupported', `model.safetensors: ${name} is ${dtype}; weights must be F32, BF16 or F16.`);
    }
    picked.set(name, tensor);
  }
  return picked;
}

/** From this size on, only the parts of a file that are needed are fetched. */
const LARGE = 32 << 20;
/** Parts nearer to each other than this are fetched as one, and no part is longer than MOST unless one tensor is. */
const GAP = 1 << 20;
const MOST = 64 << 20;

/** Neighbouring entries as runs, each to be fetched in one request. */
export function runs(entries: readonly TensorEntry[]): TensorEntry[][] {
  const out: TensorEntry[][] = [];
  for (const entry of [...entries].sort((a, b) => a.start - b.start)) {
    const run = out.at(-1);
    const first = run?.[0];
    const last = run?.at(-1);
    if (run && first && last && entry.start - last.end <= GAP && entry.end - first.start <= MOST) run.push(entry);
    else out.push([entry]);
  }
  return out;
}

/**
 * The wanted tensors of a large file, by range requests (half of an Idefics3 file is the vision tower, which comes as ONNX);
 * null when the file is small or the source gives no parts.
 */
async function readParts(
  source: CheckpointSource,
  file: string,
  wanted: ReadonlySet<string>,
  onProgress: (loaded: number, total: number) => void,
): Promise<Map<string, Tensor> | null> {
  const first = await source.readRange?.(file, 0, 8);
  if (!source.readRange || !first || first.size < LARGE) return null;
  const length = headerLength(first.bytes, file, first.size);
  const header = await source.readRange(file, 8, 8 + length);
  if (!header) return null;
  const entries = parseHeader(header.bytes, file, first.size).entries.filter((e) => wanted.has(e.name));
  const total = entries.reduce((sum, e) => sum + e.end - e.start, 0);
  const tensors = new Map<string, Tensor>();
  let loaded = 0;
  for (const run of runs(entries)) {
    const start = run[0]?.start ?? 0;
    const part = await source.readRange(file, start, run.at(-1)?.end ?? start);
    if (!part) return null;
    for (const { name, dtype, shape, start: from, end } of run) {
      tensors.set(name, { dtype, shape, data: part.bytes.subarray(from - start, end - start) });
      loaded += end - from;
    }
    onProgress(loaded, total);
  }
  return tensors;
}

/**
 * The template from `chat_template.json` (Idefics3's own place), `tokenizer_config.json` or `chat_template.jinja`, whichever
 * there is; in this order, so that pico's page asks for no file that is not there.
 */
async function readTemplate(
  read: (path: string) => Promise<Uint8Array | null>,
  tokenizerConfig: Readonly<Record<string, unknown>>,
): Promise<string> {
  const json = await read('chat_template.json');
  const template = json ? parseJson(json, 'chat_template.json')['chat_template'] : tokenizerConfig['chat_template'];
  if (typeof template === 'string') return template;
  const jinja = await read('chat_template.jinja');
  if (jinja) return new TextDecoder().decode(jinja);
  throw new ModelError(
    'file',
    'This checkpoint has no chat template (chat_template.json): an instruction-tuned model is needed, not a base model.',
  );
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
  const vision = await required(
    'onnx/vision_encoder.onnx',
    'Export the vision tower to ONNX (f32), or choose a repository that has an onnx folder.',
  );
  const wanted = new Set(decoderTensors(config).map((t) => t.name));
  const weights = 'model.safetensors';
  let found: ReadonlyMap<string, Tensor> | null = await readParts(source, weights, wanted, (loaded, total) => {
    files[weights] = loaded;
    onProgress?.({ phase: 'download', file: weights, loaded, total });
  });
  found ??= readSafetensors(await required(weights, 'Only checkpoints in one safetensors file can be loaded.'), weights).tensors;
  const tensors = pickTensors(found, config);
  return { name: source.name, config, tokenizer, tokenizerConfig, chatTemplate, tensors, vision, files };
}
