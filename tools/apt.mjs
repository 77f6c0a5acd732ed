// @ts-check
/** @file Installs missing system packages where that is possible without asking: on Debian and Ubuntu, as root. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/**
 * @param {readonly string[]} packages
 * @returns {boolean} whether they are installed now
 */
export function aptInstall(packages) {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return false;
  process.stderr.write(`Installing ${packages.join(', ')} with apt-get\n`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const run = (/** @type {string[]} */ args) =>
    spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'], timeout: 600_000 }).status === 0;
  const install = () => run(['install', '-y', '--no-install-recommends', ...packages]);
  return install() || (run(['update']) && install());
}
