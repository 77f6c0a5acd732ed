import { describe, expect, it } from 'vitest';
import vectors from '../../tests/fixtures/algo-vectors.json';
import { advantages, groupState, pairAdvantage, type Sigma } from './advantage.ts';

const CONVENTIONS: readonly [Sigma, 'pop' | 'sample' | 'repo'][] = [
  ['population', 'pop'],
  ['sample', 'sample'],
  ['replicated', 'repo'],
];

const close = (got: readonly number[], want: readonly number[]) => {
  expect(got.length).toBe(want.length);
  got.forEach((g, i) => expect(Math.abs(g - want[i])).toBeLessThan(1e-9));
};

describe('advantages against worked numbers', () => {
  for (const [name, worked] of Object.entries(vectors.advantages)) {
    for (const [sigma, key] of CONVENTIONS) {
      it(`${name}, σ ${sigma}`, () => {
        const want = worked[key];
        const got = advantages(worked.R, { sigma, scale: 'group', batchStd: 0 });
        close([got.mean], [want.mu]);
        close([got.std], [want.sigma_g]);
        close(got.global.flat(), want.global.flat());
        close(got.local.flat(), want.local.flat());
        const m = worked.R.length;
        const pairs = got.local.map((_, k) =>
          got.local.map((group, j) => group.map((local, i) => pairAdvantage({ local, global: got.global[j][i], j, k, m }))),
        );
        close(pairs.flat(2), want['A[k][j][i]'].flat(2));
      });
    }
  }
});

describe('advantages', () => {
  it.each([0, 0.1, 0.9, 1])('are exactly 0 in a group of equal rewards (%f)', (r) => {
    for (const [m, n] of [
      [1, 6],
      [2, 6],
      [2, 12],
    ]) {
      const got = advantages(Array.from({ length: m }, () => Array.from({ length: n }, () => r)));
      for (const a of [...got.local.flat(), ...got.global.flat()]) expect(Object.is(a, 0)).toBe(true);
    }
  });

  it('do not depend on the order of the responses, to the last bit', () => {
    const rewards = [1, 0.9, 0.1, 0, 0.1, 1];
    const base = advantages([rewards, [0, 0.1, 0.9, 1, 1, 0.1]]);
    const turned = advantages([[...rewards].reverse(), [0, 0.1, 0.9, 1, 1, 0.1]]);
    expect([...turned.local[0]].reverse()).toEqual(base.local[0]);
    expect([...turned.global[0]].reverse()).toEqual(base.global[0]);
  });

  it('sum to nothing within a group', () => {
    const got = advantages(
      [
        [1, 0.1, 0, 0.9],
        [0.1, 0.1, 1, 1],
      ],
      { sigma: 'sample', scale: 'group', batchStd: 0 },
    );
    for (const group of got.local) expect(Math.abs(group.reduce((a, b) => a + b))).toBeLessThan(1e-12);
    expect(Math.abs(got.global.flat().reduce((a, b) => a + b))).toBeLessThan(1e-12);
  });

  it('count once for a single variant (GRPO)', () => {
    const { local, global } = advantages([[1, 0, 0.1]]);
    local[0].forEach((l, i) => expect(pairAdvantage({ local: l, global: global[0][i], j: 0, k: 0, m: 1 })).toBeCloseTo(l, 12));
  });

  it('are 0 for a single response', () => {
    expect(advantages([[1]], { sigma: 'sample', scale: 'group', batchStd: 0 })).toEqual({ local: [[0]], global: [[0]], mean: 1, std: 0 });
  });
});

describe('group states', () => {
  it('tells dead groups from living ones', () => {
    expect(groupState([0.1, 0.1], [0, 0])).toBe('all-fail');
    expect(groupState([1, 1], [1, 1])).toBe('all-pass');
    expect(groupState([1, 0.9], [1, 1])).toBe('alive');
    expect(groupState([0.1, 0], [0, 0])).toBe('alive');
  });
});
