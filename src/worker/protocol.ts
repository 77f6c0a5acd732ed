/**
 * @file What passes between the page and the worker: the service's methods, its events, and problems as plain data.
 * The page knows the trainer's records and settings from here.
 */
import type { AdapterFiles, AdapterState, LoadProgress, ModelInfo } from '../model/types.ts';
import type { PictureData, StepRecord } from '../training/record.ts';
import type { Settings } from '../training/settings.ts';

export { PHASES } from '../training/record.ts';
export { DEFAULTS, PRESETS, SETTINGS, settingsProblems } from '../training/settings.ts';
export type { AdapterFiles, AdapterState, LoadProgress, ModelInfo } from '../model/types.ts';

export type ProblemKind =
  | 'no-webgpu'
  | 'no-adapter'
  | 'lost'
  | 'out-of-memory'
  | 'validation'
  | 'not-finite'
  | 'file' // a checkpoint that is missing, cut off or malformed
  | 'settings'
  | 'question'
  | 'picture'
  | 'aborted'
  | 'unexpected';

/** An error as it crosses to the page. */
export interface Problem {
  readonly kind: ProblemKind;
  /** What happened. */
  readonly message: string;
  /** What the person at the page can do. */
  readonly advice: string;
}

export type Reply<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

/** Everything needed to go on from the end of a step, on another device or in another worker. */
export interface Checkpoint {
  /** Steps finished. */
  readonly step: number;
  readonly adapter: AdapterState;
}

/** A question of the visitor's own. */
export interface OwnQuestion {
  readonly picture: PictureData;
  readonly text: string;
  /** The right answer, if the visitor knows it; needed to train on it. */
  readonly answer: string | null;
}

/** A response to a question of one's own, sampled greedily. */
export interface Answer {
  readonly text: string;
  readonly pieces: readonly string[];
  readonly logProbs: Float32Array;
  readonly entropies: Float32Array;
  readonly finish: 'stop' | 'length';
}

export interface Answers {
  /** Adapter off: the model before training. */
  readonly before: Answer;
  /** Adapter on: the model as it is now. */
  readonly after: Answer;
}

/** A visitor's file, brought to the size that the model sees. */
export interface DecodedPicture {
  readonly picture: PictureData;
  /** Size of the file's picture. */
  readonly width: number;
  readonly height: number;
}

export type Work = 'loading' | 'stepping' | 'asking' | 'exporting';

export type WorkerEvent =
  | { readonly type: 'load'; readonly progress: LoadProgress }
  /** Responses while they are sampled: `texts[q][j][i]`. */
  | { readonly type: 'tokens'; readonly done: number; readonly total: number; readonly texts: readonly (readonly (readonly string[])[])[] }
  | { readonly type: 'phase'; readonly record: StepRecord }
  | { readonly type: 'checkpoint'; readonly checkpoint: Checkpoint }
  | { readonly type: 'work'; readonly work: Work | null }
  /** The device is gone; the next call must be a restart. */
  | { readonly type: 'lost'; readonly problem: Problem };

export interface LoadOptions {
  /** Where the model's folder and the data lie, ends in a slash. */
  readonly base: string;
  readonly model: string;
  readonly settings: Settings;
  /** To go on from; null starts a fresh adapter. */
  readonly checkpoint: Checkpoint | null;
}

/** The worker's methods. Calls run one after the other; `abort` and `pause` overtake. */
export interface Service {
  load(options: LoadOptions): Promise<Reply<ModelInfo>>;
  /** New settings, a fresh adapter, step 0. */
  configure(settings: Settings): Promise<Reply<null>>;
  /** One phase; the record comes as an event. */
  advance(): Promise<Reply<null>>;
  /** So many steps to their end (what is left of a begun one counts as one), or until `pause`. */
  run(steps: number): Promise<Reply<null>>;
  /** The step at hand is finished first. */
  pause(): Promise<void>;
  /** The step at hand is given up: the adapter is the one from before it. */
  abort(): Promise<void>;
  ask(question: OwnQuestion, maxTokens: number): Promise<Reply<Answers>>;
  /** From the next step on, its first question is this one; null goes back to the tasks. */
  trainOn(question: OwnQuestion | null): Promise<Reply<null>>;
  decodePicture(file: Blob): Promise<Reply<DecodedPicture>>;
  exportAdapter(): Promise<Reply<AdapterFiles>>;
  /** Parameters of the adapter as they are, for tests that compare. */
  readAdapter(): Promise<Reply<AdapterState>>;
  /** Destroys the device, as a driver reset would. */
  destroyDevice(): Promise<void>;
}
