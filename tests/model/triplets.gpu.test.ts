/** @file Prompts with three pictures, on pico-mico against transformers. */
import { expect, test } from 'vitest';
import { Gpu } from '../../src/engine/gpu.ts';
import { urlSource } from '../../src/model/checkpoint.ts';
import { Policy } from '../../src/model/policy.ts';
import questions from '../fixtures/questions.json';
import reference from '../fixtures/triplets.json';
import { floats, maxDifference, pictureOf } from './fixtures.ts';
import { fingerprinted, wasmTower } from './pico.ts';

test('log-probs of a response under several pictures', async () => {
  const gpu = await Gpu.open();
  const files = fingerprinted(urlSource('/models/pico-mico/'), reference, 'make_triplet_fixture.py');
  const policy = await Policy.load(gpu, files, { rank: 4, alpha: 8, seed: 1, vision: wasmTower });
  const features = await policy.encodeImages(await Promise.all(questions.map(pictureOf)));
  const responses = [Int32Array.from(reference.response)];
  const groups = reference.prompts.map(({ text, pictures }) => ({
    prompt: policy.prompt({ text, images: pictures.map((i) => features[i]) }),
    responses,
  }));
  const scores = await policy.score({ groups, temperature: 1, adapter: false });
  reference.prompts.forEach((want, i) => {
    expect([...groups[i].prompt.ids]).toEqual(want.ids);
    expect(maxDifference(scores[i][0].logProbs, floats(want.logProbs))).toBeLessThan(1e-3);
  });
  policy.destroy();
  gpu.destroy();
});
