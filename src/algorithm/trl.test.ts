/**
 * @file The objective against TRL's GRPOTrainer (huggingface/trl), where both have the same option: loss, slopes, metrics and
 * advantages. TRL's sampler stands for the policy on the prompt that a response was sampled under. Made by
 * tools/oracle/make_trl_fixture.py, in float64.
 */
import { describe, expect, it } from 'vitest';
import reference from '../../tests/fixtures/trl-loss.json';
import { advantages, type ScaleRewards } from './advantage.ts';
import { clipMetrics, mean, sampleStd } from './metrics.ts';
import { batchLoss, batchSize, clipMark, rowRatios, rowTerms, type Aggregation, type Objective, type Row } from './objective.ts';
import { k3, rowWeights, transferGap, type CrossVariant } from './transfer.ts';

type Case = (typeof reference.cases)[number];

/** Weights and slopes are kept in float32. */
const TOLERANCE = 1e-5;

function rowsOf({ correction, maskTruncated }: Case): Row[] {
  const mode = (correction ?? 'published') as CrossVariant;
  return reference.rows.map(({ logProbs, oldLogProbs, baseLogProbs, samplingLogProbs, advantage, truncated }) => ({
    logProbs,
    oldLogProbs,
    baseLogProbs,
    advantage,
    weights: rowWeights(mode, false, transferGap(oldLogProbs, samplingLogProbs), reference.cap),
    masked: maskTruncated && truncated,
  }));
}

const objectiveOf = ({ aggregation, level, beta, clip }: Case): Objective => ({
  aggregation: aggregation as Aggregation,
  level: level as Objective['level'],
  beta,
  clip,
  maxTokens: reference.maxTokens,
});

const nameOf = ({ aggregation, level, beta, clip, correction, maskTruncated }: Case): string =>
  [
    aggregation,
    level,
    correction ?? 'no correction',
    `β ${beta}`,
    `ε ${clip.low}/${clip.high}`,
    ...(clip.dual === null ? [] : [`dual ${clip.dual}`]),
    ...(maskTruncated ? ['masked'] : []),
  ].join(', ');

/** Largest difference, absolute where the numbers are below 1 and relative above. */
const difference = (got: ArrayLike<number>, want: readonly number[]): number =>
  Math.max(...want.map((w, i) => Math.abs(got[i] - w) / Math.max(1, Math.abs(w))));

describe('loss and slopes of TRL', () => {
  for (const wanted of reference.cases) {
    it(nameOf(wanted), () => {
      const rows = rowsOf(wanted);
      const objective = objectiveOf(wanted);
      const size = batchSize(rows);
      expect(difference([batchLoss(rows, objective)], [wanted.loss])).toBeLessThan(TOLERANCE);
      rows.forEach((row, i) => {
        const { slopes } = rowTerms(row, objective, size);
        expect(slopes).toHaveLength(wanted.slopes[i].length);
        expect(difference(slopes, wanted.slopes[i])).toBeLessThan(TOLERANCE);
      });
    });
  }
});

describe('metrics of TRL', () => {
  const counted = (wanted: Case): Row[] => rowsOf(wanted).filter((row) => !row.masked);

  it('counts clipped tokens as TRL does, where ratios are per token', () => {
    for (const wanted of reference.cases.filter((c) => c.level === 'token')) {
      const marks = counted(wanted).map((row) => rowRatios(row, 'token').map((r) => clipMark(r, row.advantage, wanted.clip)));
      for (const [name, value] of Object.entries(clipMetrics(marks))) {
        expect(value).toBeCloseTo(wanted.metrics[name as keyof typeof wanted.metrics] as number, 6);
      }
    }
  });

  it('measures the distance from the base model as TRL does', () => {
    for (const wanted of reference.cases.filter((c) => c.beta !== 0)) {
      const rows = counted(wanted);
      const distances = rows.flatMap(({ logProbs, baseLogProbs }) => Array.from(logProbs, (x, t) => k3(x, baseLogProbs![t])));
      expect(mean(distances)).toBeCloseTo(wanted.metrics.kl!, 6);
    }
  });
});

describe('advantages of TRL (its ε is 1e-4)', () => {
  const batchStd = sampleStd(reference.rewards.flat());
  for (const wanted of reference.scaleRewards) {
    it(`scale_rewards ${wanted.scale}`, () => {
      const options = { sigma: 'sample', scale: wanted.scale as ScaleRewards, batchStd, epsilon: reference.epsilon } as const;
      reference.rewards.forEach((group, i) => {
        // one variant: the group of n is the whole group
        const { global, local } = advantages([group], options);
        expect(difference(global[0], wanted.advantages[i])).toBeLessThan(TOLERANCE);
        expect(difference(local[0], wanted.advantages[i])).toBeLessThan(TOLERANCE);
      });
      expect(batchStd).toBeCloseTo(wanted.metrics.reward_std, 9);
    });
  }
});
