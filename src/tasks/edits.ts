/**
 * @file Edits: from a scene of shapes to one that is the same but for one thing. The odd picture of a MiCo triplet (triplets.ts) is
 * made so; the paper takes neighbouring video frames and edited photographs.
 */
import type { Rng } from './random.ts';
import { CELL, drawShapes, GRID, rasterOrder, splitOf } from './scene.ts';
import { COLOURS, KINDS } from './types.ts';
import type { Shape, ShapesScene, Split } from './types.ts';
import type { Box } from './views.ts';

/** A shape takes another colour or kind, moves to another cell, goes, or comes. */
export const EDITS = ['colour', 'kind', 'move', 'gone', 'new'] as const;
export type Edit = (typeof EDITS)[number];

/** Shapes in either scene: 1 to 3, so that three of them can be listed within 48 tokens. */
export const MOST_SHAPES = 3;
/** A shape moves by at least so many rows or columns: one of them could be the doing of a crop. */
const LEAST_MOVE = 2;

/** Two scenes that differ in one thing, and where: the box of a shape that only one of them has, in pixels; two for a move. */
export interface EditedPair {
  readonly a: ShapesScene;
  readonly b: ShapesScene;
  readonly places: readonly Box[];
}

/** The box that holds a shape, in pixels (a multiple of an eighth). */
export function boxOf(s: Shape): Box {
  const half = s.size / 8;
  const x = s.column * CELL + CELL / 2 + s.dx / 8 - half;
  const y = s.row * CELL + CELL / 2 + s.dy / 8 - half;
  return { x, y, width: 2 * half, height: 2 * half };
}

interface Cell {
  readonly row: number;
  readonly column: number;
}

function freeCells(scene: ShapesScene): Cell[] {
  const cells = Array.from({ length: GRID * GRID }, (_, i) => ({ row: Math.floor(i / GRID), column: i % GRID }));
  return cells.filter((c) => !scene.shapes.some((s) => s.row === c.row && s.column === c.column));
}

/** Every way to edit the scene: the shape that is taken out (or null) and the one that is put in (or null). */
function ways(a: ShapesScene, edit: Edit, rng: Rng): [Shape | null, Shape | null][] {
  switch (edit) {
    case 'colour':
      return a.shapes.flatMap((s) => COLOURS.filter((c) => c !== s.colour).map((colour): [Shape, Shape] => [s, { ...s, colour }]));
    case 'kind':
      return a.shapes.flatMap((s) => KINDS.filter((k) => k !== s.kind).map((kind): [Shape, Shape] => [s, { ...s, kind }]));
    case 'move':
      return a.shapes.flatMap((s) =>
        freeCells(a)
          .filter((c) => Math.max(Math.abs(c.row - s.row), Math.abs(c.column - s.column)) >= LEAST_MOVE)
          .map((cell): [Shape, Shape] => [s, { ...s, ...cell }]),
      );
    case 'gone':
      return a.shapes.length > 1 ? a.shapes.map((s) => [s, null]) : [];
    case 'new': {
      if (a.shapes.length >= MOST_SHAPES) return [];
      const fresh = { dx: rng.int(-16, 16), dy: rng.int(-16, 16), size: rng.int(34, 48), turn: 0 as const };
      return freeCells(a).flatMap((cell) =>
        KINDS.flatMap((kind) => COLOURS.map((colour): [null, Shape] => [null, { ...cell, kind, colour, ...fresh }])),
      );
    }
  }
}

/** Two scenes of the split that differ by this edit. Both belong to the split, so no triplet shows what another split owns. */
export function drawEdited(rng: Rng, split: Split, edit: Edit): EditedPair {
  for (let attempt = 0; attempt < 10000; attempt++) {
    const a = drawShapes(rng, split);
    if (a.shapes.length > MOST_SHAPES) continue;
    for (const [out, into] of rng.shuffle(ways(a, edit, rng))) {
      const kept = a.shapes.filter((s) => s !== out);
      const b: ShapesScene = { type: 'shapes', shapes: (into ? [...kept, into] : kept).sort(rasterOrder) };
      if (splitOf(b) !== split) continue;
      const boxes = [out, into].flatMap((s) => (s ? [boxOf(s)] : []));
      return { a, b, places: edit === 'colour' || edit === 'kind' ? boxes.slice(0, 1) : boxes };
    }
  }
  throw new Error(`No pair of scenes found for the edit ${edit} in the split ${split}.`);
}
