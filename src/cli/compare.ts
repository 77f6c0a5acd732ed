/** @file `npm run compare -- runs/*.summary.json`: several runs as one Markdown table, mean and range over the runs of a preset. */
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { table, type RunSummary } from './summary.ts';

const files = process.argv.slice(2);
const runs: RunSummary[] = [];
for (const file of files) {
  const run = JSON.parse(await readFile(file, 'utf8')) as RunSummary;
  if (run.kind !== 'grpo-playground summary') process.stderr.write(`${file} is no summary of a run; left out.\n`);
  else runs.push(run);
}
process.stdout.write(runs.length > 0 ? `${table(runs)}\n` : 'Name the summaries of some runs: npm run compare -- runs/*.summary.json\n');
