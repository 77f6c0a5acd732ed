// Backward of rope_kv.wgsl: the transpose of a rotation is the rotation back.
//
//   forward   (a, b) = (u[i], u[i + d/2]) -> (a·cos − b·sin, b·cos + a·sin)
//   backward  du[i] = da·cos + db·sin,  du[i + d/2] = db·cos − da·sin
//
// In place on the query and key columns of dQkv; the value columns have no rotation. Prelude: rows.
override HEADS: u32;
override KV_HEADS: u32;
override HEAD_DIM: u32;

struct Params { rows: u32 }

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> rows: array<Row>;
@group(0) @binding(2) var<storage, read> angles: array<vec2f>; // (cos, sin) [positions, HEAD_DIM/2]
@group(0) @binding(3) var<storage, read_write> dQkv: array<f32>; // [rows, (HEADS + 2·KV_HEADS)·HEAD_DIM]

@compute @workgroup_size(64, 4)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let half = HEAD_DIM / 2u;
  if (id.x >= (HEADS + KV_HEADS) * half || id.y >= params.rows) { return; }
  let i = id.x % half;
  let first = id.y * (HEADS + 2u * KV_HEADS) * HEAD_DIM + id.x / half * HEAD_DIM + i;
  let turn = angles[rows[id.y].position * half + i];
  let da = dQkv[first];
  let db = dQkv[first + half];
  dQkv[first] = da * turn.x + db * turn.y;
  dQkv[first + half] = db * turn.x - da * turn.y;
}
