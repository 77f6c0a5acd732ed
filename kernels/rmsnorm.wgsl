// y[i] = x[r] / sqrt(mean(x[r]²) + EPS) · gain, with r = i, or r = targets[i].x if GATHER is 1 (Zhang & Sennrich 2019).
// One workgroup per output row.
override HIDDEN: u32;
override EPS: f32;
override GATHER: u32 = 0u;

@group(0) @binding(0) var<storage, read> x: array<f32>; // [rows, HIDDEN]
@group(0) @binding(1) var<storage, read> gain: array<f32>; // [HIDDEN]
@group(0) @binding(2) var<storage, read> targets: array<vec2u>; // (row, token)
@group(0) @binding(3) var<storage, read_write> y: array<f32>; // [outputs, HIDDEN]

const LANES = 64u;
var<workgroup> partial: array<f32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  var source = group.x;
  if (GATHER == 1u) { source = targets[group.x].x; }
  var sum = 0.0;
  for (var c = lane; c < HIDDEN; c += LANES) {
    let value = x[source * HIDDEN + c];
    sum += value * value;
  }
  partial[lane] = sum;
  workgroupBarrier();
  for (var half = LANES / 2u; half > 0u; half >>= 1u) {
    if (lane < half) { partial[lane] += partial[lane + half]; }
    workgroupBarrier();
  }
  let scale = inverseSqrt(partial[0] / f32(HIDDEN) + EPS);
  for (var c = lane; c < HIDDEN; c += LANES) {
    y[group.x * HIDDEN + c] = x[source * HIDDEN + c] * scale * gain[c];
  }
}
