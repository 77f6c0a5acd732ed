/** @file Questions: answers against brute force, wordings, audits, and the two demonstrators. */

import { describe, expect, it } from 'vitest';
import type { CompareParams } from './compare.ts';
import type { CountParams } from './count.ts';
import { careful, hasty } from './demonstrators.ts';
import { fakeDigits } from './digit-set.fixture.ts';
import {
  auditVariant,
  FAMILIES,
  finalAnswer,
  isCareful,
  makeQuestion,
  ownQuestion,
  paraphrases,
  promptText,
  transformsKeeping,
  TRANSFORMS,
} from './index.ts';
import type { PositionParams } from './position.ts';
import { Rng } from './random.ts';
import type { Family, Question, Scene } from './types.ts';

const digits = fakeDigits();
const ask = (family: Family, index: number, phrasing: 'plain' | 'steps' = 'plain'): Question =>
  makeQuestion({ seed: 11, index, split: 'train', family, phrasing, digits });

/** The grid as letters, to answer from without any of the product's own code. */
function grid(scene: Scene): (string | null)[][] {
  const cells: (string | null)[][] = [0, 1, 2, 3].map(() => [null, null, null, null]);
  if (scene.type === 'shapes') for (const s of scene.shapes) cells[s.row]![s.column] = `${s.colour} ${s.kind}`;
  return cells;
}

function bruteForce(q: Question): string {
  const cells = grid(q.scene!);
  const all = cells.flat().filter((c) => c !== null);
  const having = (p: CountParams): number =>
    all.filter((c) => (!p.colour || c.startsWith(p.colour + ' ')) && (!p.kind || c.endsWith(' ' + p.kind))).length;
  if (q.family === 'count') return String(having(q.params as CountParams));
  if (q.family === 'compare') {
    const p = q.params as CompareParams;
    return having(p.first) > having(p.second) ? 'yes' : 'no';
  }
  if (q.family === 'position') {
    const p = q.params as PositionParams;
    const name = `${p.colour} ${p.kind}`;
    expect(all.filter((c) => c === name)).toHaveLength(1);
    const row = cells.findIndex((r) => r.includes(name));
    const column = cells[row]!.indexOf(name);
    const [dr, dc] = { 'left of': [0, -1], 'right of': [0, 1], above: [-1, 0], below: [1, 0] }[p.direction] as [number, number];
    for (let r = row + dr, c = column + dc; r >= 0 && r < 4 && c >= 0 && c < 4; r += dr, c += dc) {
      const cell = cells[r]![c];
      if (cell) return cell.split(' ')[0] as string;
    }
    throw new Error('nothing there');
  }
  const shown = q.scene?.type === 'digits' ? q.scene.digits : [];
  return String(shown.reduce((sum, d) => sum + digits.values[d.example]!, 0));
}

describe.each(FAMILIES)('%s', (family) => {
  it('computes the answer that brute force finds', () => {
    for (let i = 0; i < 300; i++) {
      const q = ask(family, i);
      expect(q.answer).toBe(bruteForce(q));
    }
  });

  it('is a pure function of its numbers, and the phrasing only changes the wording', () => {
    expect(ask(family, 5)).toEqual(ask(family, 5));
    const [plain, steps] = [ask(family, 5), ask(family, 5, 'steps')];
    expect(steps.text.phrasing).toBe('steps');
    expect({ ...steps, text: null }).toEqual({ ...plain, text: null });
    expect(plain.id).toBe(`${family}-train-11-5`);
  });

  it('has at least eight wordings, half of each phrasing, all different, without empty slots', () => {
    const q = ask(family, 1);
    const all = paraphrases(q);
    expect(all.length).toBeGreaterThanOrEqual(8);
    expect(all.filter((t) => t.phrasing === 'plain')).toHaveLength(all.length / 2);
    expect(new Set(all.map((t) => t.text)).size).toBe(all.length);
    expect(all).toContainEqual(q.text);
    for (const t of all) expect(t.text).not.toMatch(/[{}]|undefined| {2}/);
  });

  it('declares only transforms that keep the answer, by the audit', () => {
    for (let i = 0; i < 100; i++) {
      const q = ask(family, i);
      expect(transformsKeeping(q)).toContain('identity');
      for (const name of transformsKeeping(q)) {
        for (const text of paraphrases(q)) expect(auditVariant(q, { text, transform: { name, seed: i } })).toBe('kept');
      }
    }
  });

  it('has a careful demonstrator that is right, and a hasty one that mostly is not and never lists', () => {
    let right = 0;
    let unformatted = 0;
    const n = 600;
    for (let i = 0; i < n; i++) {
      const q = ask(family, i);
      const said = careful(family, q.scene!, q.params);
      expect(finalAnswer(said, q.answerKind)).toBe(q.answer);
      expect(isCareful(said, family)).toBe(true);
      const guess = hasty(family, q.scene!, q.params, new Rng(i));
      expect(isCareful(guess, family)).toBe(false);
      if (finalAnswer(guess, q.answerKind) === q.answer) right++;
      if (!guess.includes('<answer>')) unformatted++;
    }
    expect(right / n).toBeGreaterThan(0.25);
    expect(right / n).toBeLessThan(0.6);
    expect(unformatted / n).toBeGreaterThan(0.1);
    expect(unformatted / n).toBeLessThan(0.2);
  });
});

describe('auditVariant', () => {
  it('finds transforms that change the answer, and admits what it cannot know', () => {
    const verdicts = new Set<string>();
    for (let i = 0; i < 60; i++) {
      const q = ask('position', i);
      verdicts.add(auditVariant(q, { text: q.text, transform: { name: 'rotate_180', seed: 0 } }));
    }
    expect(verdicts).toContain('changed');
    const sum = ask('digits', 0);
    expect(auditVariant(sum, { text: sum.text, transform: { name: 'rotate_180', seed: 0 } })).toBe('unknown');
    const foreign = { text: 'how many things?', phrasing: 'plain' as const, template: -1 };
    expect(auditVariant(ask('count', 0), { text: foreign, transform: { name: 'identity', seed: 0 } })).toBe('unknown');
  });

  it('keeps position under the mirror that leaves its direction alone, and only that', () => {
    for (let i = 0; i < 60; i++) {
      const q = ask('position', i);
      const kept = transformsKeeping(q).filter((t) => t.startsWith('flip'));
      const { direction } = q.params as PositionParams;
      expect(kept).toEqual([direction === 'above' || direction === 'below' ? 'flip_horizontal' : 'flip_vertical']);
    }
    expect(transformsKeeping(ask('count', 0))).toEqual(TRANSFORMS);
  });
});

describe('a question of the visitor', () => {
  it('has one wording, harmless transforms and an unknown audit', () => {
    const picture = { width: 2, height: 2, data: new Uint8Array(12) };
    const q = ownQuestion({ picture, text: 'how many dots?', answer: ' 3 ' });
    expect([q.answer, q.answerKind, q.family, q.scene]).toEqual(['3', 'number', 'own', null]);
    expect(paraphrases(q)).toEqual([q.text]);
    expect(transformsKeeping(q).every((t) => t === 'identity' || t.startsWith('noise'))).toBe(true);
    expect(auditVariant(q, { text: q.text, transform: { name: 'identity', seed: 0 } })).toBe('unknown');
    expect(ownQuestion({ picture, text: 'x', answer: null }).answer).toBeNull();
    expect(ownQuestion({ picture, text: 'x', answer: 'Red' }).answerKind).toBe('colour');
    expect(promptText(q.text, { name: 'noise_10', seed: 1 })).toBe('the picture has noise. how many dots?');
  });
});

describe('reading responses', () => {
  it('takes the tagged answer, else the last fitting word', () => {
    expect(finalAnswer('<think> red circle 1. so 1</think><answer> 1</answer>', 'number')).toBe('1');
    expect(finalAnswer(' I think 3', 'number')).toBe('3');
    expect(finalAnswer(' red, or rather Blue', 'colour')).toBe('blue');
    expect(finalAnswer(' no', 'yesno')).toBe('no');
    expect(finalAnswer(' nothing', 'yesno')).toBeNull();
    expect(finalAnswer('', 'text')).toBeNull();
  });

  it('knows the careful grammar from a quick look', () => {
    expect(isCareful('<think> none. so 0</think><answer> 0</answer>', 'count')).toBe(true);
    expect(isCareful('<think> red circle 1 in 3. blue square 2 in 16. so 2</think><answer> 2</answer>', 'count')).toBe(true);
    expect(isCareful('<think> square 1 in 4. circle 0. so 1 and 0</think><answer> yes</answer>', 'compare')).toBe(true);
    expect(isCareful('<think> 3 and 5 make 8. 8 and 2 make 10. so 10</think><answer> 10</answer>', 'digits')).toBe(true);
    expect(isCareful('<think> a quick look says 2</think><answer> 2</answer>', 'count')).toBe(false);
    expect(isCareful('<think> so 2</think><answer> 2</answer>', 'count')).toBe(false);
    expect(isCareful('<think> red circle 1 in 2. red circle 2 in 5. red', 'count')).toBe(false);
    expect(isCareful(' 3', 'count')).toBe(false);
  });
});
