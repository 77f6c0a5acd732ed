// The first step of the attention's backward: D[row, head] = Σ over the head's dimensions of dO · O.
// (FlashAttention-2, arXiv 2307.08691, algorithm 2, line 4.)

override HEADS: u32;
override HEAD_DIM: u32;

struct Params {
  rows: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> o: array<f32>;
@group(0) @binding(2) var<storage, read> dOut: array<f32>;
@group(0) @binding(3) var<storage, read_write> d: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= params.rows * HEADS) { return; }
  let base = id.x * HEAD_DIM;
  var sum = 0.0;
  for (var i = 0u; i < HEAD_DIM; i++) { sum = fma(o[base + i], dOut[base + i], sum); }
  d[id.x] = sum;
}
