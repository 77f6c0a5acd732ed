import { describe, expect, test } from 'vitest';
import reference from '../../tests/fixtures/gradient.json';
import { noise } from '../../tests/model/fixtures.ts';
import type { DecoderConfig } from './decoder.ts';
import { loraLayout } from './lora.ts';
import { adapterSlices, readAdapterConfig, readAdapterWeights, writeAdapterFiles } from './peft.ts';
import { readSafetensors, writeSafetensors } from './safetensors.ts';

const pico: DecoderConfig = {
  layers: 4,
  hidden: 128,
  heads: 4,
  kvHeads: 2,
  headDim: 32,
  intermediate: 352,
  vocab: 512,
  ropeTheta: 10000,
  rmsEps: 1e-5,
};
const layout = loraLayout(pico, reference.rank);
const params = new Float32Array(layout.total);
for (const [i, { shape, offset }] of adapterSlices(layout).entries()) params.set(noise(shape[0] * shape[1], i, 1), offset);
const files = writeAdapterFiles({ layout, params, alpha: 6, baseModel: 'pico' });
const config = (changes: object): string => JSON.stringify({ ...JSON.parse(files['adapter_config.json']), ...changes });

describe('PEFT files', () => {
  test('names and shapes are those of PEFT on pico', () => {
    const { tensors, metadata } = readSafetensors(files['adapter_model.safetensors'], 'adapter_model.safetensors');
    const written = [...tensors].map(([name, { shape }]) => ({ name, shape: [...shape] }));
    expect(written.sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual(reference.names);
    expect(metadata).toEqual({ format: 'pt' });
  });

  test('what was written is read back', () => {
    expect(readAdapterConfig(files['adapter_config.json'])).toEqual({ rank: reference.rank, alpha: 6 });
    expect(readAdapterWeights(files['adapter_model.safetensors'], layout)).toEqual(params);
  });

  test('an adapter of fewer modules leaves the others as they start', () => {
    const path = 'base_model.model.model.text_model.layers.2.self_attn.v_proj';
    const few = writeSafetensors([
      { name: `${path}.lora_A.weight`, shape: [3, 128], data: noise(384, 1, 1) },
      { name: `${path}.lora_B.weight`, shape: [64, 3], data: noise(192, 2, 1) },
    ]);
    const read = readAdapterWeights(few, layout);
    for (const { key, shape, offset } of adapterSlices(layout)) {
      const values = read.subarray(offset, offset + shape[0] * shape[1]);
      expect(values.some((x) => x !== 0)).toBe(key.includes('lora_A') || key.startsWith(path));
    }
    expect(read.subarray(0, 4).every((x) => Math.abs(x) <= 1 / Math.sqrt(128))).toBe(true);
  });

  test('rank-stabilised scaling is taken over', () => {
    expect(readAdapterConfig(config({ r: 16, lora_alpha: 2, use_rslora: true }))).toEqual({ rank: 16, alpha: 8 });
  });

  test('extensions and damage are refused in a sentence', () => {
    const refused: [object, string][] = [
      [{ use_dora: true }, 'This adapter cannot be used here: it uses use_dora'],
      [{ modules_to_save: ['lm_head'] }, 'it uses modules_to_save'],
      [{ rank_pattern: { q_proj: 4 } }, 'it uses rank_pattern'],
      [{ bias: 'all' }, 'it trains biases'],
      [{ peft_type: 'IA3' }, 'its type is "IA3"'],
      [{ r: 0 }, 'r is 0'],
      [{ lora_alpha: '8' }, 'lora_alpha is "8"'],
    ];
    for (const [changes, message] of refused) expect(() => readAdapterConfig(config(changes))).toThrow(message);
    expect(() => readAdapterConfig('<html>')).toThrow('adapter_config.json is not JSON');
    const path = 'base_model.model.model.text_model.layers.0.self_attn.q_proj.lora_A.weight';
    const one =
      (name: string, shape: number[], data = new Float32Array(shape.reduce((a, b) => a * b))) =>
      () =>
        readAdapterWeights(writeSafetensors([{ name, shape, data }]), layout);
    expect(one('base_model.model.model.vision_model.encoder.layers.0.self_attn.q_proj.lora_A.weight', [3, 96])).toThrow(
      'it changes the vision tower',
    );
    expect(one(path.replace('layers.0', 'layers.9'), [3, 128])).toThrow('which this model does not');
    expect(one(path, [4, 128])).toThrow('is [4, 128], but this model and rank need [3, 128]');
    expect(one(path, [3, 128])).toThrow('but not base_model.model.model.text_model.layers.0.self_attn.q_proj.lora_B.weight');
    expect(one(path, [3, 128], new Float32Array(384).fill(NaN))).toThrow('not finite');
  });
});
