// The attention's gradient with respect to the queries, the probabilities recomputed from the log-sum-exp
// (FlashAttention-2, arXiv 2307.08691, algorithm 2):
//   p = exp(q·k/√d − lse),  ds = p · (dO·v − D),  dq = Σ over the keys ds · k/√d
//
// A workgroup takes 32 neighbouring rows of one head. The keys come 32 at a time: first the hull of the rows' prefixes, then that
// of their own parts, each row masking what is not its own; the two parts of a row never overlap. A lane has rows 4·ty … +3, and
// keys 4·tx … +3 in the inner products (16 dimensions at a time), then dimensions 4·tx … +3 of each 32 in the sum over the keys.
// Groups (⌈rows/32⌉, HEADS, ⌈HEAD_DIM/64⌉): a workgroup sums 64 dimensions. Prelude: rows.
override HEADS: u32;
override KV_HEADS: u32;
override HEAD_DIM: u32;
override SCALE: f32; // 1/√HEAD_DIM

struct Params { rows: u32 }

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rows: array<Row>;
@group(0) @binding(2) var<storage, read> q: array<f32>; // [rows, HEADS·HEAD_DIM]
@group(0) @binding(3) var<storage, read> k: array<f32>; // [rows, KV_HEADS·HEAD_DIM]
@group(0) @binding(4) var<storage, read> v: array<f32>;
@group(0) @binding(5) var<storage, read> dOut: array<f32>; // [rows, HEADS·HEAD_DIM]
@group(0) @binding(6) var<storage, read> lse: array<f32>; // [rows, HEADS]
@group(0) @binding(7) var<storage, read> deltas: array<f32>; // D [rows, HEADS]
@group(0) @binding(8) var<storage, read_write> dQkv: array<f32>; // [rows, (HEADS + 2·KV_HEADS)·HEAD_DIM]: its query columns

const TILE = 32u;
const DEPTH = 16u;
const LANES = 64u;
const STRIDE = 9u; // vec4 of a line of 32, and one more against bank conflicts
const PANEL = 144u; // DEPTH · STRIDE
const PANELS = 576u;

// Four [DEPTH][STRIDE] of q, dO (four rows) and k, v (four keys); then two [TILE][STRIDE] of k: keys × four dimensions.
var<workgroup> panels: array<vec4f, PANELS>;
var<workgroup> dScores: array<vec4f, 288>; // [TILE keys][STRIDE] of four rows
var<workgroup> ranges: array<vec4u, 32>; // of the rows: prefix start and end, own start and end
var<workgroup> hull: vec4u;

fn queryAt(row: u32, head: u32, d: u32) -> vec2f {
  if (row >= params.rows || d >= HEAD_DIM) { return vec2f(); }
  let at = (row * HEADS + head) * HEAD_DIM + d;
  return vec2f(q[at], dOut[at]);
}

fn keyAt(key: u32, end: u32, kvHead: u32, d: u32) -> vec2f {
  if (key >= end || d >= HEAD_DIM) { return vec2f(); }
  let at = (key * KV_HEADS + kvHead) * HEAD_DIM + d;
  return vec2f(k[at], v[at]);
}

fn keyOnlyAt(key: u32, end: u32, kvHead: u32, d: u32) -> f32 {
  if (key >= end || d >= HEAD_DIM) { return 0.0; }
  return k[(key * KV_HEADS + kvHead) * HEAD_DIM + d];
}

// ds/√d of one key and the lane's four rows; `low` and `high` bound the keys that each row sees.
fn dScore(key: u32, score: vec4f, dProbability: vec4f, low: vec4u, high: vec4u, rowLse: vec4f, rowDelta: vec4f) -> vec4f {
  let seen = (vec4u(key) >= low) & (vec4u(key) < high);
  let p = exp(select(vec4f(-1e4), SCALE * score - rowLse, seen));
  return select(vec4f(), p * (dProbability - rowDelta) * SCALE, seen);
}

fn save(row: u32, head: u32, d: u32, values: vec4f) {
  if (row >= params.rows) { return; }
  let base = (row * (HEADS + 2u * KV_HEADS) + head) * HEAD_DIM;
  for (var i = 0u; i < 4u; i++) {
    if (d + i < HEAD_DIM) { dQkv[base + d + i] = values[i]; }
  }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let row0 = group.x * TILE;
  let head = group.y;
  let kvHead = head / (HEADS / KV_HEADS);
  let firstDim = group.z * 64u;
  let tx = lane % 8u;
  let ty = lane / 8u;

  if (lane < TILE) {
    var range = vec4u();
    if (row0 + lane < params.rows) {
      let row = rows[row0 + lane];
      range = vec4u(row.prefixStart, row.prefixStart + row.prefixLength, row.ownStart, row.ownEnd);
    }
    ranges[lane] = range;
  }
  workgroupBarrier();
  if (lane == 0u) {
    var all = vec4u(0xffffffffu, 0u, 0xffffffffu, 0u);
    for (var r = 0u; r < TILE; r++) {
      let range = ranges[r];
      if (range.y > range.x) { all = vec4u(min(all.x, range.x), max(all.y, range.y), all.zw); }
      if (range.w > range.z) { all = vec4u(all.xy, min(all.z, range.z), max(all.w, range.w)); }
    }
    hull = all;
  }
  let bounds = workgroupUniformLoad(&hull);

  let r0 = ranges[ty * 4u];
  let r1 = ranges[ty * 4u + 1u];
  let r2 = ranges[ty * 4u + 2u];
  let r3 = ranges[ty * 4u + 3u];
  let at = (min(vec4u(row0 + ty * 4u) + vec4u(0u, 1u, 2u, 3u), vec4u(params.rows - 1u))) * HEADS + head;
  let rowLse = vec4f(lse[at.x], lse[at.y], lse[at.z], lse[at.w]);
  let rowDelta = vec4f(deltas[at.x], deltas[at.y], deltas[at.z], deltas[at.w]);
  // of each row, four dimensions of the first and of the second 32
  var a0 = vec4f();
  var a1 = vec4f();
  var a2 = vec4f();
  var a3 = vec4f();
  var b0 = vec4f();
  var b1 = vec4f();
  var b2 = vec4f();
  var b3 = vec4f();

  for (var part = 0u; part < 2u; part++) {
    let own = part == 1u;
    let low = select(vec4u(r0.x, r1.x, r2.x, r3.x), vec4u(r0.z, r1.z, r2.z, r3.z), own);
    let high = select(vec4u(r0.y, r1.y, r2.y, r3.y), vec4u(r0.w, r1.w, r2.w, r3.w), own);
    let end = select(bounds.y, bounds.w, own);
    for (var key0 = select(bounds.x, bounds.z, own); key0 < end; key0 += TILE) {
      // q·k and dO·v of four rows with each of four keys
      var s0 = vec4f();
      var s1 = vec4f();
      var s2 = vec4f();
      var s3 = vec4f();
      var p0 = vec4f();
      var p1 = vec4f();
      var p2 = vec4f();
      var p3 = vec4f();
      for (var d0 = 0u; d0 < HEAD_DIM; d0 += DEPTH) {
        for (var e = lane; e < DEPTH * 8u; e += LANES) {
          let d = d0 + e % DEPTH;
          let i = e / DEPTH * 4u;
          let slot = e % DEPTH * STRIDE + e / DEPTH;
          let x0 = queryAt(row0 + i, head, d);
          let x1 = queryAt(row0 + i + 1u, head, d);
          let x2 = queryAt(row0 + i + 2u, head, d);
          let x3 = queryAt(row0 + i + 3u, head, d);
          panels[slot] = vec4f(x0.x, x1.x, x2.x, x3.x);
          panels[PANEL + slot] = vec4f(x0.y, x1.y, x2.y, x3.y);
          let y0 = keyAt(key0 + i, end, kvHead, d);
          let y1 = keyAt(key0 + i + 1u, end, kvHead, d);
          let y2 = keyAt(key0 + i + 2u, end, kvHead, d);
          let y3 = keyAt(key0 + i + 3u, end, kvHead, d);
          panels[2u * PANEL + slot] = vec4f(y0.x, y1.x, y2.x, y3.x);
          panels[3u * PANEL + slot] = vec4f(y0.y, y1.y, y2.y, y3.y);
        }
        workgroupBarrier();
        for (var d = 0u; d < DEPTH; d++) {
          let query = panels[d * STRIDE + ty];
          let gradient = panels[PANEL + d * STRIDE + ty];
          let key = panels[2u * PANEL + d * STRIDE + tx];
          let value = panels[3u * PANEL + d * STRIDE + tx];
          s0 += query * key.x;
          s1 += query * key.y;
          s2 += query * key.z;
          s3 += query * key.w;
          p0 += gradient * value.x;
          p1 += gradient * value.y;
          p2 += gradient * value.z;
          p3 += gradient * value.w;
        }
        workgroupBarrier();
      }

      let key = key0 + tx * 4u;
      dScores[tx * 4u * STRIDE + ty] = dScore(key, s0, p0, low, high, rowLse, rowDelta);
      dScores[(tx * 4u + 1u) * STRIDE + ty] = dScore(key + 1u, s1, p1, low, high, rowLse, rowDelta);
      dScores[(tx * 4u + 2u) * STRIDE + ty] = dScore(key + 2u, s2, p2, low, high, rowLse, rowDelta);
      dScores[(tx * 4u + 3u) * STRIDE + ty] = dScore(key + 3u, s3, p3, low, high, rowLse, rowDelta);
      for (var e = lane; e < PANELS; e += LANES) {
        let d = firstDim + e / 288u * TILE + e % 8u * 4u;
        let i = e % 288u / 8u;
        if (i < TILE && d < HEAD_DIM) {
          let item = key0 + i;
          panels[e / 288u * 288u + i * STRIDE + e % 8u] = vec4f(
            keyOnlyAt(item, end, kvHead, d), keyOnlyAt(item, end, kvHead, d + 1u), keyOnlyAt(item, end, kvHead, d + 2u), keyOnlyAt(item, end, kvHead, d + 3u));
        }
      }
      workgroupBarrier();
      for (var i = 0u; i < TILE; i++) {
        let ds = dScores[i * STRIDE + ty];
        let first = panels[i * STRIDE + tx];
        a0 += ds.x * first;
        a1 += ds.y * first;
        a2 += ds.z * first;
        a3 += ds.w * first;
        if (HEAD_DIM > TILE) {
          let second = panels[288u + i * STRIDE + tx];
          b0 += ds.x * second;
          b1 += ds.y * second;
          b2 += ds.z * second;
          b3 += ds.w * second;
        }
      }
      workgroupBarrier();
    }
  }

  let row = row0 + ty * 4u;
  let d = firstDim + tx * 4u;
  save(row, head, d, a0);
  save(row + 1u, head, d, a1);
  save(row + 2u, head, d, a2);
  save(row + 3u, head, d, a3);
  if (HEAD_DIM > TILE) {
    save(row, head, d + TILE, b0);
    save(row + 1u, head, d + TILE, b1);
    save(row + 2u, head, d + TILE, b2);
    save(row + 3u, head, d + TILE, b3);
  }
}
