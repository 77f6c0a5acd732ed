/**
 * @file Seeded random numbers. Everything a task does by chance (which scene, which question, which noise) comes from an `Rng`,
 * and an `Rng` is a function of the numbers it was keyed with and nothing else: the same key gives the same sequence in a
 * browser, in a worker and in Deno. The generator is PCG-RXS-M-XS-32 with a stream of its own for each key; only 32-bit integer
 * arithmetic is used, so no engine can round differently.
 */

/** Mixes one more 32-bit word into a hash (the finaliser of MurmurHash3). */
export function mix(hash: number, word: number): number {
  let h = (Math.imul(hash, 0x9e3779b1) ^ (word | 0)) >>> 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/** A 32-bit hash of a string (FNV-1a over its UTF-16 units, then mixed). */
export function hashString(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return mix(h, text.length);
}

export class Rng {
  private state: number;
  private readonly increment: number;

  /** A generator keyed by any number of integers and strings; other keys give unrelated sequences. */
  constructor(...key: (number | string)[]) {
    let a = 0x243f6a88;
    let b = 0x85a308d3;
    for (const part of key) {
      const word = typeof part === 'string' ? hashString(part) : part;
      a = mix(a, word);
      b = mix(b, word ^ 0x5bd1e995);
    }
    this.state = a;
    this.increment = (b | 1) >>> 0;
  }

  /** The next 32 random bits, as an unsigned integer. */
  bits(): number {
    this.state = (Math.imul(this.state, 747796405) + this.increment) | 0;
    const s = this.state;
    const word = Math.imul((s >>> ((s >>> 28) + 4)) ^ s, 277803737);
    return ((word >>> 22) ^ word) >>> 0;
  }

  /** A number in [0, 1). */
  uniform(): number {
    return this.bits() / 4294967296;
  }

  /** An integer from `low` to `high`, both included. */
  int(low: number, high: number): number {
    return low + Math.floor(this.uniform() * (high - low + 1));
  }

  /** True with probability `p`. */
  chance(p: number): boolean {
    return this.uniform() < p;
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new Error('pick: nothing to pick from');
    return items[this.int(0, items.length - 1)] as T;
  }

  /** An index, drawn with probability proportional to its weight. */
  weighted(weights: readonly number[]): number {
    let left = this.uniform() * weights.reduce((sum, w) => sum + w, 0);
    for (let i = 0; i < weights.length; i++) {
      left -= weights[i] as number;
      if (left < 0) return i;
    }
    return weights.length - 1;
  }

  /** A shuffled copy. */
  shuffle<T>(items: readonly T[]): T[] {
    const out = items.slice();
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.int(0, i);
      const t = out[i] as T;
      out[i] = out[j] as T;
      out[j] = t;
    }
    return out;
  }
}
