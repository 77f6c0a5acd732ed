// @ts-check
/**
 * @file `npm run bench`: the time of each phase of a default step, tokens, dispatches and buffers created, in Chromium and in Deno.
 *
 *   npm run bench -- [chromium|deno] [steps]     both and 3 steps unless said otherwise
 *
 * Chromium's WebGPU runs on the processor, as in the tests; BENCH_ADAPTER=gpu takes the machine's graphics card. Deno takes the card if
 * there is one.
 */
import { resolve } from 'node:path';
import { chromium } from 'playwright-core';
import { createServer } from 'vite';
import { BROWSER_ARGS, findBrowser } from '../../tools/browser.mjs';
import { runInDeno } from '../../tools/deno.mjs';

const root = resolve(import.meta.dirname, '../..');
const words = process.argv.slice(2);
const steps = Number(words.find((w) => /^\d+$/.test(w)) ?? 3);
const where = words.filter((w) => !/^\d+$/.test(w));

/** @param {string} line */
const print = (line) => process.stdout.write(`${line}\n`);

async function inChromium() {
  const server = await createServer({ root, logLevel: 'error', server: { port: 0, host: '127.0.0.1', hmr: false, watch: null } });
  await server.listen();
  const executablePath = await findBrowser();
  const card = process.env['BENCH_ADAPTER'] === 'gpu';
  const args = card ? [...BROWSER_ARGS.filter((a) => !a.startsWith('--use-webgpu-adapter')), '--enable-gpu'] : BROWSER_ARGS;
  const browser = await chromium.launch({ executablePath, args });
  try {
    const page = await browser.newPage();
    page.on('pageerror', (error) => print(error.message));
    await page.exposeFunction('benchPrint', print);
    await page.goto(`${server.resolvedUrls?.local[0] ?? ''}tests/bench/index.html`);
    await page.waitForFunction('typeof globalThis.runBench === "function"');
    print(`Chromium ${browser.version()}`);
    await page.evaluate(`runBench(${steps})`);
  } finally {
    await browser.close();
    await server.close();
  }
}

async function inDeno() {
  print('\nDeno');
  if ((await runInDeno('bench', [String(steps)])) !== 0) process.exitCode = 1;
}

if (where.length === 0 || where.includes('chromium')) await inChromium();
if (where.length === 0 || where.includes('deno')) await inDeno();
process.exit();
