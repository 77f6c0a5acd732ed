/**
 * @file What a cell of the board says, in words and numbers: read off the record; formulas are called from `algorithm`.
 */
import { groupStatistics, pairAdvantage } from '../../algorithm/advantage.ts';
import type { AdvantageView } from '../../session/selection.svelte.ts';
import type { QuestionRecord, RewardRecord, Settings } from '../../session/types.ts';
import { number, plus, signed } from '../../ui/format.ts';

/** The advantage that a cell shows; null before the phase that computes it. */
export function cellAdvantage(question: QuestionRecord, j: number, i: number, view: AdvantageView): number | null {
  const a = question.advantages[j]?.[i];
  if (!a) return null;
  if (view === 'local') return a.local;
  if (view === 'global') return a.global;
  return question.pairs[j]?.[j]?.[i]?.advantage ?? pairAdvantage({ ...a, j, k: j, m: question.variants.length });
}

/** “0.9·1 + 0.1·0 = 0.900” */
export function rewardSum(reward: RewardRecord, settings: Settings): string {
  return `${settings.accuracyWeight}·${reward.accuracy} + ${settings.formatWeight}·${reward.format} = ${number(reward.total)}`;
}

export function rewardWords(reward: RewardRecord): string {
  const read = reward.extracted === null ? 'no answer could be read' : `“${reward.extracted}” was read as the answer`;
  return `${reward.accuracy > 0 ? 'right' : 'wrong'}, ${reward.format > 0 ? 'well-formed' : 'not in the form <think>…</think><answer>…</answer>'}; ${read}`;
}

/** The sentence and the formulas behind one cell. */
export function cellTip(question: QuestionRecord, j: number, i: number, settings: Settings): string {
  const lines = [`Response ${i + 1} of variant ${j + 1}.`];
  const reward = question.rewards[j]?.[i];
  if (!reward) return lines.join('\n');
  lines.push(`It is ${rewardWords(reward)}.`, `Reward R = ${rewardSum(reward, settings)}.`);
  const a = question.advantages[j]?.[i];
  if (!a || !question.groups) return lines.join('\n');
  const local = groupStatistics(
    question.rewards[j].map((r) => r.total),
    'sample',
  );
  lines.push(
    local.std === 0
      ? 'Local L = 0: all responses of this variant earned the same.'
      : `Local L = (${number(reward.total)} − ${number(local.mean)}) / ${number(local.std)} = ${signed(a.local)}, within this variant.`,
    question.groups.std === 0
      ? 'Global G = 0: all responses to this question earned the same.'
      : `Global G = (${number(reward.total)} − ${number(question.groups.mean)}) / ${number(question.groups.std)} = ${signed(a.global)}, among all m·n.`,
  );
  const total = cellAdvantage(question, j, i, 'total');
  lines.push(
    question.variants.length > 1
      ? `Under its own variant A = G + L = ${signed(a.global)} ${plus(a.local)} = ${signed(total)}; under the others A = G.`
      : `With one variant A = G = ${signed(total)}.`,
  );
  return lines.join('\n');
}

/** “alive”, “dead: all wrong”, “dead: all right” */
export function groupWords(state: 'alive' | 'all-fail' | 'all-pass'): string {
  return state === 'alive' ? 'alive' : state === 'all-fail' ? 'dead: all failed' : 'dead: all passed';
}
