/** @file English: transfer. */
export const transfer = {};
