/** @file A scripted stand-in for the policy, for tests of the trainer: no GPU, every number a function of the prompt and of one weight. */
import { hashString, Rng } from '../tasks/random.ts';
import type { AdapterState, Prompt, RowScores } from '../model/policy.ts';
import type { TrainablePolicy } from './rollout.ts';

const END = 0;
/** What it can say, one token each; greedily the first. */
export const RESPONSES = [
  '<think> x</think><answer> 1</answer>',
  '<think> x</think><answer> 2</answer>',
  ' yes',
  '<think> y</think><answer> red</answer>',
];

/** A policy whose one weight says how far it has been trained, and whose every number is a function of the question. */
export class ScriptedPolicy implements TrainablePolicy {
  eos = END;
  state: AdapterState = { params: new Float32Array([0]), m: new Float32Array([0]), v: new Float32Array([0]), step: 0 };
  released = 0;
  encoded = 0;
  slopes = 0;
  failing: 'accumulateGradient' | 'sample' | null = null;

  encodeImages: TrainablePolicy['encodeImages'] = async (pictures) => {
    this.encoded += pictures.length;
    return pictures.map(() => ({ buffer: null as never, offsetRows: 0, tokens: 16, release: () => void this.released++ }));
  };
  prompt: TrainablePolicy['prompt'] = ({ text, hint, images }) => ({
    ids: Int32Array.of(hashString((hint ?? '') + text) & 0xffff),
    images: (images ?? []).map((features) => ({ features, start: 0 })),
  });
  decode: TrainablePolicy['decode'] = (tokens) => Array.from(tokens, (t) => RESPONSES[t - 1]).join('');
  pieces: TrainablePolicy['pieces'] = (tokens) => Array.from(tokens, (t) => (t === END ? '<end>' : RESPONSES[t - 1]));

  private scores(prompt: Prompt, tokens: Int32Array): RowScores {
    const logProbs = Float32Array.from(tokens, (t) => -1 - ((prompt.ids[0] * 31 + t * 7) % 10) / 10 + this.state.params[0] * 0.1);
    return { logProbs, entropies: Float32Array.from(tokens, () => 0.5) };
  }
  sample: TrainablePolicy['sample'] = async ({ prompts, n, seed, step, temperature, onTokens }) => {
    if (this.failing === 'sample') throw new Error('no memory');
    const sampled = prompts.map((prompt, p) =>
      Array.from({ length: n }, (_, i) => {
        const tokens = Int32Array.of(temperature === 0 ? 1 : 1 + new Rng(seed, step, p, i).int(0, RESPONSES.length - 1), END);
        return { tokens, ...this.scores(prompt, tokens), finish: 'stop' as const };
      }),
    );
    onTokens?.({ done: 2, responses: sampled.flat().map((s) => s.tokens) });
    return sampled;
  };
  score: TrainablePolicy['score'] = async ({ groups }) => groups.map((g) => g.responses.map((r) => this.scores(g.prompt, r)));
  zeroGradient = () => void (this.slopes = 0);
  accumulateGradient: TrainablePolicy['accumulateGradient'] = async ({ groups, coefficients }) => {
    if (this.failing === 'accumulateGradient') throw new Error('no memory');
    groups.forEach((g, at) =>
      g.responses.forEach((tokens, r) => coefficients(at, r, this.scores(g.prompt, tokens)).forEach((x) => (this.slopes += x))),
    );
  };
  readGradient = async () => Float32Array.of(this.slopes, 1);
  adamw: TrainablePolicy['adamw'] = async ({ learningRate }) => {
    const { params, m, v, step } = this.state;
    this.state = { params: params.map((p) => p - learningRate), m: m.map((x) => x + 1), v, step: step + 1 };
    return { gradNorm: Math.abs(this.slopes), gradScale: 1 };
  };
  readAdapter = async () => this.state;
  writeAdapter = (state: AdapterState) => void (this.state = state);
  resetAdapter = () => void (this.state = { params: new Float32Array([0]), m: new Float32Array([0]), v: new Float32Array([0]), step: 0 });
  moduleNorms: TrainablePolicy['moduleNorms'] = async () => [
    { name: 'q_proj', layer: 0, deltaNorm: Math.abs(this.state.params[0]), stepNorm: 0 },
  ];
}
