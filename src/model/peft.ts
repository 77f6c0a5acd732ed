/**
 * @file Adapters as PEFT files: `adapter_config.json` and `adapter_model.safetensors`, with keys
 * `base_model.model.model.text_model.layers.N.{self_attn,mlp}.{q,k,v,o,gate,up,down}_proj.lora_{A,B}.weight`; A is [r, in],
 * B is [out, r], s = lora_alpha/r (or lora_alpha/√r). Reference: peft/utils/save_and_load.py, peft/tuners/lora/config.py.
 */
import { parseJson } from './config.ts';
import { ModelError } from './errors.ts';
import { initialLora, type LoraBlock, type LoraLayout, type LoraModule } from './lora.ts';
import { readSafetensors, type Tensor, writeSafetensors } from './safetensors.ts';
import type { AdapterFiles } from './types.ts';
import { toFloat32 } from './weights.ts';

const WEIGHTS = 'adapter_model.safetensors';
const CONFIG = 'adapter_config.json';
const MAX_RANK = 256;

/** A regular expression for the whole module path, since a list of suffixes would also hit the vision tower's q, k and v. */
const TARGETS = 'model\\.text_model\\.layers\\.\\d+\\.(self_attn\\.[qkvo]_proj|mlp\\.(gate|up|down)_proj)';

interface Slice {
  readonly key: string;
  readonly shape: readonly [number, number];
  /** In floats from the start of the parameter buffer. */
  readonly offset: number;
}

function slices(block: LoraBlock, module: LoraModule, index: number, rank: number): Slice[] {
  const part = block.group === 'qkv' || block.group === 'o' ? 'self_attn' : 'mlp';
  const path = `base_model.model.model.text_model.layers.${block.layer}.${part}.${module.name}`;
  return [
    { key: `${path}.lora_A.weight`, shape: [rank, block.in], offset: block.aOffset + index * rank * block.in },
    { key: `${path}.lora_B.weight`, shape: [module.out, rank], offset: block.bOffset + module.outOffset * rank },
  ];
}

/** Every tensor of the adapter and where it lies in the parameter buffer. */
export function adapterSlices(layout: LoraLayout): Slice[] {
  return layout.blocks.flatMap((block) => block.modules.flatMap((module, i) => slices(block, module, i, layout.rank)));
}

export function writeAdapterFiles(o: { layout: LoraLayout; params: Float32Array; alpha: number; baseModel: string }): AdapterFiles {
  const tensors = adapterSlices(o.layout).map(({ key, shape, offset }) => ({
    name: key,
    shape,
    data: o.params.slice(offset, offset + shape[0] * shape[1]),
  }));
  // only keys that old versions of PEFT know too
  const config = {
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: o.baseModel,
    revision: null,
    inference_mode: true,
    r: o.layout.rank,
    lora_alpha: o.alpha,
    lora_dropout: 0,
    bias: 'none',
    fan_in_fan_out: false,
    init_lora_weights: true,
    use_rslora: false,
    target_modules: TARGETS,
    modules_to_save: null,
    rank_pattern: {},
    alpha_pattern: {},
    layers_to_transform: null,
    layers_pattern: null,
  };
  return { [CONFIG]: `${JSON.stringify(config, null, 2)}\n`, [WEIGHTS]: writeSafetensors(tensors) };
}

function refuse(what: string): never {
  throw new ModelError('unsupported', `This adapter cannot be used here: ${what}. A plain LoRA adapter of the text model is needed.`);
}

/** Rank and alpha of an adapter, and a refusal of every extension that would change what it computes. */
export function readAdapterConfig(json: string): { rank: number; alpha: number } {
  const config = parseJson(new TextEncoder().encode(json), CONFIG);
  const filled = (key: string): boolean => {
    const value = config[key] ?? null;
    return typeof value === 'object' ? value !== null && Object.keys(value).length > 0 : value !== false;
  };
  if (config['peft_type'] !== 'LORA') refuse(`its type is ${JSON.stringify(config['peft_type'] ?? null)}`);
  for (const key of [
    'use_dora',
    'lora_bias',
    'modules_to_save',
    'rank_pattern',
    'alpha_pattern',
    'fan_in_fan_out',
    'trainable_token_indices',
    'layer_replication',
  ]) {
    if (filled(key)) refuse(`it uses ${key}`);
  }
  if ((config['bias'] ?? 'none') !== 'none') refuse('it trains biases');
  const rank = config['r'] ?? 8;
  const alpha = config['lora_alpha'] ?? 8;
  if (!Number.isInteger(rank) || (rank as number) < 1 || (rank as number) > MAX_RANK)
    throw new ModelError('file', `${CONFIG}: r is ${JSON.stringify(rank)}; a whole number from 1 to ${MAX_RANK} is needed.`);
  if (typeof alpha !== 'number' || !Number.isFinite(alpha) || alpha <= 0)
    throw new ModelError('file', `${CONFIG}: lora_alpha is ${JSON.stringify(alpha)}; a number > 0 is needed.`);
  // s = alpha/√r is s = (alpha·√r)/r
  return { rank: rank as number, alpha: config['use_rslora'] === true ? alpha * Math.sqrt(rank as number) : alpha };
}

/** The parameter buffer of an adapter whose rank is `layout.rank`. Modules that it leaves alone get a fresh A and B = 0. */
export function readAdapterWeights(bytes: Uint8Array, layout: LoraLayout): Float32Array {
  const { tensors } = readSafetensors(bytes, WEIGHTS);
  const params = initialLora(layout, 0);
  const known = new Map(adapterSlices(layout).map((slice) => [slice.key, slice]));
  for (const [key, tensor] of tensors) {
    const slice = known.get(key);
    if (!slice)
      refuse(
        key.includes('vision_model') ? `it changes the vision tower (${key}), which is frozen` : `it has ${key}, which this model does not`,
      );
    params.set(values(key, tensor, slice), slice.offset);
  }
  for (const key of tensors.keys()) {
    const other = key.includes('.lora_A.') ? key.replace('.lora_A.', '.lora_B.') : key.replace('.lora_B.', '.lora_A.');
    if (!tensors.has(other)) throw new ModelError('file', `${WEIGHTS} has ${key} but not ${other}. Export the adapter again.`);
  }
  return params;
}

function values(key: string, tensor: Tensor, { shape }: Slice): Float32Array {
  if (tensor.shape.join() !== shape.join())
    throw new ModelError('file', `${WEIGHTS}: ${key} is [${tensor.shape.join(', ')}], but this model and rank need [${shape.join(', ')}].`);
  const floats = toFloat32(tensor);
  if (!floats.every(Number.isFinite))
    throw new ModelError('file', `${WEIGHTS}: ${key} holds numbers that are not finite. Export the adapter again.`);
  return floats;
}
