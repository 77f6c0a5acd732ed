/** @file English: objective. */
export const objective = {};
