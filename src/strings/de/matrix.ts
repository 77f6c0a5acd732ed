/** @file German: matrix. */
import type { matrix as en } from '../en/matrix.ts';

export const matrix: typeof en = {};
