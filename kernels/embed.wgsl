// x[row] = embedding[token], or a row of image features where the token is an image row.
// One thread per element; groups (⌈HIDDEN/64⌉, rows). Preludes: rows, weights.
override HIDDEN: u32;

@group(0) @binding(0) var<storage, read> rows: array<Row>;
@group(0) @binding(1) var<storage, read> images: array<f32>; // [image rows, HIDDEN]
@group(0) @binding(3) var<storage, read_write> x: array<f32>; // [rows, HIDDEN]

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = id.x;
  if (column >= HIDDEN) { return; }
  let token = rows[id.y].token;
  let at = id.y * HIDDEN + column;
  if ((token & IMAGE_ROW) != 0u) {
    x[at] = images[(token & ~IMAGE_ROW) * HIDDEN + column];
  } else {
    x[at] = weight(token * HIDDEN + column);
  }
}
