/**
 * @file What the visitor looks at: question q, row (k; j, i) and token t. One selection for all views, so that a click in one
 * is seen in the others. Hovering previews, a click keeps.
 */
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
    this.keep({ k: 0, j: 0, i: 0 });
    this.t = 0;
  }

  /** Brings everything inside a step: to a response that is there. */
  clamp({ questions }: StepRecord): void {
    if (this.q >= questions.length) this.question(0);
    const question = questions[this.q];
    if (!question || question.responses.length === 0) return;
    const { k, j, i } = this.#kept;
    if (k < question.variants.length && question.responses[j]?.[i]) return;
    const sampled = question.responses.findIndex((group) => group.length > 0);
    this.keep({ k: sampled, j: sampled, i: 0 });
  }
}
