// The attention's gradient with respect to keys and values, the probabilities recomputed from the log-sum-exp
// (FlashAttention-2, arXiv 2307.08691, algorithm 2). WGSL has no float atomics, so a key gathers over the rows that see it:
//
//   p = exp(q·k/√d − lse),  dv = Σ p · dO,  dk = Σ p · (dO·v − D) · q/√d      (sums over rows and the query heads of the group)
//
// A workgroup takes 32 neighbouring key rows of one key head; the query rows come 32 at a time, from the first key row (a row sees
// nothing later than itself) to the last queryEnd of the tile, each masking the keys that are not its own. HEAD_DIM ≤ 128.
// Groups (⌈rows/32⌉, KV_HEADS). Prelude: rows.
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
const STRIDE = 33u;
const DEPTH = 16u;
const LANES = 64u;
const PANEL = 528u; // DEPTH · STRIDE

var<workgroup> panels: array<f32, 2112>; // four [DEPTH][STRIDE]: q, dO, k, v; or one [TILE][TILE]: rows × dimensions
var<workgroup> pairs: array<f32, 1056>; // [TILE rows][STRIDE] keys: p, then ds
var<workgroup> ranges: array<vec4u, 32>; // of the rows: prefix start and end, own start and end
var<workgroup> constants: array<vec2f, 32>; // of the rows: lse, D
var<workgroup> last: u32;

// sums[dimension block][4 keys] += Σ over rows pairs[row][key] · factor[row, dimensions]; factor is q or dO, staged in panels.
// Here and below, loops run over named variables: some compilers keep an indexed array in memory.
fn gather(sums: ptr<function, array<vec4f, 16>>, first: u32, tx: u32, ty: u32) {
  var s0 = (*sums)[first];
  var s1 = (*sums)[first + 1u];
  var s2 = (*sums)[first + 2u];
  var s3 = (*sums)[first + 3u];
  for (var r = 0u; r < TILE; r++) {
    let c = r * TILE + tx;
    let factor = vec4f(panels[c], panels[c + 8u], panels[c + 16u], panels[c + 24u]);
    let p = r * STRIDE + ty * 4u;
    s0 = fma(vec4f(pairs[p]), factor, s0);
    s1 = fma(vec4f(pairs[p + 1u]), factor, s1);
    s2 = fma(vec4f(pairs[p + 2u]), factor, s2);
    s3 = fma(vec4f(pairs[p + 3u]), factor, s3);
  }
  (*sums)[first] = s0;
  (*sums)[first + 1u] = s1;
  (*sums)[first + 2u] = s2;
  (*sums)[first + 3u] = s3;
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let key0 = group.x * TILE;
  let kvHead = group.y;
  let shared_heads = HEADS / KV_HEADS;
  let width = HEADS * HEAD_DIM;
  let kvWidth = KV_HEADS * HEAD_DIM;
  let tx = lane % 8u; // rows, or dimensions: tx, tx + 8, tx + 16, tx + 24
  let ty = lane / 8u; // keys: 4·ty …

  if (lane == 0u) {
    var end = 0u;
    for (var i = key0; i < min(key0 + TILE, params.rows); i++) { end = max(end, rows[i].queryEnd); }
    last = min(end, params.rows);
  }
  let rowEnd = workgroupUniformLoad(&last);
  var dKeys: array<vec4f, 16>; // [HEAD_DIM / 32][4 keys] of 4 dimensions
  var dValues: array<vec4f, 16>;

  for (var row0 = key0; row0 < rowEnd; row0 += TILE) {
    if (lane < TILE) {
      var range = vec4u();
      if (row0 + lane < rowEnd) {
        let row = rows[row0 + lane];
        range = vec4u(row.prefixStart, row.prefixStart + row.prefixLength, row.ownStart, row.ownEnd);
      }
      ranges[lane] = range;
    }
    for (var head = kvHead * shared_heads; head < (kvHead + 1u) * shared_heads; head++) {
      if (lane < TILE && row0 + lane < rowEnd) {
        let at = (row0 + lane) * HEADS + head;
        constants[lane] = vec2f(lse[at], deltas[at]);
      }
      // set to zero in words: naga keeps the last round's values of a loop's variable that has no initial value
      var s0 = vec4f(); // key 4·ty and 4 rows
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
            if (row0 + i < rowEnd) {
              let at = (row0 + i) * width + head * HEAD_DIM + d;
              loaded.x = q[at];
              loaded.y = dOut[at];
            }
            if (key0 + i < params.rows) {
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
          let c = d * STRIDE + tx;
          let queries = vec4f(panels[c], panels[c + 8u], panels[c + 16u], panels[c + 24u]);
          let dOuts = vec4f(panels[c + PANEL], panels[c + PANEL + 8u], panels[c + PANEL + 16u], panels[c + PANEL + 24u]);
          let r = 2u * PANEL + d * STRIDE + ty * 4u;
          s0 = fma(vec4f(panels[r]), queries, s0);
          s1 = fma(vec4f(panels[r + 1u]), queries, s1);
          s2 = fma(vec4f(panels[r + 2u]), queries, s2);
          s3 = fma(vec4f(panels[r + 3u]), queries, s3);
          p0 = fma(vec4f(panels[PANEL + r]), dOuts, p0);
          p1 = fma(vec4f(panels[PANEL + r + 1u]), dOuts, p1);
          p2 = fma(vec4f(panels[PANEL + r + 2u]), dOuts, p2);
          p3 = fma(vec4f(panels[PANEL + r + 3u]), dOuts, p3);
        }
        workgroupBarrier();
      }

      var scores = array<vec4f, 4>(s0, s1, s2, s3);
      let dProbabilities = array<vec4f, 4>(p0, p1, p2, p3);
      for (var i = 0u; i < 4u; i++) {
        let key = key0 + ty * 4u + i;
        for (var j = 0u; j < 4u; j++) {
          let r = tx + j * 8u;
          let range = ranges[r];
          let seen = (key >= range.x && key < range.y) || (key >= range.z && key < range.w);
          var p = 0.0;
          if (seen) { p = exp(SCALE * scores[i][j] - constants[r].x); }
          scores[i][j] = p * (dProbabilities[i][j] - constants[r].y) * SCALE; // ds from here on
          pairs[r * STRIDE + ty * 4u + i] = p;
        }
      }
      for (var d0 = 0u; d0 < HEAD_DIM; d0 += TILE) {
        for (var e = lane; e < TILE * TILE; e += LANES) {
          let d = d0 + e % TILE;
          let row = row0 + e / TILE;
          var value = 0.0;
          if (d < HEAD_DIM && row < rowEnd) { value = dOut[row * width + head * HEAD_DIM + d]; }
          panels[e] = value;
        }
        workgroupBarrier();
        gather(&dValues, d0 / TILE * 4u, tx, ty);
        workgroupBarrier();
      }
      for (var i = 0u; i < 4u; i++) {
        for (var j = 0u; j < 4u; j++) { pairs[(tx + j * 8u) * STRIDE + ty * 4u + i] = scores[i][j]; }
      }
      for (var d0 = 0u; d0 < HEAD_DIM; d0 += TILE) {
        for (var e = lane; e < TILE * TILE; e += LANES) {
          let d = d0 + e % TILE;
          let row = row0 + e / TILE;
          var value = 0.0;
          if (d < HEAD_DIM && row < rowEnd) { value = q[row * width + head * HEAD_DIM + d]; }
          panels[e] = value;
        }
        workgroupBarrier();
        gather(&dKeys, d0 / TILE * 4u, tx, ty);
        workgroupBarrier();
      }
    }
  }

  for (var i = 0u; i < 4u; i++) {
    let key = key0 + ty * 4u + i;
    if (key >= params.rows) { break; }
    let base = key * (HEADS + 2u * KV_HEADS) * HEAD_DIM + (HEADS + kvHead) * HEAD_DIM;
    for (var d = tx; d < HEAD_DIM; d += 8u) {
      dQkv[base + d] = dKeys[d / TILE * 4u + i][d % TILE / 8u];
      dQkv[base + KV_HEADS * HEAD_DIM + d] = dValues[d / TILE * 4u + i][d % TILE / 8u];
    }
  }
}
