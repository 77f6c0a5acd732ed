/** @file The benchmark in Deno: the command line's way of loading. */
import process from 'node:process';
import { DEFAULT_MODEL, open } from '../../src/cli/open.ts';
import { DEFAULTS } from '../../src/training/presets.ts';
import { bench } from './bench.ts';

const { gpu, policy, digits } = await open(DEFAULT_MODEL, DEFAULTS);
await bench({ gpu, policy, digits, steps: Number(process.argv[2] ?? 2), print: (line) => void process.stdout.write(`${line}\n`) });
process.exit(0);
