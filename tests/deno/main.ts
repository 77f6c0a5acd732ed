/**
 * @file Runs the GPU tests of the engine and the model in Deno: wgpu and naga (Firefox's WebGPU) instead of Chromium's Dawn
 * and Tint. Bundled and started by tools/deno-tests.mjs; arguments are parts of file names, none means all files.
 */
import { startTests, type File, type Task, type VitestRunner } from '@vitest/runner';

interface Deno {
  readonly args: string[];
  readonly env: { get(name: string): string | undefined };
  readFile(path: string): Promise<Uint8Array<ArrayBuffer>>;
  writeTextFileSync(path: string, text: string): void;
  exit(code: number): never;
}
const { Deno: deno } = globalThis as unknown as { Deno: Deno };

const files = import.meta.glob(['/src/engine/**/*.gpu.test.ts', '/src/model/**/*.gpu.test.ts', '/tests/model/**/*.gpu.test.ts']);

/** On the page, `public/` is served at the root; here the same addresses are read from the disk. */
const fetchElsewhere = globalThis.fetch;
globalThis.fetch = async (input, init) => {
  const url = new URL(input instanceof Request ? input.url : input, location.href);
  if (url.origin !== location.origin) return fetchElsewhere(input, init);
  const bytes = await deno.readFile(`public${decodeURIComponent(url.pathname)}`).catch(() => null);
  return bytes ? new Response(bytes) : new Response('', { status: 404, statusText: 'Not Found' });
};

const runner: VitestRunner = {
  config: {
    root: '/',
    setupFiles: [],
    name: 'deno',
    passWithNoTests: true,
    testNamePattern: undefined,
    allowOnly: false,
    sequence: { seed: 1, hooks: 'stack', setupFiles: 'list' },
    chaiConfig: undefined,
    maxConcurrency: 1,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    retry: 0,
    includeTaskLocation: false,
    tags: [],
    tagsFilter: undefined,
    strictTags: true,
  },
  importFile: (path) => files[path](),
};

function* testsOf(task: Task): Generator<Task> {
  if (task.type === 'test') yield task;
  else for (const child of task.tasks) yield* testsOf(child);
}

function print(file: File): void {
  const tests = [...testsOf(file)];
  const failed = tests.filter((t) => t.result?.state === 'fail');
  const ok = failed.length === 0 && !file.result?.errors?.length;
  console.log(` ${ok ? '✓' : '✗'} ${file.filepath.slice(1)} (${tests.length} tests) ${Math.round(file.result?.duration ?? 0)} ms`);
  for (const task of [file, ...failed]) {
    for (const error of task.result?.errors ?? []) {
      console.log(
        `   ✗ ${task.type === 'test' ? (task.fullTestName ?? task.name) : task.name}\n     ${error.message}\n${error.stack ?? ''}`,
      );
      if (error.diff) console.log(error.diff);
    }
  }
}

const wanted = Object.keys(files).filter((path) => deno.args.length === 0 || deno.args.some((part) => path.includes(part)));
let passed = 0;
let failed = 0;
for (const path of wanted) {
  const [file] = await startTests([path], runner);
  print(file);
  const states = [...testsOf(file)].map((t) => t.result?.state);
  passed += states.filter((s) => s === 'pass').length;
  failed += states.filter((s) => s === 'fail').length;
  // a file that does not load, or whose hook fails, is a failure even if no test of it ran
  if (file.result?.state === 'fail' && !states.includes('fail')) failed++;
}
console.log(`Deno: ${passed} passed, ${failed} failed`);
const report = deno.env.get('GRPO_REPORT');
if (report) deno.writeTextFileSync(report, JSON.stringify({ passed, failed }));
deno.exit(failed > 0 ? 1 : 0);
