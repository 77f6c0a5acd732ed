/** @file German: article. */
import type { article as en } from '../en/article.ts';

export const article: typeof en = {};
