/** @file A visitor's question as the trainer wants it, and the triplet that MiCo makes of a picture. */
import { ModelError } from '../model/errors.ts';
import { ownQuestion, tripletFrom, type Question } from '../tasks/index.ts';
import type { PictureData } from '../training/record.ts';
import type { OwnQuestion, Triplet } from './protocol.ts';

const LONGEST_QUESTION = 400; // characters; also keeps a pasted book from the tokenizer

/** Throws ModelError `prompt` with a sentence if it cannot be asked. */
export function questionFrom(o: OwnQuestion): Question {
  if (o.triplet !== null) return tripletFrom(o.picture, o.triplet);
  const text = o.text.trim();
  if (text === '') throw new ModelError('prompt', 'The question is empty. Type one, for example “how many circles are there?”.');
  if (text.length > LONGEST_QUESTION)
    throw new ModelError('prompt', `The question has ${text.length} characters; at most ${LONGEST_QUESTION} can be asked. Shorten it.`);
  return ownQuestion({ picture: o.picture, text, answer: o.answer, confirmed: o.confirmed });
}

/** What the model is shown and asked. */
export function asked(o: OwnQuestion): { readonly pictures: readonly PictureData[]; readonly text: string } {
  const { pictures, picture, text } = questionFrom(o);
  return { pictures: pictures ?? [picture], text: text.text };
}

export function tripletOf(picture: PictureData, seed: number): Triplet {
  const { pictures = [], text, answer } = tripletFrom(picture, seed);
  return { pictures, text: text.text, answer: answer ?? '' };
}
