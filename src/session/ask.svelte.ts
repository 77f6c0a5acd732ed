/**
 * @file Asking the model a question of one's own: the picture, the words, the answers before and after training, and whether
 * to train on it.
 */
import type { Reply } from '../worker/protocol.ts';
import type { Answers, DecodedPicture, OwnQuestion, PictureData, Problem, Triplet } from './types.ts';

/** What asking needs of the session. */
export interface Asking {
  ask(question: OwnQuestion): Promise<Reply<Answers>>;
  trainOn(question: OwnQuestion | null): Promise<Reply<null>>;
  decodePicture(file: Blob): Promise<Reply<DecodedPicture>>;
  triplet(picture: PictureData, seed: number): Promise<Reply<Triplet>>;
}

export const LONGEST_QUESTION = 400;
const NO_PICTURE = 'There is no picture yet. Choose a file, or press “next phase” so that there is one on the board.';

export class Ask {
  readonly #session: Asking;
  /** A picture of the visitor's; null asks about the one on the board. */
  picture = $state.raw<PictureData | null>(null);
  /** What was done to the picture, in a sentence. */
  note = $state('');
  text = $state('');
  answer = $state('');
  /** The visitor says that the answer stays the same when noise is added. */
  confirmed = $state(false);
  /** With MiCo: what was made of the picture, and by which seed. */
  triplet = $state.raw<Triplet | null>(null);
  #seed = 0;
  busy = $state(false);
  /** Words while they come. */
  streaming = $state.raw<{ readonly before: string; readonly after: string }>({ before: '', after: '' });
  answers = $state.raw<Answers | null>(null);
  /** The step after which the answers were given. */
  answeredAt = $state(0);
  problem = $state.raw<Problem | null>(null);
  training = $state.raw<OwnQuestion | null>(null);

  constructor(session: Asking) {
    this.#session = session;
  }

  async open(file: Blob | null | undefined): Promise<void> {
    if (!file) return;
    this.problem = null;
    const reply = await this.#session.decodePicture(file);
    if (!reply.ok) {
      this.problem = reply.problem;
      return;
    }
    const { picture, width, height } = reply.value;
    this.picture = picture;
    this.triplet = null;
    this.answers = null;
    const size = width * height >= 1e6 ? `${((width * height) / 1e6).toPrecision(3)} megapixels` : `${width} × ${height} pixels`;
    this.note = `Your picture has ${size}; the model sees it at ${picture.width} × ${picture.height}, as shown. It was taught on simple shapes and digits: expect little from photographs.`;
  }

  /** Back to the picture on the board. */
  usePage(): void {
    this.picture = null;
    this.note = '';
    this.triplet = null;
    this.answers = null;
  }

  /** Another model answers from now on; what was asked of the old one means nothing to it. */
  modelChanged(): void {
    this.triplet = null;
    this.answers = null;
    this.training = null;
  }

  /** A triplet of the picture at hand; each press makes another. */
  async makeTriplet(fallback: PictureData | null): Promise<void> {
    this.problem = null;
    const picture = this.picture ?? fallback;
    if (!picture) return this.#refuse(NO_PICTURE);
    const reply = await this.#session.triplet($state.snapshot(picture) as PictureData, ++this.#seed);
    if (!reply.ok) {
      this.problem = reply.problem;
      return;
    }
    this.picture = picture;
    this.triplet = reply.value;
    this.answers = null;
  }

  #refuse(message: string): void {
    this.problem = { kind: 'question', message, advice: '' };
  }

  #question(fallback: PictureData | null): OwnQuestion | null {
    const text = this.text.trim();
    const refuse = (message: string): null => {
      this.#refuse(message);
      return null;
    };
    const shown = this.picture ?? fallback;
    if (!shown) return refuse(NO_PICTURE);
    const picture = $state.snapshot(shown) as PictureData;
    if (this.triplet) return { picture, text: this.triplet.text, answer: this.triplet.answer, confirmed: false, triplet: this.#seed };
    if (text === '') return refuse('The question is empty. Type one, for example “how many circles are there?”.');
    if (text.length > LONGEST_QUESTION)
      return refuse(`The question has ${text.length} characters; at most ${LONGEST_QUESTION} can be asked. Shorten it.`);
    return { picture, text, answer: this.answer.trim() || null, confirmed: this.confirmed, triplet: null };
  }

  async submit(fallback: PictureData | null, step: number): Promise<void> {
    this.problem = null;
    const question = this.#question(fallback);
    if (!question) return;
    this.busy = true;
    this.answers = null;
    this.streaming = { before: '', after: '' };
    const reply = await this.#session.ask(question);
    this.busy = false;
    if (reply.ok) {
      this.answers = reply.value;
      this.answeredAt = step;
    } else this.problem = reply.problem;
  }

  /** From the next step on the first question is this one, or no longer. */
  async train(on: boolean, fallback: PictureData | null): Promise<void> {
    this.problem = null;
    const question = on ? this.#question(fallback) : null;
    if (on && !question) return;
    if (question && question.answer === null) {
      this.#refuse('Say what the right answer is: without one no response can be rewarded, and nothing is learned.');
      return;
    }
    const reply = await this.#session.trainOn(question);
    if (reply.ok) this.training = question;
    else this.problem = reply.problem;
  }
}
