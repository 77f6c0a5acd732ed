/** @file Files that are replaced whole, and folders that one process has at a time. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lockFolder, readIfThere, replaceFile, textIfThere } from './files.ts';

let folder: string;
beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'files-'))));
afterEach(() => rm(folder, { recursive: true, force: true }));

describe('a file', () => {
  it('is replaced whole, and leaves nothing beside it', async () => {
    const path = join(folder, 'a.txt');
    expect([await readIfThere(path), await textIfThere(path)]).toEqual([null, null]);
    await replaceFile(path, 'one');
    await replaceFile(path, 'zwölf');
    expect(await textIfThere(path)).toBe('zwölf');
    expect(await readdir(folder)).toEqual(['a.txt']);
    await expect(readIfThere(folder)).rejects.toThrow();
  });
});

describe('a folder', () => {
  it('belongs to one process until it gives it back', async () => {
    const unlock = await lockFolder(folder);
    expect(await readFile(join(folder, 'lock'), 'utf8')).toBe(String(process.pid));
    expect(await lockFolder(folder)).toBeNull();
    await unlock?.();
    expect(await lockFolder(folder)).not.toBeNull();
  });

  // above the largest process id that any system gives; a lock cut off in mid-write is empty
  it.each(['4194305', ''])('is taken over from a process that is gone (lock “%s”)', async (holder) => {
    await writeFile(join(folder, 'lock'), holder);
    expect(await lockFolder(folder)).not.toBeNull();
    expect(await readFile(join(folder, 'lock'), 'utf8')).toBe(String(process.pid));
  });
});
