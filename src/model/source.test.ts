import { describe, expect, test } from 'vitest';
import { loadCheckpoint } from './checkpoint.ts';
import { folderSource, hubSource, urlSource } from './source.ts';

const answering = (body: BodyInit | null, init: ResponseInit) =>
  urlSource('https://models.test/a', () => Promise.resolve(new Response(body, init)));

describe('checkpoint sources', () => {
  test('a file arrives whole, with progress', async () => {
    const seen: [number, number | null][] = [];
    const source = answering(new Uint8Array([1, 2, 3]), { headers: { 'content-length': '3' } });
    expect(await source.read('config.json', (loaded, total) => seen.push([loaded, total]))).toEqual(new Uint8Array([1, 2, 3]));
    expect(seen[seen.length - 1]).toEqual([3, 3]);
  });

  test('without a length, or with a compressed one, no total is promised', async () => {
    const body = new Uint8Array(3 << 20).fill(7);
    for (const headers of [{}, { 'content-length': '10', 'content-encoding': 'gzip' }]) {
      const totals = new Set<number | null>();
      const bytes = await answering(body, { headers }).read('a', (_loaded, total) => totals.add(total));
      expect(bytes?.byteLength).toBe(body.byteLength);
      expect([...totals]).toEqual([null]);
    }
  });

  test('a missing file is null, also where a server answers with its page', async () => {
    expect(await answering('', { status: 404 }).read('a')).toBe(null);
    expect(await answering('<html>', { headers: { 'content-type': 'text/html; charset=utf-8' } }).read('a')).toBe(null);
  });

  test('errors say what to do', async () => {
    await expect(answering('', { status: 401 }).read('a')).rejects.toThrow(
      'https://models.test/a/a: the server answered 401. The file is not public',
    );
    await expect(answering('', { status: 429 }).read('a')).rejects.toThrow('wait a minute');
    await expect(answering('', { status: 503 }).read('a')).rejects.toThrow('load again later');
    await expect(answering('ab', { headers: { 'content-length': '5' } }).read('a')).rejects.toThrow('only 2 of 5 bytes arrived');
    const offline = urlSource('https://models.test', () => Promise.reject(new TypeError('Failed to fetch')));
    await expect(offline.read('a')).rejects.toThrow('https://models.test/a could not be reached');
    const broken = new ReadableStream({ pull: (c) => c.error(new Error('reset')) });
    await expect(answering(broken, {}).read('a')).rejects.toThrow('the connection broke after 0 bytes');
  });

  test('a part of a file comes with the size of the whole, or not at all', async () => {
    const asked: string[] = [];
    const source = urlSource('https://models.test', (_url, init) => {
      asked.push(new Headers(init?.headers).get('range') ?? '');
      return Promise.resolve(new Response(new Uint8Array([4, 5]), { status: 206, headers: { 'content-range': 'bytes 4-5/100' } }));
    });
    expect(await source.readRange?.('a', 4, 6)).toEqual({ bytes: new Uint8Array([4, 5]), size: 100 });
    expect(asked).toEqual(['bytes=4-5']);
    await expect(source.readRange?.('a', 4, 7)).rejects.toThrow('only 2 of 3 bytes arrived');
    expect(await answering(new Uint8Array(9), { status: 200 }).readRange?.('a', 0, 8)).toBe(null);
    expect(await answering('', { status: 404 }).readRange?.('a', 0, 8)).toBe(null);
  });

  test('repository names', () => {
    expect(hubSource('HuggingFaceTB/SmolVLM-256M-Instruct').name).toBe('HuggingFaceTB/SmolVLM-256M-Instruct');
    expect(() => hubSource('SmolVLM')).toThrow('Write it as owner/name');
    expect(() => hubSource('a/b/../c')).toThrow('Write it as owner/name');
  });

  test('a folder without a checkpoint says which file it misses', async () => {
    const empty = folderSource('my folder', () => Promise.resolve(null));
    await expect(loadCheckpoint(empty)).rejects.toThrow('my folder has no config.json');
  });
});
