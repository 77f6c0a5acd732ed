/** @file What an experiment is, and the error that says what is wrong with one; experiment-file.ts reads it. */
import type { Settings } from '../training/settings.ts';
import type { Evaluation } from './run-training.ts';

/** Something in an experiment's file that cannot be used; the message names file and field and says what could. */
export class ExperimentError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ExperimentError';
  }
}

export interface Lane {
  readonly name: string;
  readonly label: string;
  /** The preset with the changes of `base` and of the lane; its seed is to be replaced. */
  readonly settings: Settings;
  /** Folder of the model. */
  readonly model: string;
}

export const X_AXES = ['step', 'samples', 'token-passes'] as const;
export type XAxis = (typeof X_AXES)[number];

/** `curve`: y over the run, a line per lane; `final`: y at its end, a dot per lane. */
export interface Plot {
  readonly name: string;
  readonly kind: 'curve' | 'final';
  readonly title: string;
  readonly y: string;
  readonly x: XAxis;
  /** Names of the lanes shown; all by default. */
  readonly lanes: readonly string[];
}

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
}

export interface Experiment {
  readonly name: string;
  readonly title: string;
  readonly question: string;
  /** Place in docs/results.md. */
  readonly order: number;
  readonly steps: number;
  readonly seeds: readonly number[];
  /** The lane that the others are compared with. */
  readonly baseline: string;
  readonly lanes: readonly Lane[];
  readonly evaluate: Evaluation;
  readonly plots: readonly Plot[];
  readonly tables: readonly Table[];
  /** May hold {{lane.quantity}}; '' until there is something to conclude. */
  readonly conclusion: string;
}
