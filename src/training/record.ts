/**
 * @file The StepRecord: the one thing that travels (DESIGN §2). Plain data with a schema version. The trainer fills it phase
 * by phase, the page draws it, the CLI writes it as a JSON line, a recorded run replays it, tests compare it.
 *
 * Indices, always: q question of the step, j the variant a response was sampled under, k the variant it is scored under,
 * i which response, t which token.
 */
import type { Settings } from './settings.ts';

export const SCHEMA = 2;

export const PHASES = ['expand', 'rollout', 'reward', 'advantage', 'share', 'update', 'evaluate'] as const;
export type Phase = (typeof PHASES)[number];

/** Numbers per token: a Float32Array in memory, an array of numbers in JSON. */
export type Floats = Float32Array | number[];
export type Ints = Int32Array | number[];

/** A 64×64 RGB picture as the model sees it; base64 in JSON lines (see `toJson`). */
export interface PictureData {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

export interface VariantRecord {
  readonly text: string;
  readonly phrasing: 'plain' | 'steps' | 'own';
  /** Name of the image transform, `identity` for none, and its seed. */
  readonly transform: { readonly name: string; readonly seed: number };
  readonly hint: string;
  /** One picture; three for a triplet of MiCo, and then the part of the original, in pixels, that each shows. */
  readonly pictures: readonly PictureData[];
  readonly crops: readonly { readonly x: number; readonly y: number; readonly width: number; readonly height: number }[];
  /** The prompt's token ids, image tokens included. */
  readonly tokens: Ints;
  readonly madeBy: 'original' | 'template';
  /** The answer was changed on purpose. */
  readonly poisoned: boolean;
  /** Recomputed from the scene: the answer is still the question's (of a triplet: the difference is still in sight), or not. */
  readonly audit: 'kept' | 'changed' | 'unknown';
}

export interface ResponseRecord {
  readonly text: string;
  readonly tokens: Ints;
  /** The text of each token, so that the page needs no tokenizer. */
  readonly pieces: readonly string[];
  /** log π_old(o_t | Q_j) at the sampling temperature. */
  readonly logProbs: Floats;
  /** Entropy of the distribution each token was drawn from, nats. */
  readonly entropies: Floats;
  readonly finish: 'stop' | 'length';
}

export interface RewardRecord {
  readonly accuracy: number;
  readonly format: number;
  readonly total: number;
  /** What was read as the answer, null if nothing could be. */
  readonly extracted: string | null;
  /** The careful demonstrator's grammar was recognised (procedural tasks of pico). */
  readonly careful: boolean;
}

export interface AdvantageRecord {
  readonly local: number;
  readonly global: number;
}

export type GroupState = 'alive' | 'all-fail' | 'all-pass';

/** One row: response (j, i) scored under prompt k. */
export interface PairRecord {
  readonly logProbs: Floats; // log π_old(o_t | Q_k)
  /** Δ_t = log π_old(o_t|Q_k) − log π_old(o_t|Q_j) */
  readonly transferGap: Floats;
  /** The detached factor of the chosen `crossVariant` per token (all 1 for `published` and the diagonal). */
  readonly weights: Floats;
  /** w_g·G_ji + [j = k]·w_l·L_ji */
  readonly advantage: number;
  /** log π_base(o_t | Q_k), the adapter off; null where β is 0. */
  base: Floats | null;
  /** Filled by update: π_θ(o_t|Q_k)/π_old(o_t|Q_k) after the step, and which tokens clip: −1 low, +1 high, 0 none. */
  ratios: Floats | null;
  clipped: Ints | null;
}

export interface QuestionRecord {
  readonly id: string;
  readonly family: string;
  readonly text: string;
  readonly answer: string | null;
  variants: VariantRecord[]; // [m]
  responses: ResponseRecord[][]; // [m][n]; none under a variant that nothing is sampled under (MiCo)
  rewards: RewardRecord[][]; // [m][n]
  advantages: AdvantageRecord[][]; // [m][n]
  /** Over [m] variants and pooled over all m·n. */
  groups: { local: GroupState[]; pooled: GroupState; mean: number; std: number } | null;
  pairs: PairRecord[][][]; // [k][j][i]
}

/** One AdamW step within the update phase; there are iterations · minibatches of them. */
export interface InnerUpdate {
  readonly loss: number;
  readonly gradNorm: number;
  readonly gradScale: number;
  /** Shares of tokens clipped in this step's loss: 0 in the first, whose ratios are 1. */
  readonly clipLow: number;
  readonly clipHigh: number;
}

export interface UpdateRecord {
  /** −J: what was minimised, at θ = θ_old; the mean over the parts of the first pass where there are several. */
  readonly loss: number;
  readonly inner: readonly InnerUpdate[];
  /** Cosine between the published and the corrected gradient, where it was asked for. */
  readonly cosine: number | null;
  /** The same objective with the weights after the step; null where it was not measured (a run without diagnostics). */
  readonly lossAfter: number | null;
  readonly rows: number;
  readonly tokens: number;
  readonly gradNorm: number;
  readonly gradScale: number;
  readonly learningRate: number;
  /** Shares of tokens whose ratio after the step is out of the clip range; null where not measured. */
  readonly clipLow: number | null;
  readonly clipHigh: number | null;
  /**
   * k3 estimate of KL(π_old ‖ base) per token, from this step's responses under their own variant: how far the weights
   * that sampled them were from the base model. Null where not measured.
   */
  readonly kl: number | null;
  /** Per adapted module: ‖ΔW‖_F = s‖BA‖_F after the step, and ‖change of ΔW's factors‖ by this step. */
  readonly modules: readonly { readonly name: string; readonly layer: number; readonly deltaNorm: number; readonly stepNorm: number }[];
}

export interface EvaluationRecord {
  /** Greedy answers on held-out questions; empty in a step that evaluates none. Each cell with its count; intervals are Wilson 95 %, made by `algorithm`. */
  readonly cells: readonly {
    readonly family: string;
    /** `plain` or `steps`; for MiCo `weak` or `strong` views. */
    readonly phrasing: string;
    readonly n: number;
    readonly right: number;
    readonly careful: number;
    /** The same questions answered at temperature 1, several times each. */
    readonly sampled?: { readonly responses: number; readonly right: number; readonly careful: number };
  }[];
  /** This step's first question answered greedily with the weights before and after the step. */
  readonly before: string | null;
  readonly after: string | null;
}

export interface StepRecord {
  readonly schema: typeof SCHEMA;
  readonly step: number;
  /** The last phase that is filled in. */
  phase: Phase;
  readonly settings: Settings;
  questions: QuestionRecord[];
  /** Questions that dynamic sampling dropped, in order: all their advantages were 0. */
  redrawn: { readonly id: string; readonly family: string; readonly state: GroupState }[];
  update: UpdateRecord | null;
  evaluation: EvaluationRecord | null;
  /** TRL's names where TRL has the metric, ours under share/ (DESIGN §8). */
  metrics: Record<string, number>;
  /** Wall-clock per finished phase, ms. */
  timing: Partial<Record<Phase, number>>;
}
