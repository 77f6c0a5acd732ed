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
    [{ variants: 0 }, 'Variants per question (m) is 0; it must be between 1 and 16.'],
    [{ responses: 0 }, 'Responses per variant (n) is 0; it must be between 1 and 32.'],
    [
      { responses: 1 },
      'Responses per variant (n) is 1, so there is nothing to compare within a variant. Raise n, or set the weight of the local advantage (w_l) to 0.',
    ],
    [{ responses: 1, variants: 1 }, 'Responses per variant (n) is 1 and so is m; an advantage compares responses. Raise n to at least 2.'],
    [{ variants: 9 }, 'Variants per question (m) is 9, but the task count has 8 wordings. Lower m.'],
    [{ clipLow: 1.5 }, 'Clip below (ε_lo) is 1.5; it must be between 0 and 0.99.'],
    [{ dualClip: 0.5 }, 'Dual clip (c) is 0.5; it must be above 1, or 0 for none.'],
    [
      { localWeight: 0, globalWeight: 0 },
      'The weights of the local (w_l) and the global advantage (w_g) are both 0; then every advantage is 0. Raise one of them.',
    ],
    [{ minibatches: 5 }, 'Parts of the batch is 5, but a step has 4 questions (B). Lower it, or raise B.'],
    [{ mico: 'weak', variants: 3 }, 'Variants per question (m) is 3; with MiCo it must be 2: the weak and the strong views.'],
    [
      { mico: 'weak', strongCrop: 0.9 },
      'Strong views keep at least 0.9 and at most 0.8 of the side; the first must not be above the second.',
    ],
    [{ mico: 'strong', poisonShare: 0.1 }, 'Poisoned variants are for the tasks of Share-GRPO; set them to 0 with MiCo.'],
    [{ lossAggregation: 'sum' as never }, 'Loss aggregation is “sum”; choose one of bnpo, dapo, grpo, dr_grpo.'],
    [{ learningRate: 1e9 }, 'Learning rate is 1000000000; it must be above 0 and at most 0.1.'],
    [{ learningRate: 0 }, 'Learning rate is 0; it must be above 0 and at most 0.1.'],
    [{ temperature: Number.NaN }, 'Temperature is NaN; it must be between 0.1 and 2.'],
    [{ responses: 2.5 }, 'Responses per variant (n) is 2.5; it must be a whole number.'],
    [
      { crossVariant: 'all' as never },
      'Rows across variants is “all”; choose one of published, token_truncate, token_mask, sequence_truncate, sequence_mask, geometric, none.',
    ],
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
    expect(settingsProblems({ ...DEFAULTS, variants: 0, responses: 0 })).toHaveLength(2);
  });
});
