// Backward of SwiGLU, s = silu(g) · u with silu(g) = g σ(g):
//
//   dg = ds · u · σ(g) · (1 + g · (1 − σ(g))),   du = ds · silu(g)
//
// gateUp [rows, 2 · intermediate] (gate, then up), ds [rows, intermediate] → dGateUp like gateUp; s is written over ds,
// because the gradient of the LoRA matrices of the down projection needs it as their input.

struct Params {
  rows: u32,
  intermediate: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gateUp: array<f32>;
@group(0) @binding(2) var<storage, read_write> ds: array<f32>;
@group(0) @binding(3) var<storage, read_write> dGateUp: array<f32>;

@compute @workgroup_size(64, 4)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= params.intermediate || id.y >= params.rows) { return; }
  let gateAt = id.y * 2u * params.intermediate + id.x;
  let upAt = gateAt + params.intermediate;
  let at = id.y * params.intermediate + id.x;
  let gate = gateUp[gateAt];
  let up = gateUp[upAt];
  let d = ds[at];
  // clamped: infinity is not portable in WGSL
  let sigmoid = 1.0 / (1.0 + exp(-max(gate, -80.0)));
  let silu = gate * sigmoid;
  dGateUp[gateAt] = d * up * sigmoid * (1.0 + gate * (1.0 - sigmoid));
  dGateUp[upAt] = d * silu;
  ds[at] = silu * up;
}
