/** @file English: why. */
export const why = {};
