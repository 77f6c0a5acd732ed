/** @file English: page. */
export const page = {};
