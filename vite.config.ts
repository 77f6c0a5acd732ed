/**
 * @file How the page is built and how the tests run.
 *
 * Test projects (`npx vitest run --project NAME [path]`):
 *   unit   *.test.ts       pure code, in Node
 *   gpu    *.gpu.test.ts   everything that needs WebGPU or a page, in a real Chromium; `public/` is served, as on the page
 *   e2e    tests/e2e/      the built site in a real Chromium, walked through by clicks
 * The `*.gpu.test.ts` of the kernels and of the model also run in Deno, a second WebGPU implementation: see tests/deno.
 */
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';
import { BROWSER_ARGS, findBrowser } from './tools/browser.mjs';

const GPU_TESTS = ['src/**/*.gpu.test.ts', 'tests/**/*.gpu.test.ts'];
const E2E_TESTS = 'tests/e2e/**';

export default defineConfig(async ({ mode }) => ({
  // so that the built site can lie in any folder of any host
  base: './',
  // a file that is not there is 404, not the page
  appType: 'mpa' as const,
  plugins: [svelte()],
  build: { target: 'es2023', chunkSizeWarningLimit: 1000, rolldownOptions: { checks: { bundlerTimings: false } } },
  worker: { format: 'es' as const, rolldownOptions: { checks: { bundlerTimings: false } } },
  // onnxruntime-web is served as it is: its wasm is found beside it. The others are named, so that no test page is reloaded for one
  optimizeDeps: { exclude: ['onnxruntime-web'], include: ['@huggingface/jinja', '@huggingface/tokenizers', 'comlink'] },
  test: {
    projects: [
      {
        extends: true as const,
        test: {
          name: 'unit',
          environment: 'node',
          include: ['src/**/*.test.ts', 'tests/**/*.test.ts'],
          exclude: [...GPU_TESTS, E2E_TESTS],
          testTimeout: 30_000,
        },
      },
      {
        extends: true as const,
        test: {
          name: 'gpu',
          include: GPU_TESTS,
          // SwiftShader computes on the processor: one page at a time, and time enough on a slow one
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 240_000,
          browser: {
            enabled: true,
            headless: true,
            screenshotFailures: false,
            provider: playwright({ launchOptions: { executablePath: mode === 'test' ? await findBrowser() : '', args: BROWSER_ARGS } }),
            instances: [{ browser: 'chromium' as const }],
          },
        },
      },
      {
        extends: true as const,
        test: {
          name: 'e2e',
          environment: 'node',
          include: [`${E2E_TESTS}/*.test.ts`],
          globalSetup: 'tests/setup/site.ts',
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
}));
