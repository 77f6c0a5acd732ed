/** @file The row plans against a brute-force mask: who may see whom is worked out from the sequences, token by token. */
import { describe, expect, test } from 'vitest';
import { chunkGroups, IMAGE_ROW, planSampling, planScoring, ROW_WORDS, rowsOf } from './plan.ts';
import type { ImageFeatures, Prompt, PromptImage, ScoreGroup } from './types.ts';

const image = (tokens: number): ImageFeatures => ({ buffer: {} as GPUBuffer, offsetRows: 0, tokens, release: () => undefined });
const prompt = (ids: number[], ...images: PromptImage[]): Prompt => ({ ids: Int32Array.from(ids), images });
const group = (p: Prompt, ...responses: number[][]): ScoreGroup => ({ prompt: p, responses: responses.map((r) => Int32Array.from(r)) });

const GROUPS = [
  group(prompt([1, 2, 3]), [10, 11, 12], [], [13], [14, 15]),
  group(prompt([4]), [], [16]),
  group(prompt([5, 6]), [17, 18, 19, 20]),
  group(prompt([7, 8])),
];

const field = (rows: Uint32Array, r: number, name: number): number => rows[r * ROW_WORDS + name];

/** Every row by the sequence that it belongs to: [group, −1 for the prefix or the response, position]. */
function owners(groups: readonly ScoreGroup[]): { group: number; response: number; position: number; token: number }[] {
  return groups.flatMap(({ prompt: p, responses }, g) => [
    ...Array.from(p.ids, (token, position) => ({ group: g, response: -1, position, token })),
    ...responses.flatMap((tokens, response) =>
      Array.from(tokens.slice(0, -1), (token, t) => ({ group: g, response, position: p.ids.length + t, token })),
    ),
  ]);
}

describe('planScoring', () => {
  const plan = planScoring(GROUPS);
  const all = owners(GROUPS);

  test('packs each prefix once, and the rows of the responses below it', () => {
    expect(plan.rowCount).toBe(all.length);
    all.forEach((owner, r) => {
      expect(field(plan.rows, r, 0)).toBe(owner.token);
      expect(field(plan.rows, r, 1)).toBe(owner.position);
      expect(field(plan.rows, r, 2)).toBe(r);
    });
    expect(plan.positions).toBe(5);
  });

  test('lets a row see its prefix and its own past, and nothing else', () => {
    all.forEach((query, r) => {
      const visible = all.map(
        (key) => key.group === query.group && (key.response === -1 || key.response === query.response) && key.position <= query.position,
      );
      const [prefixStart, prefixLength, ownStart, ownEnd] = [3, 4, 5, 6].map((f) => field(plan.rows, r, f));
      const planned = all.map((_, k) => (k >= prefixStart && k < prefixStart + prefixLength) || (k >= ownStart && k < ownEnd));
      expect(planned).toEqual(visible);
    });
  });

  test('says how far a key may be seen', () => {
    all.forEach((_, key) => {
      const seenBy = all
        .map((__, q) => q)
        .filter((q) => {
          const [prefixStart, prefixLength, ownStart, ownEnd] = [3, 4, 5, 6].map((f) => field(plan.rows, q, f));
          return (key >= prefixStart && key < prefixStart + prefixLength) || (key >= ownStart && key < ownEnd);
        });
      const end = field(plan.rows, key, 7);
      expect(end).toBe(Math.max(...seenBy) + 1);
      expect(seenBy).toEqual(Array.from({ length: end - key }, (__, i) => key + i));
    });
  });

  test('names for every target the row that comes just before it', () => {
    let i = 0;
    GROUPS.forEach(({ prompt: p, responses }, g) =>
      responses.forEach((tokens, r) => {
        expect(plan.spans[g][r]).toEqual({ start: i, length: tokens.length });
        tokens.forEach((token, t) => {
          const row = plan.targets[2 * i];
          expect(plan.targets[2 * i + 1]).toBe(token);
          expect(all[row].group).toBe(g);
          expect(all[row].response).toBe(t === 0 ? -1 : r);
          expect(all[row].position).toBe(p.ids.length + t - 1);
          i++;
        });
      }),
    );
    expect(plan.targetCount).toBe(i);
  });

  test('lists the targets of every row', () => {
    for (let r = 0; r < plan.rowCount; r++) {
      const list = [...plan.rowTargets.subarray(plan.rowCount + 1 + plan.rowTargets[r], plan.rowCount + 1 + plan.rowTargets[r + 1])];
      expect(list).toEqual(Array.from({ length: plan.targetCount }, (_, i) => i).filter((i) => plan.targets[2 * i] === r));
    }
    expect(plan.rowTargets.length).toBe(plan.rowCount + 1 + plan.targetCount);
  });

  test('places image rows, each image once', () => {
    const [a, b] = [image(2), image(3)];
    const { rows, images, imageRows } = planScoring([
      group(prompt([1, 9, 9, 2], { features: a, start: 1 }), [5]),
      group(prompt([9, 9, 9], { features: b, start: 0 }), [5]),
      group(prompt([9, 9, 3], { features: a, start: 0 }), [5]),
    ]);
    expect(Array.from({ length: 10 }, (_, r) => field(rows, r, 0))).toEqual([
      1,
      IMAGE_ROW,
      IMAGE_ROW + 1,
      2,
      IMAGE_ROW + 2,
      IMAGE_ROW + 3,
      IMAGE_ROW + 4,
      IMAGE_ROW,
      IMAGE_ROW + 1,
      3,
    ]);
    expect(imageRows).toBe(5);
    expect(images.map((i) => i.firstRow)).toEqual([0, 2]);
  });

  test('places several images of one prompt, the same one twice too', () => {
    const [a, b] = [image(1), image(2)];
    const all = [
      { features: b, start: 1 },
      { features: a, start: 4 },
      { features: b, start: 6 },
    ];
    const { rows, images, imageRows } = planScoring([group(prompt([1, 9, 9, 2, 9, 3, 9, 9], ...all), [5])]);
    const tokens = [1, IMAGE_ROW, IMAGE_ROW + 1, 2, IMAGE_ROW + 2, 3, IMAGE_ROW, IMAGE_ROW + 1];
    expect(tokens.map((_, r) => field(rows, r, 0))).toEqual(tokens);
    expect([imageRows, images.length]).toEqual([3, 2]);
  });

  test('refuses an empty prompt', () => {
    expect(() => planScoring([group(prompt([]), [1])])).toThrow('at least one token');
  });
});

test('chunkGroups keeps groups whole', () => {
  expect(GROUPS.map(rowsOf)).toEqual([6, 1, 5, 2]);
  expect(chunkGroups(GROUPS, 7)).toEqual([
    { start: 0, end: 2 },
    { start: 2, end: 4 },
  ]);
  expect(chunkGroups(GROUPS, 1)).toEqual([0, 1, 2, 3].map((i) => ({ start: i, end: i + 1 })));
  expect(chunkGroups(GROUPS, 100)).toEqual([{ start: 0, end: 4 }]);
  expect(chunkGroups([], 100)).toEqual([]);
});

describe('planSampling', () => {
  const prompts = [prompt([1, 2, 3]), prompt([4])];
  const plan = planSampling(prompts, 2, 5, 3);

  test('encodes whole prompts in chunks, keys at the same rows as in the whole', () => {
    expect(plan.prefill.map((c) => c.promptCount)).toEqual([1, 1]);
    expect([...plan.prefill[0].last]).toEqual([2, 0]);
    expect([...plan.prefill[1].last]).toEqual([0, 0]);
    expect([...plan.prefill[1].rows]).toEqual([4, 0, 3, 3, 0, 3, 4, 0]);
    expect(plan.kvRows).toBe(4 + 4 * 5);
    expect(plan.positions).toBe(8);
  });

  test('gives each sequence its own keys', () => {
    // sequence 3 is the second response of prompt 1; its keys begin at 4 + 3·5
    expect(plan.sequenceRow(3, [])).toEqual([0, 0, 19, 3, 1, 19, 19, 0]);
    expect(plan.sequenceRow(3, [8])).toEqual([8, 1, 19, 3, 1, 19, 20, 0]);
    expect(plan.sequenceRow(3, [8, 9, 10])).toEqual([10, 3, 21, 3, 1, 19, 22, 0]);
  });
});
