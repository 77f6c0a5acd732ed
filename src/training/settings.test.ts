import { describe, expect, it } from 'vitest';
import { DEFAULTS, PRESETS } from './presets.ts';
import { checkSettings, SETTINGS, SettingsError, settingsProblems, type Settings } from './settings.ts';

describe('settings', () => {
  it('has a row in the table for each but the name of the preset', () => {
    expect(SETTINGS.map((s) => s.key).sort()).toEqual(
      Object.keys(DEFAULTS)
        .filter((k) => k !== 'preset')
        .sort(),
    );
    for (const s of SETTINGS) expect(s.help).toMatch(/[.]$/);
  });

  it('accepts its presets', () => {
    for (const [name, preset] of Object.entries(PRESETS)) {
      expect(settingsProblems(preset)).toEqual([]);
      expect(preset.preset).toBe(name);
    }
  });

  it('gives GRPO with mn responses as many samples as Share-GRPO', () => {
    const samples = (s: Settings) => s.questionsPerStep * s.variants * s.responses;
    expect(samples(PRESETS['grpo-mn'])).toBe(samples(PRESETS['share-grpo']));
  });

  it.each([
    [{ variants: 0 }, 'Variants per question (m) is 0; it must be between 1 and 6.'],
    [{ responses: 1 }, 'Responses per variant (n) is 1; it must be between 2 and 32.'],
    [{ learningRate: 1e9 }, 'Learning rate is 1000000000; it must be above 0 and at most 0.1.'],
    [{ learningRate: 0 }, 'Learning rate is 0; it must be above 0 and at most 0.1.'],
    [{ temperature: Number.NaN }, 'Temperature is NaN; it must be between 0.1 and 2.'],
    [{ responses: 2.5 }, 'Responses per variant (n) is 2.5; it must be a whole number.'],
    [{ crossVariant: 'all' as never }, 'Rows across variants is “all”; choose one of published, sequence_truncate, none.'],
    [{ tasks: [] }, 'Tasks: choose at least one of count, compare, position, digits.'],
    [{ tasks: ['chess' as never] }, 'Tasks has “chess”; choose among count, compare, position, digits.'],
    [{ seed: '1' as never }, 'Seed is 1; it must be between 0 and 2147483647.'],
    [{ accuracyWeight: 0, formatWeight: 0 }, 'Accuracy and format weight are both 0; then no response earns anything. Raise one of them.'],
    [{ variants: 6, responses: 32, questionsPerStep: 16 }, 'B·m²·n is 18432 rows; at most 2048 fit. Lower B, m or n.'],
  ] satisfies [Partial<Settings>, string][])('refuses %j with a sentence', (change, sentence) => {
    expect(settingsProblems({ ...DEFAULTS, ...change })).toEqual([sentence]);
    expect(() => checkSettings({ ...DEFAULTS, ...change })).toThrow(SettingsError);
  });

  it('names every problem at once', () => {
    expect(settingsProblems({ ...DEFAULTS, variants: 0, responses: 1 })).toHaveLength(2);
  });
});
