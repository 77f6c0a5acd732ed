/** @file German: tokens. */
import type { tokens as en } from '../en/tokens.ts';

export const tokens: typeof en = {};
