// The attention's gradient with respect to the queries, the probabilities recomputed from the log-sum-exp
// (FlashAttention-2, arXiv 2307.08691, algorithm 2):
//
//   p = exp(q·k/√d − lse),  ds = p · (dO·v − D),  dq = Σ over the keys ds · k/√d
//
// A workgroup takes 32 neighbouring rows of one head. The keys come 32 at a time: first the hull of the rows' prefixes, then that
// of their own parts, each row masking what is not its own; the two parts of a row never overlap. Inner products run over 16
// dimensions at a time (4 × 4 pairs a thread), the sum over keys over 32. HEAD_DIM ≤ 128.
// Groups (⌈rows/32⌉, HEADS). Prelude: rows.
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
const STRIDE = 33u;
const DEPTH = 16u;
const LANES = 64u;
const PANEL = 528u; // DEPTH · STRIDE

var<workgroup> panels: array<f32, 2112>; // four [DEPTH][STRIDE]: q, dO, k, v; or one [TILE][TILE]: keys × dimensions
var<workgroup> dScores: array<f32, 1056>; // [TILE rows][STRIDE] keys
var<workgroup> ranges: array<vec4u, 32>; // of the rows: prefix start and end, own start and end
var<workgroup> hull: vec4u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let row0 = group.x * TILE;
  let head = group.y;
  let kvHead = head / (HEADS / KV_HEADS);
  let width = HEADS * HEAD_DIM;
  let kvWidth = KV_HEADS * HEAD_DIM;
  let tx = lane % 8u; // keys, or dimensions: tx, tx + 8, tx + 16, tx + 24
  let ty = lane / 8u; // rows: 4·ty …

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

  var rowLse = vec4f();
  var rowDelta = vec4f();
  for (var i = 0u; i < 4u; i++) {
    let row = min(row0 + ty * 4u + i, params.rows - 1u);
    rowLse[i] = lse[row * HEADS + head];
    rowDelta[i] = deltas[row * HEADS + head];
  }
  var sums: array<vec4f, 16>; // [HEAD_DIM / 32][4 rows] of 4 dimensions

  for (var part = 0u; part < 2u; part++) {
    let end = bounds[part * 2u + 1u];
    for (var key0 = bounds[part * 2u]; key0 < end; key0 += TILE) {
      // set to zero in words: naga keeps the last round's values of a loop's variable that has no initial value
      var s0 = vec4f(); // row 4·ty and 4 keys
      var s1 = vec4f();
      var s2 = vec4f();
      var s3 = vec4f();
      var p0 = vec4f(); // dO·v of the same
      var p1 = vec4f();
      var p2 = vec4f();
      var p3 = vec4f();
      for (var d0 = 0u; d0 < HEAD_DIM; d0 += DEPTH) {
        for (var e = lane; e < TILE * DEPTH; e += LANES) {
          let d = d0 + e % DEPTH;
          let i = e / DEPTH;
          var loaded = vec4f();
          if (d < HEAD_DIM) {
            if (row0 + i < params.rows) {
              let at = (row0 + i) * width + head * HEAD_DIM + d;
              loaded.x = q[at];
              loaded.y = dOut[at];
            }
            if (key0 + i < end) {
              let at = (key0 + i) * kvWidth + kvHead * HEAD_DIM + d;
              loaded.z = k[at];
              loaded.w = v[at];
            }
          }
          let at = e % DEPTH * STRIDE + i;
          panels[at] = loaded.x;
          panels[PANEL + at] = loaded.y;
          panels[2u * PANEL + at] = loaded.z;
          panels[3u * PANEL + at] = loaded.w;
        }
        workgroupBarrier();
        for (var d = 0u; d < DEPTH; d++) {
          let c = 2u * PANEL + d * STRIDE + tx;
          let keys = vec4f(panels[c], panels[c + 8u], panels[c + 16u], panels[c + 24u]);
          let values = vec4f(panels[c + PANEL], panels[c + PANEL + 8u], panels[c + PANEL + 16u], panels[c + PANEL + 24u]);
          let r = d * STRIDE + ty * 4u;
          s0 = fma(vec4f(panels[r]), keys, s0);
          s1 = fma(vec4f(panels[r + 1u]), keys, s1);
          s2 = fma(vec4f(panels[r + 2u]), keys, s2);
          s3 = fma(vec4f(panels[r + 3u]), keys, s3);
          p0 = fma(vec4f(panels[PANEL + r]), values, p0);
          p1 = fma(vec4f(panels[PANEL + r + 1u]), values, p1);
          p2 = fma(vec4f(panels[PANEL + r + 2u]), values, p2);
          p3 = fma(vec4f(panels[PANEL + r + 3u]), values, p3);
        }
        workgroupBarrier();
      }

      // loops ran over named variables: some compilers keep an indexed array in memory
      let scores = array<vec4f, 4>(s0, s1, s2, s3);
      let dProbabilities = array<vec4f, 4>(p0, p1, p2, p3);
      for (var i = 0u; i < 4u; i++) {
        let range = ranges[ty * 4u + i];
        for (var j = 0u; j < 4u; j++) {
          let key = key0 + tx + j * 8u;
          let seen = key >= select(range.x, range.z, part == 1u) && key < select(range.y, range.w, part == 1u);
          var ds = 0.0;
          if (seen) { ds = exp(SCALE * scores[i][j] - rowLse[i]) * (dProbabilities[i][j] - rowDelta[i]) * SCALE; }
          dScores[(ty * 4u + i) * STRIDE + tx + j * 8u] = ds;
        }
      }
      for (var d0 = 0u; d0 < HEAD_DIM; d0 += TILE) {
        for (var e = lane; e < TILE * TILE; e += LANES) {
          let d = d0 + e % TILE;
          let key = key0 + e / TILE;
          var value = 0.0;
          if (d < HEAD_DIM && key < end) { value = k[key * kvWidth + kvHead * HEAD_DIM + d]; }
          panels[e] = value;
        }
        workgroupBarrier();
        let first = d0 / TILE * 4u;
        var t0 = sums[first];
        var t1 = sums[first + 1u];
        var t2 = sums[first + 2u];
        var t3 = sums[first + 3u];
        for (var key = 0u; key < TILE; key++) {
          let c = key * TILE + tx;
          let keys = vec4f(panels[c], panels[c + 8u], panels[c + 16u], panels[c + 24u]);
          let at = ty * 4u * STRIDE + key;
          t0 = fma(vec4f(dScores[at]), keys, t0);
          t1 = fma(vec4f(dScores[at + STRIDE]), keys, t1);
          t2 = fma(vec4f(dScores[at + 2u * STRIDE]), keys, t2);
          t3 = fma(vec4f(dScores[at + 3u * STRIDE]), keys, t3);
        }
        sums[first] = t0;
        sums[first + 1u] = t1;
        sums[first + 2u] = t2;
        sums[first + 3u] = t3;
        workgroupBarrier();
      }
    }
  }

  for (var i = 0u; i < 4u; i++) {
    let row = row0 + ty * 4u + i;
    if (row >= params.rows) { break; }
    let base = row * (HEADS + 2u * KV_HEADS) * HEAD_DIM + head * HEAD_DIM;
    for (var d = tx; d < HEAD_DIM; d += 8u) {
      dQkv[base + d] = sums[d / TILE * 4u + i][d % TILE / 8u];
    }
  }
}
