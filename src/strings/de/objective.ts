/** @file German: objective. */
import type { objective as en } from '../en/objective.ts';

export const objective: typeof en = {};
