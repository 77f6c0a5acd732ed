/**
 * @file Cuts a long recording into submits that no watchdog minds: Windows resets a GPU after about two seconds in one submit,
 * so the work is kept under a budget of floating-point operations, 100–200 ms on a slow laptop GPU.
 */
import type { Gpu } from './gpu.ts';

const FLOPS_PER_SUBMIT = 4e10;

export class Submitter {
  private readonly gpu: Gpu;
  private readonly label: string;
  private encoder: GPUCommandEncoder | null = null;
  private current: GPUComputePassEncoder | null = null;
  private flops = 0;

  constructor(gpu: Gpu, label: string) {
    this.gpu = gpu;
    this.label = label;
    gpu.check();
  }

  private open(): GPUCommandEncoder {
    return (this.encoder ??= this.gpu.device.createCommandEncoder({ label: this.label }));
  }

  private endPass(): void {
    this.current?.end();
    this.current = null;
  }

  /** The pass to record into. `flops` is the work about to be recorded; a full submit goes out first. */
  pass(flops = 0): GPUComputePassEncoder {
    if (this.flops > 0 && this.flops + flops > FLOPS_PER_SUBMIT) this.finish();
    this.flops += flops;
    return (this.current ??= this.open().beginComputePass({ label: this.label }));
  }

  /** Records a copy between buffers; offsets and size in bytes, multiples of 4. */
  copy(from: GPUBuffer, fromOffset: number, to: GPUBuffer, toOffset: number, size: number): void {
    if (size === 0) return;
    this.endPass();
    this.open().copyBufferToBuffer(from, fromOffset, to, toOffset, size);
  }

  /** Submits what is left. The submitter can be used again. */
  finish(): void {
    this.endPass();
    if (!this.encoder) return;
    this.gpu.device.queue.submit([this.encoder.finish()]);
    this.gpu.counters.submits++;
    this.encoder = null;
    this.flops = 0;
  }
}
