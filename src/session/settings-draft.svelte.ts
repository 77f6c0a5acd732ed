/**
 * @file Settings while they are being edited: what stands in each field, what is wrong with it, and whether it differs from
 * the run's. Nothing reaches the trainer before `settings` is whole and free of problems.
 */
import { PRESETS, SETTINGS, settingsProblems, valueProblem } from '../worker/protocol.ts';
import type { Setting, Settings } from './types.ts';
import { presetOf } from './url-state.ts';

type Field = string | readonly string[];

const fieldOf = (setting: Setting, settings: Settings): Field => (setting.kind === 'list' ? settings.tasks : String(settings[setting.key]));

function valueOf(setting: Setting, field: Field): unknown {
  if (setting.kind !== 'number') return field;
  const text = String(field).trim().replace('−', '-').replace(',', '.');
  return text === '' ? NaN : Number(text);
}

export class SettingsDraft {
  /** What the run uses. */
  #applied = $state.raw<Settings>(PRESETS['share-grpo']);
  #preset = $state('share-grpo');
  #fields = $state.raw<Readonly<Record<string, Field>>>({});

  readonly settings: Settings = $derived({
    ...this.#applied,
    preset: this.#preset,
    ...Object.fromEntries(SETTINGS.map((s) => [s.key, valueOf(s, this.#fields[s.key] ?? fieldOf(s, this.#applied))])),
  });
  /** What is wrong, one sentence per field: with its value, or with what it makes together with the others. */
  readonly problems: Readonly<Record<string, string>> = $derived.by(() => {
    const alone = SETTINGS.flatMap((s) => {
      const problem = valueProblem(s, this.settings[s.key]);
      return problem ? [[s.key, problem]] : [];
    });
    const found = alone.length > 0 ? alone : settingsProblems(this.settings).map((problem) => [this.#culprit(problem), problem]);
    return Object.fromEntries(found) as Record<string, string>;
  });
  readonly valid: boolean = $derived(Object.keys(this.problems).length === 0);
  readonly dirty: boolean = $derived(JSON.stringify(this.settings) !== JSON.stringify(this.#applied));
  /** The fields that differ from the preset. */
  readonly changed: readonly string[] = $derived(
    SETTINGS.filter((s) => String(this.settings[s.key]) !== String(presetOf(this.settings)[s.key])).map((s) => s.key),
  );

  /** The field that a sentence about several is put beside: the one that it names first, else one that was edited. */
  #culprit(problem: string): string {
    const named = SETTINGS.find((s) => problem.startsWith(s.symbol ? `${s.label} (${s.symbol})` : `${s.label} `));
    const { settings } = this;
    const edited = SETTINGS.find(
      ({ key }) => settings[key] !== this.#applied[key] && !settingsProblems({ ...settings, [key]: this.#applied[key] }).includes(problem),
    );
    return (named ?? edited ?? SETTINGS[0]).key;
  }

  get applied(): Settings {
    return this.#applied;
  }

  /** The run has these now. */
  take(settings: Settings): void {
    this.#applied = settings;
    this.#preset = settings.preset;
    this.#fields = {};
  }

  field(setting: Setting): Field {
    return this.#fields[setting.key] ?? fieldOf(setting, this.#applied);
  }

  edit(key: string, field: Field): void {
    this.#fields = { ...this.#fields, [key]: field };
  }

  /** Fills all fields but the seed from a preset. */
  choose(preset: keyof typeof PRESETS): void {
    const values = PRESETS[preset];
    this.#preset = preset;
    this.#fields = Object.fromEntries(SETTINGS.filter((s) => s.key !== 'seed').map((s) => [s.key, fieldOf(s, values)]));
  }

  revert(): void {
    this.take(this.#applied);
  }
}
