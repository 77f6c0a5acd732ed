/** @file A small experiment as its file has it, for tests. */
export const experimentFile = {
  name: 'tiny',
  title: 'A tiny experiment',
  question: 'Does it run?',
  steps: 6,
  seeds: [1, 2, 3],
  baseline: 'grpo',
  lanes: [
    { name: 'grpo', label: 'GRPO', preset: 'grpo' },
    { name: 'share', label: 'Share-GRPO', preset: 'share-grpo', settings: { learningRate: 3e-3 } },
  ],
  evaluate: { every: 2, questions: 8, samples: 2, test: 12 },
  plots: [{ name: 'sampled', title: 'Plain questions right', y: 'sampled.plain' }],
  conclusion: '',
};
