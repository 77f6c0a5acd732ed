import { describe, expect, it } from 'vitest';
import { difference } from './diff.ts';

describe('the difference of two wordings', () => {
  it('is nothing for the same words', () => {
    expect(difference('how many red circles?', 'how many red circles?')).toEqual([{ text: 'how many red circles?', changed: false }]);
  });

  it('marks what was put in', () => {
    expect(difference('count the red circles', 'list the red circles, then count')).toEqual([
      { text: 'list', changed: true },
      { text: 'the red', changed: false },
      { text: 'circles, then count', changed: true },
    ]);
  });

  it('keeps all words of the variant, in order', () => {
    const text = 'say how many of the shapes are red';
    expect(
      difference('how many shapes are red in all', text)
        .map((p) => p.text)
        .join(' '),
    ).toBe(text);
    expect(difference('', text)).toEqual([{ text, changed: true }]);
    expect(difference(text, '')).toEqual([]);
  });
});
