// Prelude of the two linear kernels beside linear_tiles.wgsl: the gradient with respect to the input of a linear layer with a
// frozen base and a LoRA side path (linear_forward.wgsl):
//   dX = dY·W + scale·dYB·A,   dYB = dY·blockdiag(B) from lora_backward_b.wgsl
// The rows of W are [first, first + OUT); those from `valid` on do not exist and count as zeros. Prelude of this one: weights.
override IN: u32; // columns of dX
override OUT: u32; // columns of dY
override WIDTH: u32 = 0u; // columns of dYB; 0: no adapter

struct Params { rows: u32, scale: f32, first: u32, valid: u32, accumulate: u32 }

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> dy: array<f32>; // [rows, OUT]
@group(0) @binding(3) var<storage, read_write> dx: array<f32>; // [rows, IN]
@group(0) @binding(4) var<storage, read> dyb: array<f32>; // [rows, WIDTH]
@group(0) @binding(5) var<storage, read> a: array<f32>; // [WIDTH, IN]

override BASE_STEPS: u32 = (OUT + 15u) / 16u;
override STEPS: u32 = BASE_STEPS + (WIDTH + 15u) / 16u;

fn loadX(row: u32, k: u32) -> f32 {
  if (row >= params.rows || k >= OUT) { return 0.0; }
  return dy[row * OUT + k];
}

fn loadW(column: u32, k: u32) -> f32 {
  if (column >= IN || k >= OUT || params.first + k >= params.valid) { return 0.0; }
  return weight((params.first + k) * IN + column);
}

fn loadXA(row: u32, j: u32) -> f32 {
  if (row >= params.rows || j >= WIDTH) { return 0.0; }
  return params.scale * dyb[row * WIDTH + j];
}

fn loadB(column: u32, j: u32) -> f32 {
  if (column >= IN || j >= WIDTH) { return 0.0; }
  return a[j * IN + column];
}

fn store(row: u32, column: u32, values: vec4f) {
  if (row >= params.rows) { return; }
  for (var c = 0u; c < 4u; c++) {
    if (column + c < IN) {
      let at = row * IN + column + c;
      if (params.accumulate == 1u) { dx[at] += values[c]; } else { dx[at] = values[c]; }
    }
  }
}
