// Base weights stored as bfloat16, two to a word, the low half first: what a safetensors file holds, untouched.
// A bfloat16 is the upper half of a float32, so widening is a shift.
@group(0) @binding(0) var<storage, read> weights: array<u32>;

fn weight(i: u32) -> f32 {
  let word = weights[i >> 1u];
  return bitcast<f32>(select(word << 16u, word & 0xffff0000u, (i & 1u) == 1u));
}
