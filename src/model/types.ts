/**
 * @file What passes between the model and its users: pictures, prompts, sampled responses, scores, adapter state.
 * Types only; the methods that speak them are in `policy.ts`.
 */

/** An RGB picture, 8 bits a channel, rows from the top: `data[(y * width + x) * 3 + channel]`. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

/** The encoded picture: f32 rows [tokens, hidden] at row `offsetRows` of a GPU buffer that all pictures of a policy share. */
export interface ImageFeatures {
  /** Read it anew for each use: the pool may have moved to a larger buffer. */
  readonly buffer: GPUBuffer;
  readonly offsetRows: number;
  readonly tokens: number;
  /** Says that this holder is done; the rows may then be given to another picture. Call it once. */
  release(): void;
}

/** A picture of a prompt: `ids[start .. start + features.tokens)` are its rows. */
export interface PromptImage {
  readonly features: ImageFeatures;
  readonly start: number;
}

export interface Prompt {
  readonly ids: Int32Array;
  /** In the order of the prompt; empty without a picture. */
  readonly images: readonly PromptImage[];
}

export interface Sampled {
  /** Includes the end token when `finish` is `stop`. */
  readonly tokens: Int32Array;
  /** log π(token) of the tempered, un-truncated distribution, one per token. */
  readonly logProbs: Float32Array;
  /** Entropy of that distribution before each token, in nats. */
  readonly entropies: Float32Array;
  readonly finish: 'stop' | 'length';
}

/** One prompt and the responses to be scored under it. */
export interface ScoreGroup {
  readonly prompt: Prompt;
  readonly responses: readonly Int32Array[];
}

/** Per token of one response. */
export interface RowScores {
  readonly logProbs: Float32Array;
  readonly entropies: Float32Array;
}

export interface SampleOptions {
  readonly prompts: readonly Prompt[];
  /** Responses per prompt. */
  readonly n: number;
  readonly maxTokens: number;
  /** 0 is greedy (log-probs are then those at temperature 1). */
  readonly temperature: number;
  readonly topP: number;
  readonly seed: number;
  readonly step: number;
  /** False: the base model, as if B were 0. */
  readonly adapter: boolean;
  readonly signal?: AbortSignal;
  /** Called every few tokens with all tokens so far, responses packed prompt by prompt. */
  readonly onTokens?: (progress: { readonly done: number; readonly responses: Int32Array[] }) => void;
}

export interface ScoreOptions {
  readonly groups: readonly ScoreGroup[];
  readonly temperature: number;
  readonly adapter: boolean;
  readonly signal?: AbortSignal;
}

export interface GradientOptions {
  readonly groups: readonly ScoreGroup[];
  readonly temperature: number;
  readonly signal?: AbortSignal;
  /** ∂loss/∂log π for every token of response r of group g, given the scores of the forward that has just run. */
  readonly coefficients: (group: number, response: number, scores: RowScores) => Float32Array;
}

export interface AdamWOptions {
  readonly learningRate: number;
  readonly beta1?: number;
  readonly beta2?: number;
  readonly epsilon?: number;
  readonly weightDecay: number;
  /** The gradient is scaled down to this norm when it is longer. */
  readonly maxGradNorm: number;
}

/** The whole state of training: LoRA parameters and AdamW's moments in the layout of `lora.ts`. */
export interface AdapterState {
  readonly params: Float32Array;
  readonly m: Float32Array;
  readonly v: Float32Array;
  /** Updates done so far (AdamW's t). */
  readonly step: number;
}

export interface ModuleNorm {
  /** `q_proj` … `down_proj`. */
  readonly name: string;
  readonly layer: number;
  /** ‖s·BA‖_F, the length of the change that the adapter makes to the weight. */
  readonly deltaNorm: number;
  /** √(‖A − A'‖² + ‖B − B'‖²) against the adapter state that `moduleNorms(since)` was given; 0 without one. */
  readonly stepNorm: number;
}

export interface AdapterFiles {
  readonly 'adapter_config.json': string;
  readonly 'adapter_model.safetensors': Uint8Array;
}

export interface ModelInfo {
  readonly name: string;
  /** Parameters of the language model, frozen. */
  readonly parameters: number;
  readonly layers: number;
  readonly hidden: number;
  readonly vocab: number;
  /** Tokens that one picture takes in the prompt (without its two frame tokens and `<global-img>`). */
  readonly imageTokens: number;
  /** Side of the square that pictures are brought to. */
  readonly imageSize: number;
  readonly contextLength: number;
  readonly loraParameters: number;
  /** Bytes of each file read. */
  readonly files: Readonly<Record<string, number>>;
}

export interface LoadProgress {
  readonly phase: 'download' | 'vision' | 'upload';
  readonly file: string;
  readonly loaded: number;
  /** Null when the server did not say. */
  readonly total: number | null;
}
