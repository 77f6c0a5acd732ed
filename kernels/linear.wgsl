// Y = X·Wᵀ (+ scale·XA·blockdiag(B)ᵀ) (+ residual): a tiled matrix product; the low-rank term is MODULES·RANK more steps of the
// same inner product (LoRA, Hu et al. 2021). Modules are stacked by output: module 1 begins at START1, module 2 at START2.
//
// A workgroup makes 4·GROUP_Y rows × 4·GROUP_X outputs, a thread 4×4. Tiles in workgroup memory are vec4 over rows or outputs,
// [DEPTH][4·…], padded by one so that the transposing stores do not meet in one bank.
// Groups (⌈OUT/(4·GROUP_X)⌉, ⌈rows/(4·GROUP_Y)⌉). Prelude: weights.
override IN: u32;
override OUT: u32;
override GROUP_X: u32 = 16u;
override GROUP_Y: u32 = 16u;
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
var<workgroup> xTile: array<vec4f, 272>; // [DEPTH][GROUP_Y + 1]
var<workgroup> wTile: array<vec4f, 272>; // [DEPTH][GROUP_X + 1]

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

@compute @workgroup_size(GROUP_X, GROUP_Y)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32) {
  let firstOut = group.x * GROUP_X * 4u;
  let firstRow = group.y * GROUP_Y * 4u;
  let lanes = GROUP_X * GROUP_Y;
  var acc0 = vec4f();
  var acc1 = vec4f();
  var acc2 = vec4f();
  var acc3 = vec4f();

  let baseSteps = (IN + DEPTH - 1u) / DEPTH;
  let steps = baseSteps + (MODULES * RANK + DEPTH - 1u) / DEPTH;
  for (var step = 0u; step < steps; step++) {
    let low = step >= baseSteps;
    let k0 = select(step, step - baseSteps, low) * DEPTH;
    for (var i = lane; i < DEPTH * GROUP_Y; i += lanes) {
      let k = i % DEPTH;
      let r = i / DEPTH;
      let row = firstRow + r * 4u;
      if (low) {
        xTile[k * (GROUP_Y + 1u) + r] = vec4f(loadXA(row, k0 + k), loadXA(row + 1u, k0 + k), loadXA(row + 2u, k0 + k), loadXA(row + 3u, k0 + k));
      } else {
        xTile[k * (GROUP_Y + 1u) + r] = vec4f(loadX(row, k0 + k), loadX(row + 1u, k0 + k), loadX(row + 2u, k0 + k), loadX(row + 3u, k0 + k));
      }
    }
    for (var i = lane; i < DEPTH * GROUP_X; i += lanes) {
      let k = i % DEPTH;
      let c = i / DEPTH;
      let out = firstOut + c * 4u;
      if (low) {
        wTile[k * (GROUP_X + 1u) + c] = vec4f(loadB(out, k0 + k), loadB(out + 1u, k0 + k), loadB(out + 2u, k0 + k), loadB(out + 3u, k0 + k));
      } else {
        wTile[k * (GROUP_X + 1u) + c] = vec4f(loadW(out, k0 + k), loadW(out + 1u, k0 + k), loadW(out + 2u, k0 + k), loadW(out + 3u, k0 + k));
      }
    }
    workgroupBarrier();
    for (var k = 0u; k < DEPTH; k++) {
      let rows4 = xTile[k * (GROUP_Y + 1u) + local.y];
      let outs4 = wTile[k * (GROUP_X + 1u) + local.x];
      acc0 += rows4.x * outs4;
      acc1 += rows4.y * outs4;
      acc2 += rows4.z * outs4;
      acc3 += rows4.w * outs4;
    }
    workgroupBarrier();
  }

  let row = firstRow + local.y * 4u;
  let out = firstOut + local.x * 4u;
  store(row, out, acc0);
  store(row + 1u, out, acc1);
  store(row + 2u, out, acc2);
  store(row + 3u, out, acc3);
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
