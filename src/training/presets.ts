/**
 * @file The presets: rows of values for the table in settings.ts. `share-grpo` is the published code's
 * (github.com/HJYao00/R1-ShareVL), with our learning rate, batch and model; every other preset says what it changes and where
 * that comes from. docs/presets.md is made from this file.
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
  ratioLevel: 'token',
  lossAggregation: 'bnpo',
  klBeta: 0,
  maskTruncated: 'off',
  sigma: 'replicated',
  scaleRewards: 'group',
  localWeight: 1,
  globalWeight: 1,
  crossVariant: 'published',
  truncateAt: 3,
  accuracyWeight: 0.9,
  formatWeight: 0.1,
  transformProbability: 0.3,
  poisonShare: 0,
  auditFilter: 'off',
  dynamicSampling: 0,
  maxGradNorm: 1,
  weightDecay: 0.01,
  iterations: 1,
  minibatches: 1,
  cosineEvery: 0,
  tasks: ['count', 'compare', 'position', 'digits'],
  mico: 'off',
  weakCrop: 0.85,
  strongCrop: 0.5,
  strongCropMost: 0.8,
  evaluateEvery: 10,
  evaluateQuestions: 40,
  evaluateSamples: 0,
  seed: 1,
};

type Changes = Partial<Omit<Settings, 'preset' | 'seed'>>;

interface Preset {
  /** What it is and where it comes from, in one sentence. */
  readonly about: string;
  readonly changes: Changes;
}

/** The baselines ask each question as it stands, untouched. */
const baseline: Changes = { variants: 1, transformProbability: 0 };

/** MiCo's objective as GRPO has it: symmetric clip, mean over rows; format and accuracy count the same. */
const mico: Changes = {
  variants: 2,
  responses: 8,
  transformProbability: 0,
  clipHigh: 0.2,
  dualClip: 0,
  lossAggregation: 'grpo',
  sigma: 'sample',
  accuracyWeight: 1,
  formatWeight: 1,
};

const rows = {
  'share-grpo': { about: 'Share-GRPO as its published code has it.', changes: {} },
  'share-grpo-paper': {
    about: 'Share-GRPO as the paper writes it (Eq. 5–8): symmetric clip, no dual clip, each row weighs 1/(n·m²), σ over the mn responses.',
    changes: { clipHigh: 0.2, dualClip: 0, lossAggregation: 'grpo', sigma: 'sample' },
  },
  'share-grpo-corrected': {
    about: 'Share-GRPO with the missing importance factor: rows across variants count min(e^ΣΔ, C).',
    changes: { crossVariant: 'sequence_truncate' },
  },
  grpo: { about: 'GRPO on the question as it stands, with the n of share-grpo.', changes: { ...baseline, responses: 6 } },
  'grpo-mn': {
    about: 'GRPO on the question as it stands, with as many samples as share-grpo (m·n).',
    changes: { ...baseline, responses: 12 },
  },
  dapo: {
    about: 'DAPO (arXiv 2503.14476): ε_hi .28, mean over all tokens, dead groups drawn anew, cut-off responses left out.',
    changes: {
      ...baseline,
      responses: 12,
      clipHigh: 0.28,
      dualClip: 0,
      lossAggregation: 'dapo',
      dynamicSampling: 3,
      maskTruncated: 'on',
      sigma: 'sample',
    },
  },
  'dr-grpo': {
    about: 'Dr. GRPO (arXiv 2503.20783): no division by σ nor by a response’s own length.',
    changes: { ...baseline, responses: 12, clipHigh: 0.2, dualClip: 0, lossAggregation: 'dr_grpo', scaleRewards: 'none' },
  },
  gspo: {
    about: 'GSPO (arXiv 2507.18071): one ratio per response, its narrow clip range, four parts of the batch so that ratios leave 1.',
    changes: {
      ...baseline,
      responses: 12,
      ratioLevel: 'sequence',
      clipLow: 3e-4,
      clipHigh: 4e-4,
      dualClip: 0,
      lossAggregation: 'grpo',
      minibatches: 4,
      sigma: 'sample',
    },
  },
  'mico-as-written': {
    about: 'MiCo (arXiv 2506.22434): sampled under weak views, ratio on strong ones.',
    changes: { ...mico, mico: 'as-written' },
  },
  'mico-strong': { about: 'MiCo sampled under the strong views that it learns on.', changes: { ...mico, mico: 'strong' } },
  'mico-corrected': { about: 'MiCo as written times the detached e^ΣΔ.', changes: { ...mico, mico: 'corrected' } },
  'mico-weak': { about: 'The control of MiCo: weak views only.', changes: { ...mico, mico: 'weak' } },
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof rows;

export const PRESET_NAMES = Object.keys(rows) as readonly PresetName[];

/** One sentence per preset. */
export const ABOUT = Object.fromEntries(PRESET_NAMES.map((name) => [name, rows[name].about])) as Readonly<Record<PresetName, string>>;

export const PRESETS = Object.fromEntries(
  PRESET_NAMES.map((name) => [name, { ...shareGrpo, ...rows[name].changes, preset: name }]),
) as Readonly<Record<PresetName, Settings>>;

export const DEFAULTS: Settings = shareGrpo;
