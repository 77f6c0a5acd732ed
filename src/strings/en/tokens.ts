/** @file English: tokens. */
export const tokens = {};
