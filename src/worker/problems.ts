/** @file Errors as plain data: what a thrown value means to the person at the page. */
import { GpuError } from '../engine/errors.ts';
import { ModelError } from '../model/errors.ts';
import { SettingsError } from '../training/settings.ts';
import type { Problem, ProblemKind, Reply } from './protocol.ts';

/** Why a step ended that the visitor gave up. */
export class Aborted extends Error {
  constructor() {
    super('The step was given up; the adapter is the one from before it.');
    this.name = 'Aborted';
  }
}

/** A visitor's file that is no usable picture. */
export class PictureError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PictureError';
  }
}

const MODEL_KINDS: Readonly<Record<ModelError['kind'], ProblemKind>> = { file: 'file', unsupported: 'file', prompt: 'question' };

export function problemOf(error: unknown): Problem {
  const plain = (kind: ProblemKind, message: string): Problem => ({ kind, message, advice: '' });
  if (error instanceof GpuError) {
    const { kind, advice, message } = error;
    return { kind, advice, message: message.endsWith(advice) ? message.slice(0, -advice.length).trim() : message };
  }
  if (error instanceof ModelError) return plain(MODEL_KINDS[error.kind], error.message);
  if (error instanceof SettingsError) return plain('settings', error.message);
  if (error instanceof PictureError) return plain('picture', error.message);
  if (error instanceof Aborted || (error instanceof DOMException && error.name === 'AbortError'))
    return plain('aborted', new Aborted().message);
  const message = error instanceof Error ? error.message : String(error);
  return {
    kind: 'unexpected',
    message: `Something unexpected happened: ${message}.`.replace('..', '.'),
    advice: 'The adapter from before this step is kept. Try again; if it happens again, restart the model and report this message.',
  };
}

/** Runs `task` and answers with its value or its problem, never with an exception. */
export async function reply<T>(task: () => Promise<T>): Promise<Reply<T>> {
  try {
    return { ok: true, value: await task() };
  } catch (error) {
    return { ok: false, problem: problemOf(error) };
  }
}
