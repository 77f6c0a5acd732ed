// Prelude: base weights as plain f32.
@group(0) @binding(2) var<storage, read> weights: array<f32>;

fn weight(i: u32) -> f32 {
  return weights[i];
}
