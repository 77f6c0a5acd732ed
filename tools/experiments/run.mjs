// @ts-check
/**
 * @file `npm run experiment`: src/cli/experiment.ts in Deno. An experiment takes hours, so its code is bundled into a folder of its
 * own: what is built or changed meanwhile does not reach the runs that start later.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { runInDeno } from '../deno.mjs';

const bundles = resolve(import.meta.dirname, '../../dist-cli/experiments');
mkdirSync(bundles, { recursive: true });
const folder = mkdtempSync(join(bundles, 'code-'));
try {
  process.exitCode = await runInDeno('experiment', process.argv.slice(2), folder);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
