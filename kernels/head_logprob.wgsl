// The LM head and log-softmax over one part of the vocabulary, without storing logits (as Liger Kernel's fused linear cross-entropy).
// A workgroup takes 64 targets and the tokens [part·PART, part·PART + PART), 64 at a time, and leaves per target
//   (m, Σ e^(z−m), Σ (z−m)·e^(z−m), z of the target token or −1e30),   z = logit/temperature, m = max z
// which head_combine.wgsl puts together. Groups (⌈targets/64⌉, PARTS). Prelude: weights ([VOCAB, HIDDEN]).
override HIDDEN: u32;
override VOCAB: u32;
override PART: u32; // a multiple of 64
override PARTS: u32;

struct Params { targets: u32, inverseTemperature: f32 }

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>; // [targets, HIDDEN], normed
@group(0) @binding(3) var<storage, read_write> partials: array<vec4f>; // [targets, PARTS]
@group(0) @binding(4) var<storage, read> targets: array<vec2u>; // (row, token)

const DEPTH = 16u;
const NOTHING = -1e30;
var<workgroup> xTile: array<vec4f, 272>; // [DEPTH][16 + 1] of 4 targets; reused to put the threads' parts together
var<workgroup> wTile: array<vec4f, 272>; // [DEPTH][16 + 1] of 4 tokens

fn loadX(item: u32, k: u32) -> f32 {
  if (item >= params.targets || k >= HIDDEN) { return 0.0; }
  return x[item * HIDDEN + k];
}

fn loadW(token: u32, k: u32) -> f32 {
  if (token >= VOCAB || k >= HIDDEN) { return 0.0; }
  return weight(token * HIDDEN + k);
}

// Adds four logits (tokens from `token` on) to a running (m, s, e, z of the wanted token).
fn absorb(state: vec4f, logits: vec4f, token: u32, end: u32, wanted: u32) -> vec4f {
  var next = state;
  for (var c = 0u; c < 4u; c++) {
    if (token + c < end) {
      let z = logits[c] * params.inverseTemperature;
      if (token + c == wanted) { next.w = z; }
      if (z > next.x) {
        let shift = next.x - z;
        let factor = exp(shift);
        next.z = factor * (next.z + shift * next.y);
        next.y = factor * next.y + 1.0;
        next.x = z;
      } else {
        let p = exp(z - next.x);
        next.y += p;
        next.z += p * (z - next.x);
      }
    }
  }
  return next;
}

fn merge(a: vec4f, b: vec4f) -> vec4f {
  let m = max(a.x, b.x);
  let fa = exp(a.x - m);
  let fb = exp(b.x - m);
  return vec4f(m, fa * a.y + fb * b.y, fa * (a.z + (a.x - m) * a.y) + fb * (b.z + (b.x - m) * b.y), max(a.w, b.w));
}

@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32) {
  let firstTarget = group.x * 64u;
  let begin = group.y * PART;
  let end = min(VOCAB, begin + PART);
  let loadK = lane % DEPTH;
  let load4 = lane / DEPTH;
  var states: array<vec4f, 4>;
  var wanted: vec4u;
  for (var r = 0u; r < 4u; r++) {
    states[r] = vec4f(NOTHING, 0.0, 0.0, NOTHING);
    wanted[r] = targets[min(firstTarget + local.y * 4u + r, params.targets - 1u)].y;
  }
  for (var token0 = begin; token0 < end; token0 += 64u) {
    var acc0 = vec4f();
    var acc1 = vec4f();
    var acc2 = vec4f();
    var acc3 = vec4f();
    for (var k0 = 0u; k0 < HIDDEN; k0 += DEPTH) {
      let k = k0 + loadK;
      let t = firstTarget + load4 * 4u;
      let w = token0 + load4 * 4u;
      xTile[loadK * 17u + load4] = vec4f(loadX(t, k), loadX(t + 1u, k), loadX(t + 2u, k), loadX(t + 3u, k));
      wTile[loadK * 17u + load4] = vec4f(loadW(w, k), loadW(w + 1u, k), loadW(w + 2u, k), loadW(w + 3u, k));
      workgroupBarrier();
      for (var i = 0u; i < DEPTH; i++) {
        let rows4 = xTile[i * 17u + local.y];
        let outs4 = wTile[i * 17u + local.x];
        acc0 += rows4.x * outs4;
        acc1 += rows4.y * outs4;
        acc2 += rows4.z * outs4;
        acc3 += rows4.w * outs4;
      }
      workgroupBarrier();
    }
    let token = token0 + local.x * 4u;
    states[0] = absorb(states[0], acc0, token, end, wanted.x);
    states[1] = absorb(states[1], acc1, token, end, wanted.y);
    states[2] = absorb(states[2], acc2, token, end, wanted.z);
    states[3] = absorb(states[3], acc3, token, end, wanted.w);
  }
  for (var r = 0u; r < 4u; r++) {
    xTile[lane] = states[r];
    workgroupBarrier();
    let t = firstTarget + local.y * 4u + r;
    if (local.x == 0u && t < params.targets) {
      var all = xTile[lane];
      for (var i = 1u; i < 16u; i++) { all = merge(all, xTile[lane + i]); }
      partials[t * PARTS + group.y] = all;
    }
    workgroupBarrier();
  }
}
