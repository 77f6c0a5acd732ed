/**
 * @file A visitor's file as a picture that the model can see: decoded and scaled here, off the main thread, so that a large
 * photograph does not freeze the page.
 */
import { PictureError } from './problems.ts';
import type { DecodedPicture } from './protocol.ts';

const LARGEST_FILE = 64e6; // bytes
const LARGEST_PICTURE = 120e6; // pixels
/** Paper behind pictures that are not square: the background of pico's own pictures. */
const PAPER = 'rgb(240 240 236)';

async function bitmapOf(file: Blob): Promise<ImageBitmap> {
  try {
    return await createImageBitmap(file);
  } catch {
    throw new PictureError('This file cannot be read as a picture. Choose a PNG, JPEG, WebP, GIF or AVIF file.');
  }
}

/** Throws PictureError with a sentence that says what to do. */
export async function decodePicture(file: Blob, side: number): Promise<DecodedPicture> {
  if (file.size === 0) throw new PictureError('This file is empty. Choose another picture.');
  if (file.size > LARGEST_FILE)
    throw new PictureError(
      `This file has ${Math.round(file.size / 1e6)} MB; up to ${LARGEST_FILE / 1e6} MB can be opened. Scale the picture down first: the model sees ${side} × ${side} pixels anyway.`,
    );
  const bitmap = await bitmapOf(file);
  try {
    const { width, height } = bitmap;
    if (width * height > LARGEST_PICTURE)
      throw new PictureError(
        `This picture has ${Math.round((width * height) / 1e6)} megapixels; up to ${LARGEST_PICTURE / 1e6} can be opened. Scale it down first: the model sees ${side} × ${side} pixels anyway.`,
      );
    const canvas = new OffscreenCanvas(side, side);
    const context = canvas.getContext('2d', { willReadFrequently: true });
    if (!context)
      throw new PictureError('This browser cannot scale pictures in the background. Update it, or use one of the pictures on the page.');
    context.fillStyle = PAPER;
    context.fillRect(0, 0, side, side);
    context.imageSmoothingQuality = 'high';
    const scale = side / Math.max(width, height);
    const w = Math.max(1, Math.round(width * scale));
    const h = Math.max(1, Math.round(height * scale));
    context.drawImage(bitmap, Math.floor((side - w) / 2), Math.floor((side - h) / 2), w, h);
    const rgba = context.getImageData(0, 0, side, side).data;
    const data = new Uint8Array(side * side * 3);
    for (let i = 0; i < side * side; i++) for (let c = 0; c < 3; c++) data[3 * i + c] = rgba[4 * i + c];
    return { picture: { width: side, height: side, data }, width, height };
  } finally {
    bitmap.close();
  }
}
