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
  wideStep: u32, // the matrix' element (w, c) lies at w · wideStep + c · narrowStep, c counted inside the block
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
const THREADS = 64u;

var<workgroup> left: array<f32, 2048>; // [DEPTH, WIDE]
var<workgroup> right: array<vec4f, 32>; // [DEPTH, NARROW / 4]

fn narrowValue(row: u32, end: u32, block: u32, c: u32) -> f32 {
  if (row < end && c < params.blockNarrow) { return narrowFactor[row * params.narrow + block * params.blockNarrow + c]; }
  return 0.0;
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

  var sums: array<vec4f, 4>; // columns lane and lane + 64, each with two quarters of NARROW
  for (var row0 = group.z * params.chunkRows; row0 < rowEnd; row0 += DEPTH) {
    for (var e = lane; e < DEPTH * WIDE; e += THREADS) {
      let row = row0 + e / WIDE;
      let w = wide0 + e % WIDE;
      var value = 0.0;
      if (row < rowEnd && w < wideEnd) { value = wideFactor[row * params.wide + w]; }
      left[e] = value;
    }
    if (lane < DEPTH * 2u) {
      let row = row0 + lane / 2u;
      let c = narrow0 + lane % 2u * 4u;
      right[lane] = vec4f(
        narrowValue(row, rowEnd, block, c), narrowValue(row, rowEnd, block, c + 1u),
        narrowValue(row, rowEnd, block, c + 2u), narrowValue(row, rowEnd, block, c + 3u));
    }
    workgroupBarrier();
    for (var k = 0u; k < DEPTH; k++) {
      let first = vec4f(left[k * WIDE + lane]);
      let second = vec4f(left[k * WIDE + lane + THREADS]);
      let low = right[k * 2u];
      let high = right[k * 2u + 1u];
      sums[0] = fma(first, low, sums[0]);
      sums[1] = fma(first, high, sums[1]);
      sums[2] = fma(second, low, sums[2]);
      sums[3] = fma(second, high, sums[3]);
    }
    workgroupBarrier();
  }

  for (var half = 0u; half < 2u; half++) {
    let w = wide0 + lane + half * THREADS;
    if (w >= wideEnd) { break; }
    // dA has its rows block-free (one block), dB's row is the wide column itself
    let at = group.z * params.stride + params.offset + w * params.wideStep;
    for (var c = 0u; c < NARROW; c++) {
      if (narrow0 + c < params.blockNarrow) { partial[at + (narrow0 + c) * params.narrowStep] = sums[half * 2u + c / 4u][c % 4u]; }
    }
  }
}
