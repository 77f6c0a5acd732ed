/** @file Bytes as base64 text and back, in any JavaScript runtime. */

const CHUNK = 0x8000;

export function toBase64(bytes: Uint8Array): string {
  let binary = '';
  for (let at = 0; at < bytes.length; at += CHUNK) binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(binary);
}

/** Throws if the text is no base64. */
export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}

/** Little-endian, as every machine with WebGPU is. */
export const floatsToBase64 = (values: Float32Array): string =>
  toBase64(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));

export function floatsFromBase64(text: string): Float32Array {
  const bytes = fromBase64(text);
  if (bytes.length % 4 !== 0) throw new Error(`${bytes.length} bytes are no whole number of floats.`);
  return new Float32Array(bytes.buffer, 0, bytes.length / 4);
}
