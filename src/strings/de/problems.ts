/** @file German: problems. */
import type { problems as en } from '../en/problems.ts';

export const problems: typeof en = {};
