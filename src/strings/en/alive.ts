/** @file English: alive. */
export const alive = {};
