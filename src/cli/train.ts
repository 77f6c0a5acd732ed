/**
 * @file `npm run train`: the page's trainer without a page, in Deno. Writes one record per step as JSON lines, a checkpoint
 * beside them after each step, and a summary on test questions at the end.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import type { StepRecord } from '../training/record.ts';
import { SettingsError } from '../training/settings.ts';
import { optionHelp, parse, SETTING_OPTIONS, settingsFrom, textOption, UsageError, wholeOption, type OptionSpec } from './args.ts';
import { duration } from './format.ts';
import { modelFor, open } from './open.ts';
import { runTraining, savedState, type RunFiles } from './run-training.ts';
import { describe } from './summary.ts';

const OPTIONS: Readonly<Record<string, OptionSpec>> = {
  help: { help: 'Shows this.' },
  steps: { value: 'NUMBER', help: 'Steps in all (100).' },
  out: { value: 'FILE', help: 'Where the records go, as JSON lines (run.jsonl).' },
  resume: { help: 'Go on from the checkpoint beside the records, if there is one.' },
  light: { help: 'Leave out what is per token, and do not measure what only describes a step.' },
  model: { value: 'FOLDER', help: `The model (${modelFor('share-grpo')}; for MiCo’s presets ${modelFor('mico-strong')}).` },
  'test-questions': { value: 'NUMBER', help: 'Test questions per phrasing, before and after the run (200); 0 for none.' },
  adapter: { value: 'FOLDER', help: 'Save the adapter there as PEFT files at the end.' },
  ...SETTING_OPTIONS,
};

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`.padStart(5);

function progressLine(r: StepRecord, steps: number, secondsLeft: number): string {
  const m = r.metrics;
  const held =
    m['eval_plain/accuracy'] === undefined
      ? ''
      : `  held out: plain ${percent(m['eval_plain/accuracy'])} (careful ${percent(m['eval_plain/careful'])}), steps ${percent(m['eval_steps/accuracy'])}`;
  return `step ${String(r.step).padStart(String(steps).length)}/${steps}  reward ${m.reward.toFixed(3)}  right ${percent(m['rewards/accuracy/mean'])}  careful ${percent(m['share/careful'])}  length ${m['completions/mean_length'].toFixed(1)}  entropy ${m.entropy.toFixed(2)}  |g| ${m.grad_norm.toFixed(2)}  ${m.step_time.toFixed(1)} s  ${duration(secondsLeft)} left${held}`;
}

async function main(argv: readonly string[]): Promise<void> {
  const { options, rest } = parse(argv, OPTIONS);
  if (options.has('help')) {
    say(`npm run train -- [options]\n\n${optionHelp(OPTIONS)}`);
    return;
  }
  if (rest.length > 0) throw new UsageError(`“${rest.join(' ')}” is not understood; options are written --name value.`);
  const steps = wholeOption(options, 'steps', 100, 1);
  const testQuestions = wholeOption(options, 'test-questions', 200, 0);
  const out = textOption(options, 'out') ?? 'run.jsonl';
  const base = out.replace(/\.jsonl$/, '');
  const files: RunFiles = { records: out, checkpoint: `${base}.checkpoint.json`, summary: `${base}.summary.json` };
  const light = options.has('light');

  const saved = options.has('resume') ? await savedState(files) : null;
  const settings = saved?.settings ?? settingsFrom(options);
  const { gpu, policy, digits } = await open(textOption(options, 'model') ?? modelFor(settings.preset), settings);
  say(
    `${policy.info.name}: ${(policy.info.parameters / 1e6).toFixed(2)} M parameters, ${policy.info.loraParameters} in the adapter, on ${gpu.adapterName}`,
  );
  if (saved) say(`Going on after step ${saved.step}.`);
  const abort = new AbortController();
  process.once('SIGINT', () => abort.abort(new Error(`Stopped. Go on with the same command and --resume.`)));

  const recent: number[] = [];
  const summary = await runTraining({
    policy,
    digits,
    settings,
    steps,
    files,
    saved,
    light,
    evaluation: testQuestions === 0 ? null : { every: 0, questions: 0, samples: 0, test: testQuestions },
    signal: abort.signal,
    onStep(record) {
      recent.push(record.metrics.step_time);
      if (recent.length > 20) recent.shift();
      say(progressLine(record, steps, (recent.reduce((a, b) => a + b, 0) / recent.length) * (steps - record.step)));
    },
    onPoint(soFar) {
      if (soFar.steps === 0) say(`Before training:\n${describe(soFar)}`);
    },
  });
  say(
    `\n${settings.preset}, seed ${settings.seed}, ${summary.steps} steps, ${summary.samples} samples, ${summary.tokens} tokens, ${duration(summary.seconds)}\n${describe(summary)}`,
  );
  const folder = textOption(options, 'adapter');
  if (folder) {
    await mkdir(folder, { recursive: true });
    for (const [name, content] of Object.entries(await policy.exportAdapter()))
      await writeFile(join(folder, name), content as string | Uint8Array);
    say(`The adapter is in ${folder}.`);
  }
  policy.destroy();
  gpu.destroy();
}

try {
  await main(process.argv.slice(2));
  process.exit(0);
} catch (error) {
  const expected = error instanceof UsageError || error instanceof SettingsError || (error instanceof Error && error.name !== 'TypeError');
  say(expected ? (error as Error).message : String((error as Error).stack ?? error));
  process.exit(1);
}
