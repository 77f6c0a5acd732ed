// Brings gradients from targets to the rows that predict them: dRow[r] = Σ over the targets t of row r of dTarget[t].
// Several responses' first tokens share the prompt's last row, and most prompt rows have no target: 0.
// `rowTargets` holds rowCount + 1 starts, then the targets sorted by row.

struct Params {
  rows: u32,
  hidden: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> dTarget: array<f32>;
@group(0) @binding(2) var<storage, read> rowTargets: array<u32>;
@group(0) @binding(3) var<storage, read_write> dRow: array<f32>;

@compute @workgroup_size(64, 4)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = id.x;
  let row = id.y;
  if (row >= params.rows || column >= params.hidden) { return; }
  var sum = 0.0;
  for (var i = rowTargets[row]; i < rowTargets[row + 1u]; i++) {
    sum += dTarget[rowTargets[params.rows + 1u + i] * params.hidden + column];
  }
  dRow[row * params.hidden + column] = sum;
}
