/**
 * @file A record as it was after one of its phases: later layers are taken off, earlier ones are untouched. So a recorded run
 * can be stepped through, and a finished step looked at again.
 */
import { PHASES, type Phase, type QuestionRecord, type StepRecord } from './types.ts';

export const reached = (record: StepRecord | null, phase: Phase): boolean =>
  record !== null && PHASES.indexOf(record.phase) >= PHASES.indexOf(phase);

function questionUpTo(question: QuestionRecord, has: (phase: Phase) => boolean): QuestionRecord {
  const pairs = has('update')
    ? question.pairs
    : question.pairs.map((rows) => rows.map((row) => row.map((pair) => ({ ...pair, ratios: null, clipped: null }))));
  return {
    ...question,
    responses: has('rollout') ? question.responses : [],
    rewards: has('reward') ? question.rewards : [],
    advantages: has('advantage') ? question.advantages : [],
    groups: has('advantage') ? question.groups : null,
    pairs: has('share') ? pairs : [],
  };
}

export function upTo(record: StepRecord, phase: Phase): StepRecord {
  const last = PHASES.indexOf(phase);
  if (last >= PHASES.indexOf(record.phase)) return record;
  const has = (p: Phase): boolean => PHASES.indexOf(p) <= last;
  return {
    ...record,
    phase,
    questions: record.questions.map((q) => questionUpTo(q, has)),
    redrawn: has('advantage') ? record.redrawn : [],
    update: has('update') ? record.update : null,
    evaluation: has('evaluate') ? record.evaluation : null,
  };
}
