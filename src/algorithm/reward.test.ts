import { describe, expect, it } from 'vitest';
import vectors from '../../tests/fixtures/algo-vectors.json';
import { wilson } from './intervals.ts';
import { normaliseAnswer, READERS, reward, tighten } from './reward.ts';

const options = { answer: '3', kind: 'number', accuracyWeight: 0.9, formatWeight: 0.1 } as const;

describe('the published \\boxed{} reader', () => {
  it.each(vectors.share_reward as [string, number, string][])('reads %j', (text, format, extracted) => {
    const got = reward(text, { ...options, reader: READERS.boxed });
    expect(got.format).toBe(format);
    expect(got.extracted ?? 'None').toBe(extracted);
  });

  it('gives the published totals', () => {
    const values = vectors.share_reward_values;
    const total = (text: string) => reward(text, { ...options, reader: READERS.boxed }).total;
    expect(total('<think>x</think>\\boxed{3}')).toBeCloseTo(values.acc1fmt1, 12);
    expect(total('\\boxed{3}')).toBe(values.acc1fmt0);
    expect(total('<think>x</think>\\boxed{4}')).toBe(values.acc0fmt1);
    expect(total('3')).toBe(values.acc0fmt0);
  });
});

describe('the <answer> reader', () => {
  it.each([
    ['<think> red circle 1. so 3</think><answer> 3</answer>', 1, 1],
    ['<think> x</think><answer> 2</answer>', 0, 1],
    ['<answer> 3</answer>', 1, 0],
    [' 3', 0, 0],
    ['', 0, 0],
    ['< think >x< / think >\n< answer > 3 < / answer >', 1, 1],
    ['<think>x</think><answer>1</answer><answer>3</answer>', 1, 1],
    ['<think>x</think><answer>3</answer> and more', 1, 0],
    ['<think>x</think><answer>3', 0, 0],
    ['<think>x<answer>3</answer>', 1, 0],
  ])('%j: accuracy %i, format %i', (text, accuracy, format) => {
    const got = reward(text, options);
    expect([got.accuracy, got.format]).toEqual([accuracy, format]);
    expect(got.total).toBeCloseTo(0.9 * accuracy + 0.1 * format, 12);
  });

  it.each(vectors.mico_reward as [string, number, number][])('sees the format of %j', (text, format) => {
    expect(READERS.answerTag.format.test(tighten(text)) ? 1 : 0).toBe(format);
  });

  it.each(vectors.mico_reward as [string, number, number][])('reads the three pairs of %j, all or nothing', (text, _, accuracy) => {
    expect(reward(text, { ...options, answer: 'T F F', kind: 'pattern' }).accuracy).toBe(accuracy);
  });

  it('never rewards an answer that nobody knows', () => {
    expect(reward('<think>x</think><answer>3</answer>', { ...options, answer: null }).accuracy).toBe(0);
  });
});

describe('answers are compared in one spelling', () => {
  it.each([
    [' 03 ', 'number', '3'],
    ['3.0', 'number', '3'],
    ['Three.', 'number', '3'],
    ['three', 'colour', 'three'],
    ['YES', 'yesno', 'yes'],
    ['Gray', 'colour', 'grey'],
    ['two  words', 'text', 'two words'],
  ] as const)('%j as %s', (text, kind, want) => {
    expect(normaliseAnswer(text, kind)).toBe(want);
  });
});

describe('Wilson intervals', () => {
  it('match worked numbers', () => {
    const { low, high } = wilson(15, 148); // Wilson 1927 / Newcombe 1998: 0.0624, 0.1605
    expect(low).toBeCloseTo(0.0624, 4);
    expect(high).toBeCloseTo(0.1605, 4);
    expect(wilson(0, 20).low).toBe(0);
    expect(wilson(0, 20).high).toBeCloseTo(0.1611, 4);
    expect(wilson(20, 20).high).toBe(1);
    expect(wilson(0, 0)).toEqual({ low: 0, high: 1 });
  });
});
