// Prelude of the two linear kernels beside linear_tiles.wgsl: the gradient that passes back through LoRA's B,
//   dYB = dY·blockdiag(B):   dYB[n, m·rank + j] = Σ over the outputs o of module m of dY[n, o]·B[o, j]
// Modules are stacked by output: module 1 begins at start1, module 2 at start2.
struct Params { rows: u32, outputs: u32, rank: u32, modules: u32, start1: u32, start2: u32 }

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> dy: array<f32>; // [rows, outputs]
@group(0) @binding(2) var<storage, read> b: array<f32>; // [outputs, rank]
@group(0) @binding(3) var<storage, read_write> dyb: array<f32>; // [rows, modules·rank]

fn baseSteps() -> u32 { return (params.outputs + DEPTH - 1u) / DEPTH; }
fn lowSteps() -> u32 { return 0u; }

fn loadX(row: u32, k: u32) -> f32 {
  if (row >= params.rows || k >= params.outputs) { return 0.0; }
  return dy[row * params.outputs + k];
}

// Entry (k, c) of the block-diagonal B.
fn loadW(c: u32, k: u32) -> f32 {
  let first = (select(0u, 1u, k >= params.start1) + select(0u, 1u, k >= params.start2)) * params.rank;
  if (k >= params.outputs || c < first || c >= first + params.rank) { return 0.0; }
  return b[k * params.rank + c - first];
}

fn loadXA(row: u32, j: u32) -> f32 { return 0.0; }
fn loadB(c: u32, j: u32) -> f32 { return 0.0; }

fn store(row: u32, column: u32, values: vec4f) {
  if (row >= params.rows) { return; }
  for (var c = 0u; c < 4u; c++) {
    if (column + c < params.modules * params.rank) { dyb[row * params.modules * params.rank + column + c] = values[c]; }
  }
}
