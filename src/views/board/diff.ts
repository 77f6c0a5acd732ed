/**
 * @file Which words of a variant differ from the original wording: the longest common subsequence of words.
 */
export interface Piece {
  readonly text: string;
  readonly changed: boolean;
}

/** `text` in runs of words that the original has too, in the same order, and words that it has not. */
export function difference(original: string, text: string): Piece[] {
  const a = original.split(/\s+/).filter(Boolean);
  const b = text.split(/\s+/).filter(Boolean);
  // common[x][y]: length of the longest common subsequence of a[x…] and b[y…]
  const common = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let x = a.length - 1; x >= 0; x--) {
    for (let y = b.length - 1; y >= 0; y--) {
      common[x][y] = a[x] === b[y] ? common[x + 1][y + 1] + 1 : Math.max(common[x + 1][y], common[x][y + 1]);
    }
  }
  const pieces: { text: string; changed: boolean }[] = [];
  const push = (word: string, changed: boolean): void => {
    const last = pieces.at(-1);
    if (last?.changed === changed) last.text += ` ${word}`;
    else pieces.push({ text: word, changed });
  };
  let x = 0;
  for (let y = 0; y < b.length; y++) {
    while (x < a.length && a[x] !== b[y] && common[x + 1][y] >= common[x][y + 1]) x++;
    if (x < a.length && a[x] === b[y]) {
      push(b[y], false);
      x++;
    } else push(b[y], true);
  }
  return pieces;
}
