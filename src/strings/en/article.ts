/** @file English: article. */
export const article = {};
