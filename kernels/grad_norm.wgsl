// The Euclidean norm of the gradient in two dispatches: `squares` leaves one sum of squares per workgroup, `norm` adds them up.
// A value that is not finite anywhere makes the norm not finite.

struct Params { count: u32 }

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gradient: array<f32>; // of `norm`: the sums that `squares` left
@group(0) @binding(2) var<storage, read_write> sums: array<f32>; // of `norm`: one f32, the norm

const LANES = 256u;
var<workgroup> partial: array<f32, 256>;

fn total(lane: u32, own: f32) -> f32 {
  partial[lane] = own;
  for (var half = LANES / 2u; half > 0u; half >>= 1u) {
    workgroupBarrier();
    if (lane < half) { partial[lane] += partial[lane + half]; }
  }
  return partial[0];
}

@compute @workgroup_size(256)
fn squares(
  @builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u,
  @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32,
) {
  var sum = 0.0;
  for (var i = id.x; i < params.count; i += groups.x * LANES) { sum = fma(gradient[i], gradient[i], sum); }
  sum = total(lane, sum);
  if (lane == 0u) { sums[group.x] = sum; }
}

@compute @workgroup_size(256)
fn norm(@builtin(local_invocation_index) lane: u32) {
  var sum = 0.0;
  for (var i = lane; i < params.count; i += LANES) { sum += gradient[i]; }
  sum = total(lane, sum);
  if (lane == 0u) { sums[0] = sqrt(sum); }
}
