/** @file The lint rule that holds the import arrows lets the right imports through and stops the wrong ones. */
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { wrongWith } from '../../tools/eslint/arrows.mjs';

const root = resolve('/house');
const wrong = (file: string, source: string, typeOnly = false) => wrongWith({ file: resolve(root, file), source, typeOnly, root });

it.each([
  ['src/views/board/Board.svelte', '../../session/session.ts'],
  ['src/views/board/Board.svelte', '../../algorithm/advantage.ts'],
  ['src/views/board/Board.svelte', '../../ui/Number.svelte'],
  ['src/session/session.ts', '../worker/service.ts'],
  ['src/worker/service.ts', '../training/trainer.ts'],
  ['src/training/trainer.ts', '../algorithm/advantage.ts'],
  ['src/training/trainer.ts', '../model/policy.ts'],
  ['src/model/decoder.ts', '../engine/gpu.ts'],
  ['src/engine/ops/linear.ts', '../../../kernels/linear.wgsl?raw'],
  ['src/algorithm/objective.ts', './advantage.ts'],
  ['src/algorithm/objective.test.ts', 'vitest'],
  ['src/model/tokenizer.ts', '@huggingface/tokenizers'],
  ['src/tasks/count.test.ts', '../algorithm/reward.ts'],
  ['src/model/prompt.test.ts', '../../public/models/pico/config.json'],
  ['src/training/trainer.gpu.test.ts', '../engine/gpu.ts'],
  ['src/cli/train.ts', '../training/trainer.ts'],
  ['src/main.ts', './views/App.svelte'],
  ['tests/e2e/page.test.ts', '../../src/training/record.ts'],
])('%s may import %s', (file, source) => {
  expect(wrong(file, source)).toBe('');
});

it.each([
  ['src/views/board/Board.svelte', '../../worker/service.ts'],
  ['src/views/board/Board.svelte', '../../training/record.ts'],
  ['src/session/session.ts', '../training/trainer.ts'],
  ['src/training/trainer.ts', '../worker/service.ts'],
  ['src/training/trainer.ts', '../engine/gpu.ts'],
  ['src/model/prompt.ts', '../../public/models/pico/config.json'],
  ['src/model/decoder.ts', '../training/settings.ts'],
  ['src/model/decoder.ts', '../../kernels/linear.wgsl?raw'],
  ['src/engine/gpu.ts', '../model/policy.ts'],
  ['src/algorithm/objective.ts', '../tasks/types.ts'],
  ['src/algorithm/objective.ts', 'comlink'],
  ['src/tasks/count.ts', '../algorithm/reward.ts'],
])('%s may not import %s', (file, source) => {
  expect(wrong(file, source)).not.toBe('');
});

it('lets the session name the types of what lies below it, and nobody else', () => {
  expect(wrong('src/session/types.ts', '../training/record.ts', true)).toBe('');
  expect(wrong('src/session/types.ts', '../training/record.ts', false)).not.toBe('');
  expect(wrong('src/views/board/Board.svelte', '../../training/record.ts', true)).not.toBe('');
});
