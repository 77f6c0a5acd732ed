/**
 * @file Named working buffers that grow and never shrink: the same name asked for again is the same buffer, so bind groups
 * stay cached and a training step creates nothing.
 */
import type { Gpu } from './gpu.ts';

/** Room left above a size that grew, so that slightly longer batches do not grow it again. */
const SLACK = 1.125;

export class Arena {
  private readonly gpu: Gpu;
  private readonly label: string;
  private readonly buffers = new Map<string, GPUBuffer>();
  private outgrown: GPUBuffer[] = [];

  constructor(gpu: Gpu, label: string) {
    this.gpu = gpu;
    this.label = label;
  }

  /** A storage buffer of at least `bytes`; its contents are what was last written to that name, or lost if it had to grow. */
  get(name: string, bytes: number): GPUBuffer {
    const found = this.buffers.get(name);
    if (found && found.size >= bytes) return found;
    if (found) this.outgrown.push(found); // a recording that is not yet submitted may use it
    const { maxBufferSize, maxStorageBufferBindingSize } = this.gpu.device.limits;
    const most = Math.min(maxBufferSize, maxStorageBufferBindingSize);
    const roomy = Math.ceil((bytes * (found ? SLACK : 1)) / 256) * 256;
    const buffer = this.gpu.buffer(`${this.label} ${name}`, Math.max(256, bytes, Math.min(roomy, most)));
    this.buffers.set(name, buffer);
    return buffer;
  }

  /** Room for `count` f32 or u32. */
  words(name: string, count: number): GPUBuffer {
    return this.get(name, count * 4);
  }

  /** Bytes held. */
  get bytes(): number {
    return [...this.buffers.values()].reduce((sum, b) => sum + b.size, 0);
  }

  /** Gives outgrown buffers back. Call it when no recording is open (what is submitted already keeps its buffers). */
  collect(): void {
    for (const buffer of this.outgrown) buffer.destroy();
    this.outgrown = [];
  }

  destroy(): void {
    this.collect();
    for (const buffer of this.buffers.values()) buffer.destroy();
    this.buffers.clear();
  }
}
