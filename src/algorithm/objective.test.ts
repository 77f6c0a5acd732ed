import { describe, expect, it } from 'vitest';
import vectors from '../../tests/fixtures/algo-vectors.json';
import { clipMetrics } from './metrics.ts';
import { batchLoss, clipMark, ratio, rowTerms, tokenLoss, tokenSlope, type Row } from './objective.ts';
import { effectiveSampleSize, k3, rowCounts, rowWeight, sum, transferGap, type CrossVariant } from './transfer.ts';

const example = vectors.token_example;
const clip = { low: example.eps_low, high: example.eps_high, dual: example.dual };

const rowsOf = (mode: CrossVariant): Row[] =>
  example.rows
    .filter((r) => rowCounts(mode, r.k, r.j))
    .map((r) => ({
      logProbs: r.logp_theta_k,
      oldLogProbs: r.logp_old_k,
      advantage: r.A,
      weight: rowWeight(mode, r.k, r.j, transferGap(r.logp_old_k, r.logp_old_j), example.C),
    }));

describe('the worked example (m = n = 2)', () => {
  it.each([
    ['published', example.losses.none],
    ['sequence_truncate', example.losses.seq_trunc],
    // the worked number counts the tokens of dropped rows in the mean (10 of 20); ours counts rows that take part
    ['none', example.losses.offdiag_dropped * 2],
  ] as const)('has the loss of crossVariant %s', (mode, want) => {
    expect(batchLoss(rowsOf(mode), clip)).toBeCloseTo(want, mode === 'published' ? 12 : 7);
  });

  it('has its transfer gap, weights and effective sample size', () => {
    const across = example.rows.filter((r) => r.j !== r.k);
    const gaps = across.map((r) => transferGap(r.logp_old_k, r.logp_old_j));
    const flat = gaps.flatMap((g) => Array.from(g));
    expect(sum(flat.map(Math.abs)) / flat.length).toBeCloseTo(example.delta.mean_abs, 6);
    expect(sum(flat.map((d) => k3(0, d))) / flat.length).toBeCloseTo(example.delta.kl_k3, 6);
    const weights = gaps.map((g) => Math.exp(sum(g)));
    weights.forEach((w, i) => expect(w).toBeCloseTo(example.delta.w_seq[i], 6));
    expect(effectiveSampleSize(weights)).toBeCloseTo(example.delta.ess, 6);
  });

  it('has its clip fractions', () => {
    const marks = rowsOf('published').map((row) =>
      Array.from(row.logProbs, (l, t) => clipMark(ratio(l, row.oldLogProbs[t]), row.advantage, clip)),
    );
    const got = clipMetrics(marks);
    expect(got['clip_ratio/low_mean']).toBeCloseTo(example.trl_clip_ratio.low_mean, 12);
    expect(got['clip_ratio/high_mean']).toBeCloseTo(example.trl_clip_ratio.high_mean, 12);
    expect(got['clip_ratio/region_mean']).toBeCloseTo(example.trl_clip_ratio.region_mean, 12);
  });
});

describe('the derivative', () => {
  it('is that of the loss, by central differences', () => {
    for (const mode of ['published', 'sequence_truncate', 'none'] as const) {
      const rows = rowsOf(mode);
      const tokens = rows.reduce((n, r) => n + r.logProbs.length, 0);
      for (const row of rows) {
        const { slopes } = rowTerms(row, clip, tokens);
        slopes.forEach((slope, t) => {
          const at = (h: number) =>
            rowTerms({ ...row, logProbs: Array.from(row.logProbs, (l, u) => (u === t ? l + h : l)) }, clip, tokens).loss;
          expect(Math.abs((at(1e-5) - at(-1e-5)) / 2e-5 - slope)).toBeLessThan(1e-6);
        });
      }
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
    const { slopes, loss } = rowTerms({ logProbs: [-1, -2], oldLogProbs: [-1, -2], advantage: 1.5, weight: 1 }, clip, 4);
    expect(Array.from(slopes)).toEqual([-0.375, -0.375]);
    expect(loss).toBe(-0.75);
  });

  it('stays finite for impossible tokens', () => {
    const { slopes, loss } = rowTerms({ logProbs: [0], oldLogProbs: [-1e4], advantage: -1, weight: 1 }, clip, 1);
    expect(loss).toBe(3);
    expect(Math.abs(slopes[0])).toBe(0);
  });

  it('is empty for an empty response', () => {
    expect(rowTerms({ logProbs: [], oldLogProbs: [], advantage: 1, weight: 1 }, clip, 1)).toEqual({ loss: 0, slopes: new Float32Array(0) });
  });
});
