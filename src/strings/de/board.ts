/** @file German: board. */
import type { board as en } from '../en/board.ts';

export const board: typeof en = {};
