// Prelude of the two linear kernels beside linear_tiles.wgsl: one vocabulary chunk of the gradient with respect to the logits,
// recomputed, since logits are never stored whole:
//   loss = Σ cₜ log softmax(z/T)[yₜ],  z = h·Wᵀ   ⇒   ∂loss/∂z[v] = cₜ/T · ([v = yₜ] − exp(z[v]/T − lseₜ))
// linear_backward_x.wgsl takes it back to h. Tokens beyond the vocabulary get 0. Prelude of this one: weights.
override HIDDEN: u32;
override VOCAB: u32;
override CHUNK: u32; // tokens of a chunk

struct Params { count: u32, inverseTemperature: f32, first: u32 }

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> h: array<f32>; // [targets, HIDDEN], after the final norm
@group(0) @binding(3) var<storage, read_write> dz: array<f32>; // [targets, CHUNK]: tokens params.first …
@group(0) @binding(4) var<storage, read> targets: array<vec2u>; // (row, token)
@group(0) @binding(5) var<storage, read> scores: array<vec4f>; // (log-prob, entropy, lse of z/T, 0)
@group(0) @binding(6) var<storage, read> coefficients: array<f32>;

override BASE_STEPS: u32 = (HIDDEN + 15u) / 16u;
override STEPS: u32 = BASE_STEPS;

fn loadX(t: u32, k: u32) -> f32 {
  if (t >= params.count || k >= HIDDEN) { return 0.0; }
  return h[t * HIDDEN + k];
}

fn loadW(v: u32, k: u32) -> f32 {
  if (v >= CHUNK || params.first + v >= VOCAB || k >= HIDDEN) { return 0.0; }
  return weight((params.first + v) * HIDDEN + k);
}

fn loadXA(t: u32, j: u32) -> f32 { return 0.0; }
fn loadB(v: u32, j: u32) -> f32 { return 0.0; }

fn store(t: u32, v: u32, logits: vec4f) {
  if (t >= params.count) { return; }
  let factor = coefficients[t] * params.inverseTemperature;
  for (var c = 0u; c < 4u; c++) {
    if (v + c < CHUNK) {
      let token = params.first + v + c;
      let p = select(0.0, exp(logits[c] * params.inverseTemperature - scores[t].z), token < VOCAB);
      dz[t * CHUNK + v + c] = factor * (select(0.0, 1.0, token == targets[t].y) - p);
    }
  }
}
