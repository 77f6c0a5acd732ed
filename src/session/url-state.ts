/**
 * @file The settings in the address: only what differs from its preset, so that a link is short and can be read
 * (`#preset=grpo&seed=3&learningRate=0.002`). Anything unknown or malformed in a link is dropped, not obeyed.
 */
import { DEFAULTS, PRESETS, SETTINGS, type Setting, type Settings } from './types.ts';

const isPreset = (name: string | null): name is keyof typeof PRESETS => name !== null && name in PRESETS;

/** The preset that settings were made from. */
export function presetOf(settings: Settings): Settings {
  return isPreset(settings.preset) ? PRESETS[settings.preset] : DEFAULTS;
}

const textOf = (value: unknown): string => (Array.isArray(value) ? value.join(' ') : String(value));

function parse(setting: Setting, text: string): unknown {
  if (setting.kind === 'list') {
    const known: readonly string[] = setting.choices.map((c) => c.value);
    const chosen = text.split(/[ ,+]/).filter((t) => known.includes(t));
    return chosen.length > 0 ? chosen : undefined;
  }
  if (setting.kind === 'choice') return setting.choices.some((c) => c.value === text) ? text : undefined;
  const x = Number(text);
  return text.trim() !== '' && Number.isFinite(x) ? x : undefined;
}

export function settingsToHash(settings: Settings): string {
  const base = presetOf(settings);
  const parameters = new URLSearchParams();
  if (settings.preset !== DEFAULTS.preset) parameters.set('preset', settings.preset);
  for (const { key } of SETTINGS) {
    if (textOf(settings[key]) !== textOf(base[key])) parameters.set(key, textOf(settings[key]));
  }
  return parameters.toString();
}

export function settingsFromHash(hash: string): Settings {
  const parameters = new URLSearchParams(hash.replace(/^#/, ''));
  const preset = parameters.get('preset');
  const changes: Record<string, unknown> = {};
  for (const setting of SETTINGS) {
    const text = parameters.get(setting.key);
    const value = text === null ? undefined : parse(setting, text);
    if (value !== undefined) changes[setting.key] = value;
  }
  return { ...(isPreset(preset) ? PRESETS[preset] : DEFAULTS), ...changes };
}
