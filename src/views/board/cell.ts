/**
 * @file What a cell of the board says, in words and numbers: read off the record; formulas are called from `algorithm`.
 */
import { groupStatistics } from '../../algorithm/advantage.ts';
import { sampleStd } from '../../algorithm/metrics.ts';
import { rowAdvantage, rowCounts, STRONG } from '../../algorithm/rows.ts';
import type { AdvantageView } from '../../session/selection.svelte.ts';
import type { PairRecord, QuestionRecord, RewardRecord, Settings, StepRecord } from '../../session/types.ts';
import { number, signed } from '../../ui/format.ts';
import { capital, responseName } from '../../ui/names.ts';
import { advantageSum } from '../objective/advantage.ts';

/** The k of the row that a cell stands for: its own variant, or with MiCo the views that count. */
export const rowOfCell = (settings: Settings, j: number): number => (rowCounts(settings, j, j) ? j : STRONG);

/** That row, once it is known. */
export const pairOfCell = (question: QuestionRecord, settings: Settings, j: number, i: number): PairRecord | null =>
  question.pairs[rowOfCell(settings, j)]?.[j]?.[i] ?? null;

/** The advantage that a cell shows; null before the phase that computes it. */
export function cellAdvantage(question: QuestionRecord, j: number, i: number, view: AdvantageView, settings: Settings): number | null {
  const a = question.advantages[j]?.[i];
  if (!a) return null;
  if (view === 'local') return a.local;
  if (view === 'global') return a.global;
  return pairOfCell(question, settings, j, i)?.advantage ?? rowAdvantage(settings, { ...a, j, k: j });
}

/** “0.9·1 + 0.1·0 = 0.900” */
export function rewardSum(reward: RewardRecord, settings: Settings): string {
  return `${settings.accuracyWeight}·${reward.accuracy} + ${settings.formatWeight}·${reward.format} = ${number(reward.total)}`;
}

export function rewardWords(reward: RewardRecord): string {
  const read = reward.extracted === null ? 'no answer could be read' : `“${reward.extracted}” was read as the answer`;
  return `${reward.accuracy > 0 ? 'right' : 'wrong'}, ${reward.format > 0 ? 'well-formed' : 'not in the form <think>…</think><answer>…</answer>'}; ${read}`;
}

/** “(0.9 − 0.45) / 0.493”, as the settings scale it. */
function centred(reward: number, group: { readonly mean: number; readonly std: number }, record: StepRecord): string {
  const difference = `${number(reward)} − ${number(group.mean)}`;
  const { scaleRewards } = record.settings;
  if (scaleRewards === 'none') return `${difference} (not divided)`;
  if (scaleRewards === 'group') return `(${difference}) / ${number(group.std)}`;
  const batch = sampleStd(record.questions.flatMap((q) => q.rewards.flat().map((r) => r.total)));
  return `(${difference}) / ${number(batch)} (σ of the batch)`;
}

/** The sentence and the formulas behind one cell. */
export function cellTip(record: StepRecord, question: QuestionRecord, j: number, i: number): string {
  const { settings } = record;
  const lines = [`${capital(responseName(settings, j, i))}.`];
  const reward = question.rewards[j]?.[i];
  if (!reward) return lines.join('\n');
  lines.push(`It is ${rewardWords(reward)}.`, `Reward R = ${rewardSum(reward, settings)}.`);
  const a = question.advantages[j]?.[i];
  if (!a || !question.groups) return lines.join('\n');
  const local = groupStatistics(
    question.rewards[j].map((r) => r.total),
    'sample',
  );
  const shared = settings.mico === 'off' && settings.variants > 1;
  if (shared)
    lines.push(
      local.std === 0
        ? 'Local L = 0: all responses of this variant earned the same.'
        : `Local L = ${centred(reward.total, local, record)} = ${signed(a.local)}, within this variant.`,
    );
  lines.push(
    question.groups.std === 0
      ? 'Global G = 0: all responses to this question earned the same.'
      : `Global G = ${centred(reward.total, question.groups, record)} = ${signed(a.global)}, among all responses to it.`,
  );
  const total = cellAdvantage(question, j, i, 'total', settings);
  lines.push(
    shared
      ? `Under its own variant A = ${advantageSum(a, { k: j, j }, settings)}${signed(total)}; under the others ${settings.globalWeight === 1 ? 'A = G' : `A = ${settings.globalWeight}·G`}.`
      : `A = G = ${signed(total)}.`,
  );
  return lines.join('\n');
}

/** “alive”, “dead: all wrong”, “dead: all right” */
export function groupWords(state: 'alive' | 'all-fail' | 'all-pass'): string {
  return state === 'alive' ? 'alive' : state === 'all-fail' ? 'dead: all failed' : 'dead: all passed';
}
