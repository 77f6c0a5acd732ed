/** @file The types that views speak; they come from the trainer's records and the worker's protocol. */
export type {
  AdvantageRecord,
  EvaluationRecord,
  Floats,
  GroupState,
  PairRecord,
  Phase,
  PictureData,
  QuestionRecord,
  ResponseRecord,
  RewardRecord,
  StepRecord,
  UpdateRecord,
  VariantRecord,
} from '../training/record.ts';
export type { NumberSetting, Setting, Settings } from '../training/settings.ts';
export type { Answers, DecodedPicture, LoadProgress, ModelInfo, OwnQuestion, Problem, Progress, RunState } from '../worker/protocol.ts';
export { DEFAULTS, PHASES, PRESETS, SETTINGS } from '../worker/protocol.ts';
