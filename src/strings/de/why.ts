/** @file German: why. */
import type { why as en } from '../en/why.ts';

export const why: typeof en = {};
