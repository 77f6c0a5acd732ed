import { describe, expect, it } from 'vitest';
import vectors from '../../tests/fixtures/algo-vectors.json';
import { clipMetrics } from './metrics.ts';
import {
  batchLoss,
  batchSize,
  clipMark,
  ratio,
  rowTerms,
  tokenLoss,
  tokenSlope,
  type Aggregation,
  type Objective,
  type Row,
} from './objective.ts';
import { rowCounts } from './rows.ts';
import { effectiveSampleSize, k3, rowWeights, sum, transferGap, type CrossVariant } from './transfer.ts';

const example = vectors.token_example;
const clip = { low: example.eps_low, high: example.eps_high, dual: example.dual };
const published: Objective = { clip, level: 'token', aggregation: 'bnpo', beta: 0, maxTokens: 3 };
const gapOf = (r: (typeof example.rows)[number]) => transferGap(r.logp_old_k, r.logp_old_j);

const rowsOf = (mode: CrossVariant): Row[] =>
  example.rows
    .filter((r) => rowCounts({ mico: 'off', crossVariant: mode }, r.k, r.j))
    .map((r) => ({
      logProbs: r.logp_theta_k,
      oldLogProbs: r.logp_old_k,
      advantage: r.A,
      weights: rowWeights(mode, r.k === r.j, gapOf(r), example.C),
    }));

const MODES = {
  published: 'none',
  token_truncate: 'tok_trunc',
  sequence_truncate: 'seq_trunc',
  sequence_mask: 'seq_mask',
  sequence: 'seq',
  geometric: 'geo',
} as const satisfies Partial<Record<CrossVariant, keyof typeof example.losses>>;

const AGGREGATIONS = {
  bnpo: 'token_mean(repo,dapo/bnpo)',
  dapo: 'token_mean(repo,dapo/bnpo)',
  grpo: 'seq_mean(grpo)',
  dr_grpo: 'dr_grpo(L=3)',
} as const;

describe('the worked example (m = n = 2)', () => {
  for (const [mode, key] of Object.entries(MODES)) {
    for (const [aggregation, name] of Object.entries(AGGREGATIONS)) {
      it(`has the loss of ${mode}, ${aggregation}`, () => {
        const got = batchLoss(rowsOf(mode as CrossVariant), { ...published, aggregation: aggregation as Aggregation });
        // the weights are kept in float32
        expect(got).toBeCloseTo(example.losses[key][name], 7);
      });
    }
  }

  it('has the loss without rows across variants, over the rows that count', () => {
    // the worked number counts the tokens of dropped rows in the mean (10 of 20); ours counts rows that take part
    expect(batchLoss(rowsOf('none'), published)).toBeCloseTo(2 * example.losses.offdiag_dropped['token_mean(repo,dapo/bnpo)'], 7);
    expect(batchLoss(rowsOf('none'), { ...published, aggregation: 'grpo' })).toBeCloseTo(
      2 * example.losses.offdiag_dropped['seq_mean(grpo)'],
      7,
    );
    expect(batchLoss(rowsOf('none'), { ...published, aggregation: 'dr_grpo' })).toBeCloseTo(
      2 * example.losses.offdiag_dropped['dr_grpo(L=3)'],
      7,
    );
  });

  it('masks where truncation would cut', () => {
    expect(Array.from(rowWeights('token_mask', false, [0, 1, -1], 2))).toEqual([1, 0, Math.fround(Math.exp(-1))]);
    expect(Array.from(rowWeights('sequence_mask', false, [0.4, 0.4], 2))).toEqual([0, 0]);
    expect(Array.from(rowWeights('sequence_truncate', false, [0.4, 0.4], 2))).toEqual([2, 2]);
  });

  it('is the published code’s', () => {
    expect(batchLoss(rowsOf('published'), published)).toBeCloseTo(example.snapshot_policy_loss, 9);
  });

  it('never puts the factor inside the clip: that gives another loss', () => {
    const joint: Row[] = example.rows.map((r) => ({
      logProbs: r.logp_theta_k,
      oldLogProbs: r.logp_old_j,
      advantage: r.A,
      weights: new Float32Array(r.logp_old_j.length).fill(1),
    }));
    const wrong = example.losses.joint_ratio_clipped['token_mean(repo,dapo/bnpo)'];
    expect(batchLoss(joint, published)).toBeCloseTo(wrong, 9);
    for (const mode of [...Object.keys(MODES), 'none', 'token_mask'] as CrossVariant[])
      expect(Math.abs(batchLoss(rowsOf(mode), published) - wrong)).toBeGreaterThan(1e-3);
  });

  it('has its transfer gap, weights and effective sample size', () => {
    const across = example.rows.filter((r) => r.j !== r.k);
    const gaps = across.map(gapOf);
    const flat = gaps.flatMap((g) => Array.from(g));
    expect(sum(flat.map(Math.abs)) / flat.length).toBeCloseTo(example.delta.mean_abs, 6);
    expect(sum(flat) / flat.length).toBeCloseTo(example.delta.mean, 6);
    expect(sum(flat.map((d) => k3(0, d))) / flat.length).toBeCloseTo(example.delta.kl_k3, 6);
    const weights = gaps.map((g) => rowWeights('sequence', false, g, 1)[0]);
    weights.forEach((w, i) => expect(w).toBeCloseTo(example.delta.w_seq[i], 6));
    expect(effectiveSampleSize(weights)).toBeCloseTo(example.delta.ess, 6);
    for (const r of example.rows) {
      expect(rowWeights('sequence', r.k === r.j, gapOf(r), 1)[0]).toBeCloseTo(r.w_seq, 6);
      if ('w_geo' in r) expect(rowWeights('geometric', r.k === r.j, gapOf(r), 1)[0]).toBeCloseTo(r.w_geo as number, 6);
      if ('w_tok' in r)
        rowWeights('token_truncate', r.k === r.j, gapOf(r), 99).forEach((w, t) => expect(w).toBeCloseTo((r.w_tok as number[])[t], 6));
    }
  });

  it('has its clip fractions', () => {
    const marks = rowsOf('published').map((row) =>
      Array.from(row.logProbs, (l, t) => clipMark(ratio(l, row.oldLogProbs[t]), row.advantage, clip)),
    );
    const got = clipMetrics(marks);
    expect(got['clip_ratio/low_mean']).toBeCloseTo(example.trl_clip_ratio.low_mean, 12);
    expect(got['clip_ratio/high_mean']).toBeCloseTo(example.trl_clip_ratio.high_mean, 12);
    expect(got['clip_ratio/region_mean']).toBeCloseTo(example.trl_clip_ratio.region_mean, 12);
    // the published code counts every token out of range on the side that its clip holds, as one number, and the dual clip as another
    expect(got['clip_ratio/region_mean']).toBeCloseTo(example.snapshot_clipfrac_higher, 7);
    const dual = rowsOf('published').flatMap((row) =>
      Array.from(row.logProbs, (l, t) => row.advantage < 0 && ratio(l, row.oldLogProbs[t]) > clip.dual),
    );
    expect(dual.filter(Boolean).length / dual.length).toBe(example.snapshot_clipfrac_lower);
  });

  it('has its distance from the old policy', () => {
    const all = rowsOf('published').flatMap((row) => Array.from(row.logProbs, (l, t) => row.oldLogProbs[t] - l));
    expect(sum(all) / all.length).toBeCloseTo(example.snapshot_ppo_kl, 9);
  });
});

/** Rows of every kind: both signs, ratios out of either side, a weight, a masked one, one token, none at all. */
const odd: Row[] = [
  { logProbs: [-1, -0.2, -3], oldLogProbs: [-1.1, -1.2, -2], baseLogProbs: [-1, -2, -2.5], advantage: 1.5, weights: [1, 0.5, 2] },
  { logProbs: [-0.4, -2.5], oldLogProbs: [-2, -0.5], baseLogProbs: [-0.1, -2.4], advantage: -0.7, weights: [1, 1] },
  { logProbs: [-0.9], oldLogProbs: [-1], baseLogProbs: [-0.7], advantage: 0.3, weights: [0.1] },
  { logProbs: [-0.9, -1], oldLogProbs: [-1, -1], baseLogProbs: [-0.7, -1], advantage: 0.3, weights: [1, 1], masked: true },
  { logProbs: [], oldLogProbs: [], baseLogProbs: [], advantage: 1, weights: [] },
];

describe('the derivative', () => {
  const variants = (['grpo', 'bnpo', 'dr_grpo', 'dapo'] as const).flatMap((aggregation) =>
    (['token', 'sequence'] as const).flatMap((level) =>
      [0, 0.1].flatMap((beta) => [clip, { ...clip, dual: null }].map((c) => ({ aggregation, level, beta, clip: c, maxTokens: 7 }))),
    ),
  );
  it.each(variants)('is that of the loss, by central differences: $aggregation $level β $beta', (objective) => {
    const size = batchSize(odd);
    for (const row of odd) {
      const { slopes } = rowTerms(row, objective, size);
      slopes.forEach((slope, t) => {
        const at = (h: number) =>
          rowTerms({ ...row, logProbs: Array.from(row.logProbs, (l, u) => (u === t ? l + h : l)) }, objective, size).loss;
        expect(Math.abs((at(1e-5) - at(-1e-5)) / 2e-5 - slope)).toBeLessThan(1e-6);
      });
    }
  });

  it.each([
    [0.5, 2],
    [0.9, 2],
    [1.25, 2],
    [1.4, 2],
    [0.5, -2],
    [0.9, -2],
    [1.4, -2],
    [2.9, -2],
    [3.1, -2],
  ])('holds at ratio %f and advantage %f, on either side of each clip', (r, a) => {
    const at = (x: number) => tokenLoss(Math.exp(x), a, clip);
    const x = Math.log(r);
    expect(Math.abs((at(x + 1e-6) - at(x - 1e-6)) / 2e-6 - tokenSlope(r, a, clip))).toBeLessThan(1e-6);
  });

  it('is −A/N at the old weights, whatever the log-probs', () => {
    const { slopes, loss } = rowTerms({ logProbs: [-1, -2], oldLogProbs: [-1, -2], advantage: 1.5, weights: [1, 1] }, published, {
      rows: 2,
      tokens: 4,
    });
    expect(Array.from(slopes)).toEqual([-0.375, -0.375]);
    expect(loss).toBe(-0.75);
  });

  it('stays finite for impossible tokens', () => {
    const one = { rows: 1, tokens: 1 };
    const { slopes, loss } = rowTerms({ logProbs: [0], oldLogProbs: [-1e4], advantage: -1, weights: [1] }, published, one);
    expect(loss).toBe(3);
    expect(Math.abs(slopes[0])).toBe(0);
    const far = rowTerms(
      { logProbs: [-1e4], oldLogProbs: [-1e4], baseLogProbs: [0], advantage: 1, weights: [1] },
      { ...published, beta: 1 },
      one,
    );
    expect(Number.isFinite(far.loss)).toBe(true);
  });

  it('is empty for an empty response, and 0 for a masked one', () => {
    expect(rowTerms(odd[4], published, batchSize(odd))).toEqual({ loss: 0, slopes: new Float32Array(0) });
    expect(rowTerms(odd[3], published, batchSize(odd))).toEqual({ loss: 0, slopes: new Float32Array(2) });
    expect(batchSize(odd)).toEqual({ rows: 5, tokens: 6 });
  });
});
