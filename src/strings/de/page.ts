/** @file German: page. */
import type { page as en } from '../en/page.ts';

export const page: typeof en = {};
