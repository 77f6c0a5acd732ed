/**
 * @file Reading responses: what the final answer is, and whether the response is of the careful kind.
 */

import type { AnswerKind, Family } from './types.ts';

const COLOUR = '(?:red|green|blue|yellow)';
const KIND = '(?:circle|square|triangle)';
const LISTED = `${COLOUR} ${KIND} \\d+ in \\d+\\.`;
const ITEM = `(?:${COLOUR} ${KIND}|no shape)`;
const PLACE = `${COLOUR} ${KIND} row [1-4] column [1-4]`;

/** The grammar of a careful think part, by family. */
const CAREFUL: Record<Family | 'mico', RegExp> = {
  count: new RegExp(`^(?:none\\.|${LISTED}(?: ${LISTED})*) so \\d+$`),
  compare: new RegExp(`^(?:(?:${COLOUR}|${KIND}) (?:0|\\d+ in \\d+)\\. )+so \\d+ and \\d+$`),
  position: new RegExp(`^${PLACE}\\. (?:left of|right of|above|below) it ${PLACE}\\. so ${COLOUR}$`),
  digits: /^(?:\d+ and \d+ make \d+\. ?)+ ?so \d+$/,
  mico: new RegExp(`^(?:\\d+(?: ${ITEM}){3}\\. )+so [12] and [23]$`),
};

/** The text between two tags, trimmed; null where a tag is missing. */
function between(text: string, open: string, close: string): string | null {
  const from = text.indexOf(open);
  if (from < 0) return null;
  const to = text.indexOf(close, from + open.length);
  return to < 0 ? null : text.slice(from + open.length, to).trim();
}

/** Does the response list what it looks at, the way the careful demonstrator does? Says nothing about being right. */
export function isCareful(response: string, family: Family | 'own' | 'mico'): boolean {
  const think = between(response, '<think>', '</think>');
  if (think === null) return false;
  const text = think.replace(/\s+/g, ' ');
  if (family === 'own') return Object.values(CAREFUL).some((pattern) => pattern.test(text));
  return CAREFUL[family].test(text);
}

const PATTERNS: Record<Exclude<AnswerKind, 'text'>, RegExp> = {
  number: /\d+/g,
  yesno: /\b(?:yes|no)\b/g,
  colour: /\b(?:red|green|blue|yellow)\b/g,
  pattern: /\b[tf](?:\s+[tf]){2}\b/g,
};

/** As the task writes its answers: a pattern in capitals with single blanks, all else in small letters. */
function spelled(answer: string, kind: AnswerKind): string {
  return kind === 'pattern' ? answer.toUpperCase().replace(/\s+/g, ' ') : answer.toLowerCase();
}

/** The final answer: what stands in the answer tags, else (no tags) the last number, colour, pattern, yes or no in the text. */
export function finalAnswer(response: string, kind: AnswerKind): string | null {
  const tagged = between(response, '<answer>', '</answer>');
  if (tagged !== null) return spelled(tagged, kind);
  const text = response
    .replace(/<[^>]*>/g, ' ')
    .trim()
    .toLowerCase();
  if (kind === 'text') return text === '' ? null : text;
  const found = text.match(PATTERNS[kind]);
  return found ? spelled(found[found.length - 1] as string, kind) : null;
}
