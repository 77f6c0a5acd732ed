// @ts-check
/**
 * @file Bundles the commands (vite.cli.config.ts) and runs one of them in Deno.
 *
 *   node tools/deno.mjs train|experiment|bench [arguments]
 */
import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'vite';

const root = resolve(import.meta.dirname, '..');

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {string} [outDir] where the bundle goes
 * @returns {Promise<number>} the exit status
 */
export async function runInDeno(command, args, outDir = join(root, 'dist-cli')) {
  await build({ root, configFile: join(root, 'vite.cli.config.ts'), logLevel: 'error', build: { outDir } });
  // Vulkan's loader complains where nobody has logged in, as in a container
  const runtime = process.env['XDG_RUNTIME_DIR'] ?? join(tmpdir(), 'grpo-playground-runtime');
  mkdirSync(runtime, { recursive: true, mode: 0o700 });
  const deno = join(root, 'node_modules', 'deno', 'bin.cjs');
  const child = spawn(process.execPath, [deno, 'run', '-A', '--no-lock', join(outDir, `${command}.js`), ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, XDG_RUNTIME_DIR: runtime, DENO_NO_UPDATE_CHECK: '1' },
  });
  // Ctrl-C reaches both: the command finishes cleanly, and this waits for it
  process.on('SIGINT', () => undefined);
  return new Promise((done) => child.on('exit', (code) => done(code ?? 1)));
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [command = 'train', ...args] = process.argv.slice(2);
  process.exitCode = await runInDeno(command, args);
}
