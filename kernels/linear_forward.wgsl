// Prelude of the two linear kernels beside linear_tiles.wgsl: Y = X·Wᵀ (+ scale·XA·blockdiag(B)ᵀ) (+ residual).
// The low-rank term is MODULES·RANK more steps of the same inner product (LoRA, Hu et al. 2021). Modules are stacked by output:
// module 1 begins at START1, module 2 at START2. Prelude of this one: weights.
override IN: u32;
override OUT: u32;
override RESIDUAL: u32 = 0u;
override RANK: u32 = 0u; // 0: no adapter
override MODULES: u32 = 1u;
override START1: u32 = 0xffffffffu;
override START2: u32 = 0xffffffffu;

struct Params { rows: u32, scale: f32 }

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>; // [rows, IN]
@group(0) @binding(3) var<storage, read_write> y: array<f32>; // [rows, OUT]
@group(0) @binding(4) var<storage, read> residual: array<f32>; // [rows, OUT]
@group(0) @binding(5) var<storage, read> xa: array<f32>; // [rows, MODULES·RANK]
@group(0) @binding(6) var<storage, read> b: array<f32>; // [OUT, RANK]

override BASE_STEPS: u32 = (IN + 15u) / 16u;
override STEPS: u32 = BASE_STEPS + (MODULES * RANK + 15u) / 16u;

fn loadX(row: u32, k: u32) -> f32 {
  if (row >= params.rows || k >= IN) { return 0.0; }
  return x[row * IN + k];
}

fn loadW(out: u32, k: u32) -> f32 {
  if (out >= OUT || k >= IN) { return 0.0; }
  return weight(out * IN + k);
}

fn loadXA(row: u32, j: u32) -> f32 {
  if (row >= params.rows || j >= MODULES * RANK) { return 0.0; }
  return params.scale * xa[row * MODULES * RANK + j];
}

// Entry (out, j) of the block-diagonal B.
fn loadB(out: u32, j: u32) -> f32 {
  let which = select(0u, 1u, out >= START1) + select(0u, 1u, out >= START2);
  if (out >= OUT || j < which * RANK || j >= (which + 1u) * RANK) { return 0.0; }
  return b[out * RANK + j - which * RANK];
}

fn store(row: u32, out: u32, values: vec4f) {
  if (row >= params.rows) { return; }
  for (var c = 0u; c < 4u; c++) {
    if (out + c < OUT) {
      let at = row * OUT + out + c;
      if (RESIDUAL == 1u) { y[at] = values[c] + residual[at]; } else { y[at] = values[c]; }
    }
  }
}
