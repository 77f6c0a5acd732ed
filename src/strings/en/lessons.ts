/** @file English: lessons. */
export const lessons = {};
