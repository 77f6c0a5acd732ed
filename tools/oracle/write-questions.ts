/**
 * @file Writes the questions of the model tests, 20 of the tasks' own with their pictures, to tests/fixtures/questions.json:
 * `deno run -A tools/oracle/write-questions.ts`. Run it again only when the tasks have changed on purpose.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';
import { type Family, loadDigits, makeQuestion, paraphrases } from '../../src/tasks/index.ts';

const root = new URL('../../', import.meta.url);
const digits = loadDigits(readFileSync(new URL('public/data/digits.bin', root)));
const families: readonly Family[] = ['count', 'compare', 'position', 'digits'];

const questions = Array.from({ length: 20 }, (_, index) => {
  const family = families[index % families.length] as Family;
  const phrasing = index % 3 === 0 ? 'plain' : 'steps';
  const question = makeQuestion({ seed: 5, index, split: 'test', family, phrasing, digits });
  const wordings = paraphrases(question);
  const other = wordings[(index * 7 + 3) % wordings.length] ?? question.text;
  const { width, height, data } = question.picture;
  return {
    text: question.text.text,
    other: other.text,
    hint: index % 5 === 4 ? 'Look closely.\n' : '',
    width,
    height,
    rgb: deflateSync(data).toString('base64'),
  };
});

writeFileSync(new URL('tests/fixtures/questions.json', root), `${JSON.stringify(questions, null, 1)}\n`);
