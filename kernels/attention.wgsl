// Softmax attention over (prefix ∪ own) keys with an online softmax (FlashAttention, Dao et al. 2022), grouped queries (GQA).
// Groups (⌈rows/ROWS⌉, KV_HEADS): a workgroup takes ROWS neighbouring rows and the query heads that share one key head, M queries
// in all, in fours. Keys are listed as the hull of the rows' prefixes, then the hull of their own parts, and come in tiles of KEYS;
// each query masks. Keeps lse = log Σ exp(q·k/√d) for the backward. Prelude: rows.
//
// A lane has two tasks. As scorer it owns queries 4·m4 … +3 and the keys `pair` and `pair + KEYS/2` of a tile; as summer it owns
// queries 4·m4 … +3 and four of the head's dimensions, with the running sums in registers. M4·KEYS/2 ≤ 64 and M4·D4 ≤ 64.
override HEADS: u32;
override KV_HEADS: u32;
override HEAD_DIM: u32;
override ROWS: u32;
override KEYS: u32; // even
override SCALE: f32; // 1/√HEAD_DIM
override M4: u32; // ⌈ROWS·HEADS/KV_HEADS / 4⌉
override D4: u32; // ⌈HEAD_DIM/4⌉
override Q_SIZE: u32; // 4·M4·D4
override K_SIZE: u32; // KEYS·(D4 + 1)
override P_SIZE: u32; // KEYS·M4

struct Params { rows: u32 }

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rows: array<Row>;
@group(0) @binding(2) var<storage, read> q: array<f32>; // [rows, HEADS·HEAD_DIM]
@group(0) @binding(3) var<storage, read> k: array<f32>; // [kvRows, KV_HEADS·HEAD_DIM]
@group(0) @binding(4) var<storage, read> v: array<f32>;
@group(0) @binding(5) var<storage, read_write> out: array<f32>; // [rows, HEADS·HEAD_DIM]
@group(0) @binding(6) var<storage, read_write> lse: array<f32>; // [rows, HEADS]

const LANES = 64u;
const NOTHING = -1e30;
var<workgroup> qTile: array<vec4f, Q_SIZE>; // [4·M4][D4], scaled
var<workgroup> kTile: array<vec4f, K_SIZE>; // [KEYS][D4 + 1]
var<workgroup> pTile: array<vec4f, P_SIZE>; // [KEYS][M4] of four queries: exp(score − top)
var<workgroup> peaks: array<vec4f, LANES>; // each scorer's maximum
var<workgroup> shrink: array<vec4f, LANES>; // [M4]: exp(old top − new top); at the end the top

struct Hull { start: u32, end: u32 }

// The KV row of key j of the list.
fn kvRow(j: u32, prefixKeys: u32, prefixStart: u32, ownStart: u32) -> u32 {
  return select(ownStart + j - prefixKeys, prefixStart + j, j < prefixKeys);
}

fn loadK(at: u32, d: u32) -> f32 {
  if (d >= HEAD_DIM) { return 0.0; }
  return k[at + d];
}

fn loadV(at: u32, d: u32) -> f32 {
  if (d >= HEAD_DIM) { return 0.0; }
  return v[at + d];
}

fn loadQ(at: u32, d: u32) -> f32 {
  if (d >= HEAD_DIM) { return 0.0; }
  return SCALE * q[at + d];
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let first = group.x * ROWS;
  let count = min(ROWS, params.rows - first);
  let kvHead = group.y;
  let perKey = HEADS / KV_HEADS;
  let width = KV_HEADS * HEAD_DIM;

  for (var i = lane; i < Q_SIZE; i += LANES) {
    let m = i / D4;
    let row = m / perKey;
    let d = i % D4 * 4u;
    var value = vec4f();
    if (row < count) {
      let at = ((first + row) * HEADS + kvHead * perKey + m % perKey) * HEAD_DIM;
      value = vec4f(loadQ(at, d), loadQ(at, d + 1u), loadQ(at, d + 2u), loadQ(at, d + 3u));
    }
    qTile[i] = value;
  }

  let pairs = KEYS / 2u;
  let pair = lane % pairs;
  let score4 = min(lane / pairs, M4 - 1u);
  let scores = lane < M4 * pairs;
  let sum4 = min(lane / D4, M4 - 1u);
  let column = lane % D4;
  var top = vec4f(NOTHING);
  var total = vec4f(); // Σ exp(score − top) of the summer's four queries
  var o0 = vec4f();
  var o1 = vec4f();
  var o2 = vec4f();
  var o3 = vec4f();

  // hulls of the rows' prefixes and own parts
  var prefix = Hull(0xffffffffu, 0u);
  var own = Hull(0xffffffffu, 0u);
  for (var r = 0u; r < count; r++) {
    let row = rows[first + r];
    if (row.prefixLength > 0u) { prefix = Hull(min(prefix.start, row.prefixStart), max(prefix.end, row.prefixStart + row.prefixLength)); }
    own = Hull(min(own.start, row.ownStart), max(own.end, row.ownEnd));
  }
  let prefixKeys = select(0u, prefix.end - prefix.start, prefix.end > prefix.start);
  let keyCount = prefixKeys + own.end - own.start;
  // the scorer's four queries see [low, high) of the prefix and of the own hull; nothing beyond the last row
  var prefixLow = vec4u();
  var prefixHigh = vec4u();
  var ownLow = vec4u();
  var ownHigh = vec4u();
  for (var c = 0u; c < 4u; c++) {
    let r = (score4 * 4u + c) / perKey;
    if (r < count) {
      prefixLow[c] = rows[first + r].prefixStart;
      prefixHigh[c] = prefixLow[c] + rows[first + r].prefixLength;
      ownLow[c] = rows[first + r].ownStart;
      ownHigh[c] = rows[first + r].ownEnd;
    }
  }

  for (var key0 = 0u; key0 < keyCount; key0 += KEYS) {
    let keys = min(KEYS, keyCount - key0);
    for (var i = lane; i < keys * D4; i += LANES) {
      let d = i % D4 * 4u;
      let at = kvRow(key0 + i / D4, prefixKeys, prefix.start, own.start) * width + kvHead * HEAD_DIM;
      kTile[i / D4 * (D4 + 1u) + i % D4] = vec4f(loadK(at, d), loadK(at, d + 1u), loadK(at, d + 2u), loadK(at, d + 3u));
    }
    workgroupBarrier();

    var s0 = vec4f();
    var s1 = vec4f();
    if (scores) {
      for (var d = 0u; d < D4; d++) {
        let k0 = kTile[pair * (D4 + 1u) + d];
        let k1 = kTile[(pair + pairs) * (D4 + 1u) + d];
        let q0 = qTile[(score4 * 4u) * D4 + d];
        let q1 = qTile[(score4 * 4u + 1u) * D4 + d];
        let q2 = qTile[(score4 * 4u + 2u) * D4 + d];
        let q3 = qTile[(score4 * 4u + 3u) * D4 + d];
        s0 += vec4f(dot(q0, k0), dot(q1, k0), dot(q2, k0), dot(q3, k0));
        s1 += vec4f(dot(q0, k1), dot(q1, k1), dot(q2, k1), dot(q3, k1));
      }
      let j = key0 + pair;
      let row0 = vec4u(kvRow(j, prefixKeys, prefix.start, own.start));
      let row1 = vec4u(kvRow(j + pairs, prefixKeys, prefix.start, own.start));
      let low0 = select(ownLow, prefixLow, j < prefixKeys);
      let high0 = select(ownHigh, prefixHigh, j < prefixKeys);
      let low1 = select(ownLow, prefixLow, j + pairs < prefixKeys);
      let high1 = select(ownHigh, prefixHigh, j + pairs < prefixKeys);
      s0 = select(vec4f(NOTHING), s0, (row0 >= low0) & (row0 < high0) & vec4<bool>(pair < keys));
      s1 = select(vec4f(NOTHING), s1, (row1 >= low1) & (row1 < high1) & vec4<bool>(pair + pairs < keys));
      peaks[lane] = max(s0, s1);
    }
    workgroupBarrier();

    if (scores) {
      var peak = top;
      for (var i = 0u; i < pairs; i++) { peak = max(peak, peaks[score4 * pairs + i]); }
      // where nothing is seen yet the peak is NOTHING, and exp(0) must not count
      pTile[pair * M4 + score4] = select(vec4f(), exp(s0 - peak), s0 > vec4f(NOTHING));
      pTile[(pair + pairs) * M4 + score4] = select(vec4f(), exp(s1 - peak), s1 > vec4f(NOTHING));
      if (pair == 0u) { shrink[score4] = exp(top - peak); }
      top = peak;
    }
    workgroupBarrier();

    if (lane < M4 * D4) {
      let factor = shrink[sum4];
      total *= factor;
      o0 *= factor.x;
      o1 *= factor.y;
      o2 *= factor.z;
      o3 *= factor.w;
      for (var key = 0u; key < keys; key++) {
        let p = pTile[key * M4 + sum4];
        let at = kvRow(key0 + key, prefixKeys, prefix.start, own.start) * width + kvHead * HEAD_DIM;
        let d = column * 4u;
        let value = vec4f(loadV(at, d), loadV(at, d + 1u), loadV(at, d + 2u), loadV(at, d + 3u));
        total += p;
        o0 += p.x * value;
        o1 += p.y * value;
        o2 += p.z * value;
        o3 += p.w * value;
      }
    }
  }

  workgroupBarrier();
  if (scores && pair == 0u) { shrink[score4] = top; }
  workgroupBarrier();
  if (lane < M4 * D4) {
    let m = sum4 * 4u;
    let tops = shrink[sum4];
    store(m, first, count, kvHead, column, o0 / total.x, tops.x + log(total.x));
    store(m + 1u, first, count, kvHead, column, o1 / total.y, tops.y + log(total.y));
    store(m + 2u, first, count, kvHead, column, o2 / total.z, tops.z + log(total.z));
    store(m + 3u, first, count, kvHead, column, o3 / total.w, tops.w + log(total.w));
  }
}

fn store(m: u32, first: u32, count: u32, kvHead: u32, column: u32, value: vec4f, logSum: f32) {
  let perKey = HEADS / KV_HEADS;
  if (m / perKey >= count) { return; }
  let at = (first + m / perKey) * HEADS + kvHead * perKey + m % perKey;
  for (var c = 0u; c < 4u; c++) {
    if (column * 4u + c < HEAD_DIM) { out[at * HEAD_DIM + column * 4u + c] = value[c]; }
  }
  if (column == 0u) { lse[at] = logSum; }
}
