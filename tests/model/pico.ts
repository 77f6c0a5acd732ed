/** @file Opens pico for the model tests. */
import ortWasm from 'onnxruntime-web/ort-wasm-simd-threaded.wasm?url';
import type { Gpu } from '../../src/engine/gpu.ts';
import { type CheckpointSource, urlSource } from '../../src/model/checkpoint.ts';
import { Policy } from '../../src/model/policy.ts';
import { wasmVision } from '../../src/model/vision-wasm.ts';
import fingerprints from '../fixtures/pico.json';
import { PICO } from './fixtures.ts';

export const inDeno = 'Deno' in globalThis;

/** Works everywhere, and is the quicker one to start where the GPU is a processor. */
export const wasmTower = wasmVision(ortWasm);

/** Pico's files, which must be those that the fixtures were made from. */
export const picoFiles: CheckpointSource = {
  name: 'pico',
  async read(path, onProgress) {
    const bytes = await urlSource(PICO).read(path, onProgress);
    const want = (fingerprints as Record<string, string>)[path];
    if (bytes && want) {
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
      const got = Array.from(digest, (b) => b.toString(16).padStart(2, '0')).join('');
      if (got !== want) throw new Error(`The fixtures belong to another ${path}. Run: python tools/oracle/make_fixtures.py`);
    }
    return bytes;
  },
};

export function openPico(gpu: Gpu, lora = { rank: 4, alpha: 8, seed: 1 }): Promise<Policy> {
  return Policy.load(gpu, picoFiles, { ...lora, vision: wasmTower });
}
