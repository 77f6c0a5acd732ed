/**
 * @file The gradient of a loss that depends on the policy through the log-probs of given tokens, with respect to the adapter:
 * loss = f(log π(token₁), …), ∂f/∂log π given per token by the caller (the objective has its home in src/algorithm).
 *
 * Forward with everything kept → scores to the caller → its coefficients → backward through the layers. The base weights are
 * frozen: only dX and the two LoRA matrices of each projection are computed, and nothing below the first layer's input.
 */
import { Arena } from '../engine/arena.ts';
import { GpuError } from '../engine/errors.ts';
import { attentionBackward, ropeBackward } from '../engine/ops/backward-attention.ts';
import {
  gradientChunks,
  linearBackwardX,
  loraBackwardB,
  loraGradientA,
  loraGradientB,
  loraGradientSum,
} from '../engine/ops/backward-linear.ts';
import { gatherTargets, headBackward, rmsnormBackward, swigluBackward, vocabularyChunk } from '../engine/ops/backward-rows.ts';
import { rmsnorm } from '../engine/ops/rows.ts';
import { Submitter } from '../engine/submitter.ts';
import type { Activations, Decoder, GroupName } from './decoder.ts';
import type { Lora } from './lora.ts';
import { chunkGroups, planScoring, type ScoringPlan } from './plan.ts';
import { CHUNK_ROWS, readScores } from './scorer.ts';
import type { GradientOptions, RowScores } from './types.ts';

/** The backward of a Decoder; keeps its working buffers from chunk to chunk. One per adapter layout. */
export class Backward {
  private readonly decoder: Decoder;
  private readonly lora: Lora;
  private readonly arena: Arena;

  constructor(decoder: Decoder, lora: Lora) {
    this.decoder = decoder;
    this.lora = lora;
    this.arena = new Arena(decoder.gpu, 'backward');
  }

  /** Adds Σ coefficientₜ · ∂log π(tokenₜ)/∂adapter to the gradient. `activations` must be the decoder's last forward, saved. */
  run(activations: Activations, coefficients: Float32Array, temperature: number): void {
    const { decoder, arena } = this;
    const { layers, hidden } = decoder.config;
    const rows = activations.plan.rowCount;
    arena.collect();
    const submitter = new Submitter(decoder.gpu, 'backward');
    const d = arena.words('d', rows * hidden);
    this.head(submitter, activations, coefficients, temperature, d);
    for (let l = layers - 1; l >= 0; l--) {
      decoder.restore(submitter, activations, l);
      this.layer(submitter, activations, l, d);
    }
    submitter.finish();
  }

  /** d [rows, hidden] = ∂loss/∂last: through log-softmax, head and final norm. */
  private head(submitter: Submitter, activations: Activations, coefficients: Float32Array, temperature: number, d: GPUBuffer): void {
    const { decoder, arena } = this;
    const { gpu, weights } = decoder;
    const { hidden, vocab, rmsEps: eps } = decoder.config;
    const { rowCount: rows, targetCount: count, targets, rowTargets } = activations.plan;
    const chunk = vocabularyChunk(count, vocab);
    const packed = arena.words('coefficients', count);
    gpu.write(packed, coefficients);
    const dh = arena.words('dh', count * hidden);
    const dn = arena.words('dn', rows * hidden);
    const pass = submitter.pass(4 * count * hidden * vocab);
    headBackward(gpu, pass, {
      h: activations.normed,
      head: weights.head,
      targets,
      scores: activations.scores,
      coefficients: packed,
      dz: arena.words('dz', count * chunk),
      dh,
      count,
      temperature,
      chunk,
    });
    gatherTargets(gpu, pass, { dTarget: dh, rowTargets, dRow: dn, rows, hidden });
    rmsnormBackward(gpu, pass, {
      x: activations.last,
      gain: weights.norm,
      dn,
      d,
      n: arena.words('n', rows * hidden),
      rows,
      hidden,
      eps,
      accumulate: false,
    });
  }

  /** Through layer l: d is ∂loss/∂(the layer's output) and becomes ∂loss/∂(its input). */
  private layer(submitter: Submitter, activations: Activations, l: number, d: GPUBuffer): void {
    const { decoder, arena, lora } = this;
    const { gpu, config } = decoder;
    const { hidden, heads, intermediate, rmsEps: eps } = config;
    const weights = decoder.weights.layers[l];
    const kept = activations.layers[l];
    const { rowCount: rows, rows: plan, angles } = activations.plan;
    const dn = arena.words('dn', rows * hidden);
    const n = arena.words('n', rows * hidden);

    // x' = mid + down(s), s = silu(gate)·up
    const ds = arena.words('ds', rows * intermediate);
    const dGateUp = arena.words('dGateUp', rows * 2 * intermediate);
    this.through(submitter, l, 'down', rows, d, ds);
    swigluBackward(gpu, submitter.pass(), { gateUp: kept.gateUp, ds, dGateUp, rows, width: intermediate });
    this.matrices(submitter, activations, l, 'down', ds, d);

    // gate, up = gate_up(n2), n2 = rmsnorm(mid)
    this.through(submitter, l, 'gate_up', rows, dGateUp, dn);
    rmsnormBackward(gpu, submitter.pass(), { x: kept.mid, gain: weights.postNorm, dn, d, n, rows, hidden, eps, accumulate: true });
    this.matrices(submitter, activations, l, 'gate_up', n, dGateUp);

    // mid = x + o(attention)
    const dAttention = arena.words('dAttention', rows * weights.o.in);
    const dQkv = arena.words('dQkv', rows * weights.qkv.out);
    this.through(submitter, l, 'o', rows, d, dAttention);
    this.matrices(submitter, activations, l, 'o', kept.attention, d);
    const pass = submitter.pass();
    attentionBackward(gpu, pass, {
      plan,
      q: kept.q,
      k: kept.k,
      v: kept.v,
      out: kept.attention,
      lse: kept.lse,
      dOut: dAttention,
      deltas: arena.words('deltas', rows * heads),
      dQkv,
      shape: config,
      rows,
    });
    ropeBackward(gpu, pass, { plan, angles, dQkv, shape: config, rows });

    // q, k, v = qkv(n1), n1 = rmsnorm(x); what lies below the first layer is frozen
    this.through(submitter, l, 'qkv', rows, dQkv, l > 0 ? dn : null);
    const norm = { x: kept.x, gain: weights.inputNorm, rows, hidden, eps };
    if (l > 0) rmsnormBackward(gpu, submitter.pass(), { ...norm, dn, d, n, accumulate: true });
    else rmsnorm(gpu, submitter.pass(), { ...norm, y: n });
    this.matrices(submitter, activations, l, 'qkv', n, dQkv);

    const { layerFloats } = lora.layout;
    loraGradientSum(gpu, submitter.pass(), {
      partials: this.partials(rows),
      stride: layerFloats,
      rows,
      gradient: lora.gradient,
      offset: l * layerFloats,
      scale: lora.scale,
    });
  }

  /** dx = ∂loss/∂(the group's input), unless null; leaves dYB for `matrices`. */
  private through(submitter: Submitter, l: number, name: GroupName, rows: number, dy: GPUBuffer, dx: GPUBuffer | null): void {
    const { gpu } = this.decoder;
    const weight = this.decoder.weights.layers[l][name];
    const { a, b, rank, scale, starts } = this.lora.group(l, name);
    const width = starts.length * rank;
    const dyb = this.arena.words('dyb', rows * width);
    const pass = submitter.pass(2 * rows * weight.in * weight.out);
    loraBackwardB(gpu, pass, { dy, b, dyb, rows, out: weight.out, rank, starts });
    if (dx) linearBackwardX(gpu, pass, { dy, weight, lora: { dyb, a, width, scale }, dx, rows });
  }

  /** Partial sums of the gradients of A and B, from the group's input x and what `through` left. */
  private matrices(submitter: Submitter, activations: Activations, l: number, name: GroupName, x: GPUBuffer, dy: GPUBuffer): void {
    const { gpu } = this.decoder;
    const rows = activations.plan.rowCount;
    const { rank, starts } = this.lora.group(l, name);
    const block = this.lora.block(l, name);
    const { layerFloats: stride } = this.lora.layout;
    const width = starts.length * rank;
    const partials = this.partials(rows);
    const pass = submitter.pass(2 * rows * (block.in * width + block.sumOut * rank));
    loraGradientA(gpu, pass, {
      partials,
      stride,
      offset: block.aOffset - l * stride,
      rows,
      x,
      in: block.in,
      dyb: this.arena.words('dyb', rows * width),
      width,
    });
    loraGradientB(gpu, pass, {
      partials,
      stride,
      offset: block.bOffset - l * stride,
      rows,
      dy,
      out: block.sumOut,
      xa: activations.layers[l].xa[name],
      rank,
      starts,
    });
  }

  /** The partial sums of one layer's gradient, one per chunk of rows. Nothing is written between the blocks: that stays 0. */
  private partials(rows: number): GPUBuffer {
    return this.arena.words('partials', gradientChunks(rows).chunks * this.lora.layout.layerFloats);
  }

  destroy(): void {
    this.arena.destroy();
  }
}

/** Lays the coefficients out target by target. Throws GpuError `not-finite`, RangeError if a response's count is not its length. */
function packCoefficients(plan: ScoringPlan, scores: RowScores[][], firstGroup: number, of: GradientOptions['coefficients']): Float32Array {
  const packed = new Float32Array(plan.targetCount);
  plan.spans.forEach((group, g) =>
    group.forEach(({ start, length }, r) => {
      const own = of(firstGroup + g, r, scores[g][r]);
      if (own.length !== length)
        throw new RangeError(`Response ${r} of group ${firstGroup + g} has ${length} tokens, but ${own.length} coefficients.`);
      packed.set(own, start);
    }),
  );
  if (packed.every(Number.isFinite)) return packed;
  throw new GpuError(
    'not-finite',
    'The objective gave a derivative that is not a number.',
    'Go back to the last step and lower the learning rate.',
  );
}

/** Adds the gradient of the caller's loss over all groups to the adapter's gradient, in chunks of whole groups. */
export async function accumulateGradient(
  decoder: Decoder,
  backward: Backward,
  lora: Lora,
  o: GradientOptions & { readonly chunkRows?: number },
): Promise<void> {
  for (const { start, end } of chunkGroups(o.groups, o.chunkRows ?? CHUNK_ROWS)) {
    o.signal?.throwIfAborted();
    const plan = planScoring(o.groups.slice(start, end));
    const activations = decoder.forward(plan, { lora, temperature: o.temperature, save: true });
    const scores = await readScores(decoder, plan, activations);
    const coefficients = packCoefficients(plan, scores, start, o.coefficients);
    // dead groups have no gradient
    if (coefficients.some((c) => c !== 0)) backward.run(activations, coefficients, o.temperature);
  }
}
