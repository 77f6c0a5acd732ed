import { describe, expect, test } from 'vitest';
import { type CheckpointSource, decoderTensors, loadCheckpoint, runs } from './checkpoint.ts';
import { parseConfig } from './config.ts';
import { writeSafetensors } from './safetensors.ts';

const text = { hidden_size: 64, num_hidden_layers: 1, num_attention_heads: 2, intermediate_size: 32 };
const json = { model_type: 'idefics3', image_token_id: 3, scale_factor: 2, vision_config: { image_size: 64, patch_size: 8 } };

/** A checkpoint with a vision tower among its weights; their bytes are counted as they are read. 70,000 tokens make it a large file. */
function checkpoint(
  changes: Record<string, Uint8Array | null> = {},
  o = { parts: true, vocab: 10 },
): { source: CheckpointSource; read: () => number } {
  const configuration = { ...json, text_config: { ...text, vocab_size: o.vocab } };
  const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
  const decoder = decoderTensors(parseConfig(configuration, null, null)).map(({ name, shape }, i) => ({
    name,
    shape,
    data: new Float32Array(shape.reduce((a, b) => a * b)).fill(i + 1),
  }));
  decoder.splice(3, 0, { name: 'model.vision_model.embeddings.weight', shape: [1 << 20], data: new Float32Array(1 << 20) });
  const files: Record<string, Uint8Array | null> = {
    'config.json': encode(configuration),
    'tokenizer.json': encode({}),
    'chat_template.json': encode({ chat_template: 'x' }),
    'onnx/vision_encoder.onnx': new Uint8Array(4),
    'model.safetensors': writeSafetensors(decoder),
    ...changes,
  };
  let bytesRead = 0;
  const read = async (path: string): Promise<Uint8Array | null> => {
    const bytes = files[path] ?? null;
    if (path === 'model.safetensors') bytesRead += bytes?.byteLength ?? 0;
    return bytes;
  };
  const readRange: CheckpointSource['readRange'] = async (path, start, end) => {
    const whole = files[path];
    if (!whole || !o.parts) return null;
    const bytes = whole.slice(start, end);
    bytesRead += bytes.byteLength;
    return { bytes, size: whole.byteLength };
  };
  return { source: { name: 'test', read, readRange }, read: () => bytesRead };
}

describe('loading a checkpoint', () => {
  test('of a large file, only what the decoder needs is read, with the same result', async () => {
    const byParts = checkpoint({}, { parts: true, vocab: 70_000 });
    const whole = checkpoint({}, { parts: false, vocab: 70_000 });
    const seen: number[] = [];
    const a = await loadCheckpoint(byParts.source, (p) => p.file === 'model.safetensors' && seen.push(p.loaded));
    const b = await loadCheckpoint(whole.source);
    expect([...a.tensors.keys()].sort()).toEqual([...b.tensors.keys()].sort());
    for (const [name, tensor] of a.tensors) {
      expect(tensor.shape).toEqual(b.tensors.get(name)?.shape);
      expect(tensor.data.byteLength).toBe(b.tensors.get(name)?.data.byteLength);
      expect(tensor.data[3]).toBe(b.tensors.get(name)?.data[3]); // the exponent of i + 1
    }
    expect(whole.read() - byParts.read()).toBeGreaterThan(4e6);
    expect(seen.at(-1)).toBe(a.files['model.safetensors']);
  });

  test('entries are fetched in runs: near ones together, far and very long ones apart', () => {
    const entry = (start: number, end: number) => ({ name: `${start}`, dtype: 'F32' as const, shape: [], start, end });
    const MB = 1 << 20;
    const got = runs([entry(10 * MB, 11 * MB), entry(0, MB), entry(MB, 2 * MB), entry(2 * MB + 5, 3 * MB), entry(11 * MB, 100 * MB)]);
    expect(got.map((run) => run.map((e) => e.start))).toEqual([[0, MB, 2 * MB + 5], [10 * MB], [11 * MB]]);
    expect(runs([])).toEqual([]);
  });

  test('missing and unfitting files are named', async () => {
    const load = (changes: Record<string, Uint8Array | null>) => loadCheckpoint(checkpoint(changes).source);
    await expect(load({ 'tokenizer.json': null })).rejects.toThrow('test has no tokenizer.json');
    await expect(load({ 'chat_template.json': null })).rejects.toThrow('has no chat template');
    await expect(load({ 'onnx/vision_encoder.onnx': null })).rejects.toThrow('Export the vision tower to ONNX');
    await expect(load({ 'model.safetensors': null })).rejects.toThrow(
      'test has no model.safetensors. Only checkpoints in one safetensors file',
    );
    const wrong = [{ name: 'model.text_model.embed_tokens.weight', shape: [2, 64], data: new Float32Array(128) }];
    await expect(load({ 'model.safetensors': writeSafetensors(wrong) })).rejects.toThrow('is [2, 64], but config.json says [10, 64]');
    await expect(load({ 'model.safetensors': writeSafetensors([]) })).rejects.toThrow('has no tensor model.text_model.embed_tokens.weight');
  });
});
