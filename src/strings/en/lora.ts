/** @file English: lora. */
export const lora = {};
