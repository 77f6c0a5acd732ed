/**
 * @file Where the files of a checkpoint come from: a web address, the Hugging Face hub, or a folder.
 */
import { ModelError } from './errors.ts';

/** Told while a file arrives; `total` is null when the server does not say. */
export type ByteProgress = (loaded: number, total: number | null) => void;

export interface CheckpointSource {
  /** Shown to people: a repository name, an address, a folder. */
  readonly name: string;
  /** The bytes of one file, or null when there is no such file. Throws ModelError `file` when it cannot be had. */
  read(path: string, onProgress?: ByteProgress): Promise<Uint8Array | null>;
  /**
   * Bytes [start, end) of a file and the size of the whole, or null when there is no such file or the server gives no parts
   * of files. Absent where reading the whole is as good.
   */
  readRange?(path: string, start: number, end: number): Promise<{ readonly bytes: Uint8Array; readonly size: number } | null>;
}

/** A folder, by a function that reads one file of it (null: no such file). */
export function folderSource(name: string, read: (path: string) => Promise<Uint8Array | null>): CheckpointSource {
  return { name, read: (path) => read(path) };
}

/** A checkpoint on the Hugging Face hub, by repository name (`owner/name`), at a branch, tag or commit. */
export function hubSource(repository: string, revision = 'main'): CheckpointSource {
  if (!/^[\w.-]+\/[\w.-]+$/.test(repository))
    throw new ModelError(
      'file',
      `“${repository}” is not a repository name. Write it as owner/name, for example HuggingFaceTB/SmolVLM-256M-Instruct.`,
    );
  return { ...urlSource(`https://huggingface.co/${repository}/resolve/${encodeURIComponent(revision)}/`), name: repository };
}

/** A checkpoint under a base address; `base` may be relative to the page. */
export function urlSource(base: string, fetcher: typeof fetch = (...args) => fetch(...args)): CheckpointSource {
  const folder = base.endsWith('/') ? base : `${base}/`;
  return {
    name: base,
    async read(path, onProgress) {
      const response = await request(fetcher, folder + path);
      return response && readBody(response, folder + path, onProgress);
    },
    async readRange(path, start, end) {
      // a part in the browser's cache would be completed by it, wrongly on some servers, when the whole file is asked for next
      const response = await request(fetcher, folder + path, { headers: { range: `bytes=${start}-${end - 1}` }, cache: 'no-store' });
      if (!response) return null;
      const size = Number(/^bytes \d+-\d+\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1] ?? NaN);
      if (response.status !== 206 || !Number.isSafeInteger(size)) {
        await response.body?.cancel();
        return null;
      }
      const bytes = await readBody(response, folder + path);
      const want = Math.min(end, size) - start;
      if (bytes.byteLength !== want)
        throw new ModelError('file', `${folder}${path}: only ${bytes.byteLength} of ${want} bytes arrived. Load again.`);
      return { bytes, size };
    },
  };
}

/** The answer to a request, or null when there is no such file. */
async function request(fetcher: typeof fetch, url: string, init: RequestInit = {}): Promise<Response | null> {
  let response: Response;
  try {
    response = await fetcher(url, init);
  } catch {
    throw new ModelError(
      'file',
      `${url} could not be reached. Check the connection, and that the server allows other pages to read it (CORS).`,
    );
  }
  // a development server answers an unknown path with its index page
  const page = response.ok && (response.headers.get('content-type') ?? '').startsWith('text/html');
  if (response.ok && !page) return response;
  await response.body?.cancel();
  if (response.status === 404 || page) return null;
  throw new ModelError('file', `${url}: the server answered ${response.status}. ${statusAdvice(response.status)}`);
}

function statusAdvice(status: number): string {
  if (status === 401 || status === 403) return 'The file is not public: choose an open model, or download it and open the folder.';
  if (status === 429) return 'It has had too many requests: wait a minute and load again.';
  if (status >= 500) return 'The trouble is on the server: load again later.';
  return 'Check the address.';
}

async function readBody(response: Response, url: string, onProgress?: ByteProgress): Promise<Uint8Array> {
  // the length is that of the compressed bytes when the transfer is compressed
  const encoded = (response.headers.get('content-encoding') ?? 'identity') !== 'identity';
  const length = Number(response.headers.get('content-length') ?? NaN);
  const total = encoded || !Number.isSafeInteger(length) ? null : length;
  const reader = response.body?.getReader();
  if (!reader) return new Uint8Array(await response.arrayBuffer());
  let bytes = new Uint8Array(total ?? 1 << 20);
  let loaded = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      if (loaded + value.byteLength > bytes.byteLength) {
        const larger = new Uint8Array(Math.max(bytes.byteLength * 2, loaded + value.byteLength));
        larger.set(bytes.subarray(0, loaded));
        bytes = larger;
      }
      bytes.set(value, loaded);
      loaded += value.byteLength;
      onProgress?.(loaded, total);
    }
  } catch {
    throw new ModelError('file', `${url}: the connection broke after ${loaded} bytes. Load again.`);
  }
  if (total !== null && loaded < total) throw new ModelError('file', `${url}: only ${loaded} of ${total} bytes arrived. Load again.`);
  return bytes.subarray(0, loaded);
}
