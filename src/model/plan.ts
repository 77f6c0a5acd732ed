/**
 * @file From prompts and responses to packed rows (DESIGN §5): every prompt's prefix once, its responses below it, no padding.
 * Pure: arrays in, arrays out. The struct of a row is in kernels/rows.wgsl.
 *
 * Scoring: prefix k, then the rows of each of its responses, then prefix k+1 …; a row's KV row is its own index. The row that
 * predicts token t of a response is the last prefix row for t = 0 and the response's row t−1 after, so T tokens need T−1 rows.
 * Sampling: KV rows are all prefixes, then maxTokens rows per sequence.
 */
import type { ImageFeatures, Prompt, ScoreGroup } from './types.ts';

export const ROW_WORDS = 8;
export const IMAGE_ROW = 0x80000000;

/** Image features that a plan uses, to be copied to row `firstRow` of the packed feature buffer. */
export interface PlannedImage {
  readonly features: ImageFeatures;
  readonly firstRow: number;
}

/** Packed rows: `rows` holds ROW_WORDS u32 each. */
export interface RowPlan {
  readonly rowCount: number;
  readonly rows: Uint32Array;
  readonly images: readonly PlannedImage[];
  readonly imageRows: number;
  /** One more than the largest position. */
  readonly positions: number;
}

export interface ScoringPlan extends RowPlan {
  readonly targetCount: number;
  /** (row, token) pairs, packed by (group, response, t). */
  readonly targets: Uint32Array;
  /** [rowCount + 1] starts, then [targetCount] targets sorted by row. */
  readonly rowTargets: Uint32Array;
  /** [group][response]: its first target and how many it has. */
  readonly spans: readonly (readonly { readonly start: number; readonly length: number }[])[];
}

class Packer {
  readonly words: number[] = [];
  readonly images: PlannedImage[] = [];
  imageRows = 0;
  positions = 0;
  private readonly placed = new Map<ImageFeatures, number>();

  private place(features: ImageFeatures): number {
    let first = this.placed.get(features);
    if (first === undefined) {
      first = this.imageRows;
      this.placed.set(features, first);
      this.images.push({ features, firstRow: first });
      this.imageRows += features.tokens;
    }
    return first;
  }

  row(
    token: number,
    position: number,
    kvRow: number,
    prefixStart: number,
    prefixLength: number,
    ownStart: number,
    ownEnd: number,
    queryEnd: number,
  ): void {
    this.words.push(token, position, kvRow, prefixStart, prefixLength, ownStart, ownEnd, queryEnd);
    this.positions = Math.max(this.positions, position + 1);
  }

  /** The prompt's rows, KV rows from `start` on. */
  prefix(prompt: Prompt, start: number, queryEnd: number): void {
    if (prompt.ids.length === 0) throw new RangeError('A prompt needs at least one token.');
    const tokens = Array.from(prompt.ids);
    for (const image of prompt.images) {
      const first = IMAGE_ROW + this.place(image.features);
      for (let t = 0; t < image.features.tokens; t++) tokens[image.start + t] = first + t;
    }
    tokens.forEach((token, p) => this.row(token, p, start + p, start, 0, start, start + p + 1, queryEnd));
  }

  plan(): RowPlan {
    return {
      rowCount: this.words.length / ROW_WORDS,
      rows: Uint32Array.from(this.words),
      images: this.images,
      imageRows: this.imageRows,
      positions: this.positions,
    };
  }
}

/** Rows that a group takes in a scoring batch. */
export function rowsOf(group: ScoreGroup): number {
  return group.responses.reduce((sum, r) => sum + Math.max(0, r.length - 1), group.prompt.ids.length);
}

export function planScoring(groups: readonly ScoreGroup[]): ScoringPlan {
  const packer = new Packer();
  const targets: number[] = [];
  const spans: { start: number; length: number }[][] = [];
  let row = 0;
  for (const group of groups) {
    const start = row;
    const length = group.prompt.ids.length;
    packer.prefix(group.prompt, start, start + rowsOf(group));
    row += length;
    spans.push(
      group.responses.map((response) => {
        const span = { start: targets.length / 2, length: response.length };
        const own = row;
        const end = own + Math.max(0, response.length - 1);
        response.forEach((token, t) => {
          targets.push(t === 0 ? start + length - 1 : own + t - 1, token);
          if (t + 1 < response.length) packer.row(token, length + t, own + t, start, length, own, own + t + 1, end);
        });
        row = end;
        return span;
      }),
    );
  }
  const plan = packer.plan();
  const targetCount = targets.length / 2;
  return { ...plan, targetCount, targets: Uint32Array.from(targets), rowTargets: byRow(targets, plan.rowCount), spans };
}

/** The targets of each row: [rowCount + 1] starts, then the target indices sorted by row (a counting sort). */
function byRow(targets: readonly number[], rowCount: number): Uint32Array {
  const count = targets.length / 2;
  const out = new Uint32Array(rowCount + 1 + count);
  for (let i = 0; i < count; i++) out[targets[2 * i] + 1]++;
  for (let r = 0; r < rowCount; r++) out[r + 1] += out[r];
  const next = out.slice(0, rowCount);
  for (let i = 0; i < count; i++) out[rowCount + 1 + next[targets[2 * i]]++] = i;
  return out;
}

/** Cuts groups into runs of whole groups of at most `maxRows` rows (one group may be larger). [start, end) indices. */
export function chunkGroups(groups: readonly ScoreGroup[], maxRows: number): { start: number; end: number }[] {
  return chunks(groups.map(rowsOf), maxRows);
}

function chunks(sizes: readonly number[], most: number): { start: number; end: number }[] {
  const out: { start: number; end: number }[] = [];
  let start = 0;
  let sum = 0;
  sizes.forEach((size, i) => {
    if (i > start && sum + size > most) {
      out.push({ start, end: i });
      start = i;
      sum = 0;
    }
    sum += size;
  });
  if (sizes.length > start) out.push({ start, end: sizes.length });
  return out;
}

export interface SamplingPlan {
  /** Prefill, cut into runs of whole prompts; `last` holds the (row, 0) pair of each prompt's last row. */
  readonly prefill: readonly (RowPlan & { readonly promptCount: number; readonly last: Uint32Array })[];
  readonly kvRows: number;
  readonly positions: number;
  /** ROW_WORDS u32: sequence `s` when it has `tokens.length` tokens of which the last is to be embedded next. */
  sequenceRow(s: number, tokens: ArrayLike<number>): number[];
}

/** Sequences are numbered prompt·n + i. */
export function planSampling(prompts: readonly Prompt[], n: number, maxTokens: number, maxRows: number): SamplingPlan {
  const starts: number[] = [];
  let base = 0;
  for (const prompt of prompts) {
    starts.push(base);
    base += prompt.ids.length;
  }
  const prefill = chunks(
    prompts.map((p) => p.ids.length),
    maxRows,
  ).map(({ start, end }) => {
    const packer = new Packer();
    const last: number[] = [];
    for (let p = start; p < end; p++) {
      packer.prefix(prompts[p], starts[p], 0);
      last.push(packer.words.length / ROW_WORDS - 1, 0);
    }
    return { ...packer.plan(), promptCount: end - start, last: Uint32Array.from(last) };
  });
  return {
    prefill,
    kvRows: base + prompts.length * n * maxTokens,
    positions: Math.max(0, ...prompts.map((p) => p.ids.length)) + maxTokens,
    sequenceRow(s, tokens) {
      const prompt = Math.floor(s / n);
      const length = prompts[prompt].ids.length;
      const own = base + s * maxTokens;
      const t = tokens.length;
      return [t > 0 ? tokens[t - 1] : 0, length + t - 1, own + Math.max(0, t - 1), starts[prompt], length, own, own + t, 0];
    },
  };
}
