/** @file German: arena. */
import type { arena as en } from '../en/arena.ts';

export const arena: typeof en = {};
