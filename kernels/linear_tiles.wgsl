// Prelude of linear.wgsl and linear_large.wgsl: the tiles of a product X·Wᵀ + X'·W'ᵀ and how they are filled. What the four factors
// are, how many steps the inner product has, and what becomes of the sums is said by a second prelude (linear_forward.wgsl,
// linear_backward_x.wgsl, lora_backward_b.wgsl, head_backward.wgsl):
//   baseSteps() steps of DEPTH over X and W, lowSteps() over X' and W'
//   loadX(row, k), loadW(out, k), loadXA(row, j), loadB(out, j): an element, 0 outside
//   store(row, out, values): takes four sums, of outputs out … out + 3
// Shapes are uniforms there, so that all layers share a few pipelines: compiling one costs more than many a product.
override GROUP_X: u32;
override GROUP_Y: u32;

const DEPTH = 16u;
// Tiles of vec4 over rows or outputs, [DEPTH][vectors + 1]: padded so that the transposing stores do not meet in one bank.
var<workgroup> xTile: array<vec4f, 272>;
var<workgroup> wTile: array<vec4f, 272>;

// Loads step `step` of the inner product into the tiles: `xVectors` vec4 of rows from firstRow, `wVectors` vec4 of outputs from firstOut.
fn fillTiles(step: u32, lane: u32, lanes: u32, firstRow: u32, firstOut: u32, xVectors: u32, wVectors: u32) {
  let base = baseSteps();
  let low = step >= base;
  let k0 = select(step, step - base, low) * DEPTH;
  for (var i = lane; i < DEPTH * xVectors; i += lanes) {
    let k = i % DEPTH;
    let r = i / DEPTH;
    let row = firstRow + r * 4u;
    if (low) {
      xTile[k * (xVectors + 1u) + r] = vec4f(loadXA(row, k0 + k), loadXA(row + 1u, k0 + k), loadXA(row + 2u, k0 + k), loadXA(row + 3u, k0 + k));
    } else {
      xTile[k * (xVectors + 1u) + r] = vec4f(loadX(row, k0 + k), loadX(row + 1u, k0 + k), loadX(row + 2u, k0 + k), loadX(row + 3u, k0 + k));
    }
  }
  for (var i = lane; i < DEPTH * wVectors; i += lanes) {
    let k = i % DEPTH;
    let c = i / DEPTH;
    let out = firstOut + c * 4u;
    if (low) {
      wTile[k * (wVectors + 1u) + c] = vec4f(loadB(out, k0 + k), loadB(out + 1u, k0 + k), loadB(out + 2u, k0 + k), loadB(out + 3u, k0 + k));
    } else {
      wTile[k * (wVectors + 1u) + c] = vec4f(loadW(out, k0 + k), loadW(out + 1u, k0 + k), loadW(out + 2u, k0 + k), loadW(out + 3u, k0 + k));
    }
  }
}
