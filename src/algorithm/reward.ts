/**
 * @file What a response earns: R = w_acc·accuracy + w_fmt·format, each part a named function of the text alone.
 *
 * Source: the published Share-GRPO reward (R1-ShareVL, `math.py` and `r1v.py`): whitespace around `<`, `>` and `/` is
 * dropped first; accuracy reads the last answer and does not require the format; weights .9 and .1. Two readers: the
 * `<answer>` tag that pico was taught, and the published `\boxed{}`. No tag means that nothing was read, so accuracy 0,
 * however right the bare text may be.
 */

/** `pattern`: T or F for each pair of pictures (MiCo). */
export type AnswerKind = 'number' | 'yesno' | 'colour' | 'text' | 'pattern';

/** How a response is read: whether it has the format, and which part of it is the answer. */
export interface Reader {
  readonly format: RegExp;
  /** The answer as written, trimmed; null if there is none. */
  readonly extract: (text: string) => string | null;
}

/** `re.sub(r"\s*(<|>|/)\s*", r"\1", text)` of the published code: tags may be spaced out. */
export const tighten = (text: string): string => text.replace(/\s*([<>/])\s*/g, '$1');

/** The content of the last `<answer>…</answer>`. */
function lastAnswerTag(text: string): string | null {
  const close = text.lastIndexOf('</answer>');
  const open = close < 0 ? -1 : text.lastIndexOf('<answer>', close);
  return open < 0 ? null : text.slice(open + '<answer>'.length, close).trim();
}

/** The content of the last `\boxed{…}`, braces matched (MathRuler's `extract_boxed_content`). */
function lastBoxed(text: string): string | null {
  const start = text.lastIndexOf('\\boxed{');
  if (start < 0) return null;
  const first = start + '\\boxed{'.length;
  let depth = 1;
  for (let at = first; at < text.length; at++) {
    if (text[at] === '{') depth++;
    else if (text[at] === '}' && --depth === 0) return text.slice(first, at).trim();
  }
  return null;
}

export const READERS = {
  answerTag: { format: /^<think>.*<\/think>.*<answer>.*<\/answer>$/s, extract: lastAnswerTag },
  boxed: { format: /^<think>.*<\/think>.*\\boxed\{.*\}.*$/s, extract: lastBoxed },
} as const satisfies Record<string, Reader>;

const NUMBER_WORDS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve'];
const SAME_COLOUR: Readonly<Record<string, string>> = { gray: 'grey' };

/** One spelling per answer: lower case, no final full stop; ` 03`, `3.0` and `three` are `3`. */
export function normaliseAnswer(answer: string, kind: AnswerKind): string {
  const plain = answer.trim().toLowerCase().replace(/\s+/g, ' ').replace(/\.$/, '').trim();
  if (kind === 'number' || kind === 'text') {
    const word = NUMBER_WORDS.indexOf(plain);
    if (word >= 0) return String(word);
    if (/^[+-]?\d+(\.\d+)?$/.test(plain)) return String(Number(plain));
  }
  if (kind === 'pattern') return plain.split(/[\s,]+/).join(' ');
  if (kind === 'colour') return SAME_COLOUR[plain] ?? plain;
  return plain;
}

export interface Reward {
  /** 0 or 1. */
  readonly accuracy: number;
  /** 0 or 1. */
  readonly format: number;
  /** w_acc·accuracy + w_fmt·format. */
  readonly total: number;
  readonly extracted: string | null;
}

export interface RewardOptions {
  /** The right answer; null if nobody knows it (accuracy 0). */
  readonly answer: string | null;
  readonly kind: AnswerKind;
  readonly accuracyWeight: number;
  readonly formatWeight: number;
  readonly reader?: Reader;
}

/** The reward of one response's text. */
export function reward(response: string, o: RewardOptions): Reward {
  const reader = o.reader ?? READERS.answerTag;
  const text = tighten(response).trim();
  const extracted = reader.extract(text);
  const format = reader.format.test(text) ? 1 : 0;
  const right = extracted !== null && o.answer !== null && normaliseAnswer(extracted, o.kind) === normaliseAnswer(o.answer, o.kind);
  const accuracy = right ? 1 : 0;
  return { accuracy, format, total: o.accuracyWeight * accuracy + o.formatWeight * format, extracted };
}
