/** @file English: problems. */
export const problems = {};
