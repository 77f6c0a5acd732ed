// Softmax attention over (prefix ∪ own) keys with an online softmax (FlashAttention, Dao et al. 2022), grouped queries (GQA).
// A workgroup takes ROWS neighbouring rows and the HEADS/KV_HEADS query heads that share one key head: M queries. Keys come in
// tiles of KEYS; the range of keys is the hull over the rows, first of the prefixes, then of the own parts, and each query masks.
// Groups (⌈rows/ROWS⌉, KV_HEADS). Keeps lse = log Σ exp(q·k/√d) for the backward. Prelude: rows.
override HEADS: u32;
override KV_HEADS: u32;
override HEAD_DIM: u32;
override ROWS: u32;
override KEYS: u32;
override SCALE: f32; // 1/√HEAD_DIM
override M: u32; // ROWS·HEADS/KV_HEADS
override Q_SIZE: u32; // M·HEAD_DIM
override K_SIZE: u32; // KEYS·(HEAD_DIM + 1)
override S_SIZE: u32; // M·KEYS

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
var<workgroup> qTile: array<f32, Q_SIZE>;
var<workgroup> oTile: array<f32, Q_SIZE>;
var<workgroup> kTile: array<f32, K_SIZE>; // the keys, then the values of the same tile
var<workgroup> sTile: array<f32, S_SIZE>; // scores, then probabilities (unnormalised)
var<workgroup> top: array<f32, M>; // running maximum
var<workgroup> sum: array<f32, M>; // running Σ exp(s − top)
var<workgroup> shrink: array<f32, M>; // exp(old top − new top)

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let first = group.x * ROWS;
  let count = min(ROWS, params.rows - first);
  let kvHead = group.y;
  let shared_heads = HEADS / KV_HEADS;
  let width = KV_HEADS * HEAD_DIM;

  for (var i = lane; i < Q_SIZE; i += LANES) {
    let m = i / HEAD_DIM;
    let row = m / shared_heads;
    oTile[i] = 0.0;
    qTile[i] = 0.0;
    if (row < count) {
      let head = kvHead * shared_heads + m % shared_heads;
      qTile[i] = SCALE * q[((first + row) * HEADS + head) * HEAD_DIM + i % HEAD_DIM];
    }
  }
  for (var m = lane; m < M; m += LANES) {
    top[m] = NOTHING;
    sum[m] = 0.0;
  }

  var starts = vec2u(0xffffffffu);
  var ends = vec2u(0u);
  for (var r = 0u; r < count; r++) {
    let row = rows[first + r];
    if (row.prefixLength > 0u) {
      starts.x = min(starts.x, row.prefixStart);
      ends.x = max(ends.x, row.prefixStart + row.prefixLength);
    }
    starts.y = min(starts.y, row.ownStart);
    ends.y = max(ends.y, row.ownEnd);
  }

  for (var part = 0u; part < 2u; part++) {
    for (var key0 = starts[part]; key0 < ends[part]; key0 += KEYS) {
      let keys = min(KEYS, ends[part] - key0);
      workgroupBarrier();
      for (var i = lane; i < keys * HEAD_DIM; i += LANES) {
        kTile[i / HEAD_DIM * (HEAD_DIM + 1u) + i % HEAD_DIM] = k[(key0 + i / HEAD_DIM) * width + kvHead * HEAD_DIM + i % HEAD_DIM];
      }
      workgroupBarrier();
      for (var i = lane; i < S_SIZE; i += LANES) {
        let m = i / KEYS;
        let key = i % KEYS;
        let row = rows[first + min(m / shared_heads, count - 1u)];
        var low = row.ownStart;
        var high = row.ownEnd;
        if (part == 0u) {
          low = row.prefixStart;
          high = row.prefixStart + row.prefixLength;
        }
        var score = NOTHING;
        if (key < keys && key0 + key >= low && key0 + key < high) {
          score = 0.0;
          for (var d = 0u; d < HEAD_DIM; d++) { score += qTile[m * HEAD_DIM + d] * kTile[key * (HEAD_DIM + 1u) + d]; }
        }
        sTile[i] = score;
      }
      workgroupBarrier();
      for (var m = lane; m < M; m += LANES) {
        var peak = top[m];
        for (var key = 0u; key < keys; key++) { peak = max(peak, sTile[m * KEYS + key]); }
        let factor = exp(top[m] - peak);
        var total = sum[m] * factor;
        for (var key = 0u; key < keys; key++) {
          let score = sTile[m * KEYS + key];
          let p = select(0.0, exp(score - peak), score > NOTHING);
          sTile[m * KEYS + key] = p;
          total += p;
        }
        top[m] = peak;
        sum[m] = total;
        shrink[m] = factor;
      }
      for (var i = lane; i < keys * HEAD_DIM; i += LANES) {
        kTile[i / HEAD_DIM * (HEAD_DIM + 1u) + i % HEAD_DIM] = v[(key0 + i / HEAD_DIM) * width + kvHead * HEAD_DIM + i % HEAD_DIM];
      }
      workgroupBarrier();
      for (var i = lane; i < Q_SIZE; i += LANES) {
        let m = i / HEAD_DIM;
        var total = oTile[i] * shrink[m];
        for (var key = 0u; key < keys; key++) { total += sTile[m * KEYS + key] * kTile[key * (HEAD_DIM + 1u) + i % HEAD_DIM]; }
        oTile[i] = total;
      }
    }
  }

  workgroupBarrier();
  for (var i = lane; i < Q_SIZE; i += LANES) {
    let m = i / HEAD_DIM;
    let row = m / shared_heads;
    if (row < count) {
      let head = kvHead * shared_heads + m % shared_heads;
      out[((first + row) * HEADS + head) * HEAD_DIM + i % HEAD_DIM] = oTile[i] / sum[m];
      if (i % HEAD_DIM == 0u) { lse[(first + row) * HEADS + head] = top[m] + log(sum[m]); }
    }
  }
}
