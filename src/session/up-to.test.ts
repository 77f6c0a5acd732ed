import { describe, expect, it } from 'vitest';
import { DEFAULTS, PHASES, type StepRecord } from './types.ts';
import { reached, upTo } from './up-to.ts';

const pair = { logProbs: [-1], transferGap: [0], weights: [1], advantage: 1, ratios: [1.1], clipped: [0] };
const question = {
  id: 'count-train-1-0',
  family: 'count',
  text: 'how many?',
  answer: '2',
  variants: [],
  responses: [[]],
  rewards: [[]],
  advantages: [[]],
  groups: { local: [], pooled: 'alive', mean: 0, std: 1 },
  pairs: [[[pair]]],
} as const;
const record = {
  schema: 1,
  step: 3,
  phase: 'evaluate',
  settings: DEFAULTS,
  questions: [question],
  update: { loss: 0 },
  evaluation: { cells: [], before: null, after: null },
  metrics: {},
  timing: {},
} as unknown as StepRecord;

describe('a record as it was after a phase', () => {
  it('gains one layer per phase', () => {
    const layers = PHASES.map((phase) => {
      const { questions, update, evaluation } = upTo(record, phase);
      const [q] = questions;
      return [q.responses, q.rewards, q.advantages, q.pairs].filter((l) => l.length > 0).length + (update ? 1 : 0) + (evaluation ? 1 : 0);
    });
    expect(layers).toEqual([0, 1, 2, 3, 4, 5, 6]);
  });

  it('has ratios only after the update', () => {
    expect(upTo(record, 'share').questions[0].pairs[0][0][0].ratios).toBeNull();
    expect(upTo(record, 'update').questions[0].pairs[0][0][0].ratios).toEqual([1.1]);
    expect(record.questions[0].pairs[0][0][0].ratios).toEqual([1.1]);
  });

  it('is the record itself when it has come no further', () => {
    expect(upTo(record, 'evaluate')).toBe(record);
    const begun = upTo(record, 'reward');
    expect(upTo(begun, 'share')).toBe(begun);
    expect([reached(begun, 'rollout'), reached(begun, 'reward'), reached(begun, 'share'), reached(null, 'expand')]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
