/** @file The types that views speak; they come from the trainer's records and the worker's protocol. */
export type {
  AdvantageRecord,
  EvaluationRecord,
  Floats,
  GroupState,
  InnerUpdate,
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
export type {
  Answers,
  DecodedPicture,
  LoadProgress,
  ModelInfo,
  OwnQuestion,
  PresetName,
  Problem,
  Progress,
  RunState,
  Triplet,
} from '../worker/protocol.ts';
export { ABOUT, DEFAULTS, GROUPS, PHASES, PRESET_NAMES, PRESETS, SETTINGS, TELLING } from '../worker/protocol.ts';
