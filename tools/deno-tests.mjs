// @ts-check
/**
 * @file Bundles the GPU tests of the engine and the model with Vite (WGSL as text, JSON fixtures) and runs them in Deno, on
 * the machine's Vulkan, Metal or DirectX. A Linux machine without a graphics card needs Mesa's lavapipe: on Debian and Ubuntu,
 * as root, it is installed by apt-get; elsewhere a sentence says what to install.
 *
 *   node tools/deno-tests.mjs [part of a file name]...
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { build } from 'vite';
import { aptInstall } from './apt.mjs';

const root = resolve(import.meta.dirname, '..');
const outDir = join(root, 'dist-cli', 'tests');

/** Vulkan has a driver, or there is nothing to look for (macOS and Windows bring their own). */
function vulkanDriver() {
  if (process.platform !== 'linux') return true;
  const { VK_ICD_FILENAMES, VK_DRIVER_FILES } = process.env;
  if (VK_ICD_FILENAMES || VK_DRIVER_FILES) return true;
  return ['/usr/share/vulkan/icd.d', '/etc/vulkan/icd.d', '/usr/local/share/vulkan/icd.d'].some(
    (folder) => existsSync(folder) && readdirSync(folder).some((file) => file.endsWith('.json')),
  );
}

if (!vulkanDriver() && !aptInstall(['mesa-vulkan-drivers', 'libvulkan1'])) {
  process.stderr.write(
    'Deno finds no Vulkan driver. Install Mesa’s (Debian, Ubuntu: sudo apt-get install mesa-vulkan-drivers libvulkan1).\n',
  );
  process.exit(1);
}

await build({
  root,
  configFile: false,
  publicDir: false,
  logLevel: 'warn',
  mode: 'test',
  plugins: [svelte()],
  resolve: { alias: [{ find: /^vitest$/, replacement: join(root, 'tests/deno/vitest.ts') }] },
  // Deno finds onnxruntime-web in node_modules: it looks for its wasm beside itself
  ssr: { noExternal: true, external: ['onnxruntime-web'] },
  build: {
    ssr: join(root, 'tests/deno/main.ts'),
    outDir,
    emptyOutDir: true,
    minify: false,
    target: 'esnext',
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    rolldownOptions: { checks: { bundlerTimings: false }, output: { entryFileNames: 'main.mjs', chunkFileNames: '[name]-[hash].mjs' } },
  },
});

const runtime = process.env['XDG_RUNTIME_DIR'] ?? join(tmpdir(), 'grpo-playground-runtime');
mkdirSync(runtime, { recursive: true, mode: 0o700 });
const deno = join(root, 'node_modules', 'deno', 'bin.cjs');
const args = ['run', '--allow-all', '--no-lock', '--location', 'http://localhost/', join(outDir, 'main.mjs'), ...process.argv.slice(2)];
const run = spawnSync(process.execPath, [deno, ...args], {
  cwd: root,
  stdio: ['ignore', 'inherit', 'inherit'],
  env: { ...process.env, XDG_RUNTIME_DIR: runtime, DENO_NO_UPDATE_CHECK: '1' },
});
process.exit(run.status ?? 1);
