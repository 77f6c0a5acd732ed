// Puts the vocabulary parts of head_logprob.wgsl together: log-prob, entropy and lse of softmax(logits/temperature).
// log p = z − lse;  H = lse − Σ p·z = log s − e/s with s = Σ e^(z−m), e = Σ (z−m)·e^(z−m). One thread per target.
override PARTS: u32;

struct Params { targets: u32 }

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> partials: array<vec4f>; // [targets, PARTS]
@group(0) @binding(2) var<storage, read_write> scores: array<vec4f>; // (log-prob, entropy, lse, 0)

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= params.targets) { return; }
  var all = partials[id.x * PARTS];
  for (var i = 1u; i < PARTS; i++) {
    let b = partials[id.x * PARTS + i];
    let m = max(all.x, b.x);
    let fa = exp(all.x - m);
    let fb = exp(b.x - m);
    all = vec4f(m, fa * all.y + fb * b.y, fa * (all.z + (all.x - m) * all.y) + fb * (b.z + (b.x - m) * b.y), max(all.w, b.w));
  }
  let logSum = log(all.y);
  scores[id.x] = vec4f((all.w - all.x) - logSum, logSum - all.z / all.y, all.x + logSum, 0.0);
}
