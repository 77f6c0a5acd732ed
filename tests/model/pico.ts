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

/** A model's files, which must be those that the fixtures of `script` were made from, by their SHA-256. */
export function fingerprinted(source: CheckpointSource, prints: object, script: string): CheckpointSource {
  return {
    name: source.name,
    async read(path, onProgress) {
      const bytes = await source.read(path, onProgress);
      const want = (prints as Record<string, unknown>)[path];
      if (bytes && want) {
        const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>));
        const got = Array.from(digest, (b) => b.toString(16).padStart(2, '0')).join('');
        if (got !== want) throw new Error(`The fixtures belong to another ${path}. Run: python tools/oracle/${script}`);
      }
      return bytes;
    },
  };
}

export const picoFiles = fingerprinted({ ...urlSource(PICO), name: 'pico' }, fingerprints, 'make_fixtures.py');

export function openPico(gpu: Gpu, lora = { rank: 4, alpha: 8, seed: 1 }): Promise<Policy> {
  return Policy.load(gpu, picoFiles, { ...lora, vision: wasmTower });
}
