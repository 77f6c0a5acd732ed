/**
 * @file StepRecords as JSON lines (`run.jsonl`) and back. Numbers per token are rounded to six significant digits, pictures
 * are base64. Reading checks the schema and says which line and field is wrong.
 */
import { fromBase64, toBase64 } from './base64.ts';
import { PHASES, SCHEMA, type StepRecord } from './record.ts';
import { list, map, number, object, oneOf, orNull, text, truth, type Check } from './shape.ts';

/** A line of a record file that cannot be used. */
export class RecordError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RecordError';
  }
}

const DIGITS = 6;

const round = (value: number): number => (Number.isInteger(value) ? value : Number(value.toPrecision(DIGITS)));

/** Fields that `light` leaves empty: everything per token, and the pictures. */
const HEAVY = new Set(['tokens', 'pieces', 'logProbs', 'entropies', 'transferGap', 'weights', 'base', 'ratios', 'clipped', 'data']);

export interface JsonOptions {
  /** Leave out what is per token or per pixel; curves, texts, rewards and advantages stay. */
  readonly light?: boolean;
}

/** One line, without its line break. */
export function toJson(record: StepRecord, o: JsonOptions = {}): string {
  return JSON.stringify(record, (key, value: unknown) => {
    if (o.light && HEAVY.has(key) && typeof value === 'object' && value !== null) return value instanceof Uint8Array ? '' : [];
    if (value instanceof Uint8Array) return toBase64(value);
    if (value instanceof Float32Array) return Array.from(value, round);
    if (value instanceof Int32Array) return Array.from(value);
    return value;
  });
}

const numbers = list(number);

const VARIANT = object({
  text,
  phrasing: oneOf('plain', 'steps', 'own'),
  transform: object({ name: text, seed: number }),
  hint: text,
  pictures: list(object({ width: number, height: number, data: text })),
  crops: list(object({ x: number, y: number, width: number, height: number })),
  poisoned: truth,
  tokens: numbers,
  madeBy: oneOf('original', 'template'),
  audit: oneOf('kept', 'changed', 'unknown'),
});
const RESPONSE = object({
  text,
  tokens: numbers,
  pieces: list(text),
  logProbs: numbers,
  entropies: numbers,
  finish: oneOf('stop', 'length'),
});
const REWARD = object({ accuracy: number, format: number, total: number, extracted: orNull(text), careful: truth });
const STATE = oneOf('alive', 'all-fail', 'all-pass');
const PAIR = object({
  logProbs: numbers,
  transferGap: numbers,
  weights: numbers,
  advantage: number,
  base: orNull(numbers),
  ratios: orNull(numbers),
  clipped: orNull(numbers),
});
const QUESTION = object({
  id: text,
  family: text,
  text,
  answer: orNull(text),
  variants: list(VARIANT),
  responses: list(list(RESPONSE)),
  rewards: list(list(REWARD)),
  advantages: list(list(object({ local: number, global: number }))),
  groups: orNull(object({ local: list(STATE), pooled: STATE, mean: number, std: number })),
  pairs: list(list(list(PAIR))),
});
const UPDATE = object({
  loss: number,
  inner: list(object({ loss: number, gradNorm: number, gradScale: number, clipLow: number, clipHigh: number })),
  cosine: orNull(number),
  lossAfter: orNull(number),
  rows: number,
  tokens: number,
  gradNorm: number,
  gradScale: number,
  learningRate: number,
  clipLow: orNull(number),
  clipHigh: orNull(number),
  kl: orNull(number),
  modules: list(object({ name: text, layer: number, deltaNorm: number, stepNorm: number })),
});
const EVALUATION = object({
  cells: list(object({ family: text, phrasing: text, n: number, right: number, careful: number })),
  before: orNull(text),
  after: orNull(text),
});
const RECORD: Check = object({
  step: number,
  phase: oneOf(...PHASES),
  settings: object({ preset: text, variants: number, responses: number }),
  questions: list(QUESTION),
  redrawn: list(object({ id: text, family: text, state: STATE })),
  update: orNull(UPDATE),
  evaluation: orNull(EVALUATION),
  metrics: map(number),
  timing: map(number),
});

/** Reads one line. Throws RecordError; `where` opens its message. */
export function fromJson(line: string, where = 'This record'): StepRecord {
  let parsed: unknown;
  try {
    parsed = JSON.parse(line);
  } catch {
    throw new RecordError(`${where} is no JSON; the file may have been cut off. Remove the line, or record the run again.`);
  }
  const schema = (parsed as { schema?: unknown } | null)?.schema;
  if (schema !== SCHEMA) {
    throw new RecordError(
      `${where} ${schema === undefined ? 'has no schema number, so it is no step record' : `has schema ${String(schema)}; this version reads ${SCHEMA}`}. Record the run again with this version.`,
    );
  }
  const problem = RECORD(parsed, '');
  if (problem) throw new RecordError(`${where} is not complete: ${problem}.`);
  const record = parsed as StepRecord;
  for (const q of record.questions) {
    q.variants = q.variants.map((v) => ({
      ...v,
      pictures: v.pictures.map((p) => ({ ...p, data: bytesOf(p.data as unknown as string, where) })),
    }));
  }
  return record;
}

function bytesOf(base64: string, where: string): Uint8Array {
  try {
    return fromBase64(base64);
  } catch {
    throw new RecordError(`${where} has a picture that is no base64.`);
  }
}

/** Reads a whole file; empty lines are skipped. */
export function readJsonl(file: string): StepRecord[] {
  return file.split('\n').flatMap((line, at) => (line.trim() === '' ? [] : [fromJson(line, `Line ${at + 1}`)]));
}
