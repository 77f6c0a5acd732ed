/** @file German: samples. */
import type { samples as en } from '../en/samples.ts';

export const samples: typeof en = {};
