/** @file German: ask. */
import type { ask as en } from '../en/ask.ts';

export const ask: typeof en = {};
