// Y = X·Wᵀ (+ scale·XA·blockdiag(B)ᵀ) (+ residual): a tiled matrix product for few rows or few outputs.
// A workgroup makes 4·GROUP_Y rows × 4·GROUP_X outputs, a thread 4×4.
// Groups (⌈OUT/(4·GROUP_X)⌉, ⌈rows/(4·GROUP_Y)⌉). Preludes: weights, linear_forward, linear_tiles; with others in its place they make other products.
@compute @workgroup_size(GROUP_X, GROUP_Y)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) lane: u32) {
  let firstOut = group.x * GROUP_X * 4u;
  let firstRow = group.y * GROUP_Y * 4u;
  var acc0 = vec4f();
  var acc1 = vec4f();
  var acc2 = vec4f();
  var acc3 = vec4f();

  let steps = baseSteps() + lowSteps();
  for (var step = 0u; step < steps; step++) {
    fillTiles(step, lane, GROUP_X * GROUP_Y, firstRow, firstOut, GROUP_Y, GROUP_X);
    workgroupBarrier();
    for (var k = 0u; k < DEPTH; k++) {
      let rows4 = xTile[k * (GROUP_Y + 1u) + local.y];
      let outs4 = wTile[k * (GROUP_X + 1u) + local.x];
      acc0 += rows4.x * outs4;
      acc1 += rows4.y * outs4;
      acc2 += rows4.z * outs4;
      acc3 += rows4.w * outs4;
    }
    workgroupBarrier();
  }

  let row = firstRow + local.y * 4u;
  let out = firstOut + local.x * 4u;
  store(row, out, acc0);
  store(row + 1u, out, acc1);
  store(row + 2u, out, acc2);
  store(row + 3u, out, acc3);
}
