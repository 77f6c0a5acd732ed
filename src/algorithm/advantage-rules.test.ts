/** @file Dead groups, the leak of float32, weights of the hierarchy, and what rewards are divided by. */
import { describe, expect, it } from 'vitest';
import vectors from '../../tests/fixtures/algo-vectors.json';
import { advantages, EPSILON, pairAdvantage } from './advantage.ts';
import { auditMetrics, rewardMetrics, shareMetrics, viewMetrics } from './metrics.ts';
import { rowAdvantage, rowCounts, sampledVariants } from './rows.ts';

/** The published code's arithmetic: everything rounded to float32. */
function leaky(reward: number, count: number): number {
  const f = Math.fround;
  const values = Array.from({ length: count }, () => f(reward));
  const mean = f(values.reduce((a, b) => f(a + b), 0) / count);
  const squares = values.reduce((a, b) => f(a + f(f(b - mean) * f(b - mean))), 0);
  return f(f(values[0] - mean) / f(f(Math.sqrt(f(squares / (count - 1)))) + f(EPSILON)));
}

describe('equal rewards', () => {
  it.each(Object.entries(vectors.fp32_constant_reward_leak))('%s leak in float32 and are exactly 0 here', (name, leak) => {
    const [reward, count] = name.split('x').map(Number);
    const got = advantages([Array.from({ length: count }, () => reward)]);
    for (const a of [...got.local[0], ...got.global[0]]) expect(Object.is(a, 0)).toBe(true);
    // the size of the leak depends on the order of summation (torch adds in pairs); that there is one does not
    if (leak !== 0 && count === 6) expect(Math.abs(leaky(reward, count))).toBeGreaterThan(1e-3);
  });

  it('are a dead group as often as theory says', () => {
    const dead = (...groups: readonly (readonly [number, number])[]) =>
      groups.reduce((p, [right, n]) => p * right ** n, 1) + groups.reduce((p, [right, n]) => p * (1 - right) ** n, 1);
    const want = vectors.zero_std_probability;
    expect(dead([0.1, 6])).toBeCloseTo(want['grpo p=.1 n=6'], 12);
    expect(dead([0.1, 12])).toBeCloseTo(want['grpo p=.1 n=12 (same rollouts)'], 12);
    expect(dead([0.1, 6], [0.1, 6])).toBeCloseTo(want['share p=(.1,.1) n=6'], 12);
    expect(dead([0.1, 6], [0.3, 6])).toBeCloseTo(want['share p=(.1,.3) n=6'], 12);
    expect(dead([0.3, 12])).toBeCloseTo(want['grpo p=.3 n=12'], 12);
  });
});

/** The metrics' view of rewards, with rows of the given advantage. */
function question(rewards: readonly (readonly number[])[], share: boolean) {
  const { local, global } = advantages(rewards);
  const m = rewards.length;
  const flat = (q: readonly number[]) => (q.every((r) => r === q[0]) ? 'all-fail' : 'alive');
  return {
    pooled: flat(rewards.flat()),
    local: rewards.map(flat),
    audits: rewards.map(() => 'kept'),
    responses: rewards.map((g) =>
      g.map((total) => ({ accuracy: total, format: 1, total, careful: false, length: 1, stopped: true, entropies: [0] })),
    ),
    rows: rewards.flatMap((_, k) =>
      rewards.flatMap((g, j) =>
        share || j === k
          ? g.map((__, i) => ({
              j,
              k,
              advantage: share ? pairAdvantage({ local: local[j][i], global: global[j][i], j, k, m }) : local[j][i],
              weights: [1],
              gap: [0],
            }))
          : [],
      ),
    ),
  };
}

describe('ratios of valid advantages and of dead groups', () => {
  it.each(Object.entries(vectors.advantages))('%s', (_, want) => {
    const shared = question(want.R, true);
    expect(shareMetrics([shared], 3)['share/valid_advantage_ratio']).toBe(want.valid_adv_ratio.share);
    expect(shareMetrics([question(want.R, false)], 3)['share/valid_advantage_ratio']).toBe(want.valid_adv_ratio.grpo_local_only);
    const metrics = rewardMetrics([shared]);
    expect(metrics.frac_reward_zero_std).toBe(want.frac_reward_zero_std_local_groups);
    expect(metrics['share/dead_all_fail'] + metrics['share/dead_all_pass']).toBe(want.frac_reward_zero_std_pooled);
  });

  it('tells how many weights are above the cap', () => {
    const q = question(
      [
        [1, 0],
        [0, 1],
      ],
      true,
    );
    const rows = q.rows.map((row, at) => ({ ...row, gap: row.j === row.k ? [0] : [at % 2 ? 2 : -2] }));
    expect(shareMetrics([{ ...q, rows }], 3)['share/weight_above_cap']).toBe(0.5);
  });
});

describe('the hierarchy', () => {
  const place = { local: 2, global: 3, m: 2 };
  it('weighs local and global', () => {
    expect(pairAdvantage({ ...place, j: 0, k: 0, localWeight: 0.5, globalWeight: 2 })).toBe(7);
    expect(pairAdvantage({ ...place, j: 0, k: 1, localWeight: 0.5, globalWeight: 2 })).toBe(6);
    expect(pairAdvantage({ ...place, j: 0, k: 0, localWeight: 1, globalWeight: 0 })).toBe(2);
  });
  it('counts once for GRPO and for MiCo, whatever the weights', () => {
    const rules = { variants: 2, crossVariant: 'published', truncateAt: 3, localWeight: 5, globalWeight: 0 } as const;
    expect(rowAdvantage({ ...rules, mico: 'as-written' }, { local: 2, global: 3, j: 0, k: 1 })).toBe(3);
    expect(rowAdvantage({ ...rules, mico: 'off', variants: 1 }, { local: 3, global: 3, j: 0, k: 0 })).toBe(3);
  });
});

describe('scaling', () => {
  const rewards = [
    [1, 0, 0.1],
    [0.1, 0.1, 0.1],
  ];
  it('by nothing is a centred reward', () => {
    const { local, global } = advantages(rewards, { sigma: 'sample', scale: 'none', batchStd: 9 });
    const mean = 1.1 / 3;
    local[0].forEach((a, i) => expect(a).toBeCloseTo(rewards[0][i] - mean, 12));
    expect(local[1]).toEqual([0, 0, 0]);
    expect(global[0][0]).toBeCloseTo(1 - 1.4 / 6, 12);
  });
  it('by the batch divides all groups by one number', () => {
    const { local } = advantages(rewards, { sigma: 'sample', scale: 'batch', batchStd: 0.5 });
    expect(local[0][0]).toBeCloseTo((1 - 1.1 / 3) / 0.500001, 12);
    expect(local[1]).toEqual([0, 0, 0]);
  });
});

describe('MiCo’s rows', () => {
  it.each([
    ['as-written', [0], '1;0'],
    ['corrected', [0], '1;0'],
    ['strong', [1], '1;1'],
    ['weak', [0], '0;0'],
  ] as const)('%s samples under %j and learns on row %s', (mico, sampled, row) => {
    const rules = { mico, variants: 2, crossVariant: 'published' } as const;
    expect(sampledVariants(rules)).toEqual(sampled);
    const counted = [0, 1].flatMap((k) => [0, 1].flatMap((j) => (rowCounts(rules, k, j) ? [`${k};${j}`] : [])));
    expect(counted).toEqual([row]);
  });
});

describe('the audit’s figures', () => {
  it('leave out what nobody knows', () => {
    expect(auditMetrics([{ audits: ['kept', 'changed'] }, { audits: ['kept', 'unknown'] }])).toEqual({
      'share/audit_unknown': 0.25,
      'share/consistency_rate': 2 / 3,
    });
    expect(auditMetrics([{ audits: ['unknown'] }])).toEqual({ 'share/audit_unknown': 1 });
  });
  it('tell weak views from strong ones', () => {
    const triplets = [{ audits: ['kept', 'changed'] }, { audits: ['kept', 'kept'] }];
    expect(viewMetrics(triplets)).toEqual({ 'share/kept_weak': 1, 'share/kept_strong': 0.5 });
    expect(viewMetrics([{ audits: ['unknown', 'unknown'] }])).toEqual({});
  });
});
