/** @file German: lessons. */
import type { lessons as en } from '../en/lessons.ts';

export const lessons: typeof en = {};
