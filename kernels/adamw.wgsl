// AdamW (Loshchilov & Hutter, arXiv 1711.05101; torch.optim.AdamW) over all LoRA parameters, with the gradient scaled to at most
// maxNorm (torch.nn.utils.clip_grad_norm_):
//
//   g = gradient · min(1, maxNorm / (‖gradient‖ + 1e-6))
//   θ = θ · (1 − lr · decay),   m = β₁ m + (1 − β₁) g,   v = β₂ v + (1 − β₂) g²
//   θ = θ − lr / (1 − β₁ᵗ) · m / (√(v / (1 − β₂ᵗ)) + ε)
//
// Nothing at all changes if the norm is not finite; the caller reads the norm and says so.

struct Params {
  count: u32,
  beta1: f32,
  beta2: f32,
  epsilon: f32,
  keep: f32, // 1 − lr · decay
  step: f32, // lr / (1 − β₁ᵗ)
  correction: f32, // 1 / √(1 − β₂ᵗ)
  maxNorm: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> norm: array<f32>;
@group(0) @binding(2) var<storage, read> gradient: array<f32>;
@group(0) @binding(3) var<storage, read_write> weights: array<f32>;
@group(0) @binding(4) var<storage, read_write> m: array<f32>;
@group(0) @binding(5) var<storage, read_write> v: array<f32>;

const EXPONENT = 0x7f800000u; // all ones: infinity or NaN. Comparing NaN is not portable in WGSL, its bits are.

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if (i >= params.count || (bitcast<u32>(norm[0]) & EXPONENT) == EXPONENT) { return; }
  let g = gradient[i] * min(1.0, params.maxNorm / (norm[0] + 1e-6));
  let first = params.beta1 * m[i] + (1.0 - params.beta1) * g;
  let second = params.beta2 * v[i] + (1.0 - params.beta2) * g * g;
  m[i] = first;
  v[i] = second;
  weights[i] = weights[i] * params.keep - params.step * first / (sqrt(second) * params.correction + params.epsilon);
}
