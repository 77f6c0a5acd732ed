/** @file English: samples. */
export const samples = {};
