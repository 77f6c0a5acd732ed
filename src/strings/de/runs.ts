/** @file German: runs. */
import type { runs as en } from '../en/runs.ts';

export const runs: typeof en = {};
