// Prelude of the two linear kernels: what a tile of Y = X·Wᵀ (+ scale·XA·blockdiag(B)ᵀ) (+ residual) is loaded from and stored to.
// The low-rank term is MODULES·RANK more steps of the same inner product (LoRA, Hu et al. 2021). Modules are stacked by output:
// module 1 begins at START1, module 2 at START2. Prelude of this one: weights.
override IN: u32;
override OUT: u32;
override GROUP_X: u32;
override GROUP_Y: u32;
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

const DEPTH = 16u;
override BASE_STEPS: u32 = (IN + 15u) / 16u;
override STEPS: u32 = BASE_STEPS + (MODULES * RANK + 15u) / 16u;
// Tiles of vec4 over rows or outputs, [DEPTH][vectors + 1]: padded so that the transposing stores do not meet in one bank.
var<workgroup> xTile: array<vec4f, 272>;
var<workgroup> wTile: array<vec4f, 272>;

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

// Loads step `step` of the inner product into the tiles: `xVectors` vec4 of rows from firstRow, `wVectors` vec4 of outputs from firstOut.
fn fillTiles(step: u32, lane: u32, lanes: u32, firstRow: u32, firstOut: u32, xVectors: u32, wVectors: u32) {
  let low = step >= BASE_STEPS;
  let k0 = select(step, step - BASE_STEPS, low) * DEPTH;
  for (var i = lane; i < DEPTH * xVectors; i += lanes) {
    let k = i % DEPTH;
    let r = i / DEPTH;
    let row = firstRow + r * 4u;
    if (low) {
      xTile[k * (xVectors + 1u) + r] = vec4f(loadXA(row, k0 + k), loadXA(row + 1u, k0 + k), loadXA(row + 2u, k0 + k), loadXA(row + 3u, k0 + k));
    } else {
      xTile[k * (xVectors + 1u) + r] = vec4f(loadX(row, k0 + k), loadX(row + 1u, k0 + k), loadX(row + 2u, k0 + k), loadX(row + 3u, k0 + k));
    }
  }
  for (var i = lane; i < DEPTH * wVectors; i += lanes) {
    let k = i % DEPTH;
    let c = i / DEPTH;
    let out = firstOut + c * 4u;
    if (low) {
      wTile[k * (wVectors + 1u) + c] = vec4f(loadB(out, k0 + k), loadB(out + 1u, k0 + k), loadB(out + 2u, k0 + k), loadB(out + 3u, k0 + k));
    } else {
      wTile[k * (wVectors + 1u) + c] = vec4f(loadW(out, k0 + k), loadW(out + 1u, k0 + k), loadW(out + 2u, k0 + k), loadW(out + 3u, k0 + k));
    }
  }
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
