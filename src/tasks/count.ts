/**
 * @file The family *count*: "how many red circles are there?". Asked with both conditions, with one of them, or with none; the
 * answer is a number from 0 to 6. Turning, mirroring and noise all leave it as it is.
 */

import { Rng } from './random.ts';
import { drawShapes } from './scene.ts';
import { TRANSFORMS } from './transforms.ts';
import { COLOURS, KINDS } from './types.ts';
import type { Colour, Kind, Scene, Shape, TaskFamily } from './types.ts';

/** The conditions of a question; null where there is none. */
export interface CountParams {
  colour: Colour | null;
  kind: Kind | null;
}

export function matches(shape: Shape, p: CountParams): boolean {
  return (p.colour === null || shape.colour === p.colour) && (p.kind === null || shape.kind === p.kind);
}

/** "red circles", "red shapes", "circles", "shapes". */
export function plural(p: CountParams): string {
  return (p.colour === null ? '' : p.colour + ' ') + (p.kind ?? 'shape') + 's';
}

export const count: TaskFamily<CountParams> = {
  family: 'count',
  answerKind: 'number',
  templates: [
    { phrasing: 'plain', text: 'how many {what} are there?' },
    { phrasing: 'plain', text: 'tell me how many {what} there are.' },
    { phrasing: 'plain', text: 'what is the number of {what}?' },
    { phrasing: 'plain', text: 'give the number of {what} in the picture.' },
    { phrasing: 'steps', text: 'list the {what}, then count them.' },
    { phrasing: 'steps', text: 'name each of the {what} one by one, then say how many.' },
    { phrasing: 'steps', text: 'go through the {what} step by step and count them.' },
    { phrasing: 'steps', text: 'first find all {what}, then give the number.' },
  ],
  drawScene: (rng, split) => drawShapes(rng, split),
  ask(scene: Scene, rng: Rng): CountParams | null {
    if (scene.type !== 'shapes') return null;
    const form = rng.weighted([50, 17, 17, 16]);
    // Mostly about something that is there; else about anything, so that 0 is an answer too.
    const seen = rng.chance(0.8) && scene.shapes.length > 0 ? rng.pick(scene.shapes) : null;
    const other = rng.chance(0.5) && scene.shapes.length > 0 ? rng.pick(scene.shapes) : null;
    const colour = seen?.colour ?? rng.pick(COLOURS);
    const kind = seen?.kind ?? other?.kind ?? rng.pick(KINDS);
    return { colour: form === 2 || form === 3 ? null : colour, kind: form === 1 || form === 3 ? null : kind };
  },
  answerOf(scene, p) {
    if (scene.type !== 'shapes') return null;
    return String(scene.shapes.filter((s) => matches(s, p)).length);
  },
  all: () => [...COLOURS, null].flatMap((colour) => [...KINDS, null].map((kind) => ({ colour, kind }))),
  slots: (p) => ({ what: plural(p) }),
  keeps: () => TRANSFORMS,
};
