/** @file What the audit of a variant says, and how it was found out. */
import type { QuestionRecord, Settings, VariantRecord } from '../../session/types.ts';

export interface AuditWords {
  readonly sign: '✓' | '✗' | '?';
  readonly words: string;
  readonly tip: string;
}

const TASKS: Readonly<Record<VariantRecord['audit'], AuditWords>> = {
  kept: {
    sign: '✓',
    words: 'answer kept',
    tip: 'Recomputed: the wording was read back, the transform applied to the scene, and the answer worked out anew. It is still the same.',
  },
  changed: {
    sign: '✗',
    words: 'answer changed',
    tip: 'Recomputed: the wording was read back, the transform applied to the scene, and the answer worked out anew. It is another one, so what is rewarded here is wrong.',
  },
  unknown: {
    sign: '?',
    words: 'answer unknown',
    tip: 'The wording could not be read back, or the scene is not known, so nobody knows whether the answer is kept.',
  },
};

const OWN: Readonly<Record<VariantRecord['audit'], AuditWords>> = {
  ...TASKS,
  kept: {
    ...TASKS.kept,
    tip: 'You said that the answer to your question stays the same when noise is added; nothing else is done to your picture.',
  },
  unknown: {
    ...TASKS.unknown,
    tip: 'Nobody can work out the answer from your picture. If you know that noise does not change it, say so where you asked: “The answer stays the same when noise is added”.',
  },
};

const VIEWS: Readonly<Record<VariantRecord['audit'], AuditWords>> = {
  kept: {
    sign: '✓',
    words: 'difference in sight',
    tip: 'Recomputed from the two scenes: the one thing that differs is still in sight in these crops, by at least half of its area, so the answer is right.',
  },
  changed: {
    sign: '✗',
    words: 'difference out of sight',
    tip: 'Recomputed from the two scenes: the one thing that differs is cut off in one of these crops, so nobody could see it. The answer is rewarded all the same.',
  },
  unknown: {
    sign: '?',
    words: 'difference not audited',
    tip: 'Of your own picture nobody knows what else is in it, so it is not known what the crops still show.',
  },
};

export function auditWords(question: QuestionRecord, variant: VariantRecord): AuditWords {
  if (question.family === 'mico') return VIEWS[variant.audit];
  return (question.family === 'own' ? OWN : TASKS)[variant.audit];
}

/** What it means that a variant was poisoned. */
export const poisonTip = (question: QuestionRecord): string =>
  question.family === 'digits'
    ? `Poisoned: one digit of the picture was replaced, so that its answer is no longer ${question.answer ?? 'known'}. Responses are still graded by ${question.answer ?? 'it'}.`
    : `Poisoned: the wording was made to ask something else, whose answer is not ${question.answer ?? 'known'}. Responses are still graded by ${question.answer ?? 'it'}.`;

/** “at least 0.85 of the side”, “0.5 to 0.8 of the side” */
export const viewRange = (s: Settings, weak: boolean): string =>
  weak ? `at least ${s.weakCrop} of the side` : `${s.strongCrop} to ${s.strongCropMost} of the side`;
