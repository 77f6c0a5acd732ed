/** @file English: runs. */
export const runs = {};
