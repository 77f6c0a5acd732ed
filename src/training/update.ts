/**
 * @file The update phase: the objective's coefficients per token, the gradient through the adapter, one AdamW step for each part
 * of the batch and each pass over it; then the same rows scored anew, so that the record shows what the step did (ratios, clips,
 * loss after, distance from the base).
 */
import { clipMetrics } from '../algorithm/metrics.ts';
import { batchSize, clipMark, rowRatios, rowTerms, type BatchSize, type Objective, type Row } from '../algorithm/objective.ts';
import { objectiveOf, rowCounts, sampledVariants } from '../algorithm/rows.ts';
import { cosine, k3, rowWeights } from '../algorithm/transfer.ts';
import type { AdapterState, RowScores, ScoreGroup } from '../model/policy.ts';
import { aborting, scoreGroups, scoresByPair, type StepContext } from './rollout.ts';
import type { InnerUpdate, PairRecord, UpdateRecord } from './record.ts';

/** AdamW's betas and ε, PyTorch's defaults and the published code's. */
const BETAS = { beta1: 0.9, beta2: 0.999, epsilon: 1e-8 } as const;

export interface UpdateOptions {
  /** Also measure ratios, the loss after the step and the distance from the base model: two more scorings. */
  readonly diagnostics: boolean;
  /** Compare the published with the corrected gradient: two more backwards. */
  readonly compareGradients: boolean;
  readonly before: AdapterState;
}

/** A row that counts. `own`: scored under the variant it was sampled under. */
interface CountedRow {
  readonly pair: PairRecord;
  readonly tokens: Int32Array;
  readonly masked: boolean;
  readonly own: boolean;
}

/** A scoring group, and the row that each of its responses is. */
interface RowGroup extends ScoreGroup {
  readonly question: number;
  readonly rows: readonly CountedRow[];
}

/** Rows that take part, grouped by the prompt k that they are scored under. */
function countedGroups(c: StepContext): RowGroup[] {
  const masks = c.settings.maskTruncated === 'on';
  return c.record.questions.flatMap((q, question) =>
    c.prompts[question].map((prompt, k) => {
      const rows = q.responses.flatMap((group, j) =>
        rowCounts(c.settings, k, j)
          ? group.map((r, i) => ({
              tokens: Int32Array.from(r.tokens),
              pair: q.pairs[k][j][i],
              masked: masks && r.finish === 'length',
              own: k === j,
            }))
          : [],
      );
      return { prompt, question, rows, responses: rows.map((r) => r.tokens) };
    }),
  );
}

const rowOf = ({ pair, masked }: CountedRow, logProbs: ArrayLike<number>): Row => ({
  logProbs,
  oldLogProbs: pair.logProbs,
  baseLogProbs: pair.base,
  advantage: pair.advantage,
  weights: pair.weights,
  masked,
});

const sizeOf = (groups: readonly RowGroup[]): BatchSize =>
  batchSize(groups.flatMap((g) => g.rows.map((row) => ({ logProbs: row.tokens, masked: row.masked }))));

/** Rows with advantage or weight 0 add nothing; without them there is less to compute, and exactly the same sum. */
function teachingGroups(groups: readonly RowGroup[], beta: number): RowGroup[] {
  const teaches = ({ pair, masked }: CountedRow): boolean =>
    !masked && (beta !== 0 || (pair.advantage !== 0 && Array.from(pair.weights).some((w) => w !== 0)));
  return groups
    .map((g) => {
      const rows = g.rows.filter(teaches);
      return { ...g, rows, responses: rows.map((r) => r.tokens) };
    })
    .filter((g) => g.rows.length > 0);
}

/** The parts that a pass cuts the batch into: runs of whole questions, as even as they can be. */
function partsOf(groups: readonly RowGroup[], questions: number, parts: number): RowGroup[][] {
  return Array.from({ length: parts }, (_, p) => groups.filter((g) => Math.floor((g.question * parts) / questions) === p));
}

/** What of a row can clip: each of its tokens, or its one ratio; nothing of a masked row. TRL counts so. */
function marksOf(row: Row, { level, clip }: Objective): Int32Array {
  if (row.masked) return new Int32Array(0);
  const marks = Int32Array.from(rowRatios(row, level), (r) => clipMark(r, row.advantage, clip));
  return level === 'sequence' ? marks.subarray(0, 1) : marks;
}

/** How many of them the rows of a part have in all. */
const clippable = (size: BatchSize, groups: readonly RowGroup[], { level }: Objective): number =>
  level === 'token' ? size.tokens : groups.flatMap((g) => g.rows).filter((row) => !row.masked && row.tokens.length > 0).length;

/** Adds the gradient of the objective over some groups; the loss and the marks of clipped tokens are those at the weights of now. */
async function accumulate(
  c: StepContext,
  groups: readonly RowGroup[],
  size: BatchSize,
  weights?: (row: CountedRow) => ArrayLike<number>,
): Promise<{ readonly loss: number; readonly low: number; readonly high: number }> {
  const objective = objectiveOf(c.settings);
  const teaching = teachingGroups(groups, objective.beta);
  let [loss, low, high] = [0, 0, 0];
  if (teaching.length > 0) {
    await c.policy.accumulateGradient({
      groups: teaching,
      temperature: c.settings.temperature,
      ...aborting(c.signal),
      coefficients: (g, r, { logProbs }) => {
        const counted = teaching[g].rows[r];
        const row = rowOf(counted, logProbs);
        const terms = rowTerms(weights ? { ...row, weights: weights(counted) } : row, objective, size);
        loss += terms.loss;
        for (const mark of marksOf(row, objective)) {
          if (mark < 0) low++;
          if (mark > 0) high++;
        }
        return terms.slopes;
      },
    });
  }
  c.signal?.throwIfAborted();
  return { loss, low, high };
}

/** All passes over all parts, an AdamW step for each. */
async function learn(c: StepContext, counted: readonly RowGroup[]): Promise<InnerUpdate[]> {
  const { policy, settings } = c;
  const whole = sizeOf(counted);
  const parts = partsOf(counted, c.record.questions.length, settings.minibatches);
  const inner: InnerUpdate[] = [];
  for (let pass = 0; pass < settings.iterations; pass++) {
    for (const part of parts) {
      const own = sizeOf(part);
      const size = settings.lossAggregation === 'dapo' ? { rows: own.rows, tokens: whole.tokens / parts.length } : own;
      policy.zeroGradient();
      const { loss, low, high } = await accumulate(c, part, size);
      const { gradNorm, gradScale } = await policy.adamw({
        learningRate: settings.learningRate,
        ...BETAS,
        weightDecay: settings.weightDecay,
        maxGradNorm: settings.maxGradNorm,
      });
      const count = Math.max(1, clippable(own, part, objectiveOf(settings)));
      inner.push({ loss, gradNorm, gradScale, clipLow: low / count, clipHigh: high / count });
      c.report({ phase: 'update', done: inner.length, total: settings.iterations * parts.length });
    }
  }
  return inner;
}

/**
 * The cosine between the gradient with every row counted fully (as published) and with rows across variants weighted by
 * min(e^ΣΔ, C). Null where one of them is 0, or where no row is across variants. The gradient buffer is left empty.
 */
async function compareGradients(c: StepContext, counted: readonly RowGroup[]): Promise<number | null> {
  if (counted.every((g) => g.rows.every((row) => row.own))) return null;
  const size = sizeOf(counted);
  const gradientOf = async (mode: 'published' | 'sequence_truncate'): Promise<Float32Array> => {
    c.policy.zeroGradient();
    await accumulate(c, counted, size, ({ pair, own }) => rowWeights(mode, own, pair.transferGap, c.settings.truncateAt));
    return c.policy.readGradient();
  };
  const angle = cosine(await gradientOf('published'), await gradientOf('sequence_truncate'));
  c.policy.zeroGradient();
  return Number.isFinite(angle) ? angle : null;
}

/** Scores all rows with the new weights and fills their ratios and clip marks. */
async function measure(c: StepContext, size: BatchSize): Promise<Pick<UpdateRecord, 'lossAfter' | 'clipLow' | 'clipHigh'>> {
  const objective: Objective = objectiveOf(c.settings);
  const { temperature, maskTruncated } = c.settings;
  const raw = await c.policy.score({ groups: scoreGroups(c), temperature, adapter: true, ...aborting(c.signal) });
  const scores: RowScores[][][][] = scoresByPair(c, raw);
  const marks: Int32Array[] = [];
  let lossAfter = 0;
  c.record.questions.forEach((q, at) => {
    q.pairs.forEach((byJ, k) =>
      byJ.forEach((group, j) =>
        group.forEach((pair, i) => {
          const { logProbs } = scores[at][k][j][i];
          const masked = maskTruncated === 'on' && q.responses[j][i].finish === 'length';
          const row = rowOf({ pair, masked, tokens: new Int32Array(0), own: k === j }, logProbs);
          const ratios = Float32Array.from(rowRatios(row, objective.level));
          pair.ratios = ratios;
          pair.clipped = Int32Array.from(ratios, (r) => clipMark(r, pair.advantage, objective.clip));
          if (!rowCounts(c.settings, k, j)) return;
          marks.push(marksOf(row, objective));
          lossAfter += rowTerms(row, objective, size).loss;
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
  const sampledUnder = sampledVariants(c.settings);
  const groups = c.record.questions.flatMap((q, at) =>
    sampledUnder.map((j) => ({ prompt: c.prompts[at][j], responses: q.responses[j].map((r) => Int32Array.from(r.tokens)) })),
  );
  const scores = await c.policy.score({ groups, temperature: c.settings.temperature, adapter: false, ...aborting(c.signal) });
  let total = 0;
  let tokens = 0;
  c.record.questions.forEach((q, at) =>
    sampledUnder.forEach((j, s) =>
      q.pairs[j][j].forEach((pair, i) => {
        const base = scores[at * sampledUnder.length + s][i].logProbs;
        base.forEach((l, t) => (total += k3(pair.logProbs[t], l)));
        tokens += base.length;
      }),
    ),
  );
  return total / Math.max(1, tokens);
}

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / Math.max(1, values.length);

/** Learns from the step's rows. Fills `record.update`. */
export async function update(c: StepContext, o: UpdateOptions): Promise<void> {
  const { settings } = c;
  const counted = countedGroups(c);
  const size = sizeOf(counted);
  const angle = o.compareGradients ? await compareGradients(c, counted) : null;
  const kl = o.diagnostics ? await distanceFromBase(c) : null;
  const inner = await learn(c, counted);
  const loss = mean(inner.slice(0, settings.minibatches).map((u) => u.loss));
  const after = o.diagnostics ? await measure(c, size) : { lossAfter: null, clipLow: null, clipHigh: null };
  const modules = await c.policy.moduleNorms(o.before);
  const { gradNorm, gradScale } = inner[inner.length - 1];
  const { rows, tokens } = size;
  const { learningRate } = settings;
  c.record.update = { loss, inner, cosine: angle, ...after, rows, tokens, gradNorm, gradScale, learningRate, kl, modules };
  Object.assign(c.record.metrics, {
    loss,
    grad_norm: mean(inner.map((u) => u.gradNorm)),
    learning_rate: learningRate,
    // tokens of responses that pass forward and backward, each time they do
    'share/token_passes': settings.iterations * counted.reduce((n, g) => n + g.responses.reduce((m, r) => m + r.length, 0), 0),
    ...(kl === null ? {} : { kl }),
    ...(angle === null ? {} : { 'share/gradient_cosine': angle }),
    // of what was learnt from, as TRL has it; `clip_ratio/…` is that of the weights after the step
    'share/inner_clip_low': mean(inner.map((u) => u.clipLow)),
    'share/inner_clip_high': mean(inner.map((u) => u.clipHigh)),
  });
}
