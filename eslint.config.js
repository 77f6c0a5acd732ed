/** @file Lint rules: strict TypeScript, Svelte's recommendations, promises that nobody forgets, and the import arrows. */
import svelte from 'eslint-plugin-svelte';
import { defineConfig, globalIgnores } from 'eslint/config';
import ts from 'typescript-eslint';
import { arrows } from './tools/eslint/arrows.mjs';
import svelteConfig from './svelte.config.js';

export default defineConfig([
  globalIgnores(['dist/', 'dist-cli/', 'runs/', 'public/', 'node_modules/']),
  { files: ['**/*.{ts,js,mjs,svelte}'], extends: [ts.configs.strict] },
  { files: ['**/*.svelte', '**/*.svelte.ts'], extends: [svelte.configs.recommended] },
  {
    files: ['**/*.{svelte,svelte.ts}'],
    languageOptions: { parserOptions: { parser: ts.parser, svelteConfig } },
  },
  {
    files: ['**/*.{ts,js,mjs,svelte}'],
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    plugins: { house: { rules: { arrows } } },
    rules: {
      'house/arrows': 'error',
      eqeqeq: 'error',
      'prefer-const': ['error', { destructuring: 'all' }],
      // an index that a loop has checked, a map that was just filled: said with `!` where it is plain to see
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
  {
    files: ['**/*.ts'],
    ignores: ['**/*.svelte.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': [
        'error',
        { allowForKnownSafeCalls: [{ from: 'package', package: 'vitest', name: ['it', 'test', 'describe'] }] },
      ],
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    },
  },
  { files: ['src/**'], ignores: ['src/cli/**'], rules: { 'no-console': 'error' } },
]);
