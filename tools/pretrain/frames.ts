/**
 * @file The frames that the Python side reads from standard output, one or more pictures with questions and responses about them:
 *
 *     u32 length of the JSON · JSON { branches: [{ prompt, response, … }], … } · 64·64·3 bytes of RGB for each picture
 */
import { writeSync } from 'node:fs';
import type { Picture } from '../../src/tasks/index.ts';

/** Writes one frame; `pictures` joins the JSON as their number. */
export function put(json: object, pictures: readonly Picture[]): void {
  const text = new TextEncoder().encode(JSON.stringify({ ...json, pictures: pictures.length }));
  const bytes = new Uint8Array(pictures.reduce((sum, p) => sum + p.data.length, 4 + text.length));
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 4);
  let to = 4 + text.length;
  for (const { data } of pictures) {
    bytes.set(data, to);
    to += data.length;
  }
  for (let at = 0; at < bytes.length;) at += writeSync(1, bytes, at);
}

/** Runs `write` until it is done or its reader has read enough. */
export function untilClosed(write: () => void): void {
  try {
    write();
  } catch (error) {
    if ((error as { code?: string }).code !== 'EPIPE') throw error;
  }
}
