/**
 * @file The benchmark itself, the same in a browser and in Deno: a default Share-GRPO step, phase by phase, with the counts that
 * decide its speed at this size (dispatches, submits, buffers and bind groups created).
 */
import type { Gpu, GpuCounters } from '../../src/engine/gpu.ts';
import type { Policy } from '../../src/model/policy.ts';
import type { DigitSet } from '../../src/tasks/index.ts';
import { PHASES, type StepRecord } from '../../src/training/record.ts';
import { DEFAULTS } from '../../src/training/presets.ts';
import { Trainer } from '../../src/training/trainer.ts';

export interface BenchOptions {
  readonly gpu: Gpu;
  readonly policy: Policy;
  readonly digits: DigitSet;
  /** The first step also compiles pipelines; it is printed and left out of the mean. */
  readonly steps: number;
  readonly print: (line: string) => void;
}

const COUNTERS = ['dispatches', 'submits', 'buffers', 'bindGroups', 'pipelines'] as const;

const row = (cells: readonly (string | number)[]): string =>
  cells.map((c, i) => (i === 0 ? String(c).padEnd(12) : String(c).padStart(12))).join('');

/** Runs the steps and prints a table of each. */
export async function bench({ gpu, policy, digits, steps, print }: BenchOptions): Promise<void> {
  const settings = { ...DEFAULTS, evaluateEvery: 1 };
  const trainer = new Trainer({ policy, settings, digits });
  print(
    `${gpu.adapterName}; ${policy.info.name}; B = ${settings.questionsPerStep}, m = ${settings.variants}, n = ${settings.responses}, ${settings.evaluateQuestions} held-out questions per phrasing`,
  );
  const means = new Map<string, number>();
  for (let s = 1; s <= steps; s++) {
    let before: GpuCounters = { ...gpu.counters };
    let record: StepRecord | undefined;
    print(`\n${row([`step ${s}`, 'ms', ...COUNTERS])}`);
    for await (const r of trainer.run()) {
      const ms = r.timing[r.phase] ?? 0;
      print(row([r.phase, ms.toFixed(0), ...COUNTERS.map((c) => gpu.counters[c] - before[c])]));
      if (s > 1) means.set(r.phase, (means.get(r.phase) ?? 0) + ms / (steps - 1));
      before = { ...gpu.counters };
      record = r;
    }
    if (!record) continue;
    const ms = Object.values(record.timing).reduce((a, b) => a + b, 0);
    print(row(['whole step', ms.toFixed(0)]));
    print(
      `sampled ${record.metrics.num_tokens} tokens (${(record.metrics.num_tokens / ((record.timing.rollout ?? 1) / 1000)).toFixed(0)}/s), updated on ${record.update?.tokens ?? 0} tokens in ${record.update?.rows ?? 0} rows (${((record.update?.tokens ?? 0) / ((record.timing.update ?? 1) / 1000)).toFixed(0)}/s)`,
    );
  }
  if (steps > 1) print(`\nmean of steps 2 to ${steps}: ${PHASES.map((p) => `${p} ${(means.get(p) ?? 0).toFixed(0)}`).join(', ')} ms`);
}
