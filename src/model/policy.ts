/**
 * @file The policy π_θ: a frozen Idefics3 checkpoint with a trainable LoRA adapter, on the GPU. The one class that the
 * trainer, the worker and the command line see of the model; everything below it is an implementation detail.
 */
import type { Gpu } from '../engine/gpu.ts';
import type { CheckpointSource } from './checkpoint.ts';
import type {
  AdamWOptions, AdapterFiles, AdapterState, GradientOptions, ImageFeatures, LoadProgress, ModelInfo, ModuleNorm, Picture, Prompt,
  RowScores, Sampled, SampleOptions, ScoreOptions,
} from './types.ts';
import type { VisionEncoderFactory } from './vision.ts';

export type * from './types.ts';
export type { CheckpointSource } from './checkpoint.ts';
export type { VisionEncoderFactory } from './vision.ts';

export interface PolicyOptions {
  readonly rank: number;
  readonly alpha: number;
  readonly seed: number;
  readonly vision: VisionEncoderFactory;
  readonly onProgress?: (progress: LoadProgress) => void;
}

const later = (): never => {
  throw new Error('The model is not built yet.');
};

export class Policy {
  readonly info: ModelInfo = later();
  /** Id of the token that ends a response. */
  readonly eos: number = later();

  static load(_gpu: Gpu, _source: CheckpointSource, _options: PolicyOptions): Promise<Policy> {
    return later();
  }
  /** Encodes pictures in one batch; pictures seen before come from a cache. Release each when its prompts are done with. */
  encodeImages(_pictures: readonly Picture[]): Promise<ImageFeatures[]> {
    return later();
  }
  /** The chat prompt of one question. Throws ModelError `prompt` when the text cannot be asked. */
  prompt(_o: { readonly text: string; readonly hint?: string; readonly image: ImageFeatures | null }): Prompt {
    return later();
  }
  decode(_tokens: ArrayLike<number>): string {
    return later();
  }
  /** The text of each token on its own. */
  pieces(_tokens: ArrayLike<number>): string[] {
    return later();
  }
  /** Tokens of a text (no template), for responses that were typed by hand. */
  encode(_text: string): Int32Array {
    return later();
  }
  /** `[prompt][n]` responses. */
  sample(_o: SampleOptions): Promise<Sampled[][]> {
    return later();
  }
  /** `[group][response]` scores. */
  score(_o: ScoreOptions): Promise<RowScores[][]> {
    return later();
  }
  /** Forward, coefficients, backward; adds to the gradient. Splits into chunks of whole groups itself. */
  accumulateGradient(_o: GradientOptions): Promise<void> {
    return later();
  }
  zeroGradient(): void {
    later();
  }
  readGradient(): Promise<Float32Array> {
    return later();
  }
  /** One AdamW update. A gradient that is not finite throws GpuError `not-finite` and leaves everything as it was. */
  adamw(_o: AdamWOptions): Promise<{ gradNorm: number; gradScale: number }> {
    return later();
  }
  readAdapter(): Promise<AdapterState> {
    return later();
  }
  writeAdapter(_state: AdapterState): void {
    later();
  }
  /** A fresh adapter (B = 0); rank and alpha may change. */
  resetAdapter(_o: { readonly seed: number; readonly rank: number; readonly alpha: number }): void {
    later();
  }
  moduleNorms(_since?: AdapterState): Promise<ModuleNorm[]> {
    return later();
  }
  exportAdapter(): Promise<AdapterFiles> {
    return later();
  }
  /** Takes the weights of a PEFT adapter (its rank and alpha too); AdamW starts anew. Throws ModelError on what does not fit. */
  importAdapter(_files: AdapterFiles): void {
    later();
  }
  destroy(): void {
    later();
  }
}
