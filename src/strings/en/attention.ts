/** @file English: attention. */
export const attention = {};
