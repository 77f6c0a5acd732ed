import { describe, expect, test } from 'vitest';
import { readSafetensors, writeSafetensors } from './safetensors.ts';

/** A file with this JSON header and `dataBytes` bytes of data. */
function file(header: unknown, dataBytes: number): Uint8Array {
  const json = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header));
  const bytes = new Uint8Array(8 + json.byteLength + dataBytes);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(json.byteLength), true);
  bytes.set(json, 8);
  return bytes;
}
const entry = (shape: number[], start: number, end: number, dtype = 'F32') => ({ dtype, shape, data_offsets: [start, end] });
const read = (header: unknown, dataBytes: number) => () => readSafetensors(file(header, dataBytes), 'a.safetensors');

describe('safetensors', () => {
  test('what was written is read back', () => {
    const bytes = writeSafetensors([
      { name: 'b', shape: [2, 3], data: new Float32Array([1, 2, 3, 4, 5, 6]) },
      { name: 'a', shape: [], data: new Float32Array([-0.5]) },
      { name: 'empty', shape: [0, 4], data: new Float32Array() },
    ]);
    const { metadata, tensors } = readSafetensors(bytes, 'a.safetensors');
    expect(metadata).toEqual({ format: 'pt' });
    expect([...tensors.keys()]).toEqual(['b', 'a', 'empty']);
    expect(tensors.get('b')?.shape).toEqual([2, 3]);
    expect([...new Float32Array(tensors.get('b')!.data.slice().buffer)]).toEqual([1, 2, 3, 4, 5, 6]);
    expect(tensors.get('a')?.data.byteLength).toBe(4);
    expect(new DataView(bytes.buffer).getBigUint64(0, true) % 8n).toBe(0n);
  });

  test('a file that is cut off says so', () => {
    const whole = file({ a: entry([4], 0, 16) }, 16);
    expect(() => readSafetensors(whole.subarray(0, 5), 'a.safetensors')).toThrow(
      'a.safetensors is not a valid safetensors file: it is cut off after 5 bytes',
    );
    expect(() => readSafetensors(whole.subarray(0, 20), 'a.safetensors')).toThrow('its header would end at byte');
    expect(() => readSafetensors(whole.subarray(0, whole.length - 1), 'a.safetensors')).toThrow(
      'a ends at data byte 16, but only 15 are there',
    );
    expect(() => readSafetensors(whole.subarray(0, whole.length - 1), 'a.safetensors')).toThrow('Fetch the file again');
  });

  test('web pages and Git LFS pointers are named', () => {
    const text = (s: string) => () => readSafetensors(new TextEncoder().encode(s), 'a.safetensors');
    expect(text('<!DOCTYPE html><html></html>')).toThrow('it is a web page');
    expect(text('version https://git-lfs.github.com/spec/v1\noid sha256:0')).toThrow('it is a Git LFS pointer');
  });

  test('headers that make no sense are refused', () => {
    expect(read('[]', 0)).toThrow('its header is not a JSON object');
    expect(read('{"a":', 0)).toThrow('its header is not JSON');
    expect(read('', 0)).toThrow('its header is empty');
    expect(read({ a: { dtype: 'F32' } }, 0)).toThrow('the entry of a lacks');
    expect(read({ a: null }, 0)).toThrow('the entry of a lacks');
    expect(read({ a: entry([1.5], 0, 6) }, 6)).toThrow('not whole numbers');
    expect(read({ a: entry([-1], 0, 4) }, 4)).toThrow('not whole numbers');
    expect(read({ a: entry([1], 0, 4, 'F8_E4M3') }, 4)).toThrow('a has the unknown dtype F8_E4M3. Save it as F32, BF16 or F16');
    expect(read({ a: entry([1], 4, 0) }, 4)).toThrow('a ends (0) before it starts (4)');
    expect(read({ a: entry([1], 0, 8) }, 8)).toThrow('takes 4 bytes, but 8 are given');
  });

  test('tensors neither overlap nor leave holes', () => {
    expect(read({ a: entry([2], 0, 8), b: entry([2], 4, 12) }, 12)).toThrow('tensors a and b overlap');
    expect(read({ a: entry([1], 0, 4), b: entry([1], 8, 12) }, 12)).toThrow('4 bytes between a and b');
    expect(read({ a: entry([1], 0, 4) }, 9)).toThrow('5 bytes after a belong to no tensor');
    expect(read({}, 0)).not.toThrow();
  });

  test('a shape that does not fit the values cannot be written', () => {
    expect(() => writeSafetensors([{ name: 'a', shape: [3], data: new Float32Array(2) }])).toThrow('2 values do not fill [3]');
  });
});
