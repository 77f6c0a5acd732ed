/**
 * @file A run's checkpoint: settings, finished steps, adapter and optimiser, as one JSON text. What a resumed run does from
 * there is, to the bit, what the uninterrupted run would have done on the same machine.
 */
import { floatsFromBase64, floatsToBase64 } from './base64.ts';
import { RecordError } from './jsonl.ts';
import { checkSettings, type Settings } from './settings.ts';
import { number, object, oneOf, text } from './shape.ts';
import type { RunState } from './trainer.ts';

const KIND = 'grpo-playground run';

const CHECK = object({
  kind: oneOf(KIND),
  schema: oneOf(1),
  step: number,
  settings: object({ preset: text }),
  adapter: object({ step: number, params: text, m: text, v: text }),
});

export function runToJson({ settings, step, adapter }: RunState): string {
  return JSON.stringify({
    kind: KIND,
    schema: 1,
    step,
    settings,
    adapter: { step: adapter.step, params: floatsToBase64(adapter.params), m: floatsToBase64(adapter.m), v: floatsToBase64(adapter.v) },
  });
}

/** Throws RecordError on what is no checkpoint, SettingsError on settings that this version refuses. */
export function runFromJson(file: string): RunState {
  let parsed: unknown;
  try {
    parsed = JSON.parse(file);
  } catch {
    throw new RecordError('The checkpoint is no JSON; it may have been cut off. Start the run again.');
  }
  const problem = CHECK(parsed, '');
  if (problem) throw new RecordError(`This is no checkpoint of a run: ${problem}.`);
  const { settings, step, adapter } = parsed as {
    settings: Settings;
    step: number;
    adapter: { step: number; params: string; m: string; v: string };
  };
  checkSettings(settings);
  const state = {
    step: adapter.step,
    params: floatsFromBase64(adapter.params),
    m: floatsFromBase64(adapter.m),
    v: floatsFromBase64(adapter.v),
  };
  if (state.m.length !== state.params.length || state.v.length !== state.params.length) {
    throw new RecordError('The checkpoint’s weights and moments differ in length. Start the run again.');
  }
  return { settings, step, adapter: state };
}
