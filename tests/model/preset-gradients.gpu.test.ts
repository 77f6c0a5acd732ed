/**
 * @file The whole objective on pico against PEFT and autograd: one question with m = 3, n = 2, all 18 rows, by the rules of
 * three presets. From rewards and log-probs to the gradient of every A and B, at an adapter that is no longer the old one.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { advantages } from '../../src/algorithm/advantage.ts';
import { batchSize, rowTerms, type Row } from '../../src/algorithm/objective.ts';
import { objectiveOf, rowAdvantage, weightsOfRow } from '../../src/algorithm/rows.ts';
import { transferGap } from '../../src/algorithm/transfer.ts';
import { Gpu } from '../../src/engine/gpu.ts';
import { loraLayout } from '../../src/model/lora.ts';
import { adapterSlices } from '../../src/model/peft.ts';
import type { Policy, ScoreGroup } from '../../src/model/policy.ts';
import { PRESETS, type PresetName } from '../../src/training/presets.ts';
import type { Settings } from '../../src/training/settings.ts';
import fingerprints from '../fixtures/pico.json';
import reference from '../fixtures/preset-gradients.json';
import questions from '../fixtures/questions.json';
import { floats, maxDifference, mirrored, noise, pictureOf } from './fixtures.ts';
import { openPico } from './pico.ts';

const { rank, alpha, temperature, old, move, rewards } = reference;
const shape = { layers: 4, hidden: 128, heads: 4, kvHeads: 2, headDim: 32, intermediate: 352, vocab: 512, ropeTheta: 10000, rmsEps: 1e-5 };
const layout = loraLayout(shape, rank);
const responses = reference.responses.map((group) => group.map((r) => Int32Array.from(r)));
const [m, n] = [responses.length, responses[0].length];
const flat = responses.flat();

/** `[k][j·n + i]`: the numbers of each row's tokens. */
function byRow(packed: string): Float32Array[][] {
  const all = floats(packed);
  let at = 0;
  return Array.from({ length: m }, () => flat.map((r) => all.subarray(at, (at += r.length))));
}

const oldLogProbs = byRow(reference.oldLogProbs);
const baseLogProbs = byRow(reference.baseLogProbs);

/** Numbers in the reference's order of tensors, in the layout of lora.ts. */
function inLayout(numbersOf: (tensor: number, count: number, start: number) => Float32Array): Float32Array {
  const offsets = new Map(adapterSlices(layout).map((s) => [s.key, s.offset]));
  const out = new Float32Array(layout.total);
  let at = 0;
  reference.names.forEach(({ name, shape: [rows, columns] }, i) => {
    out.set(numbersOf(i, rows * columns, at), offsets.get(name));
    at += rows * columns;
  });
  return out;
}

/** The adapter that the responses were sampled with, and the one that the gradient is taken at. */
const oldAdapter = inLayout((i, count) => noise(count, old.seed + i, old.scale));
const movedAdapter = inLayout((i, count) => {
  const step = noise(count, move.seed + i, move.scale);
  return noise(count, old.seed + i, old.scale).map((x, at) => x + step[at]);
});

/** ‖got − want‖ / ‖want‖ */
const relativeNorm = (got: Float32Array, want: Float32Array): number => Math.hypot(...got.map((x, i) => x - want[i])) / Math.hypot(...want);

/** The rows of prompt k, without the log-probs of now. */
function rowsOf(settings: Settings, k: number): Omit<Row, 'logProbs'>[] {
  const { local, global } = advantages(rewards, { sigma: settings.sigma, scale: settings.scaleRewards, batchStd: 0 });
  return flat.map((_, r) => {
    const [j, i] = [Math.floor(r / n), r % n];
    return {
      oldLogProbs: oldLogProbs[k][r],
      baseLogProbs: baseLogProbs[k][r],
      advantage: rowAdvantage(settings, { local: local[j][i], global: global[j][i], j, k }),
      weights: weightsOfRow(settings, k, j, transferGap(oldLogProbs[k][r], oldLogProbs[j][r])),
    };
  });
}

let gpu: Gpu;
let policy: Policy;
let groups: ScoreGroup[];
const write = (params: Float32Array): void => {
  const zeros = new Float32Array(layout.total);
  policy.writeAdapter({ params, m: zeros, v: zeros, step: 0 });
};
beforeAll(async () => {
  gpu = await Gpu.open();
  policy = await openPico(gpu, { rank, alpha, seed: 1 });
  const picture = await pictureOf(questions[reference.question]);
  const images = await policy.encodeImages(reference.mirrored.map((flip) => (flip ? mirrored(picture) : picture)));
  groups = reference.texts.map((text, k) => ({ prompt: policy.prompt({ text, image: images[k] }), responses: flat }));
});
afterAll(() => {
  policy.destroy();
  gpu.destroy();
});

test('prompts and log-probs are the reference’s: old, now, and of the base model', async () => {
  expect(reference['model.safetensors'], 'made from another pico: run make_preset_gradients.py').toBe(fingerprints['model.safetensors']);
  groups.forEach((g, k) => expect([...g.prompt.ids]).toEqual(reference.ids[k]));
  const scored = async (adapter: boolean): Promise<number[]> =>
    (await policy.score({ groups, temperature, adapter })).flatMap((g) => g.flatMap((s) => [...s.logProbs]));
  expect(maxDifference(await scored(false), floats(reference.baseLogProbs))).toBeLessThan(1e-3);
  write(oldAdapter);
  expect(maxDifference(await scored(true), floats(reference.oldLogProbs))).toBeLessThan(1e-3);
  write(movedAdapter);
  expect(maxDifference(await scored(true), floats(reference.logProbs))).toBeLessThan(1e-3);
});

describe('loss and gradient of a preset', () => {
  for (const wanted of reference.cases) {
    test(`${wanted.preset} ${JSON.stringify(wanted.changes)}`, async () => {
      const settings = { ...PRESETS[wanted.preset as PresetName], variants: m, ...wanted.changes } as Settings;
      const rows = groups.map((_, k) => rowsOf(settings, k));
      expect(
        maxDifference(
          rows.flat().map((row) => row.advantage),
          wanted.advantages,
        ),
      ).toBeLessThan(1e-9);
      const objective = objectiveOf(settings);
      const size = batchSize(groups.flatMap((g) => g.responses.map((r) => ({ logProbs: r }))));
      write(movedAdapter);
      policy.zeroGradient();
      let loss = 0;
      await policy.accumulateGradient({
        groups,
        temperature,
        coefficients: (k, r, { logProbs }) => {
          const terms = rowTerms({ ...rows[k][r], logProbs }, objective, size);
          loss += terms.loss;
          return terms.slopes;
        },
      });
      const got = await policy.readGradient();
      const flatGradient = floats(wanted.gradient);
      const want = inLayout((_, count, start) => flatGradient.subarray(start, start + count));
      expect(Math.abs(loss - wanted.loss)).toBeLessThan(1e-4);
      expect(relativeNorm(got, want)).toBeLessThan(1e-3);
      expect(Math.abs(Math.hypot(...got) / wanted.gradNorm - 1)).toBeLessThan(1e-3);
      for (const { shape: sizes, offset } of adapterSlices(layout)) {
        const end = offset + sizes[0] * sizes[1];
        expect(relativeNorm(got.subarray(offset, end), want.subarray(offset, end))).toBeLessThan(1e-3);
      }
    });
  }
});
