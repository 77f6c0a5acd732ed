// Backward of RMSNorm, n = x · ρ · w with ρ = 1 / √(mean(x²) + ε), recomputed from x:
//
//   dx = ρ · (g − x · ρ² · mean(g · x)),  g = dn · w
//
// x, dn [rows, hidden], w [hidden]. dx is added to what is in d (the residual path) or put there; n is written too, because the
// gradient of the LoRA matrices behind the norm needs it as their input.
// One workgroup: 4 rows, 16 threads each.

struct Params {
  rows: u32,
  hidden: u32,
  accumulate: u32, // 1: add to what is in d
  epsilon: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> w: array<f32>;
@group(0) @binding(3) var<storage, read> dn: array<f32>;
@group(0) @binding(4) var<storage, read_write> d: array<f32>;
@group(0) @binding(5) var<storage, read_write> n: array<f32>;

var<workgroup> sums: array<vec2f, 64>;

@compute @workgroup_size(16, 4)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u) {
  let row = group.x * 4u + local.y;
  let base = row * params.hidden;
  let slot = local.y * 16u + local.x;
  let inside = row < params.rows;
  var sum = vec2f(); // Σ x², Σ g x
  if (inside) {
    for (var i = local.x; i < params.hidden; i += 16u) {
      let value = x[base + i];
      sum += vec2f(value * value, dn[base + i] * w[i] * value);
    }
  }
  sums[slot] = sum;
  for (var step = 8u; step > 0u; step >>= 1u) {
    workgroupBarrier();
    if (local.x < step) { sums[slot] += sums[slot + step]; }
  }
  workgroupBarrier();
  if (!inside) { return; }
  let mean = sums[local.y * 16u] / f32(params.hidden);
  let rho = inverseSqrt(mean.x + params.epsilon);
  let pull = rho * rho * mean.y;
  for (var i = local.x; i < params.hidden; i += 16u) {
    let at = base + i;
    let value = x[at];
    let weight = w[i];
    let dx = rho * (dn[at] * weight - value * pull);
    if (params.accumulate == 1u) { d[at] += dx; } else { d[at] = dx; }
    n[at] = value * rho * weight;
  }
}
