/**
 * @file Reads `config.json`, `generation_config.json` and `preprocessor_config.json` of an Idefics3/SmolVLM checkpoint.
 * Omitted fields take the defaults of transformers (configuration_idefics3.py, configuration_smolvlm.py,
 * configuration_llama.py); whatever the engine cannot run is refused in a sentence instead of giving wrong numbers.
 */
import type { DecoderConfig } from './decoder.ts';
import { ModelError } from './errors.ts';

export interface ImageConfig {
  /** Side of the square that the vision tower takes, in pixels. */
  readonly size: number;
  /** Tokens of one picture: (size / patch)² / scale². */
  readonly tokens: number;
  /** Per channel, of x/255. */
  readonly mean: readonly [number, number, number];
  readonly std: readonly [number, number, number];
}

export interface ModelConfig {
  readonly text: DecoderConfig;
  readonly image: ImageConfig;
  readonly contextLength: number;
  readonly imageTokenId: number;
  /** From generation_config, else null: the tokenizer then decides. */
  readonly eosTokenId: number | null;
  /** The LM head is the embedding. */
  readonly tied: boolean;
}

type Json = Readonly<Record<string, unknown>>;

/** Parses a JSON file of a checkpoint; `file` is its name for messages. */
export function parseJson(bytes: Uint8Array, file: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new ModelError('file', `${file} is not JSON. Check that the address leads to a model folder and not to a web page.`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ModelError('file', `${file} is not a JSON object.`);
  return value as Json;
}

function refuse(what: string): never {
  throw new ModelError(
    'unsupported',
    `This checkpoint cannot be trained here: ${what}. Choose an Idefics3 or SmolVLM checkpoint with a plain Llama decoder.`,
  );
}

function section(json: Json, key: string, file: string): Json {
  const value = json[key] ?? {};
  if (typeof value !== 'object' || Array.isArray(value)) throw new ModelError('file', `${file}: ${key} is not an object.`);
  return value as Json;
}

/** A whole number ≥ 1, or the default when the field is omitted or null. */
function count(json: Json, key: string, fallback: number, file: string): number {
  const value = json[key] ?? fallback;
  if (!Number.isSafeInteger(value) || (value as number) < 1)
    throw new ModelError('file', `${file}: ${key} is ${JSON.stringify(value)}; a whole number ≥ 1 is needed.`);
  return value as number;
}

function positive(json: Json, key: string, fallback: number, file: string): number {
  const value = json[key] ?? fallback;
  if (typeof value !== 'number' || !(value > 0) || !Number.isFinite(value))
    throw new ModelError('file', `${file}: ${key} is ${JSON.stringify(value)}; a number > 0 is needed.`);
  return value;
}

/** RoPE's theta, from `rope_theta` (transformers 4) or `rope_parameters` (transformers 5). */
function ropeTheta(text: Json, file: string): number {
  const parameters = section(text, 'rope_parameters', file);
  const scaling = section(text, 'rope_scaling', file);
  for (const rope of [parameters, scaling]) {
    const type = rope['rope_type'] ?? rope['type'] ?? 'default';
    if (type !== 'default') refuse(`it scales its rotary positions (${String(type)})`);
    if ((rope['partial_rotary_factor'] ?? 1) !== 1) refuse('it rotates only a part of each head');
  }
  if ((text['partial_rotary_factor'] ?? 1) !== 1) refuse('it rotates only a part of each head');
  if (text['rope_interleaved'] === true) refuse('its rotary positions are interleaved');
  return positive('rope_theta' in parameters ? parameters : text, 'rope_theta', 10000, file);
}

function parseText(text: Json, file: string): { decoder: DecoderConfig; contextLength: number } {
  const type = text['model_type'] ?? 'llama';
  if (type !== 'llama') refuse(`its language model is of type ${JSON.stringify(type)}`);
  if (text['attention_bias'] === true) refuse('its attention has biases');
  if (text['mlp_bias'] === true) refuse('its MLP has biases');
  if (text['qk_layer_norms'] === true) refuse('it normalises queries and keys');
  if (text['use_resampler'] === true) refuse('it uses a perceiver resampler');
  if ((text['sliding_window'] ?? null) !== null) refuse('its attention is a sliding window');
  if ((text['hidden_act'] ?? 'silu') !== 'silu') refuse(`its activation is ${String(text['hidden_act'])}`);
  const hidden = count(text, 'hidden_size', 4096, file);
  const heads = count(text, 'num_attention_heads', 32, file);
  const kvHeads = count(text, 'num_key_value_heads', heads, file);
  const headDim = count(text, 'head_dim', Math.floor(hidden / heads), file);
  if (heads % kvHeads !== 0) throw new ModelError('file', `${file}: ${heads} attention heads cannot share ${kvHeads} key-value heads.`);
  if (headDim % 2 !== 0) throw new ModelError('file', `${file}: head_dim ${headDim} is odd; rotary positions need pairs.`);
  return {
    decoder: {
      layers: count(text, 'num_hidden_layers', 32, file),
      hidden,
      heads,
      kvHeads,
      headDim,
      intermediate: count(text, 'intermediate_size', 11008, file),
      vocab: count(text, 'vocab_size', 32000, file),
      ropeTheta: ropeTheta(text, file),
      rmsEps: positive(text, 'rms_norm_eps', 1e-6, file),
    },
    contextLength: count(text, 'max_position_embeddings', 2048, file),
  };
}

function parseImage(config: Json, preprocessor: Json | null): ImageConfig {
  const vision = section(config, 'vision_config', 'config.json');
  const size = count(vision, 'image_size', 224, 'config.json');
  const patch = count(vision, 'patch_size', 32, 'config.json');
  const scale = count(config, 'scale_factor', 2, 'config.json');
  const side = size / patch / scale;
  if (!Number.isInteger(side))
    throw new ModelError('file', `config.json: a picture of ${size} pixels does not divide into patches of ${patch} shuffled by ${scale}.`);
  const triple = (key: string): readonly [number, number, number] => {
    const value = preprocessor?.[key] ?? [0.5, 0.5, 0.5];
    if (!Array.isArray(value) || value.length !== 3 || !value.every((x) => typeof x === 'number')) {
      throw new ModelError('file', `preprocessor_config.json: ${key} must be three numbers.`);
    }
    return value as [number, number, number];
  };
  if (preprocessor?.['do_normalize'] === false) return { size, tokens: side * side, mean: [0, 0, 0], std: [1, 1, 1] };
  return { size, tokens: side * side, mean: triple('image_mean'), std: triple('image_std') };
}

/** `generation` and `preprocessor` may be absent from a checkpoint. */
export function parseConfig(config: Json, generation: Json | null, preprocessor: Json | null): ModelConfig {
  const type = config['model_type'];
  if (type !== 'idefics3' && type !== 'smolvlm') refuse(`its model_type is ${JSON.stringify(type ?? null)}, not "idefics3" or "smolvlm"`);
  if (config['quantization_config'] !== undefined) refuse('its weights are quantised');
  const text = section(config, 'text_config', 'config.json');
  const { decoder, contextLength } = parseText(text, 'config.json: text_config');
  const eos = generation?.['eos_token_id'];
  const first: unknown = Array.isArray(eos) ? eos[0] : eos;
  return {
    text: decoder,
    image: parseImage(config, preprocessor),
    contextLength,
    imageTokenId: count(config, 'image_token_id', 128257, 'config.json'),
    // text_config.eos_token_id is not trustworthy (2 in SmolVLM-256M), so it is not looked at
    eosTokenId: typeof first === 'number' ? first : null,
    tied: config['tie_word_embeddings'] === true,
  };
}
