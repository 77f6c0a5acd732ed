// The attention's gradient with respect to keys and values, the probabilities recomputed from the log-sum-exp
// (FlashAttention-2, arXiv 2307.08691, algorithm 2). WGSL has no float atomics, so a key gathers over the rows that see it:
//   p = exp(q·k/√d − lse),  dv = Σ p · dO,  dk = Σ p · (dO·v − D) · q/√d      (sums over rows and the query heads of the group)
//
// A workgroup takes 32 neighbouring key rows of one key head; the query rows come 32 at a time, from the first key row (a row sees
// nothing later than itself) to the last queryEnd of the tile, each masking the keys that are not its own. A lane has keys
// 4·ty … +3, and rows 4·tx … +3 in the inner products (16 dimensions at a time), then dimensions 4·tx … +3 of each 32 in the sums.
// Groups (⌈rows/32⌉, KV_HEADS, ⌈HEAD_DIM/64⌉): a workgroup sums 64 dimensions. Prelude: rows.
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
@group(0) @binding(8) var<storage, read_write> dQkv: array<f32>; // [rows, (HEADS + 2·KV_HEADS)·HEAD_DIM]: its key and value columns

const TILE = 32u;
const DEPTH = 16u;
const LANES = 64u;
const STRIDE = 9u; // vec4 of a line of 32, and one more against bank conflicts
const PANEL = 144u; // DEPTH · STRIDE
const PANELS = 576u;

// Four [DEPTH][STRIDE] of q, dO (four rows) and k, v (four keys); then two [TILE][STRIDE] of dO or q: rows × four dimensions.
var<workgroup> panels: array<vec4f, PANELS>;
var<workgroup> pairs: array<vec4f, 288>; // [TILE rows][STRIDE] of four keys: p, then ds
var<workgroup> ranges: array<vec4u, 32>; // of the rows: prefix start and end, own start and end
var<workgroup> constants: array<vec2f, 32>; // of the rows: lse, D
var<workgroup> last: u32;

fn queryAt(row: u32, end: u32, head: u32, d: u32) -> vec2f {
  if (row >= end || d >= HEAD_DIM) { return vec2f(); }
  let at = (row * HEADS + head) * HEAD_DIM + d;
  return vec2f(q[at], dOut[at]);
}

fn keyAt(key: u32, kvHead: u32, d: u32) -> vec2f {
  if (key >= params.rows || d >= HEAD_DIM) { return vec2f(); }
  let at = (key * KV_HEADS + kvHead) * HEAD_DIM + d;
  return vec2f(k[at], v[at]);
}

// p of the lane's four keys and row r of the tile; 0 where the row does not see the key.
fn probability(r: u32, key: u32, score: vec4f) -> vec4f {
  let keys = vec4u(key) + vec4u(0u, 1u, 2u, 3u);
  let range = ranges[r];
  let seen = ((keys >= vec4u(range.x)) & (keys < vec4u(range.y))) | ((keys >= vec4u(range.z)) & (keys < vec4u(range.w)));
  return select(vec4f(), exp(select(vec4f(-1e4), SCALE * score - constants[r].x, seen)), seen);
}

// Puts rows × dimensions of q (which = 0) or dO (which = 1) into the panels.
fn stage(which: u32, row0: u32, end: u32, head: u32, firstDim: u32, lane: u32) {
  for (var e = lane; e < PANELS; e += LANES) {
    let d = firstDim + e / 288u * TILE + e % 8u * 4u;
    let i = e % 288u / 8u;
    if (i < TILE && d < HEAD_DIM) {
      let row = row0 + i;
      panels[e / 288u * 288u + i * STRIDE + e % 8u] = vec4f(
        queryAt(row, end, head, d)[which], queryAt(row, end, head, d + 1u)[which],
        queryAt(row, end, head, d + 2u)[which], queryAt(row, end, head, d + 3u)[which]);
    }
  }
}

fn save(key: u32, head: u32, d: u32, values: vec4f) {
  if (key >= params.rows) { return; }
  let base = (key * (HEADS + 2u * KV_HEADS) + head) * HEAD_DIM;
  for (var i = 0u; i < 4u; i++) {
    if (d + i < HEAD_DIM) { dQkv[base + d + i] = values[i]; }
  }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let key0 = group.x * TILE;
  let kvHead = group.y;
  let firstDim = group.z * 64u;
  let perKey = HEADS / KV_HEADS;
  let tx = lane % 8u;
  let ty = lane / 8u;

  if (lane == 0u) {
    var end = 0u;
    for (var i = key0; i < min(key0 + TILE, params.rows); i++) { end = max(end, rows[i].queryEnd); }
    last = min(end, params.rows);
  }
  let end = workgroupUniformLoad(&last);
  // of each key, four dimensions of the first and of the second 32: of dk (a, b) and dv (e, f)
  var a0 = vec4f();
  var a1 = vec4f();
  var a2 = vec4f();
  var a3 = vec4f();
  var b0 = vec4f();
  var b1 = vec4f();
  var b2 = vec4f();
  var b3 = vec4f();
  var e0 = vec4f();
  var e1 = vec4f();
  var e2 = vec4f();
  var e3 = vec4f();
  var f0 = vec4f();
  var f1 = vec4f();
  var f2 = vec4f();
  var f3 = vec4f();

  for (var row0 = key0; row0 < end; row0 += TILE) {
    if (lane < TILE) {
      var range = vec4u();
      if (row0 + lane < end) {
        let row = rows[row0 + lane];
        range = vec4u(row.prefixStart, row.prefixStart + row.prefixLength, row.ownStart, row.ownEnd);
      }
      ranges[lane] = range;
    }
    for (var head = kvHead * perKey; head < (kvHead + 1u) * perKey; head++) {
      if (lane < TILE && row0 + lane < end) {
        let at = (row0 + lane) * HEADS + head;
        constants[lane] = vec2f(lse[at], deltas[at]);
      }
      // q·k and dO·v of four keys with each of four rows
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
          let x0 = queryAt(row0 + i, end, head, d);
          let x1 = queryAt(row0 + i + 1u, end, head, d);
          let x2 = queryAt(row0 + i + 2u, end, head, d);
          let x3 = queryAt(row0 + i + 3u, end, head, d);
          panels[slot] = vec4f(x0.x, x1.x, x2.x, x3.x);
          panels[PANEL + slot] = vec4f(x0.y, x1.y, x2.y, x3.y);
          let y0 = keyAt(key0 + i, kvHead, d);
          let y1 = keyAt(key0 + i + 1u, kvHead, d);
          let y2 = keyAt(key0 + i + 2u, kvHead, d);
          let y3 = keyAt(key0 + i + 3u, kvHead, d);
          panels[2u * PANEL + slot] = vec4f(y0.x, y1.x, y2.x, y3.x);
          panels[3u * PANEL + slot] = vec4f(y0.y, y1.y, y2.y, y3.y);
        }
        workgroupBarrier();
        for (var d = 0u; d < DEPTH; d++) {
          let query = panels[d * STRIDE + tx];
          let gradient = panels[PANEL + d * STRIDE + tx];
          let key = panels[2u * PANEL + d * STRIDE + ty];
          let value = panels[3u * PANEL + d * STRIDE + ty];
          s0 += key * query.x;
          s1 += key * query.y;
          s2 += key * query.z;
          s3 += key * query.w;
          p0 += value * gradient.x;
          p1 += value * gradient.y;
          p2 += value * gradient.z;
          p3 += value * gradient.w;
        }
        workgroupBarrier();
      }

      let r = tx * 4u;
      let key = key0 + ty * 4u;
      s0 = probability(r, key, s0);
      s1 = probability(r + 1u, key, s1);
      s2 = probability(r + 2u, key, s2);
      s3 = probability(r + 3u, key, s3);
      pairs[r * STRIDE + ty] = s0;
      pairs[(r + 1u) * STRIDE + ty] = s1;
      pairs[(r + 2u) * STRIDE + ty] = s2;
      pairs[(r + 3u) * STRIDE + ty] = s3;
      stage(1u, row0, end, head, firstDim, lane);
      workgroupBarrier();
      for (var i = 0u; i < TILE; i++) {
        let p = pairs[i * STRIDE + ty];
        let first = panels[i * STRIDE + tx];
        e0 += p.x * first;
        e1 += p.y * first;
        e2 += p.z * first;
        e3 += p.w * first;
        if (HEAD_DIM > TILE) {
          let second = panels[288u + i * STRIDE + tx];
          f0 += p.x * second;
          f1 += p.y * second;
          f2 += p.z * second;
          f3 += p.w * second;
        }
      }
      workgroupBarrier();
      pairs[r * STRIDE + ty] = s0 * (p0 - constants[r].y) * SCALE;
      pairs[(r + 1u) * STRIDE + ty] = s1 * (p1 - constants[r + 1u].y) * SCALE;
      pairs[(r + 2u) * STRIDE + ty] = s2 * (p2 - constants[r + 2u].y) * SCALE;
      pairs[(r + 3u) * STRIDE + ty] = s3 * (p3 - constants[r + 3u].y) * SCALE;
      stage(0u, row0, end, head, firstDim, lane);
      workgroupBarrier();
      for (var i = 0u; i < TILE; i++) {
        let ds = pairs[i * STRIDE + ty];
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

  let key = key0 + ty * 4u;
  let d = firstDim + tx * 4u;
  let keyHead = HEADS + kvHead;
  let valueHead = keyHead + KV_HEADS;
  save(key, keyHead, d, a0);
  save(key + 1u, keyHead, d, a1);
  save(key + 2u, keyHead, d, a2);
  save(key + 3u, keyHead, d, a3);
  save(key, valueHead, d, e0);
  save(key + 1u, valueHead, d, e1);
  save(key + 2u, valueHead, d, e2);
  save(key + 3u, valueHead, d, e3);
  if (HEAD_DIM > TILE) {
    save(key, keyHead, d + TILE, b0);
    save(key + 1u, keyHead, d + TILE, b1);
    save(key + 2u, keyHead, d + TILE, b2);
    save(key + 3u, keyHead, d + TILE, b3);
    save(key, valueHead, d + TILE, f0);
    save(key + 1u, valueHead, d + TILE, f1);
    save(key + 2u, valueHead, d + TILE, f2);
    save(key + 3u, valueHead, d + TILE, f3);
  }
}
