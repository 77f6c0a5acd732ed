/** @file Which settings make no difference while the others are what they are, and why. They stay where they are, muted. */
import type { Setting, Settings } from '../../session/types.ts';

type Key = Setting['key'];
type Rule = readonly [keys: readonly Key[], holds: (s: Settings) => boolean, why: string];

const RULES: readonly Rule[] = [
  [['weakCrop', 'strongCrop', 'strongCropMost'], (s) => s.mico === 'off', 'Only with MiCo.'],
  [
    ['tasks', 'transformProbability', 'auditFilter', 'crossVariant', 'localWeight', 'globalWeight'],
    (s) => s.mico !== 'off',
    'Of Share-GRPO: with MiCo it makes no difference.',
  ],
  [
    ['localWeight', 'globalWeight', 'crossVariant'],
    (s) => s.variants === 1,
    'With one variant there is nothing to share: it makes no difference.',
  ],
  [['cosineEvery'], (s) => s.mico === 'off' && s.variants === 1, 'With one variant the two gradients are the same.'],
  [['poisonShare'], (s) => s.mico !== 'off', 'Of Share-GRPO: it must be 0 with MiCo.'],
  [
    ['truncateAt'],
    (s) => s.mico !== 'off' || s.variants === 1 || !/truncate|mask/.test(s.crossVariant),
    'Only limits weights where rows across variants are truncated or masked; elsewhere it is only measured by.',
  ],
  [['sigma'], (s) => s.scaleRewards !== 'group', 'Advantages are not divided by the group’s σ.'],
  [
    ['clipLow', 'clipHigh', 'dualClip'],
    (s) => s.iterations === 1 && s.minibatches === 1,
    'With one pass over one part every ratio is 1 while it is learnt from: this changes only what is measured after it.',
  ],
];

/** A sentence, or null if the setting makes a difference. */
export function idle(key: Key, settings: Settings): string | null {
  return RULES.find(([keys, holds]) => keys.includes(key) && holds(settings))?.[2] ?? null;
}
