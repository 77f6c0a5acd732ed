/**
 * @file The policy π_θ: a frozen Idefics3 checkpoint with a trainable LoRA adapter, on the GPU. The one class that the
 * trainer, the worker and the command line see of the model; everything below it is an implementation detail.
 *
 * Calls that use the GPU wait for each other, so that an inspection in between two phases cannot disturb a step.
 */
import type { Gpu } from '../engine/gpu.ts';
import { AdamW } from './adamw.ts';
import { type CheckpointSource, loadCheckpoint } from './checkpoint.ts';
import { Decoder } from './decoder.ts';
import { ModelError } from './errors.ts';
import { accumulateGradient, Backward } from './gradient.ts';
import { ImageCache } from './image-cache.ts';
import { Lora, loraLayout, type LoraOptions, moduleNorms } from './lora.ts';
import { readAdapterConfig, readAdapterWeights, writeAdapterFiles } from './peft.ts';
import { PromptBuilder } from './prompt.ts';
import { sample } from './sampler.ts';
import { score } from './scorer.ts';
import { Tokenizer } from './tokenizer.ts';
import type {
  AdamWOptions,
  AdapterFiles,
  AdapterState,
  GradientOptions,
  ImageFeatures,
  LoadProgress,
  ModelInfo,
  ModuleNorm,
  Picture,
  Prompt,
  RowScores,
  Sampled,
  SampleOptions,
  ScoreOptions,
} from './types.ts';
import type { VisionEncoderFactory } from './vision.ts';
import { destroyDecoder, uploadDecoder } from './weights.ts';

export type * from './types.ts';
export type { CheckpointSource } from './checkpoint.ts';
export type { VisionEncoderFactory } from './vision.ts';

export interface PolicyOptions extends LoraOptions {
  readonly vision: VisionEncoderFactory;
  readonly onProgress?: (progress: LoadProgress) => void;
}

/** The pictures of a prompt: one or none, or several in their order. */
export type PromptPictures =
  | { readonly image: ImageFeatures | null; readonly images?: undefined }
  | { readonly images: readonly ImageFeatures[]; readonly image?: undefined };

/** What is made anew when the rank changes. */
interface Adapter {
  readonly lora: Lora;
  readonly optimizer: AdamW;
  readonly backward: Backward;
}

export class Policy {
  /** Id of the token that ends a response. */
  readonly eos: number;
  private readonly gpu: Gpu;
  private readonly fixedInfo: Omit<ModelInfo, 'loraParameters'>;
  private readonly tokenizer: Tokenizer;
  private readonly prompts: PromptBuilder;
  private readonly images: ImageCache;
  private readonly decoder: Decoder;
  private adapter: Adapter;
  private turn: Promise<unknown> = Promise.resolve();

  private constructor(o: {
    gpu: Gpu;
    info: Omit<ModelInfo, 'loraParameters'>;
    eos: number;
    tokenizer: Tokenizer;
    prompts: PromptBuilder;
    images: ImageCache;
    decoder: Decoder;
    lora: LoraOptions;
  }) {
    this.gpu = o.gpu;
    this.fixedInfo = o.info;
    this.eos = o.eos;
    this.tokenizer = o.tokenizer;
    this.prompts = o.prompts;
    this.images = o.images;
    this.decoder = o.decoder;
    this.adapter = this.newAdapter(o.lora);
  }

  static async load(gpu: Gpu, source: CheckpointSource, options: PolicyOptions): Promise<Policy> {
    const { onProgress } = options;
    const checkpoint = await loadCheckpoint(source, onProgress);
    const { config } = checkpoint;
    const tokenizer = new Tokenizer(checkpoint.tokenizer, checkpoint.tokenizerConfig);
    const eos = config.eosTokenId ?? tokenizer.id('<end_of_utterance>');
    if (eos === null || eos >= config.text.vocab)
      throw new ModelError('file', `${source.name} does not say which token ends a response (generation_config.json: eos_token_id).`);
    const { tokens: imageTokens, size: imageSize } = config.image;
    const { contextLength, imageTokenId } = config;
    const prompts = new PromptBuilder({ tokenizer, chatTemplate: checkpoint.chatTemplate, imageTokens, imageTokenId, contextLength });

    const visionBytes = checkpoint.vision.byteLength;
    onProgress?.({ phase: 'vision', file: 'onnx/vision_encoder.onnx', loaded: 0, total: visionBytes });
    const vision = await options.vision(gpu, checkpoint.vision, { size: imageSize, tokens: imageTokens, hidden: config.text.hidden });
    onProgress?.({ phase: 'upload', file: 'model.safetensors', loaded: 0, total: checkpoint.files['model.safetensors'] ?? null });
    const decoder = new Decoder(gpu, config.text, uploadDecoder(gpu, config.text, checkpoint.tensors, config.tied));
    gpu.check();
    const info = {
      name: source.name,
      parameters: [...checkpoint.tensors.values()].reduce((sum, t) => sum + t.shape.reduce((a, b) => a * b, 1), 0),
      layers: config.text.layers,
      hidden: config.text.hidden,
      vocab: config.text.vocab,
      imageTokens,
      imageSize,
      contextLength,
      files: checkpoint.files,
    };
    return new Policy({
      gpu,
      info,
      eos,
      tokenizer,
      prompts,
      images: new ImageCache(gpu, vision, config.image, config.text.hidden),
      decoder,
      lora: options,
    });
  }

  get info(): ModelInfo {
    return { ...this.fixedInfo, loraParameters: this.adapter.lora.layout.parameters };
  }

  /** Encodes pictures in one batch; pictures seen before come from a cache. Release each when its prompts are done with. */
  encodeImages(pictures: readonly Picture[]): Promise<ImageFeatures[]> {
    return this.images.encode(pictures);
  }

  /** The chat prompt of one question, about one picture, none, or several. Throws ModelError `prompt` when it cannot be asked. */
  prompt(o: { readonly text: string; readonly hint?: string } & PromptPictures): Prompt {
    const features = o.images ?? (o.image ? [o.image] : []);
    const { ids, imageStarts } = this.prompts.build(o.text, o.hint ?? '', features.length);
    return { ids, images: features.map((f, i) => ({ features: f, start: imageStarts[i] })) };
  }

  /** The text of a response, without the token that ends it. */
  decode(tokens: ArrayLike<number>): string {
    const ids = Array.from(tokens);
    if (ids.at(-1) === this.eos) ids.pop();
    return this.tokenizer.decode(ids);
  }

  /** The text of each token on its own. */
  pieces(tokens: ArrayLike<number>): string[] {
    return this.tokenizer.pieces(tokens);
  }

  /** Tokens of a text (no template), for responses that were typed by hand. */
  encode(text: string): Int32Array {
    return this.tokenizer.encode(text);
  }

  /** `[prompt][n]` responses. */
  sample(o: SampleOptions): Promise<Sampled[][]> {
    const longest = Math.max(0, ...o.prompts.map((p) => p.ids.length));
    if (longest + o.maxTokens > this.fixedInfo.contextLength) {
      return Promise.reject(
        new ModelError(
          'prompt',
          `A prompt of ${longest} tokens and a response of ${o.maxTokens} are over the model’s ${this.fixedInfo.contextLength}. Shorten the question or lower max tokens.`,
        ),
      );
    }
    return this.alone(() => sample(this.decoder, { ...o, lora: o.adapter ? this.adapter.lora : null, eos: this.eos }));
  }

  /** `[group][response]` scores. */
  score(o: ScoreOptions): Promise<RowScores[][]> {
    return this.alone(() => score(this.decoder, { ...o, lora: o.adapter ? this.adapter.lora : null }));
  }

  /** Forward, coefficients, backward; adds to the gradient. Splits into chunks of whole groups itself. */
  accumulateGradient(o: GradientOptions): Promise<void> {
    return this.alone(() => accumulateGradient(this.decoder, this.adapter.backward, this.adapter.lora, o));
  }

  zeroGradient(): void {
    this.adapter.lora.zeroGradient();
  }

  readGradient(): Promise<Float32Array> {
    return this.alone(() => this.adapter.lora.readGradient());
  }

  /** One AdamW update. A gradient that is not finite throws GpuError `not-finite` and leaves everything as it was. */
  adamw(o: AdamWOptions): Promise<{ gradNorm: number; gradScale: number }> {
    return this.alone(() => this.adapter.optimizer.update(o));
  }

  readAdapter(): Promise<AdapterState> {
    return this.alone(() => this.adapter.optimizer.read());
  }

  writeAdapter(state: AdapterState): void {
    this.adapter.optimizer.write(state);
  }

  /** A fresh adapter (B = 0); rank and alpha may change. */
  resetAdapter(o: LoraOptions): void {
    const old = this.adapter;
    this.adapter = this.newAdapter(o);
    for (const part of [old.backward, old.optimizer, old.lora]) part.destroy();
  }

  /** The size of every module's change, and how far it moved since an earlier state of the same adapter. */
  async moduleNorms(since?: AdapterState): Promise<ModuleNorm[]> {
    const { lora } = this.adapter;
    return moduleNorms(lora.layout, (await this.readAdapter()).params, lora.scale, since?.params);
  }

  async exportAdapter(): Promise<AdapterFiles> {
    const { layout, alpha } = this.adapter.lora;
    return writeAdapterFiles({ layout, params: (await this.readAdapter()).params, alpha, baseModel: this.fixedInfo.name });
  }

  /** Takes the weights of a PEFT adapter (its rank and alpha too); AdamW starts anew. Throws ModelError on what does not fit. */
  importAdapter(files: AdapterFiles): void {
    const { rank, alpha } = readAdapterConfig(files['adapter_config.json']);
    const params = readAdapterWeights(files['adapter_model.safetensors'], loraLayout(this.decoder.config, rank));
    this.resetAdapter({ rank, alpha, seed: 0 });
    const zeros = new Float32Array(params.length);
    this.writeAdapter({ params, m: zeros, v: zeros, step: 0 });
  }

  destroy(): void {
    void this.images.destroy();
    for (const part of [this.adapter.backward, this.adapter.optimizer, this.adapter.lora, this.decoder]) part.destroy();
    destroyDecoder(this.decoder.weights);
  }

  private newAdapter(o: LoraOptions): Adapter {
    const lora = new Lora(this.gpu, this.decoder.config, o);
    return { lora, optimizer: new AdamW(this.gpu, lora), backward: new Backward(this.decoder, lora) };
  }

  /** Runs `work` after whatever is running. */
  private alone<T>(work: () => Promise<T>): Promise<T> {
    const run = this.turn.then(work);
    this.turn = run.catch(() => undefined);
    return run;
  }
}
