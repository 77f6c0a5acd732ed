/**
 * @file The command line's words: `--name value`, `--name=value`, bare `--flag`. Every setting of the table is an option,
 * written as its key or in kebab case (`--learning-rate`, `--learningRate`).
 */
import { PRESETS } from '../training/presets.ts';
import { checkSettings, SETTINGS, type Settings } from '../training/settings.ts';

/** Something on the command line that cannot be understood; the message says what would be. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

export interface OptionSpec {
  readonly help: string;
  /** Shown as `--name VALUE`; without one the option is a flag. */
  readonly value?: string;
}

const kebab = (name: string): string => name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`);

export interface Parsed {
  /** By kebab-case name; flags are `true`. */
  readonly options: ReadonlyMap<string, string | true>;
  readonly rest: readonly string[];
}

/** Splits arguments. Throws UsageError on names that are not in `known`. */
export function parse(argv: readonly string[], known: Readonly<Record<string, OptionSpec>>): Parsed {
  const options = new Map<string, string | true>();
  const rest: string[] = [];
  for (let at = 0; at < argv.length; at++) {
    const word = argv[at];
    if (!word.startsWith('--')) {
      rest.push(word);
      continue;
    }
    const equals = word.indexOf('=');
    const name = kebab(word.slice(2, equals < 0 ? undefined : equals));
    const spec = known[name];
    if (!spec) throw new UsageError(`There is no option --${name}; --help lists them.`);
    if (spec.value === undefined) options.set(name, true);
    else if (equals >= 0) options.set(name, word.slice(equals + 1));
    else if (at + 1 < argv.length) options.set(name, argv[++at]);
    else throw new UsageError(`--${name} needs a value: ${spec.value}.`);
  }
  return { options, rest };
}

/** The settings' part of the options. */
export const SETTING_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  preset: { value: Object.keys(PRESETS).join('|'), help: 'Where the settings start from (share-grpo).' },
  ...Object.fromEntries(
    SETTINGS.map((s) => {
      const value = s.kind === 'number' ? 'NUMBER' : s.choices.map((c) => c.value).join(s.kind === 'list' ? ',' : '|');
      return [kebab(s.key), { value, help: s.help }];
    }),
  ),
};

/** The settings that the options ask for. Throws UsageError or SettingsError. */
export function settingsFrom(options: Parsed['options']): Settings {
  const name = (options.get('preset') ?? 'share-grpo') as keyof typeof PRESETS;
  if (!(name in PRESETS)) throw new UsageError(`There is no preset “${name}”; choose one of ${Object.keys(PRESETS).join(', ')}.`);
  const changes: Record<string, unknown> = {};
  for (const s of SETTINGS) {
    const given = options.get(kebab(s.key));
    if (typeof given !== 'string') continue;
    if (s.kind === 'number') changes[s.key] = given.trim() === '' ? Number.NaN : Number(given);
    else changes[s.key] = s.kind === 'list' ? given.split(',').map((x) => x.trim()) : given;
  }
  const settings = { ...PRESETS[name], ...changes } as Settings;
  checkSettings(settings);
  return settings;
}

/** A whole number of at least `low`. */
export function wholeOption(options: Parsed['options'], name: string, fallback: number, low: number): number {
  const given = options.get(name);
  if (given === undefined) return fallback;
  const value = Number(given);
  if (!Number.isInteger(value) || value < low)
    throw new UsageError(`--${name} is ${String(given)}; it must be a whole number of at least ${low}.`);
  return value;
}

export function textOption(options: Parsed['options'], name: string): string | null {
  const given = options.get(name);
  return typeof given === 'string' && given !== '' ? given : null;
}

/** The options, one a line, for `--help`. */
export function optionHelp(known: Readonly<Record<string, OptionSpec>>): string {
  const lines = Object.entries(known).map(
    ([name, { value, help }]) => [`  --${name}${value === undefined ? '' : ` ${value}`}`, help] as const,
  );
  return lines.map(([left, help]) => (left.length > 34 ? `${left}\n${' '.repeat(36)}${help}` : left.padEnd(36) + help)).join('\n');
}
