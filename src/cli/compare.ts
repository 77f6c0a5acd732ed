/**
 * @file `npm run compare -- runs/*.summary.json`: several runs as one Markdown table, mean and range over the runs of a preset.
 * The records of each run are expected beside its summary.
 */
import { readFile } from 'node:fs/promises';
import process from 'node:process';
import { readJsonl } from '../training/jsonl.ts';
import { foundAt, table, type FinishedRun, type RunSummary } from './summary.ts';

const files = process.argv.slice(2);
const runs: FinishedRun[] = [];
for (const file of files) {
  const summary = JSON.parse(await readFile(file, 'utf8')) as RunSummary;
  if (summary.kind !== 'grpo-playground summary') {
    process.stderr.write(`${file} is no summary of a run; left out.\n`);
    continue;
  }
  const records = readJsonl(await readFile(file.replace(/\.summary\.json$/, '.jsonl'), 'utf8'));
  runs.push({ summary, foundAt: foundAt(records) });
}
process.stdout.write(runs.length > 0 ? `${table(runs)}\n` : 'Name the summaries of some runs: npm run compare -- runs/*.summary.json\n');
