/**
 * @file Files of the commands: read if there, replaced whole or not at all, and a run's folder locked against a second writer.
 */
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';

const codeOf = (error: unknown): string | undefined => (error as { code?: string }).code;

/** The bytes of a file, null if there is none. */
export async function readIfThere(path: string): Promise<Uint8Array | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** The text of a file, null if there is none. */
export async function textIfThere(path: string): Promise<string | null> {
  const bytes = await readIfThere(path);
  return bytes ? new TextDecoder().decode(bytes) : null;
}

/** Whole or not at all: a crash in mid-write leaves the old file. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.part`, text);
  await rename(`${path}.part`, path);
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/**
 * Takes the folder for this process; the answer gives it back. Null if another process that is still running has it: two
 * writers would mix their records. A lock whose process is gone is taken over.
 */
export async function lockFolder(folder: string): Promise<(() => Promise<void>) | null> {
  const path = join(folder, 'lock');
  for (;;) {
    try {
      await writeFile(path, String(process.pid), { flag: 'wx' });
      return () => rm(path, { force: true });
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    const holder = Number(await textIfThere(path));
    if (holder > 0 && alive(holder)) return null;
    await rm(path, { force: true });
  }
}
