/**
 * @file What a setting is: the values of a run, and how an entry of the tables (settings-table.ts, settings-objective.ts) describes one.
 */
import type { ScaleRewards, Sigma } from '../algorithm/advantage.ts';
import type { Aggregation, RatioLevel } from '../algorithm/objective.ts';
import type { Mico } from '../algorithm/rows.ts';
import type { CrossVariant as AnyCrossVariant } from '../algorithm/transfer.ts';
import type { Family } from '../tasks/index.ts';

export type CrossVariant = Exclude<AnyCrossVariant, 'sequence'>;
export type AuditFilter = 'off' | 'drop_changed' | 'only_kept';

export interface Settings {
  readonly preset: string;
  readonly questionsPerStep: number; // B
  readonly variants: number; // m
  readonly responses: number; // n
  readonly temperature: number;
  readonly topP: number;
  readonly maxTokens: number;
  readonly learningRate: number;
  readonly rank: number;
  readonly alpha: number;
  readonly clipLow: number; // ε_lo
  readonly clipHigh: number; // ε_hi
  readonly dualClip: number; // c; 0 for none
  readonly ratioLevel: RatioLevel;
  readonly lossAggregation: Aggregation;
  readonly klBeta: number; // β
  readonly maskTruncated: 'off' | 'on';
  /** σ of the global group; see advantage.ts. */
  readonly sigma: Sigma;
  readonly scaleRewards: ScaleRewards;
  readonly localWeight: number; // w_l
  readonly globalWeight: number; // w_g
  readonly crossVariant: CrossVariant;
  readonly truncateAt: number; // C
  readonly accuracyWeight: number;
  readonly formatWeight: number;
  readonly transformProbability: number;
  readonly poisonShare: number;
  readonly auditFilter: AuditFilter;
  /** Rounds of drawing anew. */
  readonly dynamicSampling: number;
  readonly maxGradNorm: number;
  readonly weightDecay: number;
  /** TRL's num_iterations. */
  readonly iterations: number;
  readonly minibatches: number;
  readonly cosineEvery: number;
  readonly tasks: readonly Family[];
  /** See algorithm/rows.ts; `off` trains on the tasks by Share-GRPO. */
  readonly mico: Mico;
  /** Smallest side of a weak view; the largest is the whole picture. */
  readonly weakCrop: number;
  readonly strongCrop: number;
  readonly strongCropMost: number;
  readonly evaluateEvery: number;
  readonly evaluateQuestions: number;
  readonly evaluateSamples: number;
  readonly seed: number;
}

/** Settings that belong together, in the order of the table. */
export const GROUPS = {
  step: 'A step',
  variants: 'Variants',
  advantage: 'Rewards and advantages',
  objective: 'Objective',
  update: 'Update',
  mico: 'MiCo',
  run: 'The run',
} as const;

interface Described {
  readonly group: keyof typeof GROUPS;
  readonly label: string;
  /** The symbol that formulas use, if there is one. */
  readonly symbol?: string;
  /** '' for a plain number. */
  readonly unit: string;
  /** One sentence: what it does. */
  readonly help: string;
}

export interface NumberSetting extends Described {
  readonly key: { [K in keyof Settings]: Settings[K] extends number ? K : never }[keyof Settings];
  readonly kind: 'number';
  readonly min: number;
  readonly max: number;
  /** `min` itself is refused (a learning rate of 0). */
  readonly open?: boolean;
  /** Only whole numbers. */
  readonly integer: boolean;
  /** What one press of an arrow adds; for a `log` scale the smallest step shown. */
  readonly step: number;
  readonly scale?: 'log';
}

export interface ChoiceSetting extends Described {
  readonly key: Exclude<{ [K in keyof Settings]: Settings[K] extends string ? K : never }[keyof Settings], 'preset'>;
  readonly kind: 'choice';
  readonly choices: readonly { readonly value: string; readonly label: string }[];
}

export interface ListSetting extends Described {
  readonly key: 'tasks';
  readonly kind: 'list';
  readonly choices: readonly { readonly value: Family; readonly label: string }[];
}

export type Setting = NumberSetting | ChoiceSetting | ListSetting;

export const whole = { kind: 'number', integer: true, step: 1 } as const;
export const real = { kind: 'number', integer: false } as const;
