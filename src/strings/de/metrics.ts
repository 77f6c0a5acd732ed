/** @file German: metrics. */
import type { metrics as en } from '../en/metrics.ts';

export const metrics: typeof en = {};
