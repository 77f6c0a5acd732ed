// Y = X·Wᵀ (+ scale·XA·blockdiag(B)ᵀ) (+ residual): a tiled matrix product for many rows and outputs.
// A workgroup makes 8·GROUP_Y rows × 8·GROUP_X outputs, a thread 8×8 (two vec4 of rows, two of outputs): half as many loads from
// workgroup memory for each product as linear.wgsl, fewer threads.
// Groups (⌈OUT/(8·GROUP_X)⌉, ⌈rows/(8·GROUP_Y)⌉). Preludes: weights, linear_forward, linear_tiles; with others in its place they make other products.
@compute @workgroup_size(GROUP_X, GROUP_Y)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32) {
  let firstOut = group.x * GROUP_X * 8u;
  let firstRow = group.y * GROUP_Y * 8u;
  var c00 = vec4f();
  var c01 = vec4f();
  var c10 = vec4f();
  var c11 = vec4f();
  var c20 = vec4f();
  var c21 = vec4f();
  var c30 = vec4f();
  var c31 = vec4f();
  var c40 = vec4f();
  var c41 = vec4f();
  var c50 = vec4f();
  var c51 = vec4f();
  var c60 = vec4f();
  var c61 = vec4f();
  var c70 = vec4f();
  var c71 = vec4f();

  let steps = baseSteps() + lowSteps();
  for (var step = 0u; step < steps; step++) {
    fillTiles(step, lane, GROUP_X * GROUP_Y, firstRow, firstOut, 2u * GROUP_Y, 2u * GROUP_X);
    workgroupBarrier();
    for (var k = 0u; k < DEPTH; k++) {
      let x = k * (2u * GROUP_Y + 1u) + local.y;
      let w = k * (2u * GROUP_X + 1u) + local.x;
      let a0 = xTile[x];
      let a1 = xTile[x + GROUP_Y];
      let b0 = wTile[w];
      let b1 = wTile[w + GROUP_X];
      c00 += a0.x * b0;
      c01 += a0.x * b1;
      c10 += a0.y * b0;
      c11 += a0.y * b1;
      c20 += a0.z * b0;
      c21 += a0.z * b1;
      c30 += a0.w * b0;
      c31 += a0.w * b1;
      c40 += a1.x * b0;
      c41 += a1.x * b1;
      c50 += a1.y * b0;
      c51 += a1.y * b1;
      c60 += a1.z * b0;
      c61 += a1.z * b1;
      c70 += a1.w * b0;
      c71 += a1.w * b1;
    }
    workgroupBarrier();
  }

  let row = firstRow + local.y * 4u;
  let out = firstOut + local.x * 4u;
  store(row, out, c00);
  store(row, out + 4u * GROUP_X, c01);
  store(row + 1u, out, c10);
  store(row + 1u, out + 4u * GROUP_X, c11);
  store(row + 2u, out, c20);
  store(row + 2u, out + 4u * GROUP_X, c21);
  store(row + 3u, out, c30);
  store(row + 3u, out + 4u * GROUP_X, c31);
  store(row + 4u * GROUP_Y, out, c40);
  store(row + 4u * GROUP_Y, out + 4u * GROUP_X, c41);
  store(row + 4u * GROUP_Y + 1u, out, c50);
  store(row + 4u * GROUP_Y + 1u, out + 4u * GROUP_X, c51);
  store(row + 4u * GROUP_Y + 2u, out, c60);
  store(row + 4u * GROUP_Y + 2u, out + 4u * GROUP_X, c61);
  store(row + 4u * GROUP_Y + 3u, out, c70);
  store(row + 4u * GROUP_Y + 3u, out + 4u * GROUP_X, c71);
}
