// @ts-check
/**
 * @file `npm test`: everything that must hold, in order, each part with its time; the last line is `N passed, N failed`. Tests
 * count one by one; lint, formatting, types and the build count as one each. What is missing on the machine is found or
 * installed where that is possible (see browser.mjs and deno-tests.mjs), else a sentence says what to install.
 *
 *   npm test                    all parts
 *   npm test -- unit gpu        only these
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findBrowser } from './browser.mjs';

const root = resolve(import.meta.dirname, '..');
const results = join(root, 'test-results');
const bin = (/** @type {string} */ file) => join(root, 'node_modules', file);

/**
 * @typedef {{ passed: number, failed: number }} Counts
 * @typedef {{ name: string, what: string, run: () => Counts }} Part
 */

/**
 * Runs a Node script to its end; its output is shown.
 * @param {string} script @param {string[]} args @param {Record<string, string>} [env]
 */
function node(script, args, env = {}) {
  const run = spawnSync(process.execPath, [script, ...args], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  });
  return run.status === 0;
}

/** @param {boolean} ok @returns {Counts} */
const one = (ok) => (ok ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 });

/** @param {string} project @param {Record<string, string>} [env] @returns {Counts} */
function vitest(project, env) {
  const report = join(results, `${project}.json`);
  rmSync(report, { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const ok = node(bin('vitest/vitest.mjs'), ['run', '--project', project, ...reporters], env);
  const counts = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : { numPassedTests: 0, numFailedTests: 0 };
  // a file that does not load, an error outside of every test: a failure too
  return { passed: counts.numPassedTests, failed: ok ? counts.numFailedTests : Math.max(1, counts.numFailedTests) };
}

/** @returns {Counts} */
function deno() {
  const report = join(results, 'deno.json');
  rmSync(report, { force: true });
  const ok = node(join(root, 'tools/deno-tests.mjs'), [], { GRPO_REPORT: report });
  const counts = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : { passed: 0, failed: 0 };
  return { passed: counts.passed, failed: ok ? counts.failed : Math.max(1, counts.failed) };
}

let built = false;

/** @type {Part[]} */
const PARTS = [
  { name: 'lint', what: 'ESLint, with the import arrows', run: () => one(node(bin('eslint/bin/eslint.js'), ['.'])) },
  { name: 'format', what: 'Prettier', run: () => one(node(bin('prettier/bin/prettier.cjs'), ['--check', '.'])) },
  {
    name: 'types',
    what: 'TypeScript and Svelte',
    run: () =>
      one(node(bin('svelte-check/bin/svelte-check'), ['--tsconfig', './tsconfig.json', '--output', 'human', '--fail-on-warnings'])),
  },
  { name: 'unit', what: 'unit tests in Node', run: () => vitest('unit') },
  { name: 'gpu', what: 'WebGPU tests in Chromium', run: () => vitest('gpu') },
  { name: 'deno', what: 'WebGPU tests in Deno', run: deno },
  { name: 'build', what: 'the built page', run: () => one((built = node(bin('vite/bin/vite.js'), ['build', '--logLevel', 'warn']))) },
  { name: 'e2e', what: 'the built page in Chromium', run: () => vitest('e2e', built ? { GRPO_SITE_IS_BUILT: '1' } : {}) },
];

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !PARTS.some((part) => part.name === name));
if (unknown.length > 0) {
  process.stderr.write(`No such part: ${unknown.join(', ')}. There are: ${PARTS.map((part) => part.name).join(', ')}.\n`);
  process.exit(2);
}

mkdirSync(results, { recursive: true });
const parts = PARTS.filter(({ name }) => asked.length === 0 || asked.includes(name));
if (parts.some(({ name }) => ['unit', 'gpu', 'e2e'].includes(name))) {
  // found once; the parts inherit it
  await findBrowser().then(
    (path) => process.stdout.write(`Browser: ${path}\n`),
    (/** @type {Error} */ error) => process.stderr.write(`${error.message}\n`),
  );
}

const total = { passed: 0, failed: 0 };
const lines = parts.map(({ name, what, run }) => {
  process.stdout.write(`\n── ${name}: ${what}\n`);
  const start = performance.now();
  const { passed, failed } = run();
  total.passed += passed;
  total.failed += failed;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  return `${name.padEnd(8)}${String(passed).padStart(5)} passed${String(failed).padStart(5)} failed${seconds.padStart(8)} s   ${what}`;
});
process.stdout.write(`\n${lines.join('\n')}\n${total.passed} passed, ${total.failed} failed\n`);
process.exitCode = total.failed > 0 ? 1 : 0;
