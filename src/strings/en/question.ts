/** @file English: question. */
export const question = {};
