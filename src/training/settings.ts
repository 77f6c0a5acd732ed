/**
 * @file Every setting of a run: one table with its unit, range and meaning. The page's controls, the CLI's flags, the URL and
 * the checks are all made from it. The values to start from are in presets.ts.
 */

export type CrossVariant = 'published' | 'sequence_truncate' | 'none';
export type Sigma = 'population' | 'sample' | 'replicated';
export type Family = 'count' | 'compare' | 'position' | 'digits';

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
  readonly dualClip: number;
  /** σ of the global group; see advantage.ts. */
  readonly sigma: Sigma;
  readonly crossVariant: CrossVariant;
  readonly truncateAt: number; // C of sequence_truncate
  readonly accuracyWeight: number;
  readonly formatWeight: number;
  readonly transformProbability: number;
  readonly maxGradNorm: number;
  readonly weightDecay: number;
  readonly tasks: readonly Family[];
  readonly evaluateEvery: number;
  readonly evaluateQuestions: number;
  readonly seed: number;
}

interface Described {
  readonly label: string;
  /** The symbol that formulas use, if there is one. */
  readonly symbol?: string;
  /** '' for a plain number. */
  readonly unit: string;
  /** One sentence: what it does. */
  readonly help: string;
}

export interface NumberSetting extends Described {
  readonly key: Exclude<keyof Settings, 'preset' | 'tasks' | 'crossVariant' | 'sigma'>;
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
  readonly key: 'crossVariant' | 'sigma';
  readonly kind: 'choice';
  readonly choices: readonly { readonly value: string; readonly label: string }[];
}

export interface ListSetting extends Described {
  readonly key: 'tasks';
  readonly kind: 'list';
  readonly choices: readonly { readonly value: Family; readonly label: string }[];
}

export type Setting = NumberSetting | ChoiceSetting | ListSetting;

const whole = { kind: 'number', integer: true, step: 1 } as const;
const real = { kind: 'number', integer: false } as const;

/** In the order in which a page or a `--help` shows them. */
export const SETTINGS: readonly Setting[] = [
  {
    key: 'questionsPerStep',
    ...whole,
    label: 'Questions per step',
    symbol: 'B',
    unit: 'questions',
    min: 1,
    max: 16,
    help: 'How many questions a step draws; each contributes equally many rows to the update.',
  },
  {
    key: 'variants',
    ...whole,
    label: 'Variants per question',
    symbol: 'm',
    unit: 'variants',
    min: 1,
    max: 6,
    help: 'In how many ways each question is asked. With 1 the question is asked as it stands and the method is GRPO.',
  },
  {
    key: 'responses',
    ...whole,
    label: 'Responses per variant',
    symbol: 'n',
    unit: 'responses',
    min: 2,
    max: 32,
    help: 'How many responses are sampled for each variant; advantages compare them, so at least 2.',
  },
  {
    key: 'temperature',
    ...real,
    label: 'Temperature',
    unit: '',
    min: 0.1,
    max: 2,
    step: 0.05,
    help: 'Logits are divided by it before sampling: below 1 is bolder, above 1 more varied.',
  },
  {
    key: 'topP',
    ...real,
    label: 'Top-p',
    unit: '',
    min: 0.05,
    max: 1,
    step: 0.01,
    help: 'Only the likeliest tokens that together have this probability can be drawn.',
  },
  {
    key: 'maxTokens',
    ...whole,
    label: 'Longest response',
    unit: 'tokens',
    min: 2,
    max: 256,
    help: 'A response is cut off after this many tokens.',
  },
  {
    key: 'learningRate',
    ...real,
    label: 'Learning rate',
    unit: '',
    min: 0,
    max: 0.1,
    open: true,
    step: 1e-5,
    scale: 'log',
    help: 'How far AdamW moves each adapter weight per step.',
  },
  {
    key: 'rank',
    ...whole,
    label: 'LoRA rank',
    symbol: 'r',
    unit: '',
    min: 1,
    max: 64,
    help: 'Width of the low-rank change to each weight matrix; a new rank starts a new adapter.',
  },
  {
    key: 'alpha',
    ...real,
    label: 'LoRA alpha',
    symbol: 'α',
    unit: '',
    min: 0,
    max: 256,
    open: true,
    step: 1,
    help: 'The change is scaled by alpha / rank; a new alpha starts a new adapter.',
  },
  {
    key: 'clipLow',
    ...real,
    label: 'Clip below',
    symbol: 'ε_lo',
    unit: '',
    min: 0,
    max: 0.99,
    step: 0.01,
    help: 'A response that did badly is no longer pushed down once its ratio is under 1 − ε_lo.',
  },
  {
    key: 'clipHigh',
    ...real,
    label: 'Clip above',
    symbol: 'ε_hi',
    unit: '',
    min: 0,
    max: 10,
    step: 0.01,
    help: 'A response that did well is no longer pushed up once its ratio is over 1 + ε_hi.',
  },
  {
    key: 'dualClip',
    ...real,
    label: 'Dual clip',
    symbol: 'c',
    unit: '',
    min: 1,
    max: 100,
    open: true,
    step: 0.1,
    help: 'The loss of a bad token is at most c·|A|, however much its ratio has grown.',
  },
  {
    key: 'sigma',
    kind: 'choice',
    label: 'Global σ',
    unit: '',
    help: 'Which standard deviation the pooled group is divided by.',
    choices: [
      { value: 'replicated', label: 'replicated (published code)' },
      { value: 'sample', label: 'sample (divide by mn − 1)' },
      { value: 'population', label: 'population (divide by mn)' },
    ],
  },
  {
    key: 'crossVariant',
    kind: 'choice',
    label: 'Rows across variants',
    unit: '',
    help: 'What a row counts whose response was sampled under another variant than it is scored under.',
    choices: [
      { value: 'published', label: 'published: fully' },
      { value: 'sequence_truncate', label: 'sequence_truncate: by min(e^ΣΔ, C)' },
      { value: 'none', label: 'none: left out' },
    ],
  },
  {
    key: 'truncateAt',
    ...real,
    label: 'Weight limit',
    symbol: 'C',
    unit: '',
    min: 0,
    max: 100,
    open: true,
    step: 0.5,
    help: 'The largest importance weight that sequence_truncate lets through.',
  },
  { key: 'accuracyWeight', ...real, label: 'Accuracy weight', unit: '', min: 0, max: 1, step: 0.05, help: 'What a right answer earns.' },
  {
    key: 'formatWeight',
    ...real,
    label: 'Format weight',
    unit: '',
    min: 0,
    max: 1,
    step: 0.05,
    help: 'What a response in the form <think>…</think><answer>…</answer> earns.',
  },
  {
    key: 'transformProbability',
    ...real,
    label: 'Image transforms',
    symbol: 'p',
    unit: '',
    min: 0,
    max: 1,
    step: 0.05,
    help: 'Each variant is turned, mirrored or made noisy with this probability, if the answer allows; a hint tells the model so.',
  },
  {
    key: 'maxGradNorm',
    ...real,
    label: 'Gradient limit',
    unit: '',
    min: 0,
    max: 1000,
    open: true,
    step: 0.1,
    help: 'A longer gradient is scaled down to this length.',
  },
  {
    key: 'weightDecay',
    ...real,
    label: 'Weight decay',
    unit: '',
    min: 0,
    max: 1,
    step: 0.01,
    help: 'AdamW pulls each adapter weight to 0 by this share of the learning rate.',
  },
  {
    key: 'tasks',
    kind: 'list',
    label: 'Tasks',
    unit: '',
    help: 'Which families the questions come from, in turn.',
    choices: [
      { value: 'count', label: 'count' },
      { value: 'compare', label: 'compare' },
      { value: 'position', label: 'position' },
      { value: 'digits', label: 'digits' },
    ],
  },
  {
    key: 'evaluateEvery',
    ...whole,
    label: 'Evaluate every',
    unit: 'steps',
    min: 1,
    max: 1000,
    help: 'After so many steps the model answers held-out questions.',
  },
  {
    key: 'evaluateQuestions',
    ...whole,
    label: 'Held-out questions',
    unit: 'questions',
    min: 1,
    max: 1000,
    help: 'How many, for each of the two phrasings; the tasks take turns.',
  },
  {
    key: 'seed',
    ...whole,
    label: 'Seed',
    unit: '',
    min: 0,
    max: 2 ** 31 - 1,
    help: 'Decides the questions, the variants, the adapter’s first weights and every sampled token.',
  },
];

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

function problemOf(setting: Setting, value: unknown): string | null {
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

/** The sentences that say what is wrong with settings; empty if they can be run. */
export function settingsProblems(settings: Settings): string[] {
  const problems = SETTINGS.map((s) => problemOf(s, settings[s.key])).filter((p) => p !== null);
  if (problems.length > 0) return problems;
  if (settings.accuracyWeight + settings.formatWeight === 0)
    return ['Accuracy and format weight are both 0; then no response earns anything. Raise one of them.'];
  const rows = settings.questionsPerStep * settings.variants ** 2 * settings.responses;
  return rows > MAX_ROWS ? [`B·m²·n is ${rows} rows; at most ${MAX_ROWS} fit. Lower B, m or n.`] : [];
}

/** Rows of one update that the scoring buffers are sized for. */
export const MAX_ROWS = 2048;

/** Throws SettingsError if the settings cannot be run. */
export function checkSettings(settings: Settings): void {
  const problems = settingsProblems(settings);
  if (problems.length > 0) throw new SettingsError(problems);
}
