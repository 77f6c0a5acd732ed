import { expect, it } from 'vitest';
import { presetPage } from './preset-table.ts';

it('is what docs/presets.md says', async () => {
  await expect(presetPage()).toMatchFileSnapshot('../../docs/presets.md');
});
