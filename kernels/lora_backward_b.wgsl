// Prelude of the two linear kernels beside linear_tiles.wgsl: the gradient that passes back through LoRA's B,
//   dYB = dY·blockdiag(B):   dYB[n, m·RANK + j] = Σ over the outputs o of module m of dY[n, o]·B[o, j]
// Modules are stacked by output: module 1 begins at START1, module 2 at START2.
override OUT: u32;
override RANK: u32;
override MODULES: u32;
override START1: u32 = 0xffffffffu;
override START2: u32 = 0xffffffffu;

struct Params { rows: u32 }

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> dy: array<f32>; // [rows, OUT]
@group(0) @binding(2) var<storage, read> b: array<f32>; // [OUT, RANK]
@group(0) @binding(3) var<storage, read_write> dyb: array<f32>; // [rows, MODULES·RANK]

override BASE_STEPS: u32 = (OUT + 15u) / 16u;
override STEPS: u32 = BASE_STEPS;

fn loadX(row: u32, k: u32) -> f32 {
  if (row >= params.rows || k >= OUT) { return 0.0; }
  return dy[row * OUT + k];
}

// Entry (k, c) of the block-diagonal B.
fn loadW(c: u32, k: u32) -> f32 {
  let first = (select(0u, 1u, k >= START1) + select(0u, 1u, k >= START2)) * RANK;
  if (k >= OUT || c < first || c >= first + RANK) { return 0.0; }
  return b[k * RANK + c - first];
}

fn loadXA(row: u32, j: u32) -> f32 { return 0.0; }
fn loadB(c: u32, j: u32) -> f32 { return 0.0; }

fn store(row: u32, column: u32, values: vec4f) {
  if (row >= params.rows) { return; }
  for (var c = 0u; c < 4u; c++) {
    if (column + c < MODULES * RANK) { dyb[row * MODULES * RANK + column + c] = values[c]; }
  }
}
