// Splits the fused projection and turns queries and keys by their position (RoPE in the rotate-half form of HF Llama):
//   (a, b) = (u[i], u[i + d/2])  ->  (a·cos − b·sin, b·cos + a·sin),  angle = position·θ^(−2i/d)
// The angles come as a table made in float64: sin and cos of large arguments are not to be trusted on a GPU.
// One thread per pair of one head; groups (⌈(HEADS + 2·KV_HEADS)·HEAD_DIM/2 / 64⌉, rows). Prelude: rows.
override HEADS: u32;
override KV_HEADS: u32;
override HEAD_DIM: u32;

@group(0) @binding(0) var<storage, read> rows: array<Row>;
@group(0) @binding(1) var<storage, read> qkv: array<f32>; // [rows, (HEADS + 2·KV_HEADS)·HEAD_DIM]
@group(0) @binding(2) var<storage, read> angles: array<vec2f>; // (cos, sin) [positions, HEAD_DIM/2]
@group(0) @binding(3) var<storage, read_write> q: array<f32>; // [rows, HEADS·HEAD_DIM]
@group(0) @binding(4) var<storage, read_write> k: array<f32>; // [kvRows, KV_HEADS·HEAD_DIM]
@group(0) @binding(5) var<storage, read_write> v: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let half = HEAD_DIM / 2u;
  let head = id.x / half;
  let i = id.x % half;
  if (head >= HEADS + 2u * KV_HEADS) { return; }
  let row = rows[id.y];
  let source = id.y * (HEADS + 2u * KV_HEADS) * HEAD_DIM + head * HEAD_DIM + i;
  let a = qkv[source];
  let b = qkv[source + half];
  let turn = angles[row.position * half + i];
  let first = a * turn.x - b * turn.y;
  let second = b * turn.x + a * turn.y;
  if (head < HEADS) {
    let at = (id.y * HEADS + head) * HEAD_DIM + i;
    q[at] = first;
    q[at + half] = second;
  } else if (head < HEADS + KV_HEADS) {
    let at = (row.kvRow * KV_HEADS + head - HEADS) * HEAD_DIM + i;
    k[at] = first;
    k[at + half] = second;
  } else {
    let at = (row.kvRow * KV_HEADS + head - HEADS - KV_HEADS) * HEAD_DIM + i;
    v[at] = a;
    v[at + half] = b;
  }
}
