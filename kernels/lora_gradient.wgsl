// The gradients of LoRA's two matrices, both a sum over rows of a wide factor times a narrow one:
//
//   dA[c, i] = s · Σₙ X[n, i]  · dYB[n, c]           wide X [rows, in],   narrow dYB [rows, modules · rank], one block
//   dB[o, j] = s · Σₙ dY[n, o] · XA[n, m(o)·rank + j]  wide dY [rows, out], narrow XA [rows, modules · rank], a block per module
//
// WGSL has no float atomics, so every chunk of rows writes its own partial sum, [chunks, stride]; lora_gradient_sum.wgsl adds
// them up (and multiplies by s). One workgroup: 128 wide × 8 narrow columns of one block over one chunk of rows.
// group = (wide tile, narrow tile of one block + block · tiles, chunk).

struct Params {
  rows: u32,
  chunkRows: u32,
  wide: u32, // columns of the wide factor
  narrow: u32, // columns of the narrow factor
  blocks: u32,
  blockNarrow: u32, // narrow columns of one block
  stride: u32, // floats of one chunk's partial sums
  offset: u32, // where this matrix begins in them
  wideStep: u32, // the matrix' element (w, c) lies at w·wideStep + c·narrowStep, c counted inside the block
  narrowStep: u32,
  starts: vec4u, // first wide column of each block
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> wideFactor: array<f32>;
@group(0) @binding(2) var<storage, read> narrowFactor: array<f32>;
@group(0) @binding(3) var<storage, read_write> partial: array<f32>;

const WIDE = 128u;
const NARROW = 8u;
const DEPTH = 16u;
const LANES = 64u;

var<workgroup> wideTile: array<vec4f, 512>; // [DEPTH][WIDE / 4]
var<workgroup> narrowTile: array<vec4f, 32>; // [DEPTH][NARROW / 4]

fn wideAt(row: u32, rowEnd: u32, w: u32, wideEnd: u32) -> f32 {
  if (row >= rowEnd || w >= wideEnd) { return 0.0; }
  return wideFactor[row * params.wide + w];
}

fn narrowAt(row: u32, rowEnd: u32, block: u32, c: u32) -> f32 {
  if (row >= rowEnd || c >= params.blockNarrow) { return 0.0; }
  return narrowFactor[row * params.narrow + block * params.blockNarrow + c];
}

fn save(chunk: u32, w: u32, wideEnd: u32, c: u32, values: vec4f) {
  if (c >= params.blockNarrow) { return; }
  for (var i = 0u; i < 4u; i++) {
    if (w + i < wideEnd) { partial[chunk * params.stride + params.offset + (w + i) * params.wideStep + c * params.narrowStep] = values[i]; }
  }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let tiles = (params.blockNarrow + NARROW - 1u) / NARROW;
  let block = group.y / tiles;
  let narrow0 = group.y % tiles * NARROW;
  let wide0 = params.starts[block] + group.x * WIDE;
  var wideEnd = params.wide;
  if (block + 1u < params.blocks) { wideEnd = params.starts[block + 1u]; }
  if (wide0 >= wideEnd) { return; }
  let rowEnd = min(params.rows, (group.z + 1u) * params.chunkRows);
  let tw = lane % 32u;
  let tn = lane / 32u;

  // four wide columns with each of four narrow ones
  var s0 = vec4f();
  var s1 = vec4f();
  var s2 = vec4f();
  var s3 = vec4f();
  for (var row0 = group.z * params.chunkRows; row0 < rowEnd; row0 += DEPTH) {
    for (var e = lane; e < DEPTH * 32u; e += LANES) {
      let row = row0 + e / 32u;
      let w = wide0 + e % 32u * 4u;
      wideTile[e] = vec4f(wideAt(row, rowEnd, w, wideEnd), wideAt(row, rowEnd, w + 1u, wideEnd), wideAt(row, rowEnd, w + 2u, wideEnd), wideAt(row, rowEnd, w + 3u, wideEnd));
    }
    if (lane < DEPTH * 2u) {
      let row = row0 + lane / 2u;
      let c = narrow0 + lane % 2u * 4u;
      narrowTile[lane] = vec4f(narrowAt(row, rowEnd, block, c), narrowAt(row, rowEnd, block, c + 1u), narrowAt(row, rowEnd, block, c + 2u), narrowAt(row, rowEnd, block, c + 3u));
    }
    workgroupBarrier();
    for (var k = 0u; k < DEPTH; k++) {
      let wide = wideTile[k * 32u + tw];
      let narrow = narrowTile[k * 2u + tn];
      s0 += wide * narrow.x;
      s1 += wide * narrow.y;
      s2 += wide * narrow.z;
      s3 += wide * narrow.w;
    }
    workgroupBarrier();
  }

  let w = wide0 + tw * 4u;
  let c = narrow0 + tn * 4u;
  save(group.z, w, wideEnd, c, s0);
  save(group.z, w, wideEnd, c + 1u, s1);
  save(group.z, w, wideEnd, c + 2u, s2);
  save(group.z, w, wideEnd, c + 3u, s3);
}
