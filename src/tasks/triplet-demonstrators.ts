/**
 * @file The two demonstrators of pico-mico, by the idea of demonstrators.ts. Only its pre-training uses them.
 *
 * The *careful* one goes through the cells that are not empty in all three pictures, row by row, and says what each picture has there,
 * until they differ; then it says which two are the same, and is right. So each step is a look at one place, and each comparison is of
 * three things side by side: of three whole lists pico learnt to compare the lengths and no more. The cells are those of the whole
 * picture, whatever a view cut off. The *hasty* one guesses without looking, mostly that the first two are the same, and is right in
 * a third of the cases.
 */
import { UNFORMATTED_SHARE } from './demonstrators.ts';
import { Rng } from './random.ts';
import { CELL, GRID } from './scene.ts';
import { PAIRS, patternOf, tripletParams } from './triplets.ts';
import { COLOURS, KINDS } from './types.ts';
import type { Question, Shape, ShapesScene } from './types.ts';
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

/** The cells are numbered row by row, from 1 to 16. */
function cellOf(s: Shape): number {
  return s.row * GRID + s.column + 1;
}

/** "red circle 3 blue square 7.": one picture's shapes and their cells. */
export function listing(scene: ShapesScene): string {
  return `${scene.shapes.map((s) => `${s.colour} ${s.kind} ${cellOf(s)}`).join(' ')}.`;
}

/** What the careful demonstrator says: "3 red circle red circle red circle. 7 blue square no shape blue square. so 1 and 3". */
export function carefulTriplet(q: Question): string {
  const { odd } = tripletParams(q);
  const scenes = [0, 1, 2].map((i) => sceneOf(q, i));
  const cells = new Set(scenes.flatMap((scene) => scene.shapes.map(cellOf)));
  const lines: string[] = [];
  for (const cell of [...cells].sort((a, b) => a - b)) {
    const found = scenes
      .map((scene) => scene.shapes.find((s) => cellOf(s) === cell))
      .map((s) => (s ? `${s.colour} ${s.kind}` : 'no shape'));
    lines.push(`${cell} ${found.join(' ')}.`);
    if (new Set(found).size > 1) break;
  }
  const [first, second] = PAIRS.find((pair) => pair.every((i) => i !== odd)) ?? PAIRS[0];
  return wrap(`${lines.join(' ')} so ${first + 1} and ${second + 1}`, patternOf(odd));
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
