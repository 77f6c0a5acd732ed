/**
 * @file Every setting of a run: one table with its unit, range and meaning. The page's controls, the CLI's flags, the URL and
 * the checks are all made from it. Presets are rows of values (the published code's, with our learning rate).
 */

export type CrossVariant = 'published' | 'sequence_truncate' | 'none';
export type Family = 'count' | 'compare' | 'position' | 'digits';

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
  readonly dualClip: number;
  readonly crossVariant: CrossVariant;
  readonly truncateAt: number; // C of sequence_truncate
  readonly accuracyWeight: number;
  readonly formatWeight: number;
  readonly transformProbability: number;
  readonly maxGradNorm: number;
  readonly weightDecay: number;
  readonly tasks: readonly Family[];
  readonly evaluateEvery: number;
  readonly evaluateQuestions: number;
  readonly seed: number;
}
