// Prelude: base weights as bf16, packed two to a u32, low half first. bf16 is the upper half of an f32, so the shift is exact.
@group(0) @binding(2) var<storage, read> weights: array<u32>;

fn weight(i: u32) -> f32 {
  let word = weights[i >> 1u];
  return bitcast<f32>(select(word << 16u, word & 0xffff0000u, (i & 1u) == 1u));
}
