/** @file What the missing factor does, in expectation: policies over three answers, in the place of a model (reference §5, T8–T10). */
import { describe, expect, it } from 'vitest';
import vectors from '../../tests/fixtures/algo-vectors.json';
import { groupStatistics } from './advantage.ts';
import { cosine, effectiveSampleSize, k3, rowWeights, sum, transferGap } from './transfer.ts';

/** E_{o ~ behaviour}[w(o)·A(o)·∇ log target(o)] on the logits of `target`. */
function gradient(
  behaviour: readonly number[],
  target: readonly number[],
  advantage: readonly number[],
  weight: (o: number) => number,
): number[] {
  return target.map((_, a) => behaviour.reduce((g, p, o) => g + p * weight(o) * advantage[o] * ((a === o ? 1 : 0) - target[a]), 0));
}

/** (R − μ)/σ under the policy p. */
function standardised(p: readonly number[], rewards: readonly number[]): number[] {
  const mean = sum(p.map((x, o) => x * rewards[o]));
  const std = Math.sqrt(sum(p.map((x, o) => x * (rewards[o] - mean) ** 2)));
  return rewards.map((r) => (r - mean) / (std + 1e-6));
}

const close = (got: readonly number[], want: readonly number[], digits = 6) =>
  got.forEach((g, i) => expect(g).toBeCloseTo(want[i], digits));

describe.each(Object.entries(vectors.categorical))('%s', (_, want) => {
  const [pj, pk] = [want.pi_behaviour, want.pi_target];
  const gap = transferGap(pk.map(Math.log), pj.map(Math.log));
  const importance = (o: number) => rowWeights('sequence', false, [gap[o]], 1)[0];
  const truncated = (o: number) => rowWeights('sequence_truncate', false, [gap[o]], 2)[0];
  const advantage = want.A_from_behaviour;
  const written = gradient(pj, pk, advantage, () => 1);
  const corrected = gradient(pj, pk, advantage, importance);

  it('has its gradients: as written, corrected, truncated at 2', () => {
    close(written, want.g_as_written);
    close(corrected, want.g_corrected);
    close(gradient(pj, pk, advantage, truncated), want.g_trunc_C2);
  });

  it('is corrected to what sampling from the target gives', () => {
    close(
      corrected,
      gradient(pk, pk, advantage, () => 1),
    );
    close(
      gradient(pk, pk, advantage, () => 1),
      want.g_onpolicy_target_sameA,
    );
    expect(Math.max(...corrected.map((g, i) => Math.abs(g - want.g_onpolicy_target_sameA[i])))).toBeCloseTo(
      want['max|corrected-onpolicy_sameA|'],
      6,
    );
    // with advantages of its own samples it is another number; the worked σ is the population’s, so only the shape is ours
    const own = standardised(pk, want.R);
    expect(
      cosine(
        gradient(pk, pk, own, () => 1),
        want.g_onpolicy_target_ownA,
      ),
    ).toBeCloseTo(1, 6);
  });

  it('moves even where every response is as good as the other, unless it is corrected', () => {
    const flat = [1, 1, 1];
    close(
      gradient(pj, pk, flat, () => 1),
      want['score_mean_as_written(=pj-pk)'],
    );
    close(gradient(pj, pk, flat, importance), want.score_mean_corrected);
  });

  it('has its weights and distances', () => {
    close([0, 1, 2].map(importance), want.w, 5);
    expect(-sum(pj.map((p, o) => p * gap[o]))).toBeCloseTo(want['KL(j||k)'], 6);
    expect(sum(pj.map((p, o) => p * k3(0, gap[o])))).toBeCloseTo(want['KL(j||k)'], 6); // Σ p_j·(w − 1) is 0
    expect(sum(pj.map((p, o) => Math.abs(p - pk[o]))) / 2).toBeCloseTo(want.TV, 9);
    // the share of samples in effect, in expectation: E[w]²/E[w²], which many draws approach
    const draws = pj.flatMap((p, o) => Array.from({ length: Math.round(p * 1e4) }, () => importance(o)));
    expect(effectiveSampleSize(draws)).toBeCloseTo(want.ESS_frac, 4);
    expect(cosine(written, want.g_onpolicy_target_sameA)).toBeCloseTo(want['cos(as_written,onpolicy_sameA)'], 6);
  });
});

describe('MiCo', () => {
  it('has its advantages with either σ', () => {
    const { mean, std } = groupStatistics(vectors.mico['R=format+accuracy'], 'sample');
    close(
      vectors.mico['R=format+accuracy'].map((r) => (r - mean) / (std + 1e-4)),
      vectors.mico['A_ddof1_eps1e-4(TRL)'],
      9,
    );
    const population = groupStatistics(vectors.mico['R=format+accuracy'], 'population');
    close(
      vectors.mico['R=format+accuracy'].map((r) => (r - mean) / population.std),
      vectors.mico.A_ddof0,
      9,
    );
  });
});

describe('weights', () => {
  it('are 1 on the diagonal and with a gap of 0, in every mode but none', () => {
    for (const mode of [
      'published',
      'token_truncate',
      'token_mask',
      'sequence_truncate',
      'sequence_mask',
      'geometric',
      'sequence',
    ] as const) {
      expect(Array.from(rowWeights(mode, true, [1, -3], 2))).toEqual([1, 1]);
      expect(Array.from(rowWeights(mode, false, [0, 0], 2))).toEqual([1, 1]);
    }
    expect(Array.from(rowWeights('none', false, [0, 0], 2))).toEqual([0, 0]);
  });
  it('stay finite and take empty responses', () => {
    for (const mode of ['token_truncate', 'token_mask', 'sequence_truncate', 'sequence_mask', 'geometric', 'sequence'] as const) {
      expect(rowWeights(mode, false, [], 2)).toHaveLength(0);
      for (const gap of [1e4, -1e4]) expect(rowWeights(mode, false, [gap], 2).every(Number.isFinite)).toBe(true);
    }
  });
});
