/**
 * @file What passes between the model and its users: prompts, sampled responses, scores. Plain data; the only GPU
 * object is the buffer of image features, which never leaves the device.
 */

/** Features of one image, f32 [tokens, hidden], on the GPU from row `offsetRows` of `buffer` on. */
export interface ImageFeatures {
  readonly buffer: GPUBuffer;
  readonly offsetRows: number;
  readonly tokens: number;
  release(): void;
}

/** Token ids of a rendered chat prompt; ids[imageStart .. imageStart + image.tokens) are image rows. */
export interface Prompt {
  readonly ids: Int32Array;
  readonly image: ImageFeatures | null;
  readonly imageStart: number;
}

/** One sampled response: tokens include the end token if it finished; per-token numbers of the un-truncated distribution. */
export interface Sampled {
  readonly tokens: Int32Array;
  readonly logProbs: Float32Array;
  readonly entropies: Float32Array;
  readonly finish: 'stop' | 'length';
}

/** Responses to be scored under one prompt: one shared prefix, the responses hung below it. */
export interface ScoreGroup {
  readonly prompt: Prompt;
  readonly responses: readonly Int32Array[];
}

/** Per token of one response: log π(o_t | prompt, o_<t) and the entropy of the distribution it was taken from. */
export interface RowScores {
  readonly logProbs: Float32Array;
  readonly entropies: Float32Array;
}
