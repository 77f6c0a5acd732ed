/** @file German: lora. */
import type { lora as en } from '../en/lora.ts';

export const lora: typeof en = {};
