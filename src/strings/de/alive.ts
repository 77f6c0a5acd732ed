/** @file German: alive. */
import type { alive as en } from '../en/alive.ts';

export const alive: typeof en = {};
