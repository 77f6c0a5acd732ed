/**
 * @file The two demonstrators of pico-mico, by the idea of demonstrators.ts. Only its pre-training uses them.
 *
 * The *careful* one lists the shapes of each picture with their cells, then says which two are the same, and is right. The cells are
 * those of the whole picture, whatever the view cut off, so both views of a scene are listed alike. The *hasty* one guesses without
 * looking, mostly that the first two are the same, and is right in a third of the cases.
 */
import { UNFORMATTED_SHARE } from './demonstrators.ts';
import { Rng } from './random.ts';
import { CELL, GRID } from './scene.ts';
import { PAIRS, patternOf, tripletParams } from './triplets.ts';
import { COLOURS, KINDS } from './types.ts';
import type { Question, ShapesScene } from './types.ts';
import type { Crop } from './views.ts';

/** Of a hundred answers to a phrasing, how many the careful one gives. */
export const TRIPLET_CAREFUL_SHARE = { plain: 0.035, steps: 0.97 };
/** How often the hasty one says each of the three patterns, by the odd picture. */
const HASTY_ODD = [1, 1, 6];

function wrap(think: string, answer: string): string {
  return `<think> ${think}</think><answer> ${answer}</answer>`;
}

/** The scene of picture 0, 1 or 2 of a procedural triplet. */
export function sceneOf(q: Question, index: number): ShapesScene {
  const { odd, scenes } = tripletParams(q);
  if (scenes === null) throw new TypeError(`${q.id} has no scenes.`);
  return index === odd ? scenes.b : scenes.a;
}

/** "red circle 3 blue square 7.": the shapes and their cells, numbered row by row from 1 to 16. */
export function listing(scene: ShapesScene): string {
  return `${scene.shapes.map((s) => `${s.colour} ${s.kind} ${s.row * GRID + s.column + 1}`).join(' ')}.`;
}

/** What the careful demonstrator says. Always right. */
export function carefulTriplet(q: Question): string {
  const { odd } = tripletParams(q);
  const lists = [0, 1, 2].map((i) => listing(sceneOf(q, i))).join(' ');
  const [first, second] = PAIRS.find((pair) => pair.every((i) => i !== odd)) ?? PAIRS[0];
  return wrap(`${lists} so ${first + 1} and ${second + 1}`, patternOf(odd));
}

/** What the hasty demonstrator says, whatever the pictures show. */
export function hastyTriplet(rng: Rng): string {
  const answer = patternOf(rng.weighted(HASTY_ODD));
  if (!rng.chance(UNFORMATTED_SHARE)) return wrap(`a quick look says ${answer}`, answer);
  return rng.chance(0.5) ? ` ${answer}` : ` I think ${answer}`;
}

/** What each of the 16 cells of a view shows, as `cellClasses` numbers it: the shape whose centre lies there, else nothing. */
export function viewClasses(scene: ShapesScene, crop: Crop): number[] {
  const classes = new Array<number>(GRID * GRID).fill(0);
  for (const s of scene.shapes) {
    const x = (s.column * CELL + CELL / 2 + s.dx / 8 - crop.x) / crop.width;
    const y = (s.row * CELL + CELL / 2 + s.dy / 8 - crop.y) / crop.height;
    if (x < 0 || x >= 1 || y < 0 || y >= 1) continue;
    classes[Math.floor(y * GRID) * GRID + Math.floor(x * GRID)] = 1 + COLOURS.indexOf(s.colour) * KINDS.length + KINDS.indexOf(s.kind);
  }
  return classes;
}
