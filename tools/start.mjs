// @ts-check
/**
 * @file `npm start`: builds the page, serves it on this machine and opens it in the default browser. Where no browser can be
 * opened (no screen, CI) the address is printed all the same.
 *
 *   npm start -- --port 5000     another port; if it is taken, the next free one
 *   npm start -- --no-open       only serve
 */
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';
import { build, preview } from 'vite';

const { values } = parseArgs({
  options: { port: { type: 'string', default: '4173' }, open: { type: 'boolean', default: true } },
  allowNegative: true,
});

/** @param {string} url */
function openInBrowser(url) {
  const { env, platform } = process;
  if (env['CI'] || !values.open) return;
  if (platform === 'linux' && !env['DISPLAY'] && !env['WAYLAND_DISPLAY']) return;
  const [command, ...args] =
    platform === 'darwin' ? ['open', url] : platform === 'win32' ? ['cmd', '/c', 'start', '', url] : ['xdg-open', url];
  // no browser, no harm: the address is on the screen
  spawn(/** @type {string} */ (command), args, { stdio: 'ignore', detached: true })
    .on('error', () => undefined)
    .unref();
}

const port = Number(values.port);
if (!Number.isInteger(port) || port < 0 || port > 65535) {
  process.stderr.write('--port takes a whole number from 0 to 65535.\n');
  process.exit(2);
}

process.stdout.write('Building the page …\n');
await build({ logLevel: 'warn' });
const server = await preview({ logLevel: 'warn', preview: { port, strictPort: false, open: false } });
const url = server.resolvedUrls?.local[0] ?? `http://localhost:${port}/`;
process.stdout.write(`GRPO Playground is at ${url}  (Ctrl+C stops it)\n`);
openInBrowser(url);
