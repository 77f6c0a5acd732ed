/** @file German: transfer. */
import type { transfer as en } from '../en/transfer.ts';

export const transfer: typeof en = {};
