/**
 * @file AdamW (Loshchilov & Hutter, arXiv 1711.05101) over the adapter, as torch.optim.AdamW after torch's clip_grad_norm_: weight
 * decay outside the moments, bias correction, the gradient scaled to at most maxGradNorm. Norm, clipping and update stay on the
 * GPU in one submit; only the norm comes back.
 */
import { GpuError } from '../engine/errors.ts';
import type { Gpu } from '../engine/gpu.ts';
import { adamw, gradNorm, NORM_SUMS } from '../engine/ops/optimizer.ts';
import type { Lora } from './lora.ts';
import type { AdamWOptions, AdapterState } from './types.ts';

export class AdamW {
  private readonly gpu: Gpu;
  private readonly lora: Lora;
  private readonly m: GPUBuffer;
  private readonly v: GPUBuffer;
  private readonly sums: GPUBuffer;
  private readonly norm: GPUBuffer;
  private steps = 0;

  constructor(gpu: Gpu, lora: Lora) {
    this.gpu = gpu;
    this.lora = lora;
    this.m = gpu.buffer('adamw m', lora.layout.total * 4);
    this.v = gpu.buffer('adamw v', lora.layout.total * 4);
    this.sums = gpu.buffer('gradient norm sums', NORM_SUMS * 4);
    this.norm = gpu.buffer('gradient norm', 4);
  }

  /** Updates done so far. */
  get step(): number {
    return this.steps;
  }

  /** One update from the gradient buffer. If the norm is not finite, nothing changes and GpuError `not-finite` is thrown. */
  async update(o: AdamWOptions): Promise<{ gradNorm: number; gradScale: number }> {
    const { gpu, lora, norm } = this;
    const count = lora.layout.total;
    gpu.submit('adamw', (pass) => {
      gradNorm(gpu, pass, { gradient: lora.gradient, sums: this.sums, norm, count });
      adamw(gpu, pass, {
        norm,
        gradient: lora.gradient,
        weights: lora.params,
        m: this.m,
        v: this.v,
        count,
        settings: {
          learningRate: o.learningRate,
          beta1: o.beta1 ?? 0.9,
          beta2: o.beta2 ?? 0.999,
          epsilon: o.epsilon ?? 1e-8,
          weightDecay: o.weightDecay,
          maxGradNorm: o.maxGradNorm,
          step: this.steps + 1,
        },
      });
    });
    const [bytes] = await gpu.read({ buffer: norm, bytes: 4 });
    const [length] = new Float32Array(bytes);
    if (!Number.isFinite(length)) {
      throw new GpuError(
        'not-finite',
        'The gradient is not a number, so the adapter was left as it was.',
        'Lower the learning rate, or go back to an earlier step.',
      );
    }
    this.steps++;
    return { gradNorm: length, gradScale: Math.min(1, o.maxGradNorm / (length + 1e-6)) };
  }

  /** Parameters, moments and step, for a checkpoint. */
  async read(): Promise<AdapterState> {
    const bytes = this.lora.layout.total * 4;
    const [params, m, v] = await this.gpu.read(...[this.lora.params, this.m, this.v].map((buffer) => ({ buffer, bytes })));
    return { params: new Float32Array(params), m: new Float32Array(m), v: new Float32Array(v), step: this.steps };
  }

  /** Puts a state back that `read` gave for the same layout. */
  write(state: AdapterState): void {
    const { total } = this.lora.layout;
    for (const [name, part] of Object.entries({ params: state.params, m: state.m, v: state.v })) {
      if (part.length !== total)
        throw new RangeError(`The adapter's ${name} has ${part.length} numbers, not ${total}: rank or model differ.`);
    }
    this.gpu.write(this.lora.params, state.params);
    this.gpu.write(this.m, state.m);
    this.gpu.write(this.v, state.v);
    this.steps = state.step;
  }

  destroy(): void {
    for (const buffer of [this.m, this.v, this.sums, this.norm]) buffer.destroy();
  }
}
