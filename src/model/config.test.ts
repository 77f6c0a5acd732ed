import { describe, expect, test } from 'vitest';
import { parseConfig, parseJson } from './config.ts';

const text = {
  model_type: 'llama',
  hidden_size: 576,
  num_hidden_layers: 30,
  num_attention_heads: 9,
  num_key_value_heads: 3,
  head_dim: 64,
  intermediate_size: 1536,
  vocab_size: 49280,
  rope_theta: 100000,
  rope_scaling: null,
  rope_interleaved: false,
  rms_norm_eps: 1e-5,
  max_position_embeddings: 8192,
  qk_layer_norms: false,
};
const base = {
  model_type: 'idefics3',
  image_token_id: 49190,
  scale_factor: 4,
  vision_config: { image_size: 512, patch_size: 16 },
  text_config: text,
};
const withText = (changes: object) => () => parseConfig({ ...base, text_config: { ...text, ...changes } }, null, null);

describe('configuration', () => {
  test('SmolVLM-256M', () => {
    const config = parseConfig(base, { eos_token_id: 49279 }, { image_mean: [0.5, 0.5, 0.5], image_std: [0.5, 0.5, 0.5] });
    expect(config.text.heads / config.text.kvHeads).toBe(3);
    expect(config.text.ropeTheta).toBe(100000);
    expect(config.image).toEqual({ size: 512, tokens: 64, mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] });
    expect(config.eosTokenId).toBe(49279);
    expect(config.imageTokenId).toBe(49190);
    expect(config.contextLength).toBe(8192);
  });

  test('omitted fields take the defaults of transformers', () => {
    const config = parseConfig({ model_type: 'smolvlm', text_config: {}, vision_config: { image_size: 384 } }, null, null);
    expect([config.text.hidden, config.text.layers, config.text.heads, config.text.kvHeads, config.text.headDim]).toEqual([
      4096, 32, 32, 32, 128,
    ]);
    expect([config.text.intermediate, config.text.vocab, config.text.rmsEps, config.text.ropeTheta]).toEqual([11008, 32000, 1e-6, 10000]);
    expect([config.contextLength, config.eosTokenId, config.imageTokenId]).toEqual([2048, null, 128257]);
    expect(config.image.tokens).toBe(36);
    expect(() => parseConfig({ model_type: 'smolvlm' }, null, null)).toThrow(
      'a picture of 224 pixels does not divide into patches of 32 shuffled by 2',
    );
  });

  test('theta is found in the newer place too, and the first of several end tokens', () => {
    const config = parseConfig(
      { ...base, text_config: { ...text, rope_theta: undefined, rope_parameters: { rope_type: 'default', rope_theta: 5000 } } },
      { eos_token_id: [7, 2] },
      null,
    );
    expect(config.text.ropeTheta).toBe(5000);
    expect(config.eosTokenId).toBe(7);
  });

  test('what cannot be run is refused in a sentence', () => {
    expect(() => parseConfig({ ...base, model_type: 'qwen2_vl' }, null, null)).toThrow(
      'This checkpoint cannot be trained here: its model_type is "qwen2_vl"',
    );
    expect(() => parseConfig({}, null, null)).toThrow('its model_type is null');
    expect(() => parseConfig({ ...base, quantization_config: {} }, null, null)).toThrow('quantised');
    expect(withText({ model_type: 'qwen2' })).toThrow('its language model is of type "qwen2"');
    expect(withText({ qk_layer_norms: true })).toThrow('normalises queries and keys');
    expect(withText({ attention_bias: true })).toThrow('attention has biases');
    expect(withText({ mlp_bias: true })).toThrow('MLP has biases');
    expect(withText({ hidden_act: 'gelu' })).toThrow('its activation is gelu');
    expect(withText({ sliding_window: 512 })).toThrow('sliding window');
    expect(withText({ rope_interleaved: true })).toThrow('interleaved');
    expect(withText({ rope_scaling: { rope_type: 'llama3', factor: 8 } })).toThrow('scales its rotary positions (llama3)');
    expect(withText({ rope_scaling: { type: 'linear', factor: 2 } })).toThrow('scales its rotary positions (linear)');
    expect(withText({ partial_rotary_factor: 0.5 })).toThrow('a part of each head');
  });

  test('fields of the wrong kind are named', () => {
    expect(withText({ hidden_size: '576' })).toThrow('config.json: text_config: hidden_size is "576"; a whole number ≥ 1 is needed');
    expect(withText({ num_hidden_layers: 0 })).toThrow('num_hidden_layers is 0');
    expect(withText({ rms_norm_eps: -1 })).toThrow('rms_norm_eps is -1');
    expect(withText({ num_key_value_heads: 4 })).toThrow('9 attention heads cannot share 4');
    expect(withText({ head_dim: 33 })).toThrow('head_dim 33 is odd');
    expect(() => parseConfig({ ...base, text_config: [] }, null, null)).toThrow('text_config is not an object');
    expect(() => parseConfig(base, null, { image_mean: [0.5] })).toThrow('image_mean must be three numbers');
  });

  test('JSON that is none is refused', () => {
    const parse = (s: string) => () => parseJson(new TextEncoder().encode(s), 'config.json');
    expect(parse('<!DOCTYPE html>')).toThrow('config.json is not JSON. Check that the address leads to a model folder');
    expect(parse('[1]')).toThrow('config.json is not a JSON object');
    expect(parse('{"a": 1}')()).toEqual({ a: 1 });
  });
});
