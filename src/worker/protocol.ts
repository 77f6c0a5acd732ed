/**
 * @file What passes between the page and the worker: the service's methods, its events, and problems as plain data.
 * The page knows the trainer's records and settings from here.
 */
import type { AdapterFiles, LoadProgress, ModelInfo } from '../model/types.ts';
import type { PictureData, ResponseRecord, StepRecord } from '../training/record.ts';
import type { Progress } from '../training/rollout.ts';
import type { Settings } from '../training/settings.ts';
import type { RunState } from '../training/trainer.ts';

export { rowCounts } from '../algorithm/rows.ts';
export { readJsonl, toJson } from '../training/jsonl.ts';
export { PHASES } from '../training/record.ts';
export { TELLING } from '../training/preset-table.ts';
export { ABOUT, DEFAULTS, PRESET_NAMES, PRESETS } from '../training/presets.ts';
export { GROUPS, SETTINGS, settingsProblems, valueProblem } from '../training/settings.ts';
export type { AdapterFiles, LoadProgress, ModelInfo } from '../model/types.ts';
export type { PresetName } from '../training/presets.ts';
export type { Progress } from '../training/rollout.ts';
export type { RunState } from '../training/trainer.ts';

export type ProblemKind =
  | 'no-webgpu'
  | 'no-adapter'
  | 'lost'
  | 'out-of-memory'
  | 'validation'
  | 'not-finite'
  | 'file' // a checkpoint that is missing, cut off, malformed or not supported
  | 'settings'
  | 'question'
  | 'picture'
  | 'aborted'
  | 'unexpected';

/** An error as it crosses to the page: what happened, and what the person there can do (may be part of the message). */
export interface Problem {
  readonly kind: ProblemKind;
  readonly message: string;
  readonly advice: string;
}

export type Reply<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

/** A question of the visitor's own. */
export interface OwnQuestion {
  readonly picture: PictureData;
  readonly text: string;
  /** The right answer, if the visitor knows it; without one nothing can be learned from it. */
  readonly answer: string | null;
  /** The visitor says that the answer stays the same when noise is added. */
  readonly confirmed: boolean;
  /** The picture is made into a triplet by this seed (MiCo); it brings its own question and answer. */
  readonly triplet: number | null;
}

/** What MiCo makes of a visitor's picture: it twice, and once with a patch painted in. */
export interface Triplet {
  readonly pictures: readonly PictureData[];
  readonly text: string;
  readonly answer: string;
}

/** The same question, greedily: with the adapter off (before training) and on (now). */
export interface Answers {
  readonly before: ResponseRecord;
  readonly after: ResponseRecord;
}

/** A visitor's file, brought to the size that the model sees. */
export interface DecodedPicture {
  readonly picture: PictureData;
  /** Size of the picture in the file. */
  readonly width: number;
  readonly height: number;
}

export type WorkerEvent =
  | { readonly type: 'load'; readonly progress: LoadProgress }
  | { readonly type: 'progress'; readonly progress: Progress }
  | { readonly type: 'phase'; readonly record: StepRecord }
  /** After each finished step: all that is needed to go on from there, on another device or in another worker. */
  | { readonly type: 'checkpoint'; readonly state: RunState }
  | { readonly type: 'asked'; readonly which: keyof Answers; readonly text: string }
  /** The device is gone; only a new worker can go on. */
  | { readonly type: 'lost'; readonly problem: Problem };

export interface LoadOptions {
  /** The site's root, where models/ and data/ lie; ends in a slash. */
  readonly base: string;
  readonly settings: Settings;
  /** To go on from; null starts a fresh adapter. */
  readonly state: RunState | null;
}

/** The worker's methods. Calls run one after the other; `pause`, `abort`, `compareGradients`, `decodePicture`,
 * `triplet` and `destroyDevice` overtake. */
export interface Service {
  load(options: LoadOptions): Promise<Reply<ModelInfo>>;
  /**
   * From the next step on. A begun step is given up; a new rank or alpha starts a new adapter, and so does a change between
   * Share-GRPO and MiCo, which have a model each. If the other model cannot be loaded, everything stays as it is.
   */
  configure(settings: Settings): Promise<Reply<ModelInfo>>;
  /** A fresh adapter, step 0. */
  reset(): Promise<Reply<null>>;
  /** One phase; the record comes as an event. */
  advance(): Promise<Reply<null>>;
  /** So many steps to their end (what is left of a begun one counts as one), or until `pause`. */
  run(steps: number): Promise<Reply<null>>;
  /** `run` stops after the phase at hand. */
  pause(): Promise<void>;
  /** The begun step is given up: the adapter is the one from before it. */
  abort(): Promise<void>;
  /** The next update also compares the published with the corrected gradient, once. */
  compareGradients(): Promise<void>;
  ask(question: OwnQuestion, maxTokens: number): Promise<Reply<Answers>>;
  /** From the next step on its first question is this one; null goes back to the tasks. */
  trainOn(question: OwnQuestion | null): Promise<Reply<null>>;
  decodePicture(file: Blob): Promise<Reply<DecodedPicture>>;
  triplet(picture: PictureData, seed: number): Promise<Reply<Triplet>>;
  exportAdapter(): Promise<Reply<AdapterFiles>>;
  /** Destroys the device, as a driver reset would: to see that nothing is lost with it. */
  destroyDevice(): Promise<void>;
}
