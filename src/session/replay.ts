/**
 * @file Recorded runs: the JSON lines that the command line writes, as they are or gzipped, from the server or from a file of
 * the visitor's. They need no GPU; every view draws them as it draws a live run.
 */
import { readJsonl, toJson } from '../worker/protocol.ts';
import type { StepRecord } from './types.ts';

/** The run that is shipped with the page (made by the command line; see the README). */
const SHIPPED = 'recordings/demo.jsonl.gz';

/** The text of a file that may be gzipped (its first two bytes tell; a server may have unpacked it already). */
async function textOf(file: Blob): Promise<string> {
  const [a, b] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (a !== 0x1f || b !== 0x8b) return file.text();
  return new Response(file.stream().pipeThrough(new DecompressionStream('gzip'))).text();
}

/** Throws an Error with a sentence that says which line is wrong. */
export async function recordsOf(file: Blob): Promise<StepRecord[]> {
  const records = readJsonl(await textOf(file));
  if (records.length === 0)
    throw new Error('This file holds no step records. Choose a run.jsonl that the command line or “Save the run” wrote.');
  return records;
}

/** The shipped run. Throws an Error with a sentence. */
export async function shippedRun(base: string): Promise<StepRecord[]> {
  const response = await fetch(base + SHIPPED).catch(() => null);
  const page = response?.headers.get('content-type')?.startsWith('text/html');
  if (!response?.ok || page) throw new Error('The recorded run is missing on this server. Open a run.jsonl of your own instead.');
  return recordsOf(await response.blob());
}

/** A run as JSON lines. */
export const runText = (records: readonly StepRecord[]): string => records.map((r) => `${toJson(r)}\n`).join('');
