/**
 * @file Draws n responses for each prompt. Prompts are encoded once; then all sequences take one token at a time in lockstep,
 * with the drawing on the GPU, a few tokens to a submit and one readback after it. Finished sequences are dropped from the batch
 * at each readback: a draw is keyed by (seed, step, sequence, token), so who else is in the batch does not matter.
 */
import { sample as sampleOp, type SampleSettings } from '../engine/ops/head.ts';
import { linear } from '../engine/ops/linear.ts';
import { Submitter } from '../engine/submitter.ts';
import type { Decoder, DeviceRows, LoraSource } from './decoder.ts';
import { planSampling, ROW_WORDS, type SamplingPlan } from './plan.ts';
import { CHUNK_ROWS, requireFinite } from './scorer.ts';
import type { Sampled, SampleOptions } from './types.ts';

/** Tokens per submit and readback. */
const BLOCK = 8;

export interface SamplerOptions extends Omit<SampleOptions, 'adapter'> {
  readonly lora: LoraSource | null;
  /** The token that ends a response. */
  readonly eos: number;
  /** False keeps finished sequences in the batch (for tests: the results are the same). */
  readonly compact?: boolean;
}

/** One batch of sequences being sampled. */
class Run {
  private readonly decoder: Decoder;
  private readonly o: SamplerOptions;
  private readonly plan: SamplingPlan;
  private readonly settings: SampleSettings;
  private readonly cache: { readonly name: string; readonly kvRows: number };
  private readonly rank: number;
  private readonly count: number;
  private readonly rows: GPUBuffer;
  private readonly sequences: GPUBuffer;
  private readonly tokenBuffer: GPUBuffer;
  private readonly scoreBuffer: GPUBuffer;
  /** Sequences in the batch, by row. */
  private active: number[];
  private drawn = 0;
  readonly tokens: Int32Array[];
  private scores = new Float32Array(0);

  constructor(decoder: Decoder, o: SamplerOptions) {
    const { prompts, n, maxTokens } = o;
    this.decoder = decoder;
    this.o = o;
    this.count = prompts.length * n;
    this.plan = planSampling(prompts, n, maxTokens, CHUNK_ROWS);
    this.settings = { temperature: o.temperature, topP: o.topP, seed: o.seed, step: o.step, maxTokens, endToken: o.eos };
    this.cache = { name: 'sample', kvRows: this.plan.kvRows };
    this.rank = o.lora?.group(0, 'o').rank ?? 0;
    this.active = Array.from({ length: this.count }, (_, s) => s);
    this.tokens = this.active.map(() => new Int32Array(0));
    const { arena } = decoder;
    arena.collect();
    this.rows = arena.words('sample.decodeRows', this.count * ROW_WORDS);
    this.sequences = arena.words('sample.sequences', this.count * 2);
    this.tokenBuffer = arena.words('sample.tokens', this.count * maxTokens);
    this.scoreBuffer = arena.words('sample.scores', this.count * maxTokens * 2);
    this.writeRows();
  }

  private writeRows(): void {
    const { gpu } = this.decoder;
    gpu.write(this.rows, Uint32Array.from(this.active.flatMap((s) => this.plan.sequenceRow(s, this.tokens[s]))));
    gpu.write(this.sequences, Uint32Array.from(this.active.flatMap((s) => [s, 0])));
  }

  /** Logits of `count` normed rows, then a draw for every active row. */
  private draw(submitter: Submitter, normed: GPUBuffer, count: number, rowsPerLogits: number): void {
    const { gpu, arena, config, weights } = this.decoder;
    const logits = arena.words('sample.logits', count * config.vocab);
    linear(gpu, submitter.pass(2 * count * config.hidden * config.vocab), { x: normed, weight: weights.head, y: logits, rows: count });
    sampleOp(gpu, submitter.pass(), {
      logits,
      plan: this.rows,
      sequences: this.sequences,
      tokens: this.tokenBuffer,
      scores: this.scoreBuffer,
      rows: this.active.length,
      rowsPerLogits,
      vocab: config.vocab,
      settings: this.settings,
    });
    this.drawn++;
  }

  /** Encodes the prompts and draws the first tokens. */
  private prefill(submitter: Submitter): void {
    const { decoder } = this;
    const { arena, config } = decoder;
    const bytes = config.hidden * 4;
    const all = arena.get('sample.prefillNormed', this.o.prompts.length * bytes);
    let done = 0;
    for (const chunk of this.plan.prefill) {
      // a chunk's writes must not overtake the last chunk's commands
      submitter.finish();
      const device = decoder.uploadRows(submitter, chunk, 'prefill');
      const last = arena.words('sample.last', chunk.last.length);
      decoder.gpu.write(last, chunk.last);
      const run = decoder.run(submitter, device, {
        lora: this.o.lora,
        rank: this.rank,
        keep: 'nothing',
        cache: this.cache,
        neighbours: true,
      });
      const normed = arena.get('sample.normed', chunk.promptCount * bytes);
      decoder.finalNorm(submitter, run.last, last, chunk.promptCount, normed);
      submitter.copy(normed, 0, all, done * bytes, chunk.promptCount * bytes);
      done += chunk.promptCount;
    }
    this.draw(submitter, all, this.o.prompts.length, this.o.n);
  }

  /** Embeds the tokens just drawn and draws the next. */
  private next(submitter: Submitter): void {
    const { decoder } = this;
    const { arena, config } = decoder;
    const count = this.active.length;
    const device: DeviceRows = {
      rowCount: count,
      rows: this.rows,
      images: arena.words('prefill.images', 1),
      angles: decoder.angles(this.plan.positions),
    };
    const run = decoder.run(submitter, device, {
      lora: this.o.lora,
      rank: this.rank,
      keep: 'nothing',
      cache: this.cache,
      neighbours: false,
    });
    const normed = arena.words('sample.normed', count * config.hidden);
    decoder.finalNorm(submitter, run.last, this.identity(), count, normed);
    this.draw(submitter, normed, count, 1);
  }

  /** Pairs (i, 0). */
  private identity(): GPUBuffer {
    const name = 'sample.identity';
    const buffer = this.decoder.arena.words(name, this.count * 2);
    if (this.drawn === 1)
      this.decoder.gpu.write(
        buffer,
        Uint32Array.from({ length: this.count * 2 }, (_, i) => (i % 2 ? 0 : i / 2)),
      );
    return buffer;
  }

  /** Takes up to BLOCK tokens and reads them; false when every sequence is done. */
  async block(): Promise<boolean> {
    const { gpu } = this.decoder;
    const { maxTokens, eos } = this.o;
    const submitter = new Submitter(gpu, 'sample');
    const until = Math.min(maxTokens, this.drawn + BLOCK);
    if (this.drawn === 0) this.prefill(submitter);
    while (this.drawn < until) this.next(submitter);
    submitter.finish();
    const size = this.count * maxTokens * 4;
    const [tokenBytes, scoreBytes] = await gpu.read(
      { buffer: this.tokenBuffer, bytes: size },
      { buffer: this.scoreBuffer, bytes: 2 * size },
    );
    const tokens = new Int32Array(tokenBytes);
    this.scores = new Float32Array(scoreBytes);
    const still = this.active.filter((s) => {
      const row = tokens.subarray(s * maxTokens, s * maxTokens + this.drawn);
      const end = row.indexOf(eos);
      this.tokens[s] = row.slice(0, end < 0 ? row.length : end + 1);
      return end < 0 && this.drawn < maxTokens;
    });
    if (still.length > 0 && still.length < this.active.length && (this.o.compact ?? true)) {
      this.active = still;
      this.writeRows();
    }
    return still.length > 0;
  }

  isDone(s: number): boolean {
    const tokens = this.tokens[s];
    return tokens.length === this.o.maxTokens || tokens.at(-1) === this.o.eos;
  }

  result(s: number): Sampled {
    const tokens = this.tokens[s];
    const at = s * this.o.maxTokens;
    const logProbs = Float32Array.from(tokens, (_, t) => this.scores[2 * (at + t)]);
    const entropies = Float32Array.from(tokens, (_, t) => this.scores[2 * (at + t) + 1]);
    requireFinite(logProbs);
    return { tokens, logProbs, entropies, finish: tokens.at(-1) === this.o.eos ? 'stop' : 'length' };
  }
}

/** `[prompt][n]` responses. */
export async function sample(decoder: Decoder, o: SamplerOptions): Promise<Sampled[][]> {
  if (o.prompts.length === 0 || o.n === 0) return o.prompts.map(() => []);
  o.signal?.throwIfAborted();
  const run = new Run(decoder, o);
  let more = true;
  while (more) {
    more = await run.block();
    o.onTokens?.({ done: run.tokens.filter((_, s) => run.isDone(s)).length, responses: [...run.tokens] });
    if (more) o.signal?.throwIfAborted();
  }
  return o.prompts.map((_, p) => Array.from({ length: o.n }, (__, i) => run.result(p * o.n + i)));
}
