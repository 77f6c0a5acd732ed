/**
 * @file Which settings can be run, each on its own and together. One table (settings-table.ts) holds unit, range and meaning; the
 * page's controls, the CLI's flags, the URL and the checks are all made from it. The values to start from are in presets.ts.
 */
import { TASKS, type Family } from '../tasks/index.ts';
import type { NumberSetting, Setting, Settings } from './settings-kinds.ts';
import { SETTINGS } from './settings-table.ts';

export { GROUPS } from './settings-kinds.ts';
export type * from './settings-kinds.ts';
export { SETTINGS } from './settings-table.ts';
export type { Family } from '../tasks/index.ts';

/** Settings that cannot be run; `problems` has one sentence for each. */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join(' '));
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

const span = (s: NumberSetting): string => (s.open ? `above ${s.min} and at most ${s.max}` : `between ${s.min} and ${s.max}`);

/** What is wrong with one value, whatever the others are; null if nothing is. */
export function valueProblem(setting: Setting, value: unknown): string | null {
  const name = setting.symbol ? `${setting.label} (${setting.symbol})` : setting.label;
  if (setting.kind === 'number') {
    const x = value as number;
    const fits = typeof value === 'number' && Number.isFinite(x) && x <= setting.max && (setting.open ? x > setting.min : x >= setting.min);
    if (!fits) return `${name} is ${String(value)}; it must be ${span(setting)}.`;
    return setting.integer && !Number.isInteger(x) ? `${name} is ${x}; it must be a whole number.` : null;
  }
  const known: readonly string[] = setting.choices.map((c) => c.value);
  if (setting.kind === 'choice')
    return known.includes(value as string) ? null : `${name} is “${String(value)}”; choose one of ${known.join(', ')}.`;
  const list = Array.isArray(value) ? (value as unknown[]) : [];
  if (list.length === 0) return `${name}: choose at least one of ${known.join(', ')}.`;
  const strange = list.filter((v) => !known.includes(v as string));
  return strange.length > 0 ? `${name} has “${strange.map(String).join('”, “')}”; choose among ${known.join(', ')}.` : null;
}

/** Wordings that the task with the fewest has: so many variants can differ in text. */
const wordingsOf = (families: readonly Family[]): { readonly family: Family; readonly count: number } =>
  families.map((family) => ({ family, count: TASKS[family].templates.length })).reduce((a, b) => (b.count < a.count ? b : a));

/** What is wrong with values that are each in range. */
function combinationProblems(s: Settings): string[] {
  const problems: string[] = [];
  const must = (holds: boolean, sentence: string): void => void (holds || problems.push(sentence));
  must(s.accuracyWeight + s.formatWeight > 0, 'Accuracy and format weight are both 0; then no response earns anything. Raise one of them.');
  must(s.dualClip === 0 || s.dualClip > 1, `Dual clip (c) is ${s.dualClip}; it must be above 1, or 0 for none.`);
  if (s.mico === 'off') {
    const fewest = wordingsOf(s.tasks);
    must(
      s.variants <= fewest.count,
      `Variants per question (m) is ${s.variants}, but the task ${fewest.family} has ${fewest.count} wordings. Lower m.`,
    );
    if (s.variants === 1)
      must(s.responses > 1, 'Responses per variant (n) is 1 and so is m; an advantage compares responses. Raise n to at least 2.');
    else {
      must(
        s.responses > 1 || s.localWeight === 0,
        'Responses per variant (n) is 1, so there is nothing to compare within a variant. Raise n, or set the weight of the local advantage (w_l) to 0.',
      );
      must(
        s.localWeight > 0 || s.globalWeight > 0,
        'The weights of the local (w_l) and the global advantage (w_g) are both 0; then every advantage is 0. Raise one of them.',
      );
    }
  } else {
    must(s.variants === 2, `Variants per question (m) is ${s.variants}; with MiCo it must be 2: the weak and the strong views.`);
    must(s.responses > 1, 'Responses per variant (n) is 1; MiCo compares the responses to one triplet. Raise n to at least 2.');
    must(
      s.strongCrop <= s.strongCropMost,
      `Strong views keep at least ${s.strongCrop} and at most ${s.strongCropMost} of the side; the first must not be above the second.`,
    );
    must(s.poisonShare === 0, 'Poisoned variants are for the tasks of Share-GRPO; set them to 0 with MiCo.');
  }
  must(
    s.minibatches <= s.questionsPerStep,
    `Parts of the batch is ${s.minibatches}, but a step has ${s.questionsPerStep} questions (B). Lower it, or raise B.`,
  );
  const rows = s.questionsPerStep * s.variants ** 2 * s.responses;
  must(rows <= MAX_ROWS, `B·m²·n is ${rows} rows; at most ${MAX_ROWS} fit. Lower B, m or n.`);
  return problems;
}

/** The sentences that say what is wrong with settings; empty if they can be run. */
export function settingsProblems(settings: Settings): string[] {
  const problems = SETTINGS.map((s) => valueProblem(s, settings[s.key])).filter((p) => p !== null);
  return problems.length > 0 ? problems : combinationProblems(settings);
}

/** Rows of one update that the scoring buffers are sized for. */
export const MAX_ROWS = 2048;

/** Throws SettingsError if the settings cannot be run. */
export function checkSettings(settings: Settings): void {
  const problems = settingsProblems(settings);
  if (problems.length > 0) throw new SettingsError(problems);
}
