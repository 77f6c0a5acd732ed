// Base weights stored as float32.
@group(0) @binding(0) var<storage, read> weights: array<f32>;

fn weight(i: u32) -> f32 {
  return weights[i];
}
