/**
 * @file The device and what everything on it shares: limits asked for and errors caught, the pipeline and bind-group
 * caches, small immutable uniform buffers, and readback. Knows nothing of models.
 *
 * The CPU side costs more than the arithmetic at small sizes (torchlette's and llama.cpp's profiles agree), so nothing is
 * created twice: a pipeline is found by (source, constants), a bind group by (pipeline, buffers), a uniform by its words.
 */
import { GpuError } from './errors.ts';

/** What we would like; each is lowered to what the adapter has. All kernels run on the defaults of the spec. */
const WANTED = {
  maxBufferSize: 2 ** 31,
  maxStorageBufferBindingSize: 2 ** 31 - 4,
  maxStorageBuffersPerShaderStage: 10,
  maxComputeWorkgroupStorageSize: 32768,
  maxComputeInvocationsPerWorkgroup: 1024,
  maxComputeWorkgroupSizeX: 1024,
  maxComputeWorkgroupSizeY: 1024,
} as const;

/** A compute kernel: WGSL text (preludes already put in front) with its `override` constants. */
export interface KernelSpec {
  readonly name: string;
  readonly source: string;
  readonly constants?: Readonly<Record<string, number>>;
  /** Defaults to `main`. */
  readonly entryPoint?: string;
}

export interface Kernel {
  readonly name: string;
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
  readonly id: number;
}

/** A buffer, or a part of one. Offsets must be multiples of 256 bytes (minStorageBufferOffsetAlignment). */
export type Binding = GPUBuffer | { readonly buffer: GPUBuffer; readonly offset: number; readonly size: number };

export interface GpuCounters {
  dispatches: number;
  submits: number;
  buffers: number;
  pipelines: number;
  bindGroups: number;
}

const CACHED_GROUPS = 4096;
const CACHED_UNIFORMS = 4096;

export class Gpu {
  readonly device: GPUDevice;
  readonly adapterName: string;
  /** Rises while the session runs; the benchmark reads differences. */
  readonly counters: GpuCounters = { dispatches: 0, submits: 0, buffers: 0, pipelines: 0, bindGroups: 0 };
  private readonly kernels = new Map<string, Kernel>();
  private readonly groups = new Map<string, GPUBindGroup>();
  private readonly uniforms = new Map<string, GPUBuffer>();
  private readonly idleStaging: GPUBuffer[] = [];
  private readonly bufferIds = new WeakMap<GPUBuffer, number>();
  private nextId = 1;
  private failure: GpuError | null = null;
  private lostListeners: ((e: GpuError) => void)[] = [];

  private constructor(device: GPUDevice, adapterName: string) {
    this.device = device;
    this.adapterName = adapterName;
    device.addEventListener('uncapturederror', (event) => {
      const { error } = event as GPUUncapturedErrorEvent;
      const oom = typeof GPUOutOfMemoryError !== 'undefined' && error instanceof GPUOutOfMemoryError;
      this.failure ??= oom
        ? new GpuError('out-of-memory', 'The GPU has no memory left.', 'Lower B, m, n or max tokens, or close other tabs.')
        : new GpuError('validation', `The GPU refused a command: ${error.message}.`, 'Please report this; the adapter is kept.');
    });
    void device.lost.then((info) => {
      this.failure = new GpuError(
        'lost',
        `The GPU device was lost (${info.reason || 'unknown'}${info.message ? `: ${info.message}` : ''}).`,
        'Press “restart the model”: training goes on from the last finished step.',
      );
      for (const listener of this.lostListeners) listener(this.failure);
    });
  }

  /** Opens a device. Throws GpuError `no-webgpu` or `no-adapter` with what to do. */
  static async open(): Promise<Gpu> {
    const api = (globalThis.navigator as Navigator | undefined)?.gpu;
    if (!api) {
      throw new GpuError(
        'no-webgpu',
        'This browser has no WebGPU.',
        'Open the page in a current Chrome, Edge, Safari 26 or Firefox, on https or localhost.',
      );
    }
    const adapter = await api.requestAdapter({ powerPreference: 'high-performance' });
    if (!adapter) {
      throw new GpuError(
        'no-adapter',
        'WebGPU is here, but no graphics adapter is available.',
        'Turn on hardware acceleration in the browser settings, or update the graphics driver.',
      );
    }
    const requiredLimits: Record<string, number> = {};
    for (const [name, want] of Object.entries(WANTED)) {
      requiredLimits[name] = Math.min(want, adapter.limits[name as keyof typeof WANTED]);
    }
    const device = await adapter.requestDevice({ requiredLimits });
    const info = adapter.info as GPUAdapterInfo | undefined;
    return new Gpu(device, [info?.vendor, info?.architecture, info?.description].filter(Boolean).join(' ') || 'unknown adapter');
  }

  /** Calls back once when the device is lost; at once if it already is. */
  onLost(listener: (e: GpuError) => void): void {
    if (this.failure?.kind === 'lost') listener(this.failure);
    else this.lostListeners.push(listener);
  }

  /** Throws the first error that the device reported since the last call (a lost device stays lost). */
  check(): void {
    const { failure } = this;
    if (!failure) return;
    if (failure.kind !== 'lost') this.failure = null;
    throw failure;
  }

  /** The compiled kernel for (source, constants), made once. */
  kernel(spec: KernelSpec): Kernel {
    const key = `${spec.entryPoint ?? 'main'}|${JSON.stringify(spec.constants ?? {})}|${spec.source}`;
    let kernel = this.kernels.get(key);
    if (!kernel) {
      const module = this.device.createShaderModule({ label: spec.name, code: spec.source });
      const pipeline = this.device.createComputePipeline({
        label: spec.name,
        layout: 'auto',
        compute: { module, entryPoint: spec.entryPoint ?? 'main', constants: { ...spec.constants } },
      });
      kernel = { name: spec.name, pipeline, layout: pipeline.getBindGroupLayout(0), id: this.nextId++ };
      this.counters.pipelines++;
      this.kernels.set(key, kernel);
    }
    return kernel;
  }

  /** A storage buffer of `bytes` (rounded up to 4), zeroed by WebGPU. Throws nothing here: OOM surfaces in check(). */
  buffer(
    label: string,
    bytes: number,
    usage: number = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST,
  ): GPUBuffer {
    this.counters.buffers++;
    return this.device.createBuffer({ label, size: Math.max(4, Math.ceil(bytes / 4) * 4), usage });
  }

  /** A storage buffer holding `data`. */
  upload(label: string, data: Float32Array | Uint32Array | Int32Array | Uint8Array): GPUBuffer {
    const buffer = this.buffer(label, data.byteLength);
    this.write(buffer, data);
    return buffer;
  }

  write(buffer: GPUBuffer, data: Float32Array | Uint32Array | Int32Array | Uint8Array, offset = 0): void {
    if (data.byteLength === 0) return;
    if (data.byteLength % 4 === 0)
      this.device.queue.writeBuffer(buffer, offset, data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
    else {
      const padded = new Uint8Array(Math.ceil(data.byteLength / 4) * 4);
      padded.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
      this.device.queue.writeBuffer(buffer, offset, padded);
    }
  }

  /** An immutable uniform buffer with these 32-bit words: integers as `{ u: n }` or plain numbers, floats as `{ f: x }`. */
  uniform(words: readonly (number | { readonly f: number })[]): GPUBuffer {
    const key = words.map((w) => (typeof w === 'number' ? w : `f${w.f}`)).join();
    const found = this.uniforms.get(key);
    if (found) return found;
    const bytes = new ArrayBuffer(Math.ceil((words.length * 4) / 16) * 16);
    const view = new DataView(bytes);
    words.forEach((w, i) => (typeof w === 'number' ? view.setUint32(i * 4, w, true) : view.setFloat32(i * 4, w.f, true)));
    const buffer = this.buffer('uniform', bytes.byteLength, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    this.device.queue.writeBuffer(buffer, 0, bytes);
    if (this.uniforms.size >= CACHED_UNIFORMS) {
      // the oldest is forgotten, not destroyed: a command that is not yet submitted may still use it
      this.uniforms.delete(this.uniforms.keys().next().value as string);
    }
    this.uniforms.set(key, buffer);
    return buffer;
  }

  private idOf(buffer: GPUBuffer): number {
    let id = this.bufferIds.get(buffer);
    if (id === undefined) this.bufferIds.set(buffer, (id = this.nextId++));
    return id;
  }

  private bindGroup(kernel: Kernel, bindings: readonly Binding[]): GPUBindGroup {
    let key = `${kernel.id}`;
    for (const b of bindings) key += b instanceof GPUBuffer ? `,${this.idOf(b)}` : `,${this.idOf(b.buffer)}@${b.offset}+${b.size}`;
    let group = this.groups.get(key);
    if (!group) {
      group = this.device.createBindGroup({
        layout: kernel.layout,
        entries: bindings.map((b, binding) => ({ binding, resource: b instanceof GPUBuffer ? { buffer: b } : b })),
      });
      this.counters.bindGroups++;
      if (this.groups.size >= CACHED_GROUPS) this.groups.clear();
      this.groups.set(key, group);
    }
    return group;
  }

  /** Records one dispatch. `bindings[i]` is @binding(i) of group 0. `groups` are workgroup counts; a zero skips the dispatch. */
  dispatch(pass: GPUComputePassEncoder, kernel: Kernel, bindings: readonly Binding[], groups: readonly [number, number?, number?]): void {
    const [x, y = 1, z = 1] = groups;
    if (x === 0 || y === 0 || z === 0) return;
    const max = this.device.limits.maxComputeWorkgroupsPerDimension;
    if (x > max || y > max || z > max)
      throw new GpuError('validation', `${kernel.name}: ${x}×${y}×${z} workgroups are over ${max}.`, 'Lower B, m, n or max tokens.');
    pass.setPipeline(kernel.pipeline);
    pass.setBindGroup(0, this.bindGroup(kernel, bindings));
    pass.dispatchWorkgroups(x, y, z);
    this.counters.dispatches++;
  }

  /** Records `record` into one encoder with one compute pass and submits it. */
  submit(label: string, record: (pass: GPUComputePassEncoder) => void): void {
    this.check();
    const encoder = this.device.createCommandEncoder({ label });
    const pass = encoder.beginComputePass({ label });
    record(pass);
    pass.end();
    this.device.queue.submit([encoder.finish()]);
    this.counters.submits++;
  }

  /** Reads parts of buffers back in one submit and one map. Throws GpuError if the device failed meanwhile. */
  async read(...parts: readonly { buffer: GPUBuffer; offset?: number; bytes: number }[]): Promise<ArrayBuffer[]> {
    this.check();
    const total = parts.reduce((sum, p) => sum + Math.ceil(p.bytes / 4) * 4, 0);
    if (total === 0) return parts.map(() => new ArrayBuffer(0));
    const staging = this.takeStaging(total);
    const encoder = this.device.createCommandEncoder({ label: 'readback' });
    let at = 0;
    for (const { buffer, offset = 0, bytes } of parts) {
      const size = Math.ceil(bytes / 4) * 4;
      if (size > 0) encoder.copyBufferToBuffer(buffer, offset, staging, at, size);
      at += size;
    }
    this.device.queue.submit([encoder.finish()]);
    this.counters.submits++;
    try {
      await staging.mapAsync(GPUMapMode.READ, 0, total);
    } catch (error) {
      await Promise.resolve(); // let device.lost run first: it names the reason
      this.check();
      throw new GpuError(
        'lost',
        `A readback failed (${(error as Error).message}).`,
        'Press “restart the model”: training goes on from the last finished step.',
      );
    }
    const all = staging.getMappedRange(0, total);
    at = 0;
    const out = parts.map(({ bytes }) => {
      const slice = all.slice(at, at + bytes);
      at += Math.ceil(bytes / 4) * 4;
      return slice;
    });
    staging.unmap();
    this.idleStaging.push(staging);
    this.check();
    return out;
  }

  /** An idle readback buffer of at least `bytes`, else a new one; the idle ones that are too small are given back. */
  private takeStaging(bytes: number): GPUBuffer {
    const fit = this.idleStaging.findIndex((b) => b.size >= bytes);
    if (fit >= 0) return this.idleStaging.splice(fit, 1)[0];
    for (const small of this.idleStaging.splice(0)) small.destroy();
    return this.buffer('readback', bytes, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
  }

  destroy(): void {
    this.device.destroy();
  }
}
