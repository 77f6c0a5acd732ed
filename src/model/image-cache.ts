/**
 * @file The features of the pictures in use: one growing GPU buffer of slots, one picture a slot, found again by the
 * picture's content. A slot that nobody holds stays until its place is needed, least recently used first.
 */
import type { Gpu } from '../engine/gpu.ts';
import type { ImageConfig } from './config.ts';
import { checkPicture, pixelValues } from './image.ts';
import type { ImageFeatures, Picture } from './types.ts';
import type { VisionEncoder } from './vision.ts';

interface Slot {
  readonly index: number;
  key: string | null;
  holders: number;
}

/** FNV-1a over the bytes, twice with different starts: 64 bits and the sizes tell pictures apart. */
function contentKey({ width, height, data }: Picture): string {
  let a = 0x811c9dc5;
  let b = 0x9e3779b9;
  for (const byte of data) {
    a = Math.imul(a ^ byte, 0x01000193);
    b = Math.imul(b ^ byte, 0x01000193) + 1;
  }
  return `${width}x${height}:${(a >>> 0).toString(16)}:${(b >>> 0).toString(16)}`;
}

export class ImageCache {
  private readonly gpu: Gpu;
  private readonly vision: VisionEncoder;
  private readonly image: ImageConfig;
  private readonly slotBytes: number;
  private pool: GPUBuffer;
  private slots: Slot[] = [];
  /** Content → slot, least recently used first. */
  private readonly known = new Map<string, Slot>();
  private turn: Promise<unknown> = Promise.resolve();

  constructor(gpu: Gpu, vision: VisionEncoder, image: ImageConfig, hidden: number, slots = 64) {
    this.gpu = gpu;
    this.vision = vision;
    this.image = image;
    this.slotBytes = image.tokens * hidden * 4;
    this.pool = gpu.buffer('image features', slots * this.slotBytes);
    this.addSlots(slots);
  }

  /** The pool of all features, f32 [rows, hidden]. */
  get buffer(): GPUBuffer {
    return this.pool;
  }

  /** Encodes what is not yet there, in one batch. Calls wait for each other. */
  encode(pictures: readonly Picture[]): Promise<ImageFeatures[]> {
    const run = this.turn.then(() => this.encodeNow(pictures));
    this.turn = run.catch(() => undefined);
    return run;
  }

  private async encodeNow(pictures: readonly Picture[]): Promise<ImageFeatures[]> {
    pictures.forEach(checkPicture);
    const held: Slot[] = [];
    const fresh: { slot: Slot; picture: Picture }[] = [];
    try {
      for (const picture of pictures) {
        const key = contentKey(picture);
        let slot = this.known.get(key);
        if (!slot) fresh.push({ slot: (slot = this.take(key)), picture });
        slot.holders++;
        held.push(slot);
        this.known.delete(key);
        this.known.set(key, slot);
      }
      await this.fill(fresh);
    } catch (error) {
      for (const slot of held) slot.holders--;
      for (const { slot } of fresh) this.forget(slot);
      throw error;
    }
    return held.map((slot) => this.features(slot));
  }

  private async fill(fresh: readonly { slot: Slot; picture: Picture }[]): Promise<void> {
    if (fresh.length === 0) return;
    const pixels = pixelValues(
      fresh.map((f) => f.picture),
      this.image,
    );
    const encoded = this.gpu.buffer('encoded pictures', fresh.length * this.slotBytes);
    try {
      await this.vision.encode(pixels, fresh.length, encoded, 0);
      const encoder = this.gpu.device.createCommandEncoder({ label: 'store image features' });
      fresh.forEach(({ slot }, i) =>
        encoder.copyBufferToBuffer(encoded, i * this.slotBytes, this.pool, slot.index * this.slotBytes, this.slotBytes),
      );
      this.gpu.device.queue.submit([encoder.finish()]);
    } finally {
      encoded.destroy();
    }
  }

  private features(slot: Slot): ImageFeatures {
    const pool = () => this.pool;
    const { tokens } = this.image;
    let held = true;
    return {
      get buffer() {
        return pool();
      },
      offsetRows: slot.index * tokens,
      tokens,
      release() {
        if (held) slot.holders--;
        held = false;
      },
    };
  }

  /** A free slot for `key`: an unused one, else the one that has waited longest, else more room. */
  private take(key: string): Slot {
    let slot = this.slots.find((s) => s.key === null);
    if (!slot) {
      for (const candidate of this.known.values()) {
        if (candidate.holders === 0) {
          slot = candidate;
          break;
        }
      }
    }
    if (!slot) {
      slot = this.grow();
    } else this.forget(slot);
    slot.key = key;
    this.known.set(key, slot);
    return slot;
  }

  private forget(slot: Slot): void {
    if (slot.key !== null) this.known.delete(slot.key);
    slot.key = null;
  }

  private grow(): Slot {
    const first = this.slots.length;
    const larger = this.gpu.buffer('image features', 2 * first * this.slotBytes);
    const encoder = this.gpu.device.createCommandEncoder({ label: 'grow image features' });
    encoder.copyBufferToBuffer(this.pool, 0, larger, 0, first * this.slotBytes);
    this.gpu.device.queue.submit([encoder.finish()]);
    this.pool = larger; // the old one is left to the garbage collector: commands not yet submitted may use it
    this.addSlots(first);
    return this.slots[first] as Slot;
  }

  private addSlots(count: number): void {
    const first = this.slots.length;
    for (let i = 0; i < count; i++) this.slots.push({ index: first + i, key: null, holders: 0 });
  }

  async destroy(): Promise<void> {
    await this.turn;
    await this.vision.destroy();
    this.pool.destroy();
  }
}
