/** @file English: matrix. */
export const matrix = {};
