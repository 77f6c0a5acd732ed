/**
 * @file Where a checkpoint's files come from.
 */
export interface CheckpointSource {
  /** Shown to people: a repository name, an address, a folder. */
  readonly name: string;
  read(path: string): Promise<Uint8Array>;
}
