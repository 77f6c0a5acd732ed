/** @file Whether the numbers of a record add up: each is computed again from the ones that it is made of, by `src/algorithm`. */
import { expect } from 'vitest';
import { advantages, groupState } from '../../src/algorithm/advantage.ts';
import { sampleStd } from '../../src/algorithm/metrics.ts';
import { batchLoss, type Row } from '../../src/algorithm/objective.ts';
import { objectiveOf, rowAdvantage, rowCounts, weightsOfRow } from '../../src/algorithm/rows.ts';
import type { QuestionRecord, StepRecord } from '../../src/training/record.ts';
import type { Settings } from '../../src/training/settings.ts';

/** Records in JSON keep six digits. */
const CLOSE = 2e-4;

function close(got: number, want: number, what: string): void {
  expect(Math.abs(got - want), `${what}: ${got}, expected ${want}`).toBeLessThan(CLOSE * Math.max(1, Math.abs(want)));
}

function rewardsAddUp(q: QuestionRecord, s: Settings): void {
  q.rewards.flat().forEach((r) => close(r.total, s.accuracyWeight * r.accuracy + s.formatWeight * r.format, 'reward'));
}

function advantagesAddUp(q: QuestionRecord, s: Settings, batchStd: number): void {
  const totals = q.rewards.map((group) => group.map((r) => r.total));
  const want = advantages(totals, { sigma: s.sigma, scale: s.scaleRewards, batchStd });
  q.advantages.forEach((group, j) =>
    group.forEach((a, i) => {
      close(a.local, want.local[j][i], `local (${j},${i})`);
      close(a.global, want.global[j][i], `global (${j},${i})`);
    }),
  );
  expect(q.groups?.pooled).toBe(
    groupState(
      totals.flat(),
      q.rewards.flat().map((r) => r.accuracy),
    ),
  );
}

function pairsAddUp(q: QuestionRecord, s: Settings): void {
  q.pairs.forEach((byJ, k) =>
    byJ.forEach((row, j) =>
      row.forEach((pair, i) => {
        const own = q.pairs[j][j][i];
        close(pair.advantage, rowAdvantage(s, { ...q.advantages[j][i], j, k }), `A (${k};${j},${i})`);
        const weights = weightsOfRow(s, k, j, pair.transferGap);
        expect(pair.logProbs.length).toBe(q.responses[j][i].tokens.length);
        for (let t = 0; t < pair.logProbs.length; t++) {
          close(pair.transferGap[t], pair.logProbs[t] - own.logProbs[t], `gap (${k};${j},${i}) ${t}`);
          // sampling and scoring are two paths through the model; both say how likely the token was
          if (k === j) expect(Math.abs(pair.logProbs[t] - q.responses[j][i].logProbs[t])).toBeLessThan(5e-3);
          close(pair.weights[t], weights[t], `weight (${k};${j},${i})`);
        }
      }),
    ),
  );
}

function lossAddsUp(record: StepRecord): void {
  const { settings: s, update } = record;
  if (!update) throw new Error('The record has no update.');
  const objective = objectiveOf(s);
  const rows = (after: boolean): Row[] =>
    record.questions.flatMap((q) =>
      q.pairs.flatMap((byJ, k) =>
        byJ.flatMap((row, j) =>
          rowCounts(s, k, j)
            ? row.map((pair, i) => ({
                logProbs: Array.from(pair.logProbs, (l, t) => l + (after ? Math.log(pair.ratios?.[t] ?? 1) : 0)),
                oldLogProbs: pair.logProbs,
                advantage: pair.advantage,
                baseLogProbs: pair.base,
                weights: pair.weights,
                masked: s.maskTruncated === 'on' && q.responses[j][i].finish === 'length',
              }))
            : [],
        ),
      ),
    );
  expect(update.rows).toBe(rows(false).length);
  expect(update.tokens).toBe(rows(false).reduce((sum, r) => sum + r.logProbs.length, 0));
  close(update.loss, batchLoss(rows(false), objective), 'loss before');
  close(update.lossAfter ?? NaN, batchLoss(rows(true), objective), 'loss after');
}

export function addsUp(record: StepRecord): void {
  const batchStd = sampleStd(record.questions.flatMap((q) => q.rewards.flat().map((r) => r.total)));
  for (const q of record.questions) {
    expect([q.variants.length, q.responses.length]).toEqual([record.settings.variants, record.settings.variants]);
    rewardsAddUp(q, record.settings);
    advantagesAddUp(q, record.settings, batchStd);
    pairsAddUp(q, record.settings);
  }
  lossAddsUp(record);
}
