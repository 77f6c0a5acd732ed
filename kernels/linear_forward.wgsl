// Prelude of the two linear kernels beside linear_tiles.wgsl: Y = X·Wᵀ (+ scale·XA·blockdiag(B)ᵀ) (+ residual).
// The low-rank term is modules·rank more steps of the same inner product (LoRA, Hu et al. 2021). Modules are stacked by output:
// module 1 begins at start1, module 2 at start2. Prelude of this one: weights.
struct Params {
  rows: u32,
  scale: f32,
  inputs: u32,
  outputs: u32,
  residual: u32, // 1: add it
  rank: u32, // 0: no adapter
  modules: u32,
  start1: u32,
  start2: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>; // [rows, inputs]
@group(0) @binding(3) var<storage, read_write> y: array<f32>; // [rows, outputs]
@group(0) @binding(4) var<storage, read> residual: array<f32>; // [rows, outputs]
@group(0) @binding(5) var<storage, read> xa: array<f32>; // [rows, modules·rank]
@group(0) @binding(6) var<storage, read> b: array<f32>; // [outputs, rank]

fn baseSteps() -> u32 { return (params.inputs + DEPTH - 1u) / DEPTH; }
fn lowSteps() -> u32 { return (params.modules * params.rank + DEPTH - 1u) / DEPTH; }

fn loadX(row: u32, k: u32) -> f32 {
  if (row >= params.rows || k >= params.inputs) { return 0.0; }
  return x[row * params.inputs + k];
}

fn loadW(out: u32, k: u32) -> f32 {
  if (out >= params.outputs || k >= params.inputs) { return 0.0; }
  return weight(out * params.inputs + k);
}

fn loadXA(row: u32, j: u32) -> f32 {
  if (row >= params.rows || j >= params.modules * params.rank) { return 0.0; }
  return params.scale * xa[row * params.modules * params.rank + j];
}

// Entry (out, j) of the block-diagonal B.
fn loadB(out: u32, j: u32) -> f32 {
  let which = select(0u, 1u, out >= params.start1) + select(0u, 1u, out >= params.start2);
  if (out >= params.outputs || j < which * params.rank || j >= (which + 1u) * params.rank) { return 0.0; }
  return b[out * params.rank + j - which * params.rank];
}

fn store(row: u32, out: u32, values: vec4f) {
  if (row >= params.rows) { return; }
  for (var c = 0u; c < 4u; c++) {
    if (out + c < params.outputs) {
      let at = row * params.outputs + out + c;
      if (params.residual == 1u) { y[at] = values[c] + residual[at]; } else { y[at] = values[c]; }
    }
  }
}
