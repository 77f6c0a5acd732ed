/** @file Everything the page says, in German. */
import type { Strings } from '../types.ts';
import { page } from './page.ts';
import { transport } from './transport.ts';
import { question } from './question.ts';
import { settings } from './settings.ts';
import { board } from './board.ts';
import { alive } from './alive.ts';
import { matrix } from './matrix.ts';
import { objective } from './objective.ts';
import { tokens } from './tokens.ts';
import { transfer } from './transfer.ts';
import { lora } from './lora.ts';
import { attention } from './attention.ts';
import { why } from './why.ts';
import { metrics } from './metrics.ts';
import { samples } from './samples.ts';
import { ask } from './ask.ts';
import { arena } from './arena.ts';
import { lessons } from './lessons.ts';
import { article } from './article.ts';
import { problems } from './problems.ts';
import { runs } from './runs.ts';

export const de: Strings = {
  page,
  transport,
  question,
  settings,
  board,
  alive,
  matrix,
  objective,
  tokens,
  transfer,
  lora,
  attention,
  why,
  metrics,
  samples,
  ask,
  arena,
  lessons,
  article,
  problems,
  runs,
};
