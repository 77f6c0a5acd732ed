// The gradient that passes back through LoRA's B:  dYB = dY · blockdiag(B).
//
// dY [rows, out] with the modules' outputs side by side, B [out, rank] with the modules' B stacked → dYB [rows, modules · rank]:
//   dYB[n, m·rank + j] = Σ over the outputs o of module m of dY[n, o] · B[o, j]
//
// One workgroup: 32 rows × 8 of one module's rank columns, 32 deep. group = (row tile, module, rank tile).

struct Params {
  rows: u32,
  out: u32,
  rank: u32,
  modules: u32,
  starts: vec4u, // first output of each module; the next module's first, or `out`, ends it
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> dy: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> dyb: array<f32>;

const ROWS = 32u;
const COLUMNS = 8u;
const DEPTH = 32u;
const THREADS = 64u;
const LEFT_STRIDE = 33u;

var<workgroup> left: array<f32, 1056>; // [DEPTH, LEFT_STRIDE]
var<workgroup> right: array<f32, 256>; // [DEPTH, COLUMNS]

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let row0 = group.x * ROWS;
  let block = group.y;
  let rank0 = group.z * COLUMNS;
  let first = params.starts[block];
  var end = params.out;
  if (block + 1u < params.modules) { end = params.starts[block + 1u]; }
  let row = lane % ROWS;
  let column = lane / ROWS * 4u;
  var sum = vec4f();

  for (var k0 = first; k0 < end; k0 += DEPTH) {
    for (var e = lane; e < ROWS * DEPTH; e += THREADS) {
      let k = e % DEPTH;
      let r = e / DEPTH;
      var value = 0.0;
      if (row0 + r < params.rows && k0 + k < end) { value = dy[(row0 + r) * params.out + k0 + k]; }
      left[k * LEFT_STRIDE + r] = value;
    }
    for (var e = lane; e < DEPTH * COLUMNS; e += THREADS) {
      let k = k0 + e / COLUMNS;
      let j = rank0 + e % COLUMNS;
      var value = 0.0;
      if (k < end && j < params.rank) { value = b[k * params.rank + j]; }
      right[e] = value;
    }
    workgroupBarrier();
    for (var k = 0u; k < DEPTH; k++) {
      let r = k * COLUMNS + column;
      sum = fma(vec4f(left[k * LEFT_STRIDE + row]), vec4f(right[r], right[r + 1u], right[r + 2u], right[r + 3u]), sum);
    }
    workgroupBarrier();
  }

  if (row0 + row < params.rows) {
    for (var j = 0u; j < 4u; j++) {
      let rank = rank0 + column + j;
      if (rank < params.rank) { dyb[(row0 + row) * params.modules * params.rank + block * params.rank + rank] = sum[j]; }
    }
  }
}
