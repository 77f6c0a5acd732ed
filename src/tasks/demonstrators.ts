/**
 * @file The two demonstrators that the embedded model learnt from, before any reinforcement learning. Only the pre-training uses them;
 * the page shows them, because what RL finds is what they left there.
 *
 * The *careful* one lists what it sees and is right. The *hasty* one guesses, in the same format or without any. Its errors are
 * systematic: it drops one condition of the question. Random errors would average out, and the likeliest answer of a model
 * trained on them would be the right one, with nothing left to learn. The hasty one never counts at a glance what was asked, so
 * that a glance is not enough.
 */

import { bothCounts } from './compare.ts';
import type { CompareParams } from './compare.ts';
import { matches } from './count.ts';
import type { CountParams } from './count.ts';
import { DIGIT_SIDE } from './digit-set.ts';
import { anchorOf, nearest, neighbour } from './position.ts';
import type { PositionParams } from './position.ts';
import { Rng } from './random.ts';
import { CELL, GRID } from './scene.ts';
import { COLOURS, KINDS } from './types.ts';
import type { Family, Scene, Shape, ShapesScene } from './types.ts';

/** Of a hundred answers to a phrasing, how many the careful one gives. */
export const CAREFUL_SHARE = { plain: 0.018, steps: 0.97 };
/** How much of the hasty one's answers lack the format. */
export const UNFORMATTED_SHARE = 0.15;

function wrap(think: string, answer: string): string {
  return `<think> ${think}</think><answer> ${answer}</answer>`;
}

function shapesOf(scene: Scene): ShapesScene {
  if (scene.type !== 'shapes') throw new Error('This question needs a scene of shapes.');
  return scene;
}

/** The cells are numbered row by row, from 1 to 16. Saying where a shape lies is what keeps a listing from naming it twice. */
function cellOf(s: { row: number; column: number }): number {
  return s.row * GRID + s.column + 1;
}

function carefulCount(scene: ShapesScene, p: CountParams): string {
  const found = scene.shapes.filter((s) => matches(s, p));
  const list = found.map((s, i) => `${s.colour} ${s.kind} ${i + 1} in ${cellOf(s)}.`).join(' ');
  return wrap(`${found.length > 0 ? list : 'none.'} so ${found.length}`, String(found.length));
}

function carefulCompare(scene: ShapesScene, p: CompareParams): string {
  const items: string[] = [];
  for (const kind of [p.first, p.second]) {
    const name = kind.kind ?? kind.colour ?? 'shape';
    const found = scene.shapes.filter((s) => matches(s, kind));
    found.forEach((s, i) => items.push(`${name} ${i + 1} in ${cellOf(s)}.`));
    if (found.length === 0) items.push(`${name} 0.`);
  }
  const [a, b] = bothCounts(scene, p);
  return wrap(`${items.join(' ')} so ${a} and ${b}`, a > b ? 'yes' : 'no');
}

/** "red square row 2 column 1": rows from the top and columns from the left, from 1. */
export function place(s: Shape): string {
  return `${s.colour} ${s.kind} row ${s.row + 1} column ${s.column + 1}`;
}

function carefulPosition(scene: ShapesScene, p: PositionParams): string {
  const anchor = anchorOf(scene, p);
  const target = anchor && neighbour(scene, anchor, p.direction);
  if (!anchor || !target) throw new Error('This question has no answer in this scene.');
  return wrap(`${place(anchor)}. ${p.direction} it ${place(target)}. so ${target.colour}`, target.colour);
}

function carefulDigits(scene: Scene): string {
  const values = scene.type === 'digits' ? scene.digits.map((d) => d.value) : [];
  let sum = values[0] ?? 0;
  const steps: string[] = [];
  for (const value of values.slice(1)) {
    steps.push(`${sum} and ${value} make ${sum + value}.`);
    sum += value;
  }
  return wrap(`${steps.join(' ')} so ${sum}`, String(sum));
}

/** What the careful demonstrator says. Always right. */
export function careful(family: Family, scene: Scene, params: unknown): string {
  switch (family) {
    case 'count':
      return carefulCount(shapesOf(scene), params as CountParams);
    case 'compare':
      return carefulCompare(shapesOf(scene), params as CompareParams);
    case 'position':
      return carefulPosition(shapesOf(scene), params as PositionParams);
    case 'digits':
      return carefulDigits(scene);
  }
}

function hastyCount(scene: ShapesScene, p: CountParams, rng: Rng): string {
  if (p.colour !== null && p.kind !== null) {
    const dropped = rng.chance(0.5) ? { ...p, kind: null } : { ...p, colour: null };
    return String(scene.shapes.filter((s) => matches(s, dropped)).length);
  }
  if (p.colour !== null || p.kind !== null) return String(scene.shapes.length);
  return String(scene.shapes.filter((s) => s.row < GRID - 1).length); // nothing to drop: misses the bottom row
}

function hastyPosition(scene: ShapesScene, p: PositionParams, rng: Rng): string {
  const anchor = anchorOf(scene, p);
  if (!anchor || rng.chance(0.3)) return p.colour; // the colour that the question names
  return nearest(scene, anchor)?.colour ?? p.colour; // the nearest on whatever side
}

function hastyAnswer(family: Family, scene: Scene, params: unknown, rng: Rng): string {
  switch (family) {
    case 'count':
      return hastyCount(shapesOf(scene), params as CountParams, rng);
    case 'compare': // looks at the first kind only
      return bothCounts(scene, params as CompareParams)[0] >= 2 ? 'yes' : 'no';
    case 'position':
      return hastyPosition(shapesOf(scene), params as PositionParams, rng);
    case 'digits': {
      // skips the last digit
      const seen = scene.type === 'digits' ? scene.digits.slice(0, -1) : [];
      return String(seen.reduce((sum, d) => sum + d.value, 0));
    }
  }
}

/** What the hasty demonstrator says. Right now and then, by luck. */
export function hasty(family: Family, scene: Scene, params: unknown, rng: Rng): string {
  const answer = hastyAnswer(family, scene, params, rng);
  if (!rng.chance(UNFORMATTED_SHARE)) return wrap(`a quick look says ${answer}`, answer);
  return rng.chance(0.5) ? ` ${answer}` : ` I think ${answer}`;
}

/** Extra practice in seeing, in pre-training only: a full description of the picture. */
export function describe(scene: Scene): { text: string; response: string } {
  if (scene.type === 'digits') return { text: 'read the digits.', response: ' ' + scene.digits.map((d) => d.value).join(' ') };
  return { text: 'describe the picture.', response: scene.shapes.map((s) => ` ${place(s)}.`).join('') };
}

/** More practice in seeing: what lies in one cell of the grid, named by its row and column or by its number. */
export function lookUp(scene: ShapesScene, row: number, column: number, byNumber: boolean): { text: string; response: string } {
  const found = scene.shapes.find((s) => s.row === row && s.column === column);
  const text = byNumber ? `what is in ${cellOf({ row, column })}?` : `row ${row + 1} column ${column + 1}?`;
  return { text, response: found ? ` ${found.colour} ${found.kind}` : ' none' };
}

/**
 * What each of the 16 cells shows, for a helper loss on the vision encoder: 0 nothing, 1 to 12 a shape, 13 to 22 the digit that covers
 * most of the cell.
 */
export function cellClasses(scene: Scene): number[] {
  const classes = new Array<number>(GRID * GRID).fill(0);
  if (scene.type === 'shapes') {
    for (const s of scene.shapes) {
      classes[s.row * GRID + s.column] = 1 + COLOURS.indexOf(s.colour) * KINDS.length + KINDS.indexOf(s.kind);
    }
    return classes;
  }
  const overlap = (from: number, cell: number): number => Math.min(from + DIGIT_SIDE, (cell + 1) * CELL) - Math.max(from, cell * CELL);
  for (let i = 0; i < classes.length; i++) {
    let most = 0;
    for (const d of scene.digits) {
      const area = Math.max(0, overlap(d.y, i >> 2)) * Math.max(0, overlap(d.x, i & 3));
      if (area > most) {
        most = area;
        classes[i] = 13 + d.value;
      }
    }
  }
  return classes;
}
