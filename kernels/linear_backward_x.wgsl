// The gradient with respect to the input of a linear layer with a frozen base and a LoRA side path:
//
//   Y  = X Wᵀ + s · (X Aᵀ) blockdiag(B)ᵀ      forward (linear.wgsl)
//   dX = dY W + s · dYB A                     here, with dYB = dY blockdiag(B) from lora_backward_b.wgsl
//
// dY [rows, out], W rows [first, first + out) of [·, in], dYB [rows, width], A [width, in] → dX [rows, in].
// Without a side path width is 0. Both products run into one tile of sums: 64 rows × 64 columns, 16 deep, 8 × 4 a thread.
// Prelude: weights.

struct Params {
  rows: u32,
  out: u32,
  inputs: u32,
  width: u32,
  first: u32,
  accumulate: u32, // 1: add to what is in dX
  scale: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> dy: array<f32>;
@group(0) @binding(3) var<storage, read> dyb: array<f32>;
@group(0) @binding(4) var<storage, read> a: array<f32>;
@group(0) @binding(5) var<storage, read_write> dx: array<f32>;

const TILE = 64u;
const DEPTH = 16u;
const LEFT_STRIDE = 65u; // one more than TILE, so that the column-wise stores fall into different banks
const THREADS = 128u;

var<workgroup> left: array<f32, 1040>; // [DEPTH, LEFT_STRIDE]
var<workgroup> right: array<f32, 1024>; // [DEPTH, TILE]

fn addProducts(sums: ptr<function, array<vec4f, 8>>, tx: u32, ty: u32) {
  for (var k = 0u; k < DEPTH; k++) {
    let r = k * TILE + tx;
    let columns = vec4f(right[r], right[r + 16u], right[r + 32u], right[r + 48u]);
    let l = k * LEFT_STRIDE + ty * 8u;
    for (var i = 0u; i < 8u; i++) {
      (*sums)[i] = fma(vec4f(left[l + i]), columns, (*sums)[i]);
    }
  }
}

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let column0 = group.x * TILE;
  let row0 = group.y * TILE;
  let tx = lane % 16u;
  let ty = lane / 16u;
  var sums: array<vec4f, 8>;

  for (var k0 = 0u; k0 < params.out; k0 += DEPTH) {
    for (var e = lane; e < TILE * DEPTH; e += THREADS) {
      let k = e % DEPTH;
      let row = e / DEPTH;
      var value = 0.0;
      if (row0 + row < params.rows && k0 + k < params.out) { value = dy[(row0 + row) * params.out + k0 + k]; }
      left[k * LEFT_STRIDE + row] = value;
      let column = column0 + e % TILE;
      let depth = k0 + e / TILE;
      value = 0.0;
      if (column < params.inputs && depth < params.out) { value = weight((params.first + depth) * params.inputs + column); }
      right[e] = value;
    }
    workgroupBarrier();
    addProducts(&sums, tx, ty);
    workgroupBarrier();
  }

  for (var k0 = 0u; k0 < params.width; k0 += DEPTH) {
    for (var e = lane; e < TILE * DEPTH; e += THREADS) {
      let k = e % DEPTH;
      let row = e / DEPTH;
      var value = 0.0;
      if (row0 + row < params.rows && k0 + k < params.width) { value = params.scale * dyb[(row0 + row) * params.width + k0 + k]; }
      left[k * LEFT_STRIDE + row] = value;
      let column = column0 + e % TILE;
      let depth = k0 + e / TILE;
      value = 0.0;
      if (column < params.inputs && depth < params.width) { value = a[depth * params.inputs + column]; }
      right[e] = value;
    }
    workgroupBarrier();
    addProducts(&sums, tx, ty);
    workgroupBarrier();
  }

  for (var i = 0u; i < 8u; i++) {
    let row = row0 + ty * 8u + i;
    if (row >= params.rows) { break; }
    for (var j = 0u; j < 4u; j++) {
      let column = column0 + tx + j * 16u;
      if (column < params.inputs) {
        let at = row * params.inputs + column;
        if (params.accumulate == 1u) { dx[at] += sums[i][j]; } else { dx[at] = sums[i][j]; }
      }
    }
  }
}
