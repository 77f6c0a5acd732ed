/**
 * @file The run so far: immutable records, which of them is shown, and up to which phase. The newest record is followed until
 * the visitor looks back.
 */
import { upTo } from './up-to.ts';
import { PHASES, type Phase, type StepRecord } from './types.ts';

export class History {
  /** One per step, in order; the last may be unfinished. */
  records = $state.raw<readonly StepRecord[]>([]);
  #index = $state(-1);
  /** The last phase shown; null shows all there is. */
  #phase = $state<Phase | null>(null);

  /** The record at the cursor, whole. */
  readonly current: StepRecord | null = $derived(this.records[this.#index] ?? null);
  /** The record at the cursor, as far as it is shown. */
  readonly shown: StepRecord | null = $derived(this.current && this.#phase ? upTo(this.current, this.#phase) : this.current);
  readonly phase: Phase | null = $derived(this.shown?.phase ?? null);
  readonly atEnd: boolean = $derived(
    this.#index === this.records.length - 1 && (this.#phase === null || this.#phase === this.current?.phase),
  );

  get index(): number {
    return this.#index;
  }

  /** Looks at a step, all of it. */
  goTo(index: number): void {
    this.#index = Math.min(Math.max(index, this.records.length > 0 ? 0 : -1), this.records.length - 1);
    this.#phase = null;
  }

  /** Looks at the current step as it was after this phase. */
  lookAt(phase: Phase): void {
    this.#phase = phase;
  }

  /** Back to the newest. */
  follow(): void {
    this.#index = this.records.length - 1;
    this.#phase = null;
  }

  /** Takes the record of a phase: it replaces the one of the same step, or is added. */
  take(record: StepRecord): void {
    const following = this.atEnd;
    const at = this.records.findIndex((r) => r.step === record.step);
    this.records = at < 0 ? [...this.records, record] : this.records.with(at, record);
    if (following || this.#index < 0) this.follow();
  }

  /** Forgets a step that was given up. */
  drop(step: number): void {
    this.records = this.records.filter((r) => r.step !== step);
    this.follow();
  }

  replaceAll(records: readonly StepRecord[]): void {
    this.records = records;
    this.follow();
  }

  /** One phase further through what is recorded; false at the end. */
  forward(): boolean {
    const record = this.current;
    if (!record) return false;
    const at = PHASES.indexOf(this.#phase ?? record.phase);
    if (at < PHASES.indexOf(record.phase)) {
      this.#phase = PHASES[at + 1];
      return true;
    }
    if (this.#index + 1 >= this.records.length) return false;
    this.#index++;
    this.#phase = 'expand';
    return true;
  }

  /** Back to the first phase of the first record. */
  rewind(): void {
    this.goTo(0);
    if (this.records.length > 0) this.#phase = 'expand';
  }
}
