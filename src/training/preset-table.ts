/**
 * @file What each preset sets, as one table: the settings in which presets differ, a row for each preset. docs/presets.md is this.
 */
import { ABOUT, PRESET_NAMES, PRESETS } from './presets.ts';
import { SETTINGS, type Setting } from './settings.ts';

const text = (value: unknown): string => (Array.isArray(value) ? value.join(', ') : String(value));

/** The settings that are not the same in every preset, in the order of the table of settings. */
export const TELLING: readonly Setting[] = SETTINGS.filter(({ key }) => new Set(PRESET_NAMES.map((p) => text(PRESETS[p][key]))).size > 1);

/** A Markdown page: a sentence per preset, then the values; those that differ from `share-grpo` are bold. */
export function presetPage(): string {
  const base = PRESETS['share-grpo'];
  const head = ['preset', ...TELLING.map((s) => (s.symbol ? `${s.label} (${s.symbol})` : s.label))];
  const rows = PRESET_NAMES.map((p) => [
    `\`${p}\``,
    ...TELLING.map(({ key }) => (text(PRESETS[p][key]) === text(base[key]) ? text(base[key]) : `**${text(PRESETS[p][key])}**`)),
  ]);
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const same = SETTINGS.filter((s) => !TELLING.includes(s) && s.key !== 'seed').map((s) => `${s.label} ${text(base[s.key])}`);
  return `# Presets

${PRESET_NAMES.map((p) => `- \`${p}\`: ${ABOUT[p]}`).join('\n')}

Bold is what differs from \`share-grpo\`.

${[line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')}

The same in all of them: ${same.join('; ')}.

This page is made from \`src/training/presets.ts\` by \`npx vitest run --project unit src/training/preset-table.test.ts -u\`.
`;
}
