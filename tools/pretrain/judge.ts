/**
 * @file Judges responses with the product's own rules: JSON lines { family, kind, answer, response } in, { right, careful, formatted }
 * out. So that the Python side has no second opinion on what a right or a careful response is.
 */

import process from 'node:process';
import { readFileSync } from 'node:fs';
import { finalAnswer, isCareful } from '../../src/tasks/index.ts';
import type { AnswerKind, Question } from '../../src/tasks/index.ts';

const lines = readFileSync(0, 'utf8').split('\n').filter(Boolean);
const verdicts = lines.map((line) => {
  const { family, kind, answer, response } = JSON.parse(line) as {
    family: Question['family'];
    kind: AnswerKind;
    answer: string;
    response: string;
  };
  return JSON.stringify({
    right: finalAnswer(response, kind) === answer,
    careful: isCareful(response, family),
    formatted: /^\s*<think>.*<\/think>\s*<answer>[^<]*<\/answer>\s*$/.test(response),
  });
});
process.stdout.write(verdicts.join('\n') + '\n');
