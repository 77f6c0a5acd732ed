/**
 * @file Opens device, model and data for a command in Deno: files come from folders, the vision tower runs in wasm.
 */
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Gpu } from '../engine/gpu.ts';
import { GpuError } from '../engine/errors.ts';
import { Policy } from '../model/policy.ts';
import { folderSource } from '../model/source.ts';
import { wasmVision } from '../model/vision-wasm.ts';
import { loadDigits, type DigitSet } from '../tasks/index.ts';
import type { Settings } from '../training/settings.ts';
import { readIfThere } from './files.ts';

export const DEFAULT_MODEL = 'public/models/pico';
const MICO_MODEL = 'public/models/pico-mico';
const DIGITS = 'public/data/digits.bin';

/** The folder of the model that a preset is made for. */
export const modelFor = (preset: string): string => (preset.startsWith('mico-') ? MICO_MODEL : DEFAULT_MODEL);

async function openGpu(): Promise<Gpu> {
  try {
    return await Gpu.open();
  } catch (error) {
    if (!(error instanceof GpuError)) throw error;
    const advice =
      error.kind === 'no-webgpu'
        ? 'Run this with Deno 2 (npm run train does).'
        : 'Install a Vulkan driver; without a graphics card Mesa’s does (Debian, Ubuntu: apt-get install mesa-vulkan-drivers).';
    throw new GpuError(error.kind, 'No graphics adapter was found.', advice);
  }
}

export interface Opened {
  readonly gpu: Gpu;
  readonly policy: Policy;
  readonly digits: DigitSet;
}

/** Opens the model in `folder` with a fresh adapter. */
export async function open(folder: string, settings: Pick<Settings, 'rank' | 'alpha' | 'seed'>): Promise<Opened> {
  const gpu = await openGpu();
  const ort = dirname(createRequire(import.meta.url).resolve('onnxruntime-web/wasm'));
  const wasm = await readFile(join(ort, 'ort-wasm-simd-threaded.wasm'));
  const source = folderSource(folder, (path) => readIfThere(join(folder, path)));
  const vision = wasmVision(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const { rank, alpha, seed } = settings;
  const policy = await Policy.load(gpu, source, { rank, alpha, seed, vision });
  return { gpu, policy, digits: loadDigits(await readFile(DIGITS)) };
}
