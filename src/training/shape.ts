/**
 * @file Checks of parsed JSON. Each check returns null, or a sentence that names the path and what is wrong there.
 */

export type Check = (value: unknown, path: string) => string | null;

const seen = (value: unknown): string =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'a list'
      : typeof value === 'object'
        ? 'an object'
        : (JSON.stringify(value) ?? 'missing');

const kind =
  (name: string, holds: (value: unknown) => boolean): Check =>
  (value, path) =>
    holds(value) ? null : `${path} is ${seen(value)}, not ${name}`;

export const number = kind('a number', (v) => typeof v === 'number');
export const text = kind('a text', (v) => typeof v === 'string');
export const truth = kind('true or false', (v) => typeof v === 'boolean');

export const oneOf = (...values: readonly (string | number)[]): Check =>
  kind(values.map((v) => JSON.stringify(v)).join(' or '), (v) => values.includes(v as string));

export const orNull =
  (check: Check): Check =>
  (value, path) =>
    value === null ? null : check(value, path);

export const list =
  (check: Check): Check =>
  (value, path) => {
    if (!Array.isArray(value)) return `${path} is ${seen(value)}, not a list`;
    for (const [i, item] of value.entries()) {
      const problem = check(item, `${path}[${i}]`);
      if (problem) return problem;
    }
    return null;
  };

/** An object with any keys, whose values all pass. */
export const map =
  (check: Check): Check =>
  (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${path} is ${seen(value)}, not an object`;
    for (const [key, item] of Object.entries(value)) {
      const problem = check(item, `${path}.${key}`);
      if (problem) return problem;
    }
    return null;
  };

/** An object that has at least these fields. */
export const object =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${path} is ${seen(value)}, not an object`;
    for (const [key, check] of Object.entries(fields)) {
      const problem = check((value as Record<string, unknown>)[key], path === '' ? key : `${path}.${key}`);
      if (problem) return problem;
    }
    return null;
  };
