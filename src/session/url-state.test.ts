import { describe, expect, it } from 'vitest';
import { DEFAULTS, PRESETS } from './types.ts';
import { settingsFromHash, settingsToHash } from './url-state.ts';

describe('settings in the address', () => {
  it('says nothing for the defaults', () => {
    expect(settingsToHash(DEFAULTS)).toBe('');
    expect(settingsFromHash('')).toEqual(DEFAULTS);
  });

  it('comes back as it went', () => {
    for (const preset of Object.values(PRESETS)) {
      const settings = { ...preset, seed: 7, learningRate: 2e-3, tasks: ['count', 'digits'] as const };
      expect(settingsFromHash(`#${settingsToHash(settings)}`)).toEqual(settings);
    }
  });

  it('names only what differs from the preset', () => {
    expect(settingsToHash({ ...PRESETS.grpo, seed: 3 })).toBe('preset=grpo&seed=3');
  });

  it('drops what it does not understand', () => {
    expect(settingsFromHash('#preset=magic&responses=many&tasks=chess&sigma=none&temperature=&x=1')).toEqual(DEFAULTS);
  });
});
