// Prelude: one packed token (DESIGN §5). A row attends to the keys
// [prefixStart, prefixStart + prefixLength) and [ownStart, ownEnd), the latter including itself.
struct Row {
  token: u32,        // vocabulary id, or IMAGE_ROW | row of the image features
  position: u32,     // for RoPE
  kvRow: u32,        // where its key and value are kept
  prefixStart: u32,
  prefixLength: u32,
  ownStart: u32,
  ownEnd: u32,
  queryEnd: u32,     // as a key, it is seen by the rows [itself, queryEnd); scoring only
}

const IMAGE_ROW = 0x80000000u;
