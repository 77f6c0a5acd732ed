/**
 * @file `npm run experiment -- docs/experiments/NAME.json`: trains every lane with every seed, as many at once as asked for, then
 * writes results, tables and plots beside the file. Whatever is finished is not done again, and what was interrupted goes on
 * where it was.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { optionHelp, parse, textOption, UsageError, wholeOption, type OptionSpec } from './args.ts';
import { ExperimentError, type Experiment } from './experiment-types.ts';
import { readExperiment } from './experiment-file.ts';
import { replaceFile } from './files.ts';
import { duration } from './format.ts';
import { drawPlots } from './plots.ts';
import { report, tablesOf } from './report.ts';
import { collect, publishedRuns, resultsToJson } from './results.ts';
import {
  isFinished,
  modelSha,
  planKey,
  planOf,
  prepareFolder,
  readSummary,
  runFolder,
  untrainedCells,
  untrainedFolder,
  type RunPlan,
} from './run-plan.ts';
import { BUSY, runPool, STOPPED, timeLeft, wanted, type Choice, type Outcome, type Told } from './schedule.ts';

const OPTIONS: Readonly<Record<string, OptionSpec>> = {
  help: { help: 'Shows this.' },
  only: { value: 'LANE,LANE', help: 'Run only these lanes.' },
  seeds: { value: '1,2', help: 'Run only these seeds.' },
  jobs: { value: 'NUMBER', help: 'Runs at once (2).' },
  out: { value: 'FOLDER', help: 'Where the runs lie (runs/experiments).' },
  report: { help: 'Train nothing: write results and plots from the runs that are finished.' },
  results: { help: 'Train nothing: make docs/results.md and all plots from the results in docs/experiments.' },
};

/** Where the experiments of the repository lie. */
const FOLDER = 'docs/experiments';

const say = (line: string): void => void process.stderr.write(`${line}\n`);

interface Job {
  readonly label: string;
  readonly folder: string;
  readonly plan: RunPlan;
  readonly key: string;
  step: number;
  /** Of the run so far, earlier sessions included; null if not known. */
  seconds: number | null;
}

/** The jobs of all experiments, each once, in the order of work. */
async function jobsOf(experiments: readonly Experiment[], out: string, choice: Choice): Promise<Job[]> {
  const jobs = new Map<string, Job>();
  for (const experiment of experiments) {
    for (const { lane: name, seed } of wanted(experiment, choice)) {
      const lane = experiment.lanes.find((l) => l.name === name)!;
      const plan = planOf(experiment, lane, seed, await modelSha(lane.model));
      const folder = await runFolder(out, plan);
      if (jobs.has(folder)) continue;
      const summary = await readSummary(folder);
      const done = isFinished(summary, plan.steps);
      const seconds = summary ? summary.seconds + summary.evaluationSeconds : null;
      // the last measurement counts as a step that is missing
      const step = summary ? Math.min(summary.steps, done ? plan.steps : plan.steps - 1) : 0;
      jobs.set(folder, { label: `${name} s${seed}`, folder, plan, key: planKey(plan), step, seconds });
    }
  }
  return [...jobs.values()];
}

/** Starts the lane's process in a folder, and hands on what it tells. */
function startLane(folder: string, children: Set<ChildProcess>, onTold: (told: Told) => void): Promise<Outcome> {
  const script = join(dirname(process.argv[1]), 'lane.js');
  const child = spawn(process.execPath, ['run', '-A', '--no-lock', script, folder], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.add(child);
  let rest = '';
  child.stdout.setEncoding('utf8');
  child.stdout.on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines.filter((l) => l.startsWith('{'))) onTold(JSON.parse(line) as Told);
  });
  return new Promise((resolve) => {
    child.on('exit', (code) => {
      children.delete(child);
      resolve(code === 0 ? 'done' : code === BUSY ? 'busy' : code === STOPPED ? 'stopped' : 'failed');
    });
  });
}

const percent = (x: number): string => `${(100 * x).toFixed(0)} %`;

/** Steps between two lines of a run. */
const LINE_EVERY = 10;

/** Trains what is not finished. False if it was stopped or something failed. */
async function train(jobs: readonly Job[], out: string, parallel: number): Promise<boolean> {
  for (const job of jobs) await prepareFolder(job.folder, job.plan);
  const open = jobs.filter((job) => job.step < job.plan.steps);
  say(`${jobs.length} runs, ${jobs.length - open.length} of them finished already; ${parallel} at once, in ${out}.`);
  const children = new Set<ChildProcess>();
  let stopping = false;
  const stop = (): void => {
    stopping = true;
    for (const child of children) child.stdin?.end();
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  const pool = { parallel, stopping: () => stopping, pause: () => sleep(stopping ? 0 : 15_000) };

  const before = new Map<string, RunPlan>();
  for (const { plan } of open) if (!(await untrainedCells(out, plan))) before.set(untrainedFolder(out, plan), plan);
  for (const [folder, plan] of before) await prepareFolder(folder, plan);
  if (before.size > 0) say('Measuring the model before training.');
  const measured = await runPool({ ...pool, jobs: [...before.keys()], start: (folder) => startLane(folder, children, () => undefined) });

  const left = (): string => {
    const runs = jobs.map(({ key, step, seconds, plan }) => ({ key, seconds, done: step / plan.steps }));
    const seconds = timeLeft(runs, parallel);
    return seconds === null || seconds === 0 ? '' : `   about ${duration(seconds)} left`;
  };
  const trained = await runPool({
    ...pool,
    jobs: open,
    async start(job) {
      const earlier = job.seconds ?? 0;
      const start = performance.now();
      const outcome = await startLane(job.folder, children, ({ step, metrics }) => {
        const measurement = !('reward' in metrics);
        job.step = Math.min(step, job.plan.steps - 1);
        job.seconds = earlier + (performance.now() - start) / 1000;
        const shown = Object.entries(metrics).map(([name, x]) => `${name} ${name === 'reward' ? x.toFixed(3) : percent(x)}`);
        if (shown.length > 0 && (measurement || step % LINE_EVERY === 0))
          say(`${job.label.padEnd(24)} ${step}/${job.plan.steps}   ${shown.join('  ')}${left()}`);
      });
      const finished = jobs.filter(({ step, plan }) => step === plan.steps).length + (outcome === 'done' ? 1 : 0);
      if (outcome === 'done') job.step = job.plan.steps;
      if (outcome === 'done')
        say(`${job.label.padEnd(24)} finished in ${duration(job.seconds ?? 0)}; ${finished} of ${jobs.length} runs${left()}`);
      if (outcome === 'failed') say(`${job.label.padEnd(24)} failed; what it said stands above.`);
      if (outcome === 'busy') say(`${job.label.padEnd(24)} is being made by another process; it comes again later.`);
      return outcome;
    },
  });
  process.off('SIGINT', stop);
  process.off('SIGTERM', stop);
  if (stopping) say('Stopped after the last finished steps. The same command goes on from there.');
  return !stopping && [...measured.values(), ...trained.values()].every((outcome) => outcome === 'done');
}

/** Whole numbers between commas. */
function numbersOption(text: string | null): number[] | null {
  if (text === null) return null;
  const numbers = text.split(',').map(Number);
  if (!numbers.every((x) => Number.isInteger(x) && x >= 0)) throw new UsageError(`--seeds is ${text}; it must be whole numbers: 1,2,3.`);
  return numbers;
}

function choiceOf(options: ReturnType<typeof parse>['options'], experiments: readonly Experiment[]): Choice {
  const only = textOption(options, 'only')?.split(',') ?? null;
  const known = experiments.flatMap((e) => e.lanes.map((l) => l.name));
  const strange = only?.find((name) => !known.includes(name));
  if (strange !== undefined) throw new UsageError(`There is no lane “${strange}”; there are ${known.join(', ')}.`);
  return { only, seeds: numbersOption(textOption(options, 'seeds')) };
}

async function main(argv: readonly string[]): Promise<boolean> {
  const { options, rest: named } = parse(argv, OPTIONS);
  // the shell's *.json names them too
  const rest = named.filter((file) => !file.endsWith('.results.json'));
  if (options.has('results')) {
    for (const [path, text] of await report(FOLDER)) await replaceFile(path, text);
    say('Wrote docs/results.md and its plots.');
    return true;
  }
  if (options.has('help') || rest.length === 0) {
    say(`npm run experiment -- ${FOLDER}/NAME.json … [options]\n\n${optionHelp(OPTIONS)}`);
    return true;
  }
  const out = textOption(options, 'out') ?? join('runs', 'experiments');
  const experiments: Experiment[] = [];
  for (const file of rest) experiments.push(readExperiment(await readFile(file, 'utf8'), file));
  let complete = true;
  if (!options.has('report')) {
    await mkdir(out, { recursive: true });
    complete = await train(await jobsOf(experiments, out, choiceOf(options, experiments)), out, wholeOption(options, 'jobs', 2, 1));
  }
  for (const [at, experiment] of experiments.entries()) {
    const folder = dirname(rest[at]);
    const results = await collect(experiment, out, await publishedRuns(folder));
    if (results.lanes.length === 0) continue;
    await replaceFile(join(folder, `${experiment.name}.results.json`), resultsToJson(results));
    for (const { file, svg } of drawPlots(experiment, results)) await replaceFile(join(folder, file), svg);
    say(`Wrote results and plots of ${experiment.name} to ${folder}.`);
    process.stdout.write(`${tablesOf({ experiment, results })}\n`);
  }
  return complete;
}

try {
  process.exit((await main(process.argv.slice(2))) ? 0 : 1);
} catch (error) {
  const expected = error instanceof UsageError || error instanceof ExperimentError || (error as { code?: string }).code === 'ENOENT';
  say(expected ? (error as Error).message : String((error as Error).stack ?? error));
  process.exit(1);
}
