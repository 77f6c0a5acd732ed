/** @file What the entries of the settings' tables have in common. */

export const whole = { kind: 'number', integer: true, step: 1 } as const;
export const real = { kind: 'number', integer: false } as const;
