/**
 * @file The update phase: the objective's coefficients per token, the gradient through the adapter, one AdamW step; then the
 * same rows scored anew, so that the record shows what the step did (ratios, clips, loss after, distance from the base).
 */
import { clipMetrics } from '../algorithm/metrics.ts';
import { clipMark, ratio, rowTerms, type ClipRange } from '../algorithm/objective.ts';
import { k3, rowCounts } from '../algorithm/transfer.ts';
import type { AdapterState, ScoreGroup } from '../model/policy.ts';
import { aborting, scoreGroups, type StepContext } from './rollout.ts';
import type { PairRecord, UpdateRecord } from './record.ts';

/** AdamW's betas and ε, PyTorch's defaults and the published code's. */
const BETAS = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 } as const;

export interface UpdateOptions {
  /** Also measure ratios, the loss after the step and the distance from the base model: two more scorings. */
  readonly diagnostics: boolean;
  readonly before: AdapterState;
}

/** A scoring group, and the pair that each of its responses belongs to. */
interface PairGroup extends ScoreGroup {
  readonly pairs: readonly PairRecord[];
}

const weightOf = (pair: PairRecord): number => pair.weights[0] ?? 0;

const clipOf = (c: StepContext): ClipRange => ({ low: c.settings.clipLow, high: c.settings.clipHigh, dual: c.settings.dualClip });

/** Rows that take part, grouped by the prompt k that they are scored under. */
function countedGroups(c: StepContext): PairGroup[] {
  return c.record.questions.flatMap((q, at) =>
    c.prompts[at].map((prompt, k) => {
      const rows = q.responses.flatMap((group, j) =>
        rowCounts(c.settings.crossVariant, k, j)
          ? group.map((r, i) => ({ tokens: Int32Array.from(r.tokens), pair: q.pairs[k][j][i] }))
          : [],
      );
      return { prompt, responses: rows.map((r) => r.tokens), pairs: rows.map((r) => r.pair) };
    }),
  );
}

/** Rows with advantage or weight 0 add nothing to loss or gradient; without them there is less to compute, and exactly the same sum. */
function teachingGroups(groups: readonly PairGroup[]): PairGroup[] {
  return groups
    .map(({ prompt, responses, pairs }) => {
      const teaches = pairs.map((p) => p.advantage !== 0 && weightOf(p) !== 0);
      return { prompt, responses: responses.filter((_, r) => teaches[r]), pairs: pairs.filter((_, r) => teaches[r]) };
    })
    .filter((g) => g.pairs.length > 0);
}

/** Scores all rows with the new weights and fills their ratios and clip marks. */
async function measure(c: StepContext, tokens: number): Promise<Pick<UpdateRecord, 'lossAfter' | 'clipLow' | 'clipHigh'>> {
  const clip = clipOf(c);
  const { variants: m, responses: n, temperature, crossVariant } = c.settings;
  const scores = await c.policy.score({ groups: scoreGroups(c), temperature, adapter: true, ...aborting(c.signal) });
  const marks: Int32Array[] = [];
  let lossAfter = 0;
  c.record.questions.forEach((q, at) => {
    q.pairs.forEach((byJ, k) =>
      byJ.forEach((row, j) =>
        row.forEach((pair, i) => {
          const { logProbs } = scores[at * m + k][j * n + i];
          const ratios = logProbs.map((l, t) => ratio(l, pair.logProbs[t]));
          const clipped = Int32Array.from(ratios, (r) => clipMark(r, pair.advantage, clip));
          pair.ratios = ratios;
          pair.clipped = clipped;
          if (!rowCounts(crossVariant, k, j)) return;
          marks.push(clipped);
          lossAfter += rowTerms(
            { logProbs, oldLogProbs: pair.logProbs, advantage: pair.advantage, weight: weightOf(pair) },
            clip,
            tokens,
          ).loss;
        }),
      ),
    );
  });
  const metrics = clipMetrics(marks);
  Object.assign(c.record.metrics, metrics);
  return { lossAfter, clipLow: metrics['clip_ratio/low_mean'], clipHigh: metrics['clip_ratio/high_mean'] };
}

/** Mean k3 over the tokens of each response under its own variant. */
async function distanceFromBase(c: StepContext): Promise<number> {
  const groups = c.record.questions.flatMap((q, at) =>
    c.prompts[at].map((prompt, j) => ({ prompt, responses: q.responses[j].map((r) => Int32Array.from(r.tokens)) })),
  );
  const scores = await c.policy.score({ groups, temperature: c.settings.temperature, adapter: false, ...aborting(c.signal) });
  let total = 0;
  let tokens = 0;
  c.record.questions.forEach((q, at) =>
    q.pairs.forEach((byJ, j) =>
      byJ[j].forEach((pair, i) => {
        const base = scores[at * c.settings.variants + j][i].logProbs;
        base.forEach((l, t) => (total += k3(pair.logProbs[t], l)));
        tokens += base.length;
      }),
    ),
  );
  return total / Math.max(1, tokens);
}

/** One AdamW step on the objective. Fills `record.update`. */
export async function update(c: StepContext, o: UpdateOptions): Promise<void> {
  const { policy, settings } = c;
  const clip = clipOf(c);
  const counted = countedGroups(c);
  const rows = counted.reduce((sum, g) => sum + g.responses.length, 0);
  const tokens = counted.reduce((sum, g) => sum + g.responses.reduce((s, r) => s + r.length, 0), 0);
  const teaching = teachingGroups(counted);
  const kl = o.diagnostics ? await distanceFromBase(c) : null;
  let loss = 0;
  policy.zeroGradient();
  if (teaching.length > 0) {
    await policy.accumulateGradient({
      groups: teaching,
      temperature: settings.temperature,
      ...aborting(c.signal),
      coefficients: (g, r, scores) => {
        const pair = teaching[g].pairs[r];
        const terms = rowTerms(
          { logProbs: scores.logProbs, oldLogProbs: pair.logProbs, advantage: pair.advantage, weight: weightOf(pair) },
          clip,
          tokens,
        );
        loss += terms.loss;
        return terms.slopes;
      },
    });
  }
  c.signal?.throwIfAborted();
  const { gradNorm, gradScale } = await policy.adamw({
    learningRate: settings.learningRate,
    ...BETAS,
    weightDecay: settings.weightDecay,
    maxGradNorm: settings.maxGradNorm,
  });
  const after = o.diagnostics ? await measure(c, tokens) : { lossAfter: null, clipLow: null, clipHigh: null };
  const modules = await policy.moduleNorms(o.before);
  c.record.update = { loss, ...after, rows, tokens, gradNorm, gradScale, learningRate: settings.learningRate, kl, modules };
  Object.assign(c.record.metrics, { loss, grad_norm: gradNorm, learning_rate: settings.learningRate, ...(kl === null ? {} : { kl }) });
}
