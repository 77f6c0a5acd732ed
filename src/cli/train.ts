/**
 * @file `npm run train`: the page's trainer without a page, in Deno. Writes one record per step as JSON lines, a checkpoint
 * beside them after each step, and a summary on test questions at the end.
 */
import { appendFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { evaluate } from '../training/evaluation.ts';
import { toJson } from '../training/jsonl.ts';
import type { EvaluationRecord, StepRecord } from '../training/record.ts';
import { runFromJson, runToJson } from '../training/run.ts';
import { SettingsError } from '../training/settings.ts';
import { Trainer, type RunState } from '../training/trainer.ts';
import { optionHelp, parse, SETTING_OPTIONS, settingsFrom, textOption, UsageError, wholeOption, type OptionSpec } from './args.ts';
import { DEFAULT_MODEL, open, readIfThere } from './open.ts';
import { describe, type RunSummary } from './summary.ts';

const OPTIONS: Readonly<Record<string, OptionSpec>> = {
  help: { help: 'Shows this.' },
  steps: { value: 'NUMBER', help: 'Steps in all (100).' },
  out: { value: 'FILE', help: 'Where the records go, as JSON lines (run.jsonl).' },
  resume: { help: 'Go on from the checkpoint beside the records, if there is one.' },
  light: { help: 'Leave out what is per token, and do not measure what only describes a step.' },
  model: { value: 'FOLDER', help: `The model (${DEFAULT_MODEL}).` },
  'test-questions': { value: 'NUMBER', help: 'Test questions per phrasing, before and after the run (200); 0 for none.' },
  before: { value: 'SUMMARY', help: 'Take the figures before training from another run’s summary: a fresh adapter changes nothing.' },
  adapter: { value: 'FOLDER', help: 'Save the adapter there as PEFT files at the end.' },
  ...SETTING_OPTIONS,
};

const say = (line: string): void => void process.stderr.write(`${line}\n`);

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

const percent = (share: number): string => `${(100 * share).toFixed(0)} %`.padStart(5);

function progressLine(r: StepRecord, steps: number, secondsLeft: number): string {
  const m = r.metrics;
  const held =
    m['eval_plain/accuracy'] === undefined
      ? ''
      : `  held out: plain ${percent(m['eval_plain/accuracy'])} (careful ${percent(m['eval_plain/careful'])}), steps ${percent(m['eval_steps/accuracy'])}`;
  return `step ${String(r.step).padStart(String(steps).length)}/${steps}  reward ${m.reward.toFixed(3)}  right ${percent(m['rewards/accuracy/mean'])}  careful ${percent(m['share/careful'])}  length ${m['completions/mean_length'].toFixed(1)}  entropy ${m.entropy.toFixed(2)}  |g| ${m.grad_norm.toFixed(2)}  ${m.step_time.toFixed(1)} s  ${duration(secondsLeft)} left${held}`;
}

/** Whole or not at all: a crash in mid-write leaves the old file. */
async function replaceFile(path: string, text: string): Promise<void> {
  await writeFile(`${path}.part`, text);
  await rename(`${path}.part`, path);
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
  const [checkpointPath, summaryPath] = [`${base}.checkpoint.json`, `${base}.summary.json`];
  const light = options.has('light');

  const saved = options.has('resume') ? await readIfThere(checkpointPath) : null;
  const state: RunState | null = saved ? runFromJson(new TextDecoder().decode(saved)) : null;
  const settings = state?.settings ?? settingsFrom(options);

  const { gpu, policy, digits } = await open(textOption(options, 'model') ?? DEFAULT_MODEL, settings);
  say(
    `${policy.info.name}: ${(policy.info.parameters / 1e6).toFixed(2)} M parameters, ${policy.info.loraParameters} in the adapter, on ${gpu.adapterName}`,
  );
  const trainer = new Trainer({ policy, settings, digits, diagnostics: !light });
  const abort = new AbortController();
  process.once('SIGINT', () => abort.abort(new Error(`Stopped. Go on with the same command and --resume.`)));

  const test = (): Promise<EvaluationRecord['cells']> =>
    testQuestions === 0
      ? Promise.resolve([])
      : evaluate({ policy, settings: { ...settings, evaluateQuestions: testQuestions }, digits, split: 'test', signal: abort.signal });

  let summary: RunSummary;
  await mkdir(dirname(out), { recursive: true });
  if (state) {
    trainer.restore(state);
    summary = JSON.parse(await readFile(summaryPath, 'utf8')) as RunSummary;
    // a record written just before the crash, whose step the checkpoint does not have yet, is made again
    const lines = (await readFile(out, 'utf8')).split('\n').filter(Boolean).slice(0, state.step);
    await replaceFile(out, lines.map((l) => `${l}\n`).join(''));
    say(`Going on after step ${state.step}.`);
  } else {
    const other = textOption(options, 'before');
    const before = other ? (JSON.parse(await readFile(other, 'utf8')) as RunSummary).before : await test();
    summary = { kind: 'grpo-playground summary', settings, steps: 0, samples: 0, tokens: 0, seconds: 0, before, after: null };
    await writeFile(out, '');
    await replaceFile(summaryPath, JSON.stringify(summary));
    if (!other && before.length > 0) say(`Before training:\n${describe(summary)}`);
  }

  const recent: number[] = [];
  while (trainer.step < steps) {
    let record: StepRecord | undefined;
    for await (const r of trainer.run({ signal: abort.signal })) record = r;
    if (!record) throw new Error('The step gave no record.');
    await appendFile(out, `${toJson(record, { light })}\n`);
    const { samples, tokens, seconds } = summary;
    const perStep = settings.questionsPerStep * settings.variants * settings.responses;
    summary = {
      ...summary,
      steps: trainer.step,
      samples: samples + perStep,
      tokens: tokens + record.metrics.num_tokens,
      seconds: seconds + record.metrics.step_time,
    };
    await replaceFile(summaryPath, JSON.stringify(summary));
    await replaceFile(checkpointPath, runToJson(await trainer.state()));
    recent.push(record.metrics.step_time);
    if (recent.length > 20) recent.shift();
    say(progressLine(record, steps, (recent.reduce((a, b) => a + b, 0) / recent.length) * (steps - trainer.step)));
  }

  if (!summary.after) summary = { ...summary, after: await test() };
  await replaceFile(summaryPath, JSON.stringify(summary));
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
