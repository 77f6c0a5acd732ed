/**
 * @file Errors of checkpoints, prompts and adapters: each message says what was found, where, and what to do.
 */

export type ModelErrorKind =
  | 'file' // missing or malformed file of a checkpoint or adapter
  | 'unsupported' // a checkpoint that is well formed but that this engine cannot run
  | 'prompt'; // a question that cannot be asked: empty, too long, special tokens in it

export class ModelError extends Error {
  readonly kind: ModelErrorKind;

  constructor(kind: ModelErrorKind, message: string) {
    super(message);
    this.name = 'ModelError';
    this.kind = kind;
  }
}
