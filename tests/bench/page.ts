/** @file The benchmark in a browser: the page's own way of loading, results through the console. */
import { Gpu } from '../../src/engine/gpu.ts';
import { Policy } from '../../src/model/policy.ts';
import { urlSource } from '../../src/model/source.ts';
import { webgpuVision } from '../../src/model/vision-webgpu.ts';
import { loadDigits } from '../../src/tasks/index.ts';
import { DEFAULTS } from '../../src/training/presets.ts';
import { bench } from './bench.ts';

declare global {
  /** Called by run.mjs; lines go to `benchPrint`. */
  var runBench: (steps: number) => Promise<void>;
  var benchPrint: (line: string) => void;
}

globalThis.runBench = async (steps) => {
  const gpu = await Gpu.open();
  const { rank, alpha, seed } = DEFAULTS;
  const policy = await Policy.load(gpu, urlSource('/models/pico/'), { rank, alpha, seed, vision: webgpuVision });
  const digits = loadDigits(new Uint8Array(await (await fetch('/data/digits.bin')).arrayBuffer()));
  await bench({ gpu, policy, digits, steps, print: globalThis.benchPrint });
};
