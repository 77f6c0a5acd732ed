/**
 * @file Asking the model a question of one's own about a picture or several, with or without the adapter: the same prompt, the same
 * sampler, no reward.
 */
import type { PictureData, ResponseRecord } from './record.ts';
import { aborting, responseText, type TrainablePolicy } from './rollout.ts';

export interface AskOptions {
  readonly policy: Pick<TrainablePolicy, 'eos' | 'encodeImages' | 'prompt' | 'decode' | 'pieces' | 'sample'>;
  /** One; three for a triplet of MiCo. */
  readonly pictures: readonly PictureData[];
  readonly text: string;
  readonly hint?: string;
  /** False: the base model, as it was before training. */
  readonly adapter: boolean;
  readonly maxTokens: number;
  /** 0, the default, is greedy. */
  readonly temperature?: number;
  readonly topP?: number;
  readonly seed?: number;
  readonly signal?: AbortSignal;
  /** The response so far. */
  readonly onText?: (text: string) => void;
}

/** One response. Throws ModelError `prompt` with a sentence when the text cannot be asked (empty, too long). */
export async function ask(o: AskOptions): Promise<ResponseRecord> {
  const { policy } = o;
  const images = await policy.encodeImages(o.pictures);
  try {
    const prompt = policy.prompt({ text: o.text, images, ...(o.hint ? { hint: o.hint } : {}) });
    const [[s]] = await policy.sample({
      prompts: [prompt],
      n: 1,
      maxTokens: o.maxTokens,
      temperature: o.temperature ?? 0,
      topP: o.topP ?? 1,
      seed: o.seed ?? 0,
      step: 0,
      adapter: o.adapter,
      ...aborting(o.signal),
      onTokens: ({ responses }) => o.onText?.(responseText(policy, responses[0])),
    });
    return {
      text: responseText(policy, s.tokens),
      tokens: s.tokens,
      pieces: policy.pieces(s.tokens),
      logProbs: s.logProbs,
      entropies: s.entropies,
      finish: s.finish,
    };
  } finally {
    for (const image of images) image.release();
  }
}
