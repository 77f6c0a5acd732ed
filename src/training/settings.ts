/**
 * @file Every setting of a run, and which of them can be run together. One table (settings-table.ts) holds unit, range and
 * meaning; the page's controls, the CLI's flags, the URL and the checks are all made from it. The values to start from are in
 * presets.ts.
 */
import type { ScaleRewards, Sigma } from '../algorithm/advantage.ts';
import type { Aggregation, RatioLevel } from '../algorithm/objective.ts';
import type { Mico } from '../algorithm/rows.ts';
import type { CrossVariant as AnyCrossVariant } from '../algorithm/transfer.ts';
import { TASKS, type Family } from '../tasks/index.ts';
import { SETTINGS } from './settings-table.ts';

export { SETTINGS } from './settings-table.ts';
export type { Family } from '../tasks/index.ts';
export type CrossVariant = Exclude<AnyCrossVariant, 'sequence'>;
export type AuditFilter = 'off' | 'drop_changed' | 'only_kept';

export interface Settings {
  readonly preset: string;
  readonly questionsPerStep: number; // B
  readonly variants: number; // m
  readonly responses: number; // n
  readonly temperature: number;
  readonly topP: number;
  readonly maxTokens: number;
  readonly learningRate: number;
  readonly rank: number;
  readonly alpha: number;
  readonly clipLow: number; // ε_lo
  readonly clipHigh: number; // ε_hi
  readonly dualClip: number; // c; 0 for none
  readonly ratioLevel: RatioLevel;
  readonly lossAggregation: Aggregation;
  readonly klBeta: number; // β
  readonly maskTruncated: 'off' | 'on';
  /** σ of the global group; see advantage.ts. */
  readonly sigma: Sigma;
  readonly scaleRewards: ScaleRewards;
  readonly localWeight: number; // w_l
  readonly globalWeight: number; // w_g
  readonly crossVariant: CrossVariant;
  readonly truncateAt: number; // C
  readonly accuracyWeight: number;
  readonly formatWeight: number;
  readonly transformProbability: number;
  readonly poisonShare: number;
  readonly auditFilter: AuditFilter;
  /** Rounds of drawing anew. */
  readonly dynamicSampling: number;
  readonly maxGradNorm: number;
  readonly weightDecay: number;
  /** TRL's num_iterations. */
  readonly iterations: number;
  readonly minibatches: number;
  readonly cosineEvery: number;
  readonly tasks: readonly Family[];
  /** See algorithm/rows.ts; `off` trains on the tasks by Share-GRPO. */
  readonly mico: Mico;
  /** Smallest side of a weak view; the largest is the whole picture. */
  readonly weakCrop: number;
  readonly strongCrop: number;
  readonly strongCropMost: number;
  readonly evaluateEvery: number;
  readonly evaluateQuestions: number;
  readonly evaluateSamples: number;
  readonly seed: number;
}

/** Settings that belong together, in the order of the table. */
export const GROUPS = {
  step: 'A step',
  variants: 'Variants',
  advantage: 'Rewards and advantages',
  objective: 'Objective',
  update: 'Update',
  mico: 'MiCo',
  run: 'The run',
} as const;

interface Described {
  readonly group: keyof typeof GROUPS;
  readonly label: string;
  /** The symbol that formulas use, if there is one. */
  readonly symbol?: string;
  /** '' for a plain number. */
  readonly unit: string;
  /** One sentence: what it does. */
  readonly help: string;
}

export interface NumberSetting extends Described {
  readonly key: { [K in keyof Settings]: Settings[K] extends number ? K : never }[keyof Settings];
  readonly kind: 'number';
  readonly min: number;
  readonly max: number;
  /** `min` itself is refused (a learning rate of 0). */
  readonly open?: boolean;
  /** Only whole numbers. */
  readonly integer: boolean;
  /** What one press of an arrow adds; for a `log` scale the smallest step shown. */
  readonly step: number;
  readonly scale?: 'log';
}

export interface ChoiceSetting extends Described {
  readonly key: Exclude<{ [K in keyof Settings]: Settings[K] extends string ? K : never }[keyof Settings], 'preset'>;
  readonly kind: 'choice';
  readonly choices: readonly { readonly value: string; readonly label: string }[];
}

export interface ListSetting extends Described {
  readonly key: 'tasks';
  readonly kind: 'list';
  readonly choices: readonly { readonly value: Family; readonly label: string }[];
}

export type Setting = NumberSetting | ChoiceSetting | ListSetting;

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
