/**
 * @file The four families by name, and their wordings: all that a question's parameters can be asked in, and the way back from a
 * wording to the parameters.
 */
import { compare } from './compare.ts';
import { count } from './count.ts';
import { digits } from './digits.ts';
import { position } from './position.ts';
import type { Family, TaskFamily, TextVariant } from './types.ts';

/** The families by name. Their parameters are only known to themselves, hence `unknown` here. */
export const TASKS: Record<Family, TaskFamily<unknown>> = {
  count: count as TaskFamily<unknown>,
  compare: compare as TaskFamily<unknown>,
  position: position as TaskFamily<unknown>,
  digits: digits as TaskFamily<unknown>,
};

function fill(task: TaskFamily<unknown>, params: unknown, template: number): TextVariant {
  const t = task.templates[template];
  if (!t) throw new Error(`The family ${task.family} has no template ${template}.`);
  const slots = task.slots(params);
  return { text: t.text.replace(/\{(\w+)\}/g, (_, name: string) => slots[name] ?? ''), phrasing: t.phrasing, template };
}

/** Every wording of a family's question, in the order of its templates. */
export function wordings(family: Family, params: unknown): TextVariant[] {
  const task = TASKS[family];
  return task.templates.map((_, i) => fill(task, params, i));
}

/** What a wording asks: the parameters that one of the family's templates gives this text for, or null. */
export function readBack(family: Family, text: string): unknown {
  return TASKS[family].all().find((params) => wordings(family, params).some((w) => w.text === text)) ?? null;
}
