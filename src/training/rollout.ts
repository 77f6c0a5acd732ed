/**
 * @file The phases from the prompts to the shared scores, each a function that fills its part of the record:
 * expand (prompts), rollout, reward, advantage, share. The numbers come from `algorithm`, the tokens from the policy.
 */
import { advantages, groupState, pairAdvantage } from '../algorithm/advantage.ts';
import { rewardMetrics, shareMetrics, type MetricQuestion } from '../algorithm/metrics.ts';
import { reward } from '../algorithm/reward.ts';
import { rowCounts, rowWeight, transferGap } from '../algorithm/transfer.ts';
import type { ImageFeatures, Policy, Prompt, Sampled, ScoreGroup } from '../model/policy.ts';
import { isCareful, type Question } from '../tasks/index.ts';
import type { Variant } from './expand.ts';
import type { Phase, QuestionRecord, ResponseRecord, StepRecord } from './record.ts';
import type { Settings } from './settings.ts';

/** What the trainer needs of a policy. */
export type TrainablePolicy = Pick<
  Policy,
  | 'eos'
  | 'encodeImages'
  | 'prompt'
  | 'decode'
  | 'pieces'
  | 'sample'
  | 'score'
  | 'zeroGradient'
  | 'accumulateGradient'
  | 'adamw'
  | 'readAdapter'
  | 'writeAdapter'
  | 'resetAdapter'
  | 'moduleNorms'
>;

/** How far a phase is. `texts[q][j][i]` are the responses so far, while they are sampled. */
export interface Progress {
  readonly step: number;
  readonly phase: Phase;
  readonly done: number;
  readonly total: number;
  readonly texts?: readonly (readonly (readonly string[])[])[];
}

/** A step under way: its record, and what the record does not hold. */
export interface StepContext {
  readonly policy: TrainablePolicy;
  readonly settings: Settings;
  readonly record: StepRecord;
  readonly questions: readonly Question[];
  /** [q][k] */
  readonly prompts: Prompt[][];
  readonly images: ImageFeatures[];
  readonly signal?: AbortSignal;
  readonly report: (progress: Omit<Progress, 'step'>) => void;
}

/** `signal` as an optional property, for calls whose type refuses an explicit undefined. */
export const aborting = (signal: AbortSignal | undefined): { readonly signal?: AbortSignal } => (signal ? { signal } : {});

/** A response's text: its tokens without the one that ends it. */
export function responseText(policy: Pick<TrainablePolicy, 'decode' | 'eos'>, tokens: ArrayLike<number>): string {
  const all = Array.from(tokens);
  return policy.decode(all.at(-1) === policy.eos ? all.slice(0, -1) : all);
}

/** Encodes the variants' pictures in one batch and builds the m prompts of each question. */
export async function expand(c: StepContext, variants: readonly (readonly Variant[])[]): Promise<void> {
  c.images.push(...(await c.policy.encodeImages(variants.flat().map((v) => v.picture))));
  const images = c.images.values();
  c.record.questions = c.questions.map((question, q) => {
    const prompts = variants[q].map((v) =>
      c.policy.prompt({ text: v.text.text, hint: v.hint, image: images.next().value as ImageFeatures }),
    );
    c.prompts.push(prompts);
    return {
      id: question.id,
      family: question.family,
      text: question.text.text,
      answer: question.answer,
      variants: variants[q].map((v, j) => ({
        text: v.text.text,
        phrasing: question.family === 'own' ? 'own' : v.text.phrasing,
        transform: { name: v.transform.name, seed: v.transform.seed },
        hint: v.hint,
        picture: v.picture,
        tokens: prompts[j].ids,
        madeBy: v.madeBy,
        audit: v.audit,
      })),
      responses: [],
      rewards: [],
      advantages: [],
      groups: null,
      pairs: [],
    } satisfies QuestionRecord;
  });
}

/** Samples n responses under each of the B·m prompts, all in one batch. */
export async function rollout(c: StepContext): Promise<void> {
  const { policy, settings } = c;
  const { variants: m, responses: n } = settings;
  const byQuestion = <T>(flat: readonly T[]): T[][][] =>
    c.prompts.map((_, q) => Array.from({ length: m }, (__, j) => flat.slice((q * m + j) * n, (q * m + j + 1) * n)));
  const sampled = await policy.sample({
    prompts: c.prompts.flat(),
    n,
    maxTokens: settings.maxTokens,
    temperature: settings.temperature,
    topP: settings.topP,
    seed: settings.seed,
    step: c.record.step,
    adapter: true,
    ...aborting(c.signal),
    onTokens: ({ done, responses }) =>
      c.report({
        phase: 'rollout',
        done,
        total: c.prompts.flat().length * n,
        texts: byQuestion(responses.map((tokens) => responseText(policy, tokens))),
      }),
  });
  const asRecord = (s: Sampled): ResponseRecord => ({
    text: responseText(policy, s.tokens),
    tokens: s.tokens,
    pieces: policy.pieces(s.tokens),
    logProbs: s.logProbs,
    entropies: s.entropies,
    finish: s.finish,
  });
  byQuestion(sampled.flat()).forEach((responses, q) => {
    c.record.questions[q].responses = responses.map((group) => group.map(asRecord));
  });
}

export function rewardAll(c: StepContext): void {
  c.record.questions.forEach((q, at) => {
    const question = c.questions[at];
    const options = {
      answer: question.answer,
      kind: question.answerKind,
      accuracyWeight: c.settings.accuracyWeight,
      formatWeight: c.settings.formatWeight,
    };
    q.rewards = q.responses.map((group) => group.map((r) => ({ ...reward(r.text, options), careful: isCareful(r.text, question.family) })));
  });
}

export function advantageAll(c: StepContext): void {
  for (const q of c.record.questions) {
    const totals = q.rewards.map((group) => group.map((r) => r.total));
    const accuracies = q.rewards.map((group) => group.map((r) => r.accuracy));
    const { local, global, mean, std } = advantages(totals, c.settings.sigma);
    q.advantages = local.map((group, j) => group.map((l, i) => ({ local: l, global: global[j][i] })));
    q.groups = {
      local: totals.map((group, j) => groupState(group, accuracies[j])),
      pooled: groupState(totals.flat(), accuracies.flat()),
      mean,
      std,
    };
  }
  Object.assign(c.record.metrics, rewardMetrics(metricQuestions(c)));
}

/** The B·m scoring groups: all m·n responses of question q, in order (j, i), under each prompt k. */
export const scoreGroups = (c: StepContext): ScoreGroup[] =>
  c.record.questions.flatMap((q, at) =>
    c.prompts[at].map((prompt) => ({ prompt, responses: q.responses.flat().map((r) => Int32Array.from(r.tokens)) })),
  );

/** Scores every response under every variant of its question, and fills the pairs. */
export async function share(c: StepContext): Promise<void> {
  const { variants: m, responses: n, temperature, crossVariant, truncateAt } = c.settings;
  const scores = await c.policy.score({ groups: scoreGroups(c), temperature, adapter: true, ...aborting(c.signal) });
  let differences = 0;
  let largest = 0;
  let tokens = 0;
  c.record.questions.forEach((q, at) => {
    const under = (k: number, j: number, i: number) => scores[at * m + k][j * n + i].logProbs;
    q.pairs = q.responses.map((_, k) =>
      q.responses.map((group, j) =>
        group.map((response, i) => {
          const logProbs = under(k, j, i);
          const gap = transferGap(logProbs, under(j, j, i));
          const { local, global } = q.advantages[j][i];
          if (k === j) {
            logProbs.forEach((l, t) => {
              const difference = Math.abs(l - response.logProbs[t]);
              differences += difference;
              largest = Math.max(largest, difference);
            });
            tokens += logProbs.length;
          }
          return {
            logProbs,
            transferGap: gap,
            weights: new Float32Array(gap.length).fill(rowWeight(crossVariant, k, j, gap, truncateAt)),
            advantage: pairAdvantage({ local, global, j, k, m }),
            ratios: null,
            clipped: null,
          };
        }),
      ),
    );
  });
  Object.assign(c.record.metrics, shareMetrics(metricQuestions(c)), {
    'sampling/sampling_logp_difference/mean': differences / Math.max(1, tokens),
    'sampling/sampling_logp_difference/max': largest,
  });
}

/** The record's questions as the metrics want them. */
function metricQuestions(c: StepContext): MetricQuestion[] {
  return c.record.questions.map((q) => ({
    pooled: q.groups?.pooled ?? 'alive',
    responses: q.responses.map((group, j) =>
      group.map((r, i) => ({ ...q.rewards[j][i], length: r.tokens.length, stopped: r.finish === 'stop', entropies: r.entropies })),
    ),
    rows: q.pairs.flatMap((byJ, k) =>
      byJ.flatMap((row, j) =>
        rowCounts(c.settings.crossVariant, k, j)
          ? row.map((p) => ({ j, k, advantage: p.advantage, weight: p.weights[0] ?? 0, gap: p.transferGap }))
          : [],
      ),
    ),
  }));
}
