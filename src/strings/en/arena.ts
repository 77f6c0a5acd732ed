/** @file English: arena. */
export const arena = {};
