/**
 * @file The decoder in float64 and nothing but loops, written from the equations in src/model/decoder.ts, and finite differences:
 * what the backward kernels and the whole gradient are held against. Slow and plain on purpose.
 */

/** mulberry32: the same numbers on every machine. */
export function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` f32 numbers in [−scale, scale). */
export function randoms(seed: number, count: number, scale = 1): Float32Array {
  const next = generator(seed);
  return Float32Array.from({ length: count }, () => (2 * next() - 1) * scale);
}

/** X·Wᵀ, X [rows, in], W [out, in]. */
export function multiply(x: ArrayLike<number>, w: ArrayLike<number>, rows: number, width: number, out: number): Float64Array {
  const y = new Float64Array(rows * out);
  for (let n = 0; n < rows; n++) {
    for (let o = 0; o < out; o++) {
      let sum = 0;
      for (let i = 0; i < width; i++) sum += x[n * width + i] * w[o * width + i];
      y[n * out + o] = sum;
    }
  }
  return y;
}

/** The module that output `o` belongs to. */
export const moduleOf = (o: number, starts: readonly number[]): number => starts.findLastIndex((start) => o >= start);

export interface LoraMatrices {
  readonly a: ArrayLike<number>; // [modules·rank, in]
  readonly b: ArrayLike<number>; // [out, rank]
  readonly rank: number;
  readonly scale: number;
  readonly starts: readonly number[];
}

/** X·Wᵀ + s·(X·Aᵀ)·blockdiag(B)ᵀ. */
export function loraLinear(
  x: ArrayLike<number>,
  w: ArrayLike<number>,
  lora: LoraMatrices,
  rows: number,
  width: number,
  out: number,
): Float64Array {
  const { a, b, rank, scale, starts } = lora;
  const y = multiply(x, w, rows, width, out);
  const xa = multiply(x, a, rows, width, starts.length * rank);
  for (let n = 0; n < rows; n++) {
    for (let o = 0; o < out; o++) {
      for (let j = 0; j < rank; j++)
        y[n * out + o] += scale * xa[n * starts.length * rank + moduleOf(o, starts) * rank + j] * b[o * rank + j];
    }
  }
  return y;
}

/** x/√(mean x² + ε)·gain. */
export function rmsnorm(x: ArrayLike<number>, gain: ArrayLike<number>, rows: number, hidden: number, eps: number): Float64Array {
  const y = new Float64Array(rows * hidden);
  for (let n = 0; n < rows; n++) {
    let squares = 0;
    for (let i = 0; i < hidden; i++) squares += x[n * hidden + i] ** 2;
    const scale = 1 / Math.sqrt(squares / hidden + eps);
    for (let i = 0; i < hidden; i++) y[n * hidden + i] = x[n * hidden + i] * scale * gain[i];
  }
  return y;
}

/** silu(gate)·up, gateUp [rows, 2·width]. */
export function swiglu(gateUp: ArrayLike<number>, rows: number, width: number): Float64Array {
  return Float64Array.from({ length: rows * width }, (_, i) => {
    const at = Math.floor(i / width) * 2 * width + (i % width);
    return (gateUp[at] / (1 + Math.exp(-gateUp[at]))) * gateUp[at + width];
  });
}

export interface Shape {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

/** Words of a packed row, as in kernels/rows.wgsl. */
const WORDS = { token: 0, position: 1, prefixStart: 3, prefixLength: 4, ownStart: 5, ownEnd: 6 };

/** Row n's keys, in order. */
export function keysOf(plan: Uint32Array, n: number): number[] {
  const word = (w: keyof typeof WORDS): number => plan[n * 8 + WORDS[w]];
  const keys: number[] = [];
  for (let k = word('prefixStart'); k < word('prefixStart') + word('prefixLength'); k++) keys.push(k);
  for (let k = word('ownStart'); k < word('ownEnd'); k++) keys.push(k);
  return keys;
}

/** q [rows, heads·headDim], k, v [rows, kvHeads·headDim] → out like q, lse [rows, heads]. */
export function attention(
  plan: Uint32Array,
  q: ArrayLike<number>,
  k: ArrayLike<number>,
  v: ArrayLike<number>,
  shape: Shape,
): { out: Float64Array; lse: Float64Array } {
  const { heads, kvHeads, headDim } = shape;
  const rows = plan.length / 8;
  const out = new Float64Array(rows * heads * headDim);
  const lse = new Float64Array(rows * heads);
  for (let n = 0; n < rows; n++) {
    const keys = keysOf(plan, n);
    for (let h = 0; h < heads; h++) {
      const query = (n * heads + h) * headDim;
      const kv = (key: number): number => (key * kvHeads + Math.floor((h * kvHeads) / heads)) * headDim;
      const scores = keys.map((key) => {
        let sum = 0;
        for (let d = 0; d < headDim; d++) sum += q[query + d] * k[kv(key) + d];
        return sum / Math.sqrt(headDim);
      });
      const top = Math.max(...scores);
      const total = scores.reduce((sum, s) => sum + Math.exp(s - top), 0);
      lse[n * heads + h] = top + Math.log(total);
      keys.forEach((key, i) => {
        const p = Math.exp(scores[i] - top) / total;
        for (let d = 0; d < headDim; d++) out[query + d] += p * v[kv(key) + d];
      });
    }
  }
  return { out, lse };
}

/** The turned queries and keys, and the values, of qkv [rows, (heads + 2·kvHeads)·headDim]. */
export function rope(
  plan: Uint32Array,
  qkv: ArrayLike<number>,
  shape: Shape,
  theta: number,
): { q: Float64Array; k: Float64Array; v: Float64Array } {
  const { heads, kvHeads, headDim } = shape;
  const rows = plan.length / 8;
  const all = heads + 2 * kvHeads;
  const half = headDim / 2;
  const q = new Float64Array(rows * heads * headDim);
  const k = new Float64Array(rows * kvHeads * headDim);
  const v = new Float64Array(rows * kvHeads * headDim);
  for (let n = 0; n < rows; n++) {
    for (let h = 0; h < all; h++) {
      for (let i = 0; i < half; i++) {
        const [a, b] = [qkv[(n * all + h) * headDim + i], qkv[(n * all + h) * headDim + i + half]];
        const angle = h < heads + kvHeads ? plan[n * 8 + WORDS.position] * theta ** ((-2 * i) / headDim) : 0;
        const [target, at] =
          h < heads ? [q, n * heads + h] : h < heads + kvHeads ? [k, n * kvHeads + h - heads] : [v, n * kvHeads + h - heads - kvHeads];
        target[at * headDim + i] = a * Math.cos(angle) - b * Math.sin(angle);
        target[at * headDim + i + half] = b * Math.cos(angle) + a * Math.sin(angle);
      }
    }
  }
  return { q, k, v };
}

/** log softmax(h·headᵀ/temperature)[token] of each target; h [targets, hidden]. */
export function logProbs(
  h: ArrayLike<number>,
  head: ArrayLike<number>,
  tokens: ArrayLike<number>,
  hidden: number,
  vocab: number,
  temperature: number,
): { logProbs: Float64Array; lse: Float64Array } {
  const logits = multiply(h, head, tokens.length, hidden, vocab).map((z) => z / temperature);
  const lse = new Float64Array(tokens.length);
  const out = lse.map((_, t) => {
    const row = logits.subarray(t * vocab, (t + 1) * vocab);
    const top = row.reduce((a, b) => Math.max(a, b));
    lse[t] = top + Math.log(row.reduce((sum, z) => sum + Math.exp(z - top), 0));
    return row[tokens[t]] - lse[t];
  });
  return { logProbs: out, lse };
}

export interface ReferenceLayer {
  readonly inputNorm: ArrayLike<number>;
  readonly postNorm: ArrayLike<number>;
  readonly qkv: ArrayLike<number>;
  readonly o: ArrayLike<number>;
  readonly gate_up: ArrayLike<number>;
  readonly down: ArrayLike<number>;
}

export interface ReferenceModel {
  readonly shape: Shape & {
    readonly hidden: number;
    readonly intermediate: number;
    readonly vocab: number;
    readonly ropeTheta: number;
    readonly rmsEps: number;
  };
  readonly embedding: ArrayLike<number>;
  readonly layers: readonly ReferenceLayer[];
  readonly norm: ArrayLike<number>;
  readonly head: ArrayLike<number>;
}

export type ReferenceLora = (layer: number, group: 'qkv' | 'o' | 'gate_up' | 'down') => LoraMatrices;

/** The log-probs of `targets`, (row, token) pairs, for packed rows without images. */
export function decoderLogProbs(
  model: ReferenceModel,
  lora: ReferenceLora,
  plan: Uint32Array,
  targets: Uint32Array,
  temperature: number,
): Float64Array {
  const { heads, kvHeads, headDim, hidden, intermediate, vocab, ropeTheta, rmsEps } = model.shape;
  const rows = plan.length / 8;
  let x = Float64Array.from({ length: rows * hidden }, (_, i) => model.embedding[plan[Math.floor(i / hidden) * 8] * hidden + (i % hidden)]);
  model.layers.forEach((layer, l) => {
    const n1 = rmsnorm(x, layer.inputNorm, rows, hidden, rmsEps);
    const { q, k, v } = rope(
      plan,
      loraLinear(n1, layer.qkv, lora(l, 'qkv'), rows, hidden, (heads + 2 * kvHeads) * headDim),
      model.shape,
      ropeTheta,
    );
    const a = attention(plan, q, k, v, model.shape).out;
    const before = x;
    const mid = loraLinear(a, layer.o, lora(l, 'o'), rows, heads * headDim, hidden).map((y, i) => y + before[i]);
    const n2 = rmsnorm(mid, layer.postNorm, rows, hidden, rmsEps);
    const s = swiglu(loraLinear(n2, layer.gate_up, lora(l, 'gate_up'), rows, hidden, 2 * intermediate), rows, intermediate);
    x = loraLinear(s, layer.down, lora(l, 'down'), rows, intermediate, hidden).map((y, i) => y + mid[i]);
  });
  const normed = rmsnorm(x, model.norm, rows, hidden, rmsEps);
  const count = targets.length / 2;
  const h = Float64Array.from({ length: count * hidden }, (_, i) => normed[targets[2 * Math.floor(i / hidden)] * hidden + (i % hidden)]);
  return logProbs(
    h,
    model.head,
    targets.filter((_, i) => i % 2 === 1),
    hidden,
    vocab,
    temperature,
  ).logProbs;
}

/** Central differences of `loss` at `at`, in `at` itself (restored after). */
export function finiteDifferences(loss: () => number, at: Float64Array, step = 1e-5): Float64Array {
  return at.map((value, i) => {
    at[i] = value + step;
    const high = loss();
    at[i] = value - step;
    const low = loss();
    at[i] = value;
    return (high - low) / (2 * step);
  });
}

/** The largest |a − b| over the largest |b|; infinite if a length differs or a number is missing. */
export function relativeError(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Infinity;
  let worst = 0;
  let size = 0;
  for (let i = 0; i < b.length; i++) {
    const error = Math.abs(a[i] - b[i]);
    if (Number.isNaN(error)) return Infinity;
    worst = Math.max(worst, error);
    size = Math.max(size, Math.abs(b[i]));
  }
  return size === 0 ? worst : worst / size;
}
