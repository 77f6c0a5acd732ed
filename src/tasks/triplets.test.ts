/** @file Triplets: one edit, uniform patterns, splits, the label audit against brute force, a visitor's picture, the demonstrators. */
import { describe, expect, it } from 'vitest';
import { type Edit, EDITS } from './edits.ts';
import { auditVariant, finalAnswer, isCareful, paraphrases, poison, transformsKeeping } from './index.ts';
import { Rng } from './random.ts';
import { render } from './render.ts';
import { splitOf } from './scene.ts';
import { carefulTriplet, hastyTriplet, viewClasses } from './triplet-demonstrators.ts';
import { drawViews, makeTriplet, PAIRS, patternOf, tripletFrom, tripletParams } from './triplets.ts';
import { SPLITS } from './types.ts';
import type { Picture, Question, Shape, ShapesScene, Split } from './types.ts';

const made = new Map<string, Question>();
/** Triplet number `index` of seed 5, made once. */
function triplet(index: number, split: Split = 'train'): Question {
  const key = `${split} ${index}`;
  const q = made.get(key) ?? makeTriplet({ seed: 5, index, split });
  made.set(key, q);
  return q;
}
const scenes = (q: Question): { a: ShapesScene; b: ShapesScene } => tripletParams(q).scenes!;
const equal = (p: Picture, q: Picture): boolean => p.data.every((value, i) => value === q.data[i]);

/** What a scene has that another has not, by everything that can be seen. */
function missing(from: ShapesScene, other: ShapesScene): Shape[] {
  const others = other.shapes.map((s) => JSON.stringify(s));
  return from.shapes.filter((s) => !others.includes(JSON.stringify(s)));
}

describe('makeTriplet', () => {
  it('is a pure function of its numbers, and the phrasing only changes the wording', () => {
    expect(makeTriplet({ seed: 5, index: 7, split: 'train' })).toEqual(triplet(7));
    const [plain, steps] = [triplet(7), makeTriplet({ seed: 5, index: 7, split: 'train', phrasing: 'steps' })];
    expect([plain.text.phrasing, steps.text.phrasing]).toEqual(['plain', 'steps']);
    expect({ ...steps, text: null }).toEqual({ ...plain, text: null });
    expect([plain.id, plain.family, plain.answerKind]).toEqual(['mico-train-5-7', 'mico', 'pattern']);
    expect(triplet(8)).not.toEqual({ ...triplet(7), id: 'mico-train-5-8' });
  });

  it('shows two of one scene and one of another, and its answer says which', () => {
    for (let i = 0; i < 200; i++) {
      const q = triplet(i);
      const pictures = q.pictures!;
      expect(pictures).toHaveLength(3);
      expect(q.picture).toBe(pictures[0]);
      expect(equal(q.picture, render(q.scene!, null))).toBe(true);
      expect(PAIRS.map(([x, y]) => (equal(pictures[x], pictures[y]) ? 'T' : 'F')).join(' ')).toBe(q.answer);
      expect(equal(pictures[tripletParams(q).odd], render(scenes(q).b, null))).toBe(true);
    }
  });

  it('makes exactly one edit of every sort about equally often', () => {
    const counts = new Map<Edit | 'patch', number>(EDITS.map((e) => [e, 0]));
    for (let i = 0; i < 500; i++) {
      const q = triplet(i);
      const { a, b } = scenes(q);
      const [out, into] = [missing(a, b), missing(b, a)];
      for (const scene of [a, b]) {
        expect([1, 2, 3]).toContain(scene.shapes.length);
        expect(new Set(scene.shapes.map((s) => s.row * 4 + s.column)).size).toBe(scene.shapes.length);
      }
      const { edit } = tripletParams(q);
      counts.set(edit, (counts.get(edit) ?? 0) + 1);
      expect([out.length, into.length]).toEqual(edit === 'gone' ? [1, 0] : edit === 'new' ? [0, 1] : [1, 1]);
      const changed = out.length + into.length === 2 ? Object.keys(out[0]).filter((k) => out[0][k as 'row'] !== into[0][k as 'row']) : [];
      if (edit === 'colour' || edit === 'kind') expect(changed).toEqual([edit]);
      if (edit === 'move') {
        expect(changed.every((k) => k === 'row' || k === 'column')).toBe(true);
        expect(Math.max(Math.abs(out[0].row - into[0].row), Math.abs(out[0].column - into[0].column))).toBeGreaterThanOrEqual(2);
      }
    }
    for (const n of counts.values()) expect(Math.abs(n - 100)).toBeLessThan(45); // five standard deviations
  });

  it('gives each of the three patterns a third of the triplets', () => {
    const counts = new Map<string, number>();
    for (let i = 0; i < 900; i++) {
      const { answer } = triplet(i);
      counts.set(answer!, (counts.get(answer!) ?? 0) + 1);
    }
    expect([...counts.keys()].sort()).toEqual([0, 1, 2].map(patternOf).sort());
    for (const n of counts.values()) expect(Math.abs(n - 300)).toBeLessThan(71); // five standard deviations
  });

  it('keeps both scenes in their split', () => {
    for (const split of SPLITS) {
      for (let i = 0; i < 60; i++) {
        const { a, b } = scenes(triplet(i, split));
        expect([splitOf(a), splitOf(b)]).toEqual([split, split]);
      }
    }
  });

  it('has eight wordings, and no transforms, poison or text audit', () => {
    const q = triplet(1);
    const all = paraphrases(q);
    expect(all.map((t) => t.template)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(all.filter((t) => t.phrasing === 'steps')).toHaveLength(4);
    expect(new Set(all.map((t) => t.text)).size).toBe(8);
    expect(all).toContainEqual(q.text);
    expect(transformsKeeping(q)).toEqual(['identity']);
    expect(poison(q, q.text, new Rng(1), null)).toBeNull();
    expect(auditVariant(q, { text: q.text, transform: { name: 'identity', seed: 0 } })).toBe('unknown');
  });
});

describe('drawViews', () => {
  const weak = { low: 0.85, high: 1 };
  const strong = { low: 0.4, high: 0.6 };
  const lost = (range: typeof weak): number => {
    let n = 0;
    for (let i = 0; i < 400; i++) if (drawViews(triplet(i), range, new Rng(i)).audit === 'lost') n++;
    return n / 400;
  };

  it('is a function of the question, the range and the generator', () => {
    const once = drawViews(triplet(3), weak, new Rng(1));
    expect(drawViews(triplet(3), weak, new Rng(1))).toEqual(once);
    expect(drawViews(triplet(3), weak, new Rng(2)).crops).not.toEqual(once.crops);
    expect(once.pictures.every((p) => p.width === 64 && p.height === 64)).toBe(true);
  });

  it('shows the whole pictures at share 1, and keeps their label', () => {
    const q = triplet(4);
    const { pictures, audit } = drawViews(q, { low: 1, high: 1 }, new Rng(1));
    expect(pictures).toEqual(q.pictures);
    expect(audit).toBe('kept');
  });

  it('audits the label as counting sample points does', () => {
    for (let i = 0; i < 300; i++) {
      const q = triplet(i);
      const { crops, audit } = drawViews(q, { low: 0.4, high: 0.9 }, new Rng(i));
      const { odd } = tripletParams(q);
      const { a, b } = scenes(q);
      // The shapes that one scene has and the other has not, each sampled on a grid of sixteenths of a pixel.
      const seen = (s: Shape, k: number): boolean => {
        const { x, y, width, height } = crops[k];
        let inside = 0;
        for (let u = -s.size + 0.5; u < s.size; u++) {
          for (let v = -s.size + 0.5; v < s.size; v++) {
            const px = s.column * 16 + 8 + (s.dx + u) / 8;
            const py = s.row * 16 + 8 + (s.dy + v) / 8;
            if (px > x && px < x + width && py > y && py < y + height) inside++;
          }
        }
        return inside * 2 >= (2 * s.size) ** 2;
      };
      const differing = [...missing(a, b), ...missing(b, a)];
      const kept = [0, 1, 2].filter((k) => k !== odd).every((k) => differing.some((s) => seen(s, k) && seen(s, odd)));
      expect(audit).toBe(kept ? 'kept' : 'lost');
    }
  });

  it('rarely loses the label under weak views, and often under strong ones', () => {
    expect(lost({ low: 0.95, high: 1 })).toBeLessThan(0.01);
    expect(lost(weak)).toBeLessThan(0.15);
    expect(lost(strong)).toBeGreaterThan(0.5);
  });
});

describe('tripletFrom', () => {
  const photo = (width: number, height: number): Picture => {
    const rng = new Rng(width, height, 'photo');
    return { width, height, data: Uint8Array.from({ length: width * height * 3 }, () => rng.int(0, 255)) };
  };

  it('paints one patch into one of three copies, at odd sizes too', () => {
    for (const [width, height] of [
      [64, 64],
      [31, 90],
      [7, 3],
      [1, 1],
    ] as const) {
      for (let seed = 0; seed < 12; seed++) {
        const picture = photo(width, height);
        const q = tripletFrom(picture, seed);
        expect(tripletFrom(picture, seed)).toEqual(q);
        const { odd, places } = tripletParams(q);
        expect([q.family, q.split, q.scene, q.answer]).toEqual(['mico', 'own', null, patternOf(odd)]);
        const [place] = places;
        q.pictures!.forEach((p, i) => {
          if (i !== odd) return expect(p).toBe(picture);
          const outside = p.data.findIndex((value, at) => {
            const [x, y] = [Math.floor(at / 3) % width, Math.floor(at / 3 / width)];
            const inPlace = x >= place.x && x < place.x + place.width && y >= place.y && y < place.y + place.height;
            return !inPlace && value !== picture.data[at];
          });
          expect(outside).toBe(-1);
          let difference = 0;
          p.data.forEach((value, at) => (difference += Math.abs(value - picture.data[at])));
          expect(difference / (3 * place.width * place.height)).toBeGreaterThan(50);
        });
        expect(drawViews(q, { low: 0.85, high: 1 }, new Rng(seed)).audit).toBe('unknown');
      }
    }
  });

  it('differs from whatever colour is under the patch', () => {
    for (const colour of [
      [214, 48, 44],
      [236, 190, 36],
      [128, 128, 128],
      [240, 240, 236],
    ]) {
      const picture = { width: 20, height: 20, data: Uint8Array.from({ length: 1200 }, (_, i) => colour[i % 3]) };
      const q = tripletFrom(picture, 1);
      const painted = q.pictures![tripletParams(q).odd];
      expect(painted.data.some((value, i) => Math.abs(value - picture.data[i]) > 60)).toBe(true);
    }
  });

  it('tells a triplet from another question', () => {
    expect(() => tripletParams({ ...triplet(0), family: 'own' })).toThrow(TypeError);
  });
});

describe('the demonstrators of triplets', () => {
  it('careful: right, by its grammar, and what it says of each cell is there', () => {
    for (let i = 0; i < 200; i++) {
      const q = triplet(i);
      const said = carefulTriplet(q);
      expect(finalAnswer(said, q.answerKind)).toBe(q.answer);
      expect(isCareful(said, 'mico')).toBe(true);
      const lines = [...said.matchAll(/(\d+) (\w+ \w+) (\w+ \w+) (\w+ \w+)\./g)];
      const { odd } = tripletParams(q);
      lines.forEach(([, cell, ...items], at) => {
        items.forEach((item, k) => {
          const scene = k === odd ? scenes(q).b : scenes(q).a;
          const there = scene.shapes.find((s) => s.row * 4 + s.column + 1 === Number(cell));
          expect(item).toBe(there ? `${there.colour} ${there.kind}` : 'no shape');
        });
        // the first difference is the last line
        expect(new Set(items).size).toBe(at === lines.length - 1 ? 2 : 1);
      });
    }
  });

  it('hasty: right in a third of the cases, never careful, now and then without the format', () => {
    const said = Array.from({ length: 900 }, (_, i) => ({ text: hastyTriplet(new Rng(i)), answer: triplet(i).answer }));
    expect(said.some((s) => isCareful(s.text, 'mico'))).toBe(false);
    const right = said.filter((s) => finalAnswer(s.text, 'pattern') === s.answer).length / said.length;
    expect(Math.abs(right - 1 / 3)).toBeLessThan(0.08);
    const bare = said.filter((s) => !s.text.includes('<answer>')).length / said.length;
    expect(Math.abs(bare - 0.15)).toBeLessThan(0.06);
  });

  it('reads patterns however they are spelt, and nothing else', () => {
    expect(finalAnswer('<answer> t f  F</answer>', 'pattern')).toBe('T F F');
    expect(finalAnswer(' I think F F T', 'pattern')).toBe('F F T');
    expect(finalAnswer(' T F', 'pattern')).toBeNull();
    expect(isCareful('<think> 3 red circle red circle red circle. 7 no shape blue square no shape. so 1 and 3</think>', 'mico')).toBe(true);
    expect(isCareful('<think> 3 red circle red circle no shape. so</think>', 'mico')).toBe(false);
    expect(isCareful('<think> 3 red circle red circle. so 1 and 2</think>', 'mico')).toBe(false);
    expect(isCareful('<think> so 1 and 2</think>', 'mico')).toBe(false);
  });

  it('names the cells of a view by where the shapes lie in it', () => {
    const shape: Shape = { row: 1, column: 1, kind: 'square', colour: 'green', dx: 0, dy: 0, size: 40, turn: 0 };
    const scene: ShapesScene = { type: 'shapes', shapes: [shape] };
    const at = (x: number, y: number, side: number): number[] =>
      viewClasses(scene, { x, y, width: side, height: side }).flatMap((c, i) => (c > 0 ? [i, c] : []));
    expect(at(0, 0, 64)).toEqual([5, 1 + 3 + 1]);
    expect(at(16, 16, 32)).toEqual([5, 5]);
    expect(at(20, 8, 32)).toEqual([8, 5]);
    expect(at(32, 0, 32)).toEqual([]);
  });
});
