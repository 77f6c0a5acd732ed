// Adds the partial sums of lora_gradient.wgsl up and into the gradient:  gradient[offset + i] += s · Σ_c partial[c, i].

struct Params {
  count: u32, // floats of one chunk
  chunks: u32,
  offset: u32,
  scale: f32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> partial: array<f32>;
@group(0) @binding(2) var<storage, read_write> gradient: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  if (i >= params.count) { return; }
  var sum = 0.0;
  for (var c = 0u; c < params.chunks; c++) { sum += partial[c * params.count + i]; }
  gradient[params.offset + i] += params.scale * sum;
}
