/**
 * @file Reader and writer of the safetensors format: an 8-byte little-endian header length, a JSON header
 * `{name: {dtype, shape, data_offsets: [start, end]}}` with an optional `__metadata__` of strings, then the data, to which the
 * offsets are relative. The checks are those of the format's own reader: nothing out of range, no overlaps, no holes.
 * Reference: https://github.com/huggingface/safetensors#format
 */
import { ModelError } from './errors.ts';

const BYTES = { F64: 8, F32: 4, F16: 2, BF16: 2, I64: 8, I32: 4, I16: 2, I8: 1, U64: 8, U32: 4, U16: 2, U8: 1, BOOL: 1 } as const;
const MAX_HEADER = 100_000_000; // the format's own limit

export type Dtype = keyof typeof BYTES;

export interface Tensor {
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  /** A view into the file, not a copy; its offset need not be aligned. */
  readonly data: Uint8Array;
}

/** Where a tensor lies: offsets in bytes from the start of the file. */
export interface TensorEntry {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly start: number;
  readonly end: number;
}

export interface Safetensors {
  readonly metadata: Readonly<Record<string, string>>;
  readonly tensors: ReadonlyMap<string, Tensor>;
}

const AGAIN = 'Fetch the file again; if it stays so, the file at its source is damaged.';

function malformed(file: string, what: string, advice = AGAIN): ModelError {
  return new ModelError('file', `${file} is not a valid safetensors file: ${what}. ${advice}`);
}

/** Length of the header in bytes, from the first 8 bytes of the file. */
export function headerLength(first: Uint8Array, file: string, fileBytes: number): number {
  if (first.byteLength < 8) throw malformed(file, `it is cut off after ${first.byteLength} bytes, before its header`);
  const length = new DataView(first.buffer, first.byteOffset, 8).getBigUint64(0, true);
  if (first[0] === 0x3c || first[0] === 0x76) {
    // "<" of an HTML page, "v" of "version https://git-lfs…"
    const text = new TextDecoder().decode(first.subarray(0, 64)).trim();
    if (/^(<!|<html|version https:\/\/git-lfs)/i.test(text)) {
      throw malformed(
        file,
        text.startsWith('v') ? 'it is a Git LFS pointer' : 'it is a web page',
        'Give the address of the file itself (…/resolve/main/…).',
      );
    }
  }
  if (length < 2n) throw malformed(file, 'its header is empty');
  if (length > BigInt(MAX_HEADER)) throw malformed(file, `its header would be ${length} bytes long (at most ${MAX_HEADER} are allowed)`);
  if (8n + length > BigInt(fileBytes)) throw malformed(file, `its header would end at byte ${8n + length}, but the file has ${fileBytes}`);
  return Number(length);
}

/** Checks the JSON header (`header` without the 8 length bytes) against the size of the whole file. */
export function parseHeader(
  header: Uint8Array,
  file: string,
  fileBytes: number,
): { metadata: Record<string, string>; entries: TensorEntry[] } {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(header));
  } catch {
    throw malformed(file, 'its header is not JSON');
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw malformed(file, 'its header is not a JSON object');
  const dataStart = 8 + header.byteLength;
  const dataBytes = fileBytes - dataStart;
  const metadata: Record<string, string> = {};
  const entries: TensorEntry[] = [];
  for (const [name, value] of Object.entries(json as Record<string, unknown>)) {
    if (name === '__metadata__') {
      for (const [key, text] of Object.entries((value ?? {}) as Record<string, unknown>)) metadata[key] = String(text);
      continue;
    }
    entries.push(parseEntry(name, value, file, dataStart, dataBytes));
  }
  const byStart = [...entries].sort((a, b) => a.start - b.start || a.end - b.end);
  let end = dataStart;
  let previous = 'the header';
  for (const entry of byStart) {
    if (entry.start < end) throw malformed(file, `tensors ${previous} and ${entry.name} overlap`);
    if (entry.start > end)
      throw malformed(file, `there are ${entry.start - end} bytes between ${previous} and ${entry.name} that belong to no tensor`);
    end = entry.end;
    previous = entry.name;
  }
  if (end !== fileBytes) throw malformed(file, `${fileBytes - end} bytes after ${previous} belong to no tensor`);
  return { metadata, entries };
}

function parseEntry(name: string, value: unknown, file: string, dataStart: number, dataBytes: number): TensorEntry {
  const { dtype, shape, data_offsets: offsets } = (value ?? {}) as { dtype?: unknown; shape?: unknown; data_offsets?: unknown };
  if (typeof dtype !== 'string' || !Array.isArray(shape) || !Array.isArray(offsets) || offsets.length !== 2) {
    throw malformed(file, `the entry of ${name} lacks dtype, shape or data_offsets`);
  }
  if (!(dtype in BYTES)) {
    throw malformed(
      file,
      `${name} has the unknown dtype ${dtype}`,
      `Save it as F32, BF16 or F16 (known: ${Object.keys(BYTES).join(', ')}).`,
    );
  }
  const counts = [...(shape as unknown[]), ...(offsets as unknown[])];
  if (!counts.every((n) => Number.isSafeInteger(n) && (n as number) >= 0))
    throw malformed(file, `the shape or offsets of ${name} are not whole numbers`);
  const [start, end] = offsets as [number, number];
  if (start > end) throw malformed(file, `${name} ends (${end}) before it starts (${start})`);
  if (end > dataBytes) throw malformed(file, `${name} ends at data byte ${end}, but only ${dataBytes} are there: the file is cut off`);
  const want = (shape as number[]).reduce((a, b) => a * b, 1) * BYTES[dtype as Dtype];
  if (want !== end - start)
    throw malformed(file, `${name} [${shape.join(', ')}] ${dtype} takes ${want} bytes, but ${end - start} are given`);
  return { name, dtype: dtype as Dtype, shape: shape as number[], start: dataStart + start, end: dataStart + end };
}

/** Reads a whole file. `file` is its name for error messages. Tensors are views into `bytes`. */
export function readSafetensors(bytes: Uint8Array, file: string): Safetensors {
  const length = headerLength(bytes, file, bytes.byteLength);
  const { metadata, entries } = parseHeader(bytes.subarray(8, 8 + length), file, bytes.byteLength);
  const tensors = new Map(entries.map((e) => [e.name, { dtype: e.dtype, shape: e.shape, data: bytes.subarray(e.start, e.end) }]));
  return { metadata, tensors };
}

/** Writes F32 tensors. `__metadata__: {"format": "pt"}` is what transformers and PEFT look for. */
export function writeSafetensors(
  tensors: readonly { readonly name: string; readonly shape: readonly number[]; readonly data: Float32Array }[],
  metadata: Readonly<Record<string, string>> = { format: 'pt' },
): Uint8Array {
  const header: Record<string, unknown> = { __metadata__: metadata };
  let at = 0;
  for (const { name, shape, data } of tensors) {
    if (shape.reduce((a, b) => a * b, 1) !== data.length)
      throw new Error(`${name}: ${data.length} values do not fill [${shape.join(', ')}].`);
    header[name] = { dtype: 'F32', shape, data_offsets: [at, (at += data.byteLength)] };
  }
  const text = JSON.stringify(header);
  const json = new TextEncoder().encode(text);
  const padded = Math.ceil(json.byteLength / 8) * 8; // data starts 8-byte aligned; the padding is blanks, as in the Rust writer
  const bytes = new Uint8Array(8 + padded + at);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(padded), true);
  bytes.fill(0x20, 8, 8 + padded);
  bytes.set(json, 8);
  let offset = 8 + padded;
  for (const { data } of tensors) {
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), offset);
    offset += data.byteLength;
  }
  return bytes;
}
