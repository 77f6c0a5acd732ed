/** @file English: settings. */
export const settings = {};
