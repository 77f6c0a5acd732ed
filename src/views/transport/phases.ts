/** @file The seven phases in words. */
import type { Phase } from '../../session/types.ts';

export const PHASE_WORDS: Readonly<Record<Phase, { readonly label: string; readonly help: string }>> = {
  expand: {
    label: 'Expand',
    help: 'Each question becomes m variants: other words, and sometimes a turned, mirrored or noisy picture with a hint that says so.',
  },
  rollout: { label: 'Roll out', help: 'The model answers every variant n times; tokens are sampled on the GPU.' },
  reward: { label: 'Reward', help: 'Each response earns its reward: for the right answer and for the right form.' },
  advantage: {
    label: 'Advantage',
    help: 'Rewards are compared within a variant (local) and across all variants of the question (global).',
  },
  share: { label: 'Share', help: 'Every response is scored under every variant: m·m·n rows of log-probabilities.' },
  update: { label: 'Update', help: 'The gradient of the objective goes through the LoRA weights, and AdamW moves them.' },
  evaluate: { label: 'Evaluate', help: 'The first question is answered again; every few steps held-out questions are, too.' },
};
