/**
 * @file Bundles the commands for Deno (WGSL as text, our own modules in one file each). onnxruntime-web stays in node_modules:
 * it looks for its wasm beside itself.
 */
import { defineConfig } from 'vite';

export default defineConfig({
  publicDir: false,
  ssr: { noExternal: true, external: ['onnxruntime-web'] },
  build: {
    ssr: true,
    outDir: 'dist-cli',
    emptyOutDir: false,
    minify: false,
    target: 'esnext',
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    rolldownOptions: {
      input: {
        train: 'src/cli/train.ts',
        experiment: 'src/cli/experiment.ts',
        lane: 'src/cli/lane.ts',
        bench: 'tests/bench/deno.ts',
      },
      output: { entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js' },
    },
  },
});
