/**
 * @file The presets: rows of values for the table in settings.ts. `share-grpo` is the published code's
 * (github.com/HJYao00/R1-ShareVL), with our learning rate, batch and model.
 */
import type { Settings } from './settings.ts';

const shareGrpo: Settings = {
  preset: 'share-grpo',
  questionsPerStep: 4,
  variants: 2,
  responses: 6,
  temperature: 1,
  topP: 0.99,
  maxTokens: 48,
  learningRate: 1e-3,
  rank: 8,
  alpha: 16,
  clipLow: 0.2,
  clipHigh: 0.3,
  dualClip: 3,
  sigma: 'replicated',
  crossVariant: 'published',
  truncateAt: 3,
  accuracyWeight: 0.9,
  formatWeight: 0.1,
  transformProbability: 0.3,
  maxGradNorm: 1,
  weightDecay: 0.01,
  tasks: ['count', 'compare', 'position', 'digits'],
  evaluateEvery: 10,
  evaluateQuestions: 40,
  seed: 1,
};

/** The baselines ask each question as it stands, untouched: `grpo` with the same n, `grpo-mn` with as many samples in all. */
export const PRESETS: Readonly<Record<'grpo' | 'grpo-mn' | 'share-grpo', Settings>> = {
  grpo: { ...shareGrpo, preset: 'grpo', variants: 1, responses: 6, transformProbability: 0 },
  'grpo-mn': { ...shareGrpo, preset: 'grpo-mn', variants: 1, responses: 12, transformProbability: 0 },
  'share-grpo': shareGrpo,
};

export const DEFAULTS: Settings = shareGrpo;
