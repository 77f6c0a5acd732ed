// One vocabulary chunk of the gradient with respect to the logits, recomputed: logits are never stored whole.
//
// loss = Σ cₜ log softmax(z / T)[yₜ],  z = h Wᵀ   ⇒   ∂loss/∂z[v] = cₜ / T · ([v = yₜ] − exp(z[v] / T − lseₜ))
//
// h [targets, hidden] (after the final norm), rows [first, first + chunk) of W [vocab, hidden], the log-sum-exp of z / T from
// the forward → dz [targets, chunk], which linear_backward_x.wgsl takes back to h.
// One workgroup: 64 targets × 64 tokens, 16 deep, 8 × 4 a thread. Prelude: weights.

struct Params {
  count: u32, // of targets
  hidden: u32,
  first: u32,
  chunk: u32,
  inverseTemperature: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> h: array<f32>;
@group(0) @binding(3) var<storage, read> targets: array<vec2u>; // (row, token)
@group(0) @binding(4) var<storage, read> scores: array<vec4f>; // (log-prob, entropy, lse, 0)
@group(0) @binding(5) var<storage, read> coefficients: array<f32>;
@group(0) @binding(6) var<storage, read_write> dz: array<f32>;

const TILE = 64u;
const DEPTH = 16u;
const STRIDE = 65u;
const THREADS = 128u;

var<workgroup> left: array<f32, 1040>; // [DEPTH, STRIDE]
var<workgroup> right: array<f32, 1040>;

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let token0 = group.x * TILE;
  let target0 = group.y * TILE;
  let tx = lane % 16u;
  let ty = lane / 16u;
  var sums: array<vec4f, 8>;

  for (var k0 = 0u; k0 < params.hidden; k0 += DEPTH) {
    for (var e = lane; e < TILE * DEPTH; e += THREADS) {
      let k = e % DEPTH;
      let i = e / DEPTH;
      var value = 0.0;
      if (target0 + i < params.count && k0 + k < params.hidden) { value = h[(target0 + i) * params.hidden + k0 + k]; }
      left[k * STRIDE + i] = value;
      value = 0.0;
      if (token0 + i < params.chunk && k0 + k < params.hidden) { value = weight((params.first + token0 + i) * params.hidden + k0 + k); }
      right[k * STRIDE + i] = value;
    }
    workgroupBarrier();
    for (var k = 0u; k < DEPTH; k++) {
      let r = k * STRIDE + tx;
      let columns = vec4f(right[r], right[r + 16u], right[r + 32u], right[r + 48u]);
      let l = k * STRIDE + ty * 8u;
      for (var i = 0u; i < 8u; i++) { sums[i] = fma(vec4f(left[l + i]), columns, sums[i]); }
    }
    workgroupBarrier();
  }

  for (var i = 0u; i < 8u; i++) {
    let t = target0 + ty * 8u + i;
    if (t >= params.count) { break; }
    let c = coefficients[t] * params.inverseTemperature;
    let lse = scores[t].z;
    let token = targets[t].y;
    for (var j = 0u; j < 4u; j++) {
      let v = token0 + tx + j * 16u;
      if (v < params.chunk) {
        let hit = select(0.0, 1.0, params.first + v == token);
        dz[t * params.chunk + v] = c * (hit - exp(sums[i][j] * params.inverseTemperature - lse));
      }
    }
  }
}
