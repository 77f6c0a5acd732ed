/** @file English: ask. */
export const ask = {};
