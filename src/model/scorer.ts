/**
 * @file Log-probs and entropies of given responses under given prompts: prefixes once, responses below them (DESIGN §5),
 * in chunks of whole groups.
 */
import { GpuError } from '../engine/errors.ts';
import type { Activations, Decoder, LoraSource } from './decoder.ts';
import { chunkGroups, planScoring, type ScoringPlan } from './plan.ts';
import type { RowScores, ScoreGroup } from './types.ts';

/** Rows of one chunk: as many as keep a GPU busy, few enough for memory. */
export const CHUNK_ROWS = 4096;

/** Reads the scores of a forward back, as [group][response]. Throws GpuError `not-finite`. */
export async function readScores(decoder: Decoder, plan: ScoringPlan, activations: Activations): Promise<RowScores[][]> {
  const [bytes] = await decoder.gpu.read({ buffer: activations.scores, bytes: plan.targetCount * 16 });
  const scores = new Float32Array(bytes);
  return plan.spans.map((group) =>
    group.map(({ start, length }) => {
      const logProbs = new Float32Array(length);
      const entropies = new Float32Array(length);
      for (let t = 0; t < length; t++) {
        logProbs[t] = scores[4 * (start + t)];
        entropies[t] = scores[4 * (start + t) + 1];
      }
      requireFinite(logProbs);
      return { logProbs, entropies };
    }),
  );
}

export function requireFinite(logProbs: Float32Array): void {
  if (logProbs.every(Number.isFinite)) return;
  throw new GpuError(
    'not-finite',
    'The model gave a log-probability that is not a number.',
    'Go back to the last step and lower the learning rate.',
  );
}

export async function score(
  decoder: Decoder,
  o: {
    readonly groups: readonly ScoreGroup[];
    readonly temperature: number;
    readonly lora: LoraSource | null;
    readonly signal?: AbortSignal | undefined;
    readonly chunkRows?: number;
  },
): Promise<RowScores[][]> {
  const out: RowScores[][] = [];
  for (const { start, end } of chunkGroups(o.groups, o.chunkRows ?? CHUNK_ROWS)) {
    o.signal?.throwIfAborted();
    const plan = planScoring(o.groups.slice(start, end));
    const activations = decoder.forward(plan, { lora: o.lora, temperature: o.temperature, save: false });
    out.push(...(await readScores(decoder, plan, activations)));
  }
  return out;
}
