/** @file English: board. */
export const board = {};
