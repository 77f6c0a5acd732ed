// Draws the next token of every sequence and moves its row on by one. One workgroup per row.
//
// The distribution is p = softmax(logits/temperature). Top-p keeps the tokens with z ≥ τ, where τ is the largest logit for which
// their mass is ≥ topP (so ties at the border are all kept); τ is found exactly, by bisection on the ordered bits of the floats.
// The uniform number is Philox4x32-10 (Salmon et al. 2011) keyed by (seed, step) at counter (sequence, token index), so a draw
// does not depend on which other rows are in the batch. The token is the inverse of the CDF in vocabulary order.
// Greedy: the first token with the largest logit. Log-prob and entropy are of p, not truncated. Prelude: rows.
override VOCAB: u32;
override LANES: u32 = 64u;

struct Params {
  inverseTemperature: f32,
  topP: f32,
  greedy: u32,
  seed: u32,
  step: u32,
  rowsPerLogits: u32, // row i reads logits row i / rowsPerLogits
  maxTokens: u32,
  endToken: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logits: array<f32>; // [rows/rowsPerLogits, VOCAB]
@group(0) @binding(2) var<storage, read_write> rows: array<Row>;
@group(0) @binding(3) var<storage, read_write> sequences: array<vec2u>; // (sequence, 1 when done), one per row
@group(0) @binding(4) var<storage, read_write> tokens: array<u32>; // [sequences, maxTokens]
@group(0) @binding(5) var<storage, read_write> scores: array<vec2f>; // (log-prob, entropy) [sequences, maxTokens]

const NOTHING = -1e30;
var<workgroup> laneValue: array<f32, LANES>;
var<workgroup> laneToken: array<u32, LANES>;

// The high and low words of a·b.
fn multiply(a: u32, b: u32) -> vec2u {
  let al = a & 0xffffu;
  let ah = a >> 16u;
  let bl = b & 0xffffu;
  let bh = b >> 16u;
  let low = al * bl;
  let mid = ah * bl + (low >> 16u);
  let mid2 = al * bh + (mid & 0xffffu);
  return vec2u(ah * bh + (mid >> 16u) + (mid2 >> 16u), a * b);
}

fn philox(counter: vec4u, key: vec2u) -> vec4u {
  var c = counter;
  var k = key;
  for (var round = 0u; round < 10u; round++) {
    let p0 = multiply(0xD2511F53u, c.x);
    let p1 = multiply(0xCD9E8D57u, c.z);
    c = vec4u(p1.x ^ c.y ^ k.x, p1.y, p0.x ^ c.w ^ k.y, p0.y);
    k += vec2u(0x9E3779B9u, 0xBB67AE85u);
  }
  return c;
}

// Floats as unsigned integers in the same order, and back.
fn ordered(z: f32) -> u32 {
  let bits = bitcast<u32>(z);
  return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}

// The sum of `value` over the workgroup, the same for every lane, always added in the same order.
fn total(value: f32, lane: u32) -> f32 {
  workgroupBarrier();
  laneValue[lane] = value;
  for (var half = LANES / 2u; half > 0u; half >>= 1u) {
    workgroupBarrier();
    if (lane < half) { laneValue[lane] += laneValue[lane + half]; }
  }
  workgroupBarrier();
  return laneValue[0];
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let base = group.x / params.rowsPerLogits * VOCAB;
  // each lane owns a contiguous part of the vocabulary
  let part = (VOCAB + LANES - 1u) / LANES;
  let begin = min(VOCAB, lane * part);
  let end = min(VOCAB, begin + part);

  // max, its first place
  var m = NOTHING;
  var best = 0u;
  for (var i = begin; i < end; i++) {
    let z = logits[base + i] * params.inverseTemperature;
    if (z > m) { m = z; best = i; }
  }
  laneValue[lane] = m;
  laneToken[lane] = best;
  for (var half = LANES / 2u; half > 0u; half >>= 1u) {
    workgroupBarrier();
    if (lane < half) {
      let other = laneValue[lane + half];
      // lanes are not in vocabulary order after the first halving, so ties are settled by the token
      if (other > laneValue[lane] || (other == laneValue[lane] && laneToken[lane + half] < laneToken[lane])) {
        laneValue[lane] = other;
        laneToken[lane] = laneToken[lane + half];
      }
    }
  }
  workgroupBarrier();
  m = laneValue[0];
  best = laneToken[0];

  // s = Σ e^(z−m), e = Σ (z−m) e^(z−m)
  var partS = 0.0;
  var partE = 0.0;
  for (var i = begin; i < end; i++) {
    let z = logits[base + i] * params.inverseTemperature - m;
    let p = exp(z);
    partS += p;
    partE += p * z;
  }
  let s = total(partS, lane);
  let e = total(partE, lane);

  // τ as ordered bits: the largest b with mass{ordered(z) ≥ b} ≥ topP·s
  var threshold = 0u;
  var kept = s;
  if (params.topP < 1.0) {
    for (var bit = 31u; bit < 32u; bit--) {
      let candidate = threshold | (1u << bit);
      var mine = 0.0;
      for (var i = begin; i < end; i++) {
        let z = logits[base + i] * params.inverseTemperature;
        if (ordered(z) >= candidate) { mine += exp(z - m); }
      }
      let mass = total(mine, lane);
      if (mass >= params.topP * s) {
        threshold = candidate;
        kept = mass;
      }
    }
  }

  // CDF: the mass of every lane, then the lane and the token where u·kept is passed
  partS = 0.0;
  for (var i = begin; i < end; i++) {
    let z = logits[base + i] * params.inverseTemperature;
    if (ordered(z) >= threshold) { partS += exp(z - m); }
  }
  workgroupBarrier();
  laneValue[lane] = partS;
  workgroupBarrier();
  if (lane != 0u || sequences[group.x].y != 0u) { return; }

  let sequence = sequences[group.x].x;
  let t = rows[group.x].ownEnd - rows[group.x].ownStart;
  var token = best;
  if (params.greedy == 0u) {
    let random = philox(vec4u(sequence, t, 0u, 0u), vec2u(params.seed, params.step));
    let wanted = f32(random.x >> 8u) * 5.9604644775390625e-8 /* 2^-24 */ * kept;
    var before = 0.0;
    var owner = 0u;
    var last = 0u; // the last lane with any mass, should rounding carry `wanted` past the end
    for (owner = 0u; owner < LANES; owner++) {
      let mass = laneValue[owner];
      if (mass > 0.0) { last = owner; }
      if (before + mass > wanted) { break; }
      before += mass;
    }
    if (owner == LANES) {
      owner = last;
      before = -1e30;
    }
    for (var i = owner * part; i < min(VOCAB, owner * part + part); i++) {
      let z = logits[base + i] * params.inverseTemperature;
      if (ordered(z) >= threshold) {
        let p = exp(z - m);
        if (p > 0.0) { token = i; }
        before += p;
        if (before > wanted) { break; }
      }
    }
  }
  let z = logits[base + token] * params.inverseTemperature;
  let at = sequence * params.maxTokens + t;
  tokens[at] = token;
  scores[at] = vec2f(z - m - log(s), log(s) - e / s);
  rows[group.x].token = token;
  rows[group.x].position += 1u;
  rows[group.x].kvRow = rows[group.x].ownStart + t;
  rows[group.x].ownEnd += 1u;
  if (token == params.endToken || t + 1u >= params.maxTokens) { sequences[group.x].y = 1u; }
}
