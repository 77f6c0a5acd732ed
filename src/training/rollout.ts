/**
 * @file The phases from the prompts to the shared scores, each a function that fills its part of the record:
 * expand (prompts), rollout, reward, advantage, share. The numbers come from `algorithm`, the tokens from the policy.
 */
import { advantages, groupState } from '../algorithm/advantage.ts';
import { auditMetrics, rewardMetrics, sampleStd, shareMetrics, viewMetrics, type MetricQuestion } from '../algorithm/metrics.ts';
import { reward } from '../algorithm/reward.ts';
import { rowAdvantage, rowCounts, sampledVariants, weightsOfRow } from '../algorithm/rows.ts';
import { transferGap } from '../algorithm/transfer.ts';
import type { ImageFeatures, Policy, Prompt, RowScores, Sampled, ScoreGroup } from '../model/policy.ts';
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
  | 'readGradient'
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
  /** Places of questions that were drawn anew hold the new ones. */
  readonly questions: Question[];
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

/**
 * Encodes the variants' pictures in one batch and builds the m prompts of each of the questions `at`; all of their record is
 * made anew. `variants[x]` are those of question `at[x]`.
 */
export async function expand(c: StepContext, at: readonly number[], variants: readonly (readonly Variant[])[]): Promise<void> {
  const encoded = await c.policy.encodeImages(variants.flat().flatMap((v) => v.pictures));
  c.images.push(...encoded);
  let next = 0;
  at.forEach((q, x) => {
    const question = c.questions[q];
    const prompts = variants[x].map((v) => {
      const images = encoded.slice(next, (next += v.pictures.length));
      return c.policy.prompt({ text: v.text.text, hint: v.hint, images });
    });
    c.prompts[q] = prompts;
    c.record.questions[q] = {
      id: question.id,
      family: question.family,
      text: question.text.text,
      answer: question.answer,
      variants: variants[x].map((v, j) => ({
        text: v.text.text,
        phrasing: question.family === 'own' ? 'own' : v.text.phrasing,
        transform: v.transform,
        hint: v.hint,
        pictures: v.pictures,
        crops: v.crops,
        tokens: prompts[j].ids,
        madeBy: v.madeBy,
        poisoned: v.poisoned,
        audit: v.audit,
      })),
      responses: [],
      rewards: [],
      advantages: [],
      groups: null,
      pairs: [],
    } satisfies QuestionRecord;
  });
  const asked = metricQuestions(c);
  Object.assign(c.record.metrics, auditMetrics(asked), c.settings.mico === 'off' ? {} : viewMetrics(asked));
}

/** Rounds of drawing anew take their random numbers from steps that no run reaches. */
const ROUND_STEPS = 2 ** 20;

/** Samples n responses under each sampled variant of the questions `at`, all in one batch. */
export async function rollout(c: StepContext, at: readonly number[], round = 0): Promise<void> {
  const { policy, settings } = c;
  const { responses: n, variants: m } = settings;
  const sampledUnder = sampledVariants(settings);
  const prompts = at.flatMap((q) => sampledUnder.map((j) => c.prompts[q][j]));
  /** [x][j][i] of a flat list in order (x, sampled j, i). */
  const byQuestion = <T>(flat: readonly T[]): T[][][] =>
    at.map((_, x) =>
      Array.from({ length: m }, (__, j) => {
        const s = x * sampledUnder.length + sampledUnder.indexOf(j);
        return sampledUnder.includes(j) ? flat.slice(s * n, (s + 1) * n) : [];
      }),
    );
  const sampled = await policy.sample({
    prompts,
    n,
    maxTokens: settings.maxTokens,
    temperature: settings.temperature,
    topP: settings.topP,
    seed: settings.seed,
    step: c.record.step + round * ROUND_STEPS,
    adapter: true,
    ...aborting(c.signal),
    onTokens: ({ done, responses }) =>
      c.report({
        phase: 'rollout',
        done,
        total: prompts.length * n,
        ...(round === 0 ? { texts: byQuestion(responses.map((tokens) => responseText(policy, tokens))) } : {}),
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
  byQuestion(sampled.flat()).forEach((responses, x) => {
    c.record.questions[at[x]].responses = responses.map((group) => group.map(asRecord));
  });
  c.record.metrics['share/samples'] = (c.record.metrics['share/samples'] ?? 0) + prompts.length * n;
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
  const { sigma, scaleRewards } = c.settings;
  const batchStd = sampleStd(c.record.questions.flatMap((q) => q.rewards.flat().map((r) => r.total)));
  for (const q of c.record.questions) {
    const totals = q.rewards.map((group) => group.map((r) => r.total));
    const accuracies = q.rewards.map((group) => group.map((r) => r.accuracy));
    const { local, global, mean, std } = advantages(totals, { sigma, scale: scaleRewards, batchStd });
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

/** The places of questions from which nothing can be learnt: the advantage of each of their rows is 0. */
export function deadQuestions(c: StepContext): number[] {
  const rules = c.settings;
  return c.record.questions.flatMap((q, at) => {
    const alive = q.advantages.some((group, j) =>
      group.some((a) => q.variants.some((_, k) => rowCounts(rules, k, j) && rowAdvantage(rules, { ...a, j, k }) !== 0)),
    );
    return alive ? [] : [at];
  });
}

/** The B·m scoring groups: all responses of question q, in order (j, i), under each prompt k. */
export const scoreGroups = (c: StepContext): ScoreGroup[] =>
  c.record.questions.flatMap((q, at) =>
    c.prompts[at].map((prompt) => ({ prompt, responses: q.responses.flat().map((r) => Int32Array.from(r.tokens)) })),
  );

/** [q][k][j][i] of the scores of `scoreGroups`. */
export function scoresByPair(c: StepContext, scores: readonly (readonly RowScores[])[]): RowScores[][][][] {
  let group = 0;
  return c.record.questions.map((q) =>
    q.variants.map(() => {
      const flat = scores[group++].values();
      return q.responses.map((responses) => responses.map(() => flat.next().value as RowScores));
    }),
  );
}

/** Scores every response under every variant of its question, and fills the pairs. */
export async function share(c: StepContext): Promise<void> {
  const { settings } = c;
  const { temperature, klBeta } = settings;
  const groups = scoreGroups(c);
  const scores = scoresByPair(c, await c.policy.score({ groups, temperature, adapter: true, ...aborting(c.signal) }));
  const base = klBeta === 0 ? null : scoresByPair(c, await c.policy.score({ groups, temperature, adapter: false, ...aborting(c.signal) }));
  const differences: number[] = [];
  c.record.questions.forEach((q, at) => {
    q.pairs = q.variants.map((_, k) =>
      q.responses.map((group, j) =>
        group.map((response, i) => {
          const { logProbs } = scores[at][k][j][i];
          const gap = transferGap(logProbs, scores[at][j][j][i].logProbs);
          if (k === j) logProbs.forEach((l, t) => differences.push(Math.abs(l - response.logProbs[t])));
          return {
            logProbs,
            transferGap: gap,
            weights: weightsOfRow(settings, k, j, gap),
            advantage: rowAdvantage(settings, { ...q.advantages[j][i], j, k }),
            base: base?.[at][k][j][i].logProbs ?? null,
            ratios: null,
            clipped: null,
          };
        }),
      ),
    );
  });
  Object.assign(c.record.metrics, shareMetrics(metricQuestions(c), settings.truncateAt), {
    'sampling/sampling_logp_difference/mean': differences.reduce((a, b) => a + b, 0) / Math.max(1, differences.length),
    'sampling/sampling_logp_difference/max': differences.reduce((a, b) => Math.max(a, b), 0),
  });
}

/** The record's questions as the metrics want them. */
function metricQuestions(c: StepContext): MetricQuestion[] {
  return c.record.questions.map((q) => ({
    pooled: q.groups?.pooled ?? 'alive',
    local: (q.groups?.local ?? []).filter((_, j) => q.responses[j].length > 0),
    audits: q.variants.map((v) => v.audit),
    responses: q.responses.map((group, j) =>
      group.map((r, i) => ({ ...q.rewards[j][i], length: r.tokens.length, stopped: r.finish === 'stop', entropies: r.entropies })),
    ),
    rows: q.pairs.flatMap((byJ, k) =>
      byJ.flatMap((row, j) =>
        rowCounts(c.settings, k, j) ? row.map((p) => ({ j, k, advantage: p.advantage, weights: p.weights, gap: p.transferGap })) : [],
      ),
    ),
  }));
}
