// Prelude of the two linear kernels beside linear_tiles.wgsl: one vocabulary chunk of the gradient with respect to the logits,
// recomputed, since logits are never stored whole:
//   loss = Σ cₜ log softmax(z/T)[yₜ],  z = h·Wᵀ   ⇒   ∂loss/∂z[v] = cₜ/T · ([v = yₜ] − exp(z[v]/T − lseₜ))
// linear_backward_x.wgsl takes it back to h. Tokens beyond the vocabulary get 0. Prelude of this one: weights.
struct Params {
  count: u32, // of targets
  inverseTemperature: f32,
  hidden: u32,
  vocab: u32,
  chunk: u32, // tokens of a chunk
  first: u32, // of them
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> h: array<f32>; // [targets, hidden], after the final norm
@group(0) @binding(3) var<storage, read_write> dz: array<f32>; // [targets, chunk]
@group(0) @binding(4) var<storage, read> targets: array<vec2u>; // (row, token)
@group(0) @binding(5) var<storage, read> scores: array<vec4f>; // (log-prob, entropy, lse of z/T, 0)
@group(0) @binding(6) var<storage, read> coefficients: array<f32>;

fn baseSteps() -> u32 { return (params.hidden + DEPTH - 1u) / DEPTH; }
fn lowSteps() -> u32 { return 0u; }

fn loadX(t: u32, k: u32) -> f32 {
  if (t >= params.count || k >= params.hidden) { return 0.0; }
  return h[t * params.hidden + k];
}

fn loadW(v: u32, k: u32) -> f32 {
  if (v >= params.chunk || params.first + v >= params.vocab || k >= params.hidden) { return 0.0; }
  return weight((params.first + v) * params.hidden + k);
}

fn loadXA(t: u32, j: u32) -> f32 { return 0.0; }
fn loadB(v: u32, j: u32) -> f32 { return 0.0; }

fn store(t: u32, v: u32, logits: vec4f) {
  if (t >= params.count) { return; }
  let factor = coefficients[t] * params.inverseTemperature;
  for (var c = 0u; c < 4u; c++) {
    if (v + c < params.chunk) {
      let token = params.first + v + c;
      let p = select(0.0, exp(logits[c] * params.inverseTemperature - scores[t].z), token < params.vocab);
      dz[t * params.chunk + v + c] = factor * (select(0.0, 1.0, token == targets[t].y) - p);
    }
  }
}
