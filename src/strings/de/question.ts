/** @file German: question. */
import type { question as en } from '../en/question.ts';

export const question: typeof en = {};
