/** @file German: attention. */
import type { attention as en } from '../en/attention.ts';

export const attention: typeof en = {};
