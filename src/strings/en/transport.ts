/** @file English: transport. */
export const transport = {};
