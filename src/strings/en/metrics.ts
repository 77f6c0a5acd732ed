/** @file English: metrics. */
export const metrics = {};
