/** @file What is done with the last hidden state: log-probs of given tokens without logits, and sampling from logits. */
import combineSource from '../../../kernels/head_combine.wgsl?raw';
import logprobSource from '../../../kernels/head_logprob.wgsl?raw';
import sampleSource from '../../../kernels/sample.wgsl?raw';
import type { Binding, Gpu } from '../gpu.ts';
import { weightPrelude, type Matrix } from './linear.ts';
import { rowPrelude } from './rows.ts';

/** Workgroups wanted at least, so that a GPU is busy with few targets and a large vocabulary. */
const WANTED_GROUPS = 256;

/** Into how many parts the vocabulary is cut for `targets` targets, and how many tokens a part has (a multiple of 64). */
export function vocabularyParts(targets: number, vocab: number): { parts: number; size: number } {
  const chunks = Math.ceil(vocab / 64);
  const wanted = Math.ceil(WANTED_GROUPS / Math.max(1, Math.ceil(targets / 64)));
  // powers of two, so that few pipelines are made
  const parts = Math.min(chunks, 2 ** Math.ceil(Math.log2(wanted)));
  const size = Math.ceil(chunks / parts) * 64;
  return { parts: Math.ceil(vocab / size), size };
}

/**
 * scores[target] = (log-prob of the target's token, entropy, lse, 0) of softmax(x·headᵀ·inverseTemperature);
 * x [targets, hidden] is normed and gathered, `targets` holds (row, token) pairs, `partials` has room for 4·parts f32 per target.
 */
export function headLogprob(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: { x: Binding; head: Matrix; targets: Binding; partials: Binding; scores: Binding; count: number; temperature: number },
): void {
  const { parts, size } = vocabularyParts(o.count, o.head.out);
  const logprob = gpu.kernel({
    name: 'head_logprob',
    source: weightPrelude(o.head.dtype) + logprobSource,
    constants: { HIDDEN: o.head.in, VOCAB: o.head.out, PART: size, PARTS: parts },
  });
  const params = gpu.uniform([o.count, { f: 1 / o.temperature }]);
  gpu.dispatch(pass, logprob, [params, o.x, o.head.buffer, o.partials, o.targets], [Math.ceil(o.count / 64), parts]);
  const combine = gpu.kernel({ name: 'head_combine', source: combineSource, constants: { PARTS: parts } });
  gpu.dispatch(pass, combine, [params, o.partials, o.scores], [Math.ceil(o.count / 64)]);
}

export interface SampleSettings {
  /** 0: the most likely token; log-probs are then those at temperature 1. */
  readonly temperature: number;
  readonly topP: number;
  readonly seed: number;
  readonly step: number;
  readonly maxTokens: number;
  readonly endToken: number;
}

/** Draws a token for each row and moves its plan on by one; see kernels/sample.wgsl for the buffers. */
export function sample(
  gpu: Gpu,
  pass: GPUComputePassEncoder,
  o: {
    logits: Binding;
    plan: Binding;
    sequences: Binding;
    tokens: Binding;
    scores: Binding;
    rows: number;
    rowsPerLogits: number;
    vocab: number;
    settings: SampleSettings;
  },
): void {
  const { temperature, topP, seed, step, maxTokens, endToken } = o.settings;
  const greedy = temperature === 0;
  const kernel = gpu.kernel({
    name: 'sample',
    source: rowPrelude + sampleSource,
    constants: { VOCAB: o.vocab, LANES: o.vocab > 4096 ? 256 : 64 },
  });
  const params = gpu.uniform([
    { f: greedy ? 1 : 1 / temperature },
    { f: greedy ? 1 : Math.max(topP, 1e-9) },
    greedy ? 1 : 0,
    seed >>> 0,
    step >>> 0,
    o.rowsPerLogits,
    maxTokens,
    endToken,
  ]);
  gpu.dispatch(pass, kernel, [params, o.logits, o.plan, o.sequences, o.tokens, o.scores], [o.rows]);
}
