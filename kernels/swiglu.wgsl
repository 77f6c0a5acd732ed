// y = silu(gate)·up, gate and up lying side by side in one row (Shazeer 2020). Groups (⌈WIDTH/64⌉, rows).
override WIDTH: u32; // the intermediate size

@group(0) @binding(0) var<storage, read> gateUp: array<f32>; // [rows, 2·WIDTH]
@group(0) @binding(1) var<storage, read_write> y: array<f32>; // [rows, WIDTH]

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= WIDTH) { return; }
  let gate = gateUp[id.y * 2u * WIDTH + id.x];
  let up = gateUp[id.y * 2u * WIDTH + WIDTH + id.x];
  y[id.y * WIDTH + id.x] = gate / (1.0 + exp(-gate)) * up;
}
