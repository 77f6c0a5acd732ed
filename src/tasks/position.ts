/**
 * @file The family *position*: "what colour is the shape left of the green triangle?". Meant is the nearest shape in the same row (or
 * column) on that side; the question is only asked where there is one and where the anchor is the only one of its colour and kind.
 *
 * A mirror changes left and right but not above and below, so which transforms keep the answer depends on the direction.
 */

import { Rng } from './random.ts';
import { drawShapes } from './scene.ts';
import { COLOURS, KINDS } from './types.ts';
import type { Colour, Kind, Scene, Shape, ShapesScene, TaskFamily } from './types.ts';

export const DIRECTIONS = ['left of', 'right of', 'above', 'below'] as const;
export type Direction = (typeof DIRECTIONS)[number];

export interface PositionParams {
  colour: Colour;
  kind: Kind;
  direction: Direction;
}

/** The anchor, if it is there once only. */
export function anchorOf(scene: ShapesScene, p: PositionParams): Shape | null {
  const found = scene.shapes.filter((s) => s.colour === p.colour && s.kind === p.kind);
  return found.length === 1 ? (found[0] as Shape) : null;
}

/** How far `s` lies from the anchor in the direction; 0 or less where it does not. */
function distance(anchor: Shape, s: Shape, direction: Direction): number {
  const sameRow = anchor.row === s.row;
  const sameColumn = anchor.column === s.column;
  switch (direction) {
    case 'left of':
      return sameRow ? anchor.column - s.column : 0;
    case 'right of':
      return sameRow ? s.column - anchor.column : 0;
    case 'above':
      return sameColumn ? anchor.row - s.row : 0;
    case 'below':
      return sameColumn ? s.row - anchor.row : 0;
  }
}

/** The nearest shape on that side of the anchor, or null. */
export function neighbour(scene: ShapesScene, anchor: Shape, direction: Direction): Shape | null {
  let best: Shape | null = null;
  for (const s of scene.shapes) {
    const d = distance(anchor, s, direction);
    if (d > 0 && (best === null || d < distance(anchor, best, direction))) best = s;
  }
  return best;
}

/** The shape nearest to the anchor on whatever side, counted in cells; the first in raster order of equally near ones. */
export function nearest(scene: ShapesScene, anchor: Shape): Shape | null {
  const far = (s: Shape): number => Math.abs(s.row - anchor.row) + Math.abs(s.column - anchor.column);
  let best: Shape | null = null;
  for (const s of scene.shapes) if (s !== anchor && (best === null || far(s) < far(best))) best = s;
  return best;
}

export const position: TaskFamily<PositionParams> = {
  family: 'position',
  answerKind: 'colour',
  templates: [
    { phrasing: 'plain', text: 'what colour is the shape {side} the {anchor}?' },
    { phrasing: 'plain', text: 'tell me the colour of the shape {side} the {anchor}.' },
    { phrasing: 'plain', text: 'which colour does the shape {side} the {anchor} have?' },
    { phrasing: 'plain', text: 'give the colour of the shape {side} the {anchor}.' },
    { phrasing: 'steps', text: 'find the {anchor}, then the shape {side} it: what colour is it?' },
    { phrasing: 'steps', text: 'first say where the {anchor} is, then name the shape {side} it and say the colour.' },
    { phrasing: 'steps', text: 'go step by step from the {anchor} to the shape {side} it and give the colour.' },
    { phrasing: 'steps', text: 'list the {anchor} and the shape {side} it, then say the colour.' },
  ],
  drawScene: (rng, split) => drawShapes(rng, split),
  ask(scene: Scene, rng: Rng): PositionParams | null {
    if (scene.type !== 'shapes') return null;
    const good: PositionParams[] = [];
    for (const colour of COLOURS) {
      for (const kind of KINDS) {
        for (const direction of DIRECTIONS) {
          const p = { colour, kind, direction };
          const anchor = anchorOf(scene, p);
          if (anchor && neighbour(scene, anchor, direction)) good.push(p);
        }
      }
    }
    // Where the nearest shape of all lies on another side, the direction matters: such questions are preferred.
    const telling = good.filter((p) => {
      const anchor = anchorOf(scene, p);
      return anchor && nearest(scene, anchor)?.colour !== neighbour(scene, anchor, p.direction)?.colour;
    });
    if (telling.length > 0 && rng.chance(0.6)) return rng.pick(telling);
    return good.length > 0 ? rng.pick(good) : null;
  },
  answerOf(scene, p) {
    if (scene.type !== 'shapes') return null;
    const anchor = anchorOf(scene, p);
    return anchor ? (neighbour(scene, anchor, p.direction)?.colour ?? null) : null;
  },
  all: () => COLOURS.flatMap((colour) => KINDS.flatMap((kind) => DIRECTIONS.map((direction) => ({ colour, kind, direction })))),
  slots: (p) => ({ side: p.direction, anchor: `${p.colour} ${p.kind}` }),
  keeps(p) {
    const sideways = p.direction === 'left of' || p.direction === 'right of';
    return ['identity', sideways ? 'flip_vertical' : 'flip_horizontal', 'noise_10', 'noise_25', 'noise_50'];
  },
};
