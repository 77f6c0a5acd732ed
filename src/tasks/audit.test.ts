import { describe, expect, it } from 'vitest';
import { fakeDigits } from './digit-set.fixture.ts';
import { auditVariant, makeQuestion, paraphrases, poison, TASKS } from './index.ts';
import { readBack } from './families.ts';
import { Rng } from './random.ts';
import { FAMILIES, type Family } from './types.ts';

const digits = fakeDigits();
const identity = { name: 'identity', seed: 0 } as const;
const questions = (family: Family, count: number) =>
  Array.from({ length: count }, (_, index) => makeQuestion({ seed: 7, index, split: 'train', family, phrasing: 'plain', digits }));

describe.each(FAMILIES)('%s', (family) => {
  it('is read back from each of its wordings', () => {
    for (const q of questions(family, 20)) for (const w of paraphrases(q)) expect(readBack(family, w.text)).toEqual(q.params);
    expect(readBack(family, 'what is the time?')).toBeNull();
  });

  it('has among all of its questions every one that is asked', () => {
    const all = TASKS[family].all().map((p) => JSON.stringify(p));
    expect(new Set(all).size).toBe(all.length);
    for (const q of questions(family, 50)) expect(all).toContainEqual(JSON.stringify(q.params));
  });

  it('keeps its answer in every wording, and loses it when poisoned', () => {
    for (const q of questions(family, 30)) {
      for (const text of paraphrases(q)) {
        expect(auditVariant(q, { text, transform: identity })).toBe('kept');
        const other = poison(q, text, new Rng('test', q.id, text.template), digits);
        if (other) expect(auditVariant(q, { ...other, transform: identity })).toBe('changed');
      }
    }
  });

  it('is unknown in words that nobody checked', () => {
    const [q] = questions(family, 1);
    expect(auditVariant(q, { text: { text: 'rewritten by a model', phrasing: 'plain', template: -1 }, transform: identity })).toBe(
      'unknown',
    );
  });
});

it('sees through a mirror that swaps left and right', () => {
  const sideways = questions('position', 60).filter((q) => /left|right/.test(q.text.text));
  const verdicts = sideways.map((q) => auditVariant(q, { text: q.text, transform: { name: 'flip_horizontal', seed: 0 } }));
  expect(verdicts.filter((v) => v === 'changed').length).toBeGreaterThan(sideways.length / 2);
});
