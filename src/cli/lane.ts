/**
 * @file One job of an experiment in a process of its own, started by experiment.ts: trains the run whose plan lies in the folder,
 * or, in a folder `untrained-…`, measures the model before any training. Tells its parent how far it is in JSON lines on
 * stdout, and stops when the parent's end of its stdin is gone.
 */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { lockFolder, replaceFile } from './files.ts';
import { open } from './open.ts';
import { cellsFile, filesOf, isUntrained, PLAN_FILE, untrainedCells, type RunPlan } from './run-plan.ts';
import { measure, runTraining, savedState } from './run-training.ts';
import { BUSY, STOPPED, type Told } from './schedule.ts';
import { tally } from './summary.ts';

const tell = (told: Told): void => void process.stdout.write(`${JSON.stringify(told)}\n`);

async function work(folder: string, signal: AbortSignal): Promise<void> {
  const plan = JSON.parse(await readFile(join(folder, PLAN_FILE), 'utf8')) as RunPlan;
  const { settings, steps, evaluate } = plan;
  const { gpu, policy, digits } = await open(plan.model.folder, settings);
  const common = { policy, digits, settings, signal };
  if (isUntrained(folder)) {
    const cells = await measure({ ...common, questions: evaluate.test, samples: evaluate.samples });
    await replaceFile(cellsFile(folder), JSON.stringify(cells));
  } else {
    const files = filesOf(folder);
    const before = await untrainedCells(dirname(folder), plan);
    const saved = await savedState(files);
    if (saved) tell({ step: saved.step, metrics: {} });
    await runTraining({
      ...common,
      steps,
      files,
      saved,
      light: true,
      evaluation: evaluate,
      ...(before ? { before } : {}),
      onStep: ({ step, metrics }) => tell({ step, metrics: { reward: metrics.reward, careful: metrics['share/careful'] } }),
      onPoint: ({ curve }) => {
        const point = curve.at(-1);
        if (!point) return;
        const metrics: Record<string, number> = {};
        for (const phrasing of new Set(point.cells.map((c) => c.phrasing)))
          for (const way of ['greedy', 'sampled'] as const) {
            const { n, right } = tally(point.cells, way, phrasing);
            if (n > 0) metrics[`${phrasing} ${way}`] = right / n;
          }
        tell({ step: point.step, metrics });
      },
    });
  }
  policy.destroy();
  gpu.destroy();
}

const folder = process.argv[2];
const abort = new AbortController();
const stop = (): void => abort.abort();
process.on('SIGINT', stop); // Ctrl-C reaches parent and child
process.on('SIGTERM', stop);
process.stdin.on('end', stop);
process.stdin.resume();

const unlock = await lockFolder(folder);
if (!unlock) process.exit(BUSY);
let status = 0;
try {
  await work(folder, abort.signal);
} catch (error) {
  status = abort.signal.aborted ? STOPPED : 1;
  if (status === 1) process.stderr.write(`${folder}: ${(error as Error).stack ?? String(error)}\n`);
}
await unlock();
process.exit(status);
