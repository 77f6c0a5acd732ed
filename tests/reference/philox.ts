/**
 * @file Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3") in BigInt, and the draw that
 * kernels/sample.wgsl makes with it, in float64.
 */
const MASK = 0xffffffffn;

/** Ten rounds over four words of counter and two of key. */
export function philox(counter: readonly number[], key: readonly number[]): number[] {
  let [c0, c1, c2, c3] = counter.map(BigInt);
  let [k0, k1] = key.map(BigInt);
  for (let round = 0; round < 10; round++) {
    const [p0, p1] = [0xd2511f53n * c0, 0xcd9e8d57n * c2];
    [c0, c1, c2, c3] = [(p1 >> 32n) ^ c1 ^ k0, p1 & MASK, (p0 >> 32n) ^ c3 ^ k1, p0 & MASK];
    [k0, k1] = [(k0 + 0x9e3779b9n) & MASK, (k1 + 0xbb67ae85n) & MASK];
  }
  return [c0, c1, c2, c3].map(Number);
}

/** Tokens that top-p keeps: those whose logit is at least the largest one at which the mass reaches topP. */
export function nucleus(probabilities: readonly number[], topP: number): number[] {
  if (topP >= 1) return probabilities.map((_, i) => i);
  const mass = (least: number): number => probabilities.reduce((sum, p) => sum + (p >= least ? p : 0), 0);
  const least = Math.max(...probabilities.filter((p) => mass(p) >= topP));
  return probabilities.map((_, i) => i).filter((i) => probabilities[i] >= least);
}

/** The token whose part of the cumulative distribution over the kept tokens holds `uniform`, and how near the border it is. */
export function inverseCdf(probabilities: readonly number[], kept: readonly number[], uniform: number): { token: number; margin: number } {
  const wanted = uniform * kept.reduce((sum, i) => sum + probabilities[i], 0);
  let before = 0;
  for (const i of kept) {
    const after = before + probabilities[i];
    if (after > wanted) return { token: i, margin: Math.min(after - wanted, wanted - before) };
    before = after;
  }
  return { token: kept[kept.length - 1], margin: 0 };
}
