/**
 * @file What the visitor looks at: question q, row (k; j, i) and token t. One selection for all views, so that a click in one
 * is seen in the others. Hovering previews, a click keeps.
 */
import { rowCounts } from '../worker/protocol.ts';
import type { StepRecord } from './types.ts';

export interface Place {
  /** The variant a response is scored under. */
  readonly k: number;
  /** The variant it was sampled under. */
  readonly j: number;
  readonly i: number;
}

export type AdvantageView = 'local' | 'global' | 'total';
export type MatrixView = 'logprob' | 'gap' | 'advantage' | 'ratio';
export type TokenLens = 'logprob' | 'entropy' | 'gap' | 'advantage';

export class Selection {
  q = $state(0);
  t = $state(0);
  advantage = $state<AdvantageView>('total');
  matrix = $state<MatrixView>('gap');
  lens = $state<TokenLens>('logprob');
  #kept = $state.raw<Place>({ k: 0, j: 0, i: 0 });
  /** Where to begin in a question: a row that counts. */
  #first: Place = { k: 0, j: 0, i: 0 };
  #hovered = $state.raw<Place | null>(null);

  readonly place: Place = $derived(this.#hovered ?? this.#kept);
  readonly kept: Place = $derived(this.#kept);

  keep(place: Place): void {
    if (place.j !== this.#kept.j || place.i !== this.#kept.i) this.t = 0;
    this.#kept = place;
    this.#hovered = null;
  }

  hover(place: Place | null): void {
    this.#hovered = place;
  }

  question(q: number): void {
    this.q = q;
    this.keep(this.#first);
    this.t = 0;
  }

  /** Brings everything inside a step: to a response that is there, and after a change of method to a row that counts. */
  clamp({ questions, settings }: StepRecord): void {
    if (this.q >= questions.length) this.question(0);
    const question = questions[this.q];
    if (!question || question.responses.length === 0) return;
    const j = question.responses.findIndex((group) => group.length > 0);
    const k = question.variants.findIndex((_, at) => rowCounts(settings, at, j));
    const moved = k !== this.#first.k || j !== this.#first.j;
    if (moved) this.#first = { k, j, i: 0 };
    const kept = this.#kept;
    if (moved || kept.k >= question.variants.length || !question.responses[kept.j]?.[kept.i]) this.keep(this.#first);
  }
}
