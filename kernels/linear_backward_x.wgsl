// Prelude of the two linear kernels beside linear_tiles.wgsl: the gradient with respect to the input of a linear layer with a
// frozen base and a LoRA side path (linear_forward.wgsl):
//   dX = dY·W + scale·dYB·A,   dYB = dY·blockdiag(B) from lora_backward_b.wgsl
// The rows of W are [first, first + outputs); those from `valid` on do not exist and count as zeros. Prelude of this one: weights.
struct Params {
  rows: u32,
  scale: f32,
  inputs: u32, // columns of dX
  outputs: u32, // columns of dY
  width: u32, // columns of dYB; 0: no adapter
  first: u32,
  valid: u32,
  accumulate: u32, // 1: add to dX
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> dy: array<f32>; // [rows, outputs]
@group(0) @binding(3) var<storage, read_write> dx: array<f32>; // [rows, inputs]
@group(0) @binding(4) var<storage, read> dyb: array<f32>; // [rows, width]
@group(0) @binding(5) var<storage, read> a: array<f32>; // [width, inputs]

fn baseSteps() -> u32 { return (params.outputs + DEPTH - 1u) / DEPTH; }
fn lowSteps() -> u32 { return (params.width + DEPTH - 1u) / DEPTH; }

fn loadX(row: u32, k: u32) -> f32 {
  if (row >= params.rows || k >= params.outputs) { return 0.0; }
  return dy[row * params.outputs + k];
}

fn loadW(column: u32, k: u32) -> f32 {
  if (column >= params.inputs || k >= params.outputs || params.first + k >= params.valid) { return 0.0; }
  return weight((params.first + k) * params.inputs + column);
}

fn loadXA(row: u32, j: u32) -> f32 {
  if (row >= params.rows || j >= params.width) { return 0.0; }
  return params.scale * dyb[row * params.width + j];
}

fn loadB(column: u32, j: u32) -> f32 {
  if (column >= params.inputs || j >= params.width) { return 0.0; }
  return a[j * params.inputs + column];
}

fn store(row: u32, column: u32, values: vec4f) {
  if (row >= params.rows) { return; }
  for (var c = 0u; c < 4u; c++) {
    if (column + c < params.inputs) {
      let at = row * params.inputs + column + c;
      if (params.accumulate == 1u) { dx[at] += values[c]; } else { dx[at] = values[c]; }
    }
  }
}
