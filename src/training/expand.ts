/**
 * @file The expand phase: which questions a step asks, and in which variants (Share-GRPO §1.1 as published, with true hints).
 *
 * With m > 1, m wordings are drawn without replacement from all of the question's wordings, the original included, so plain
 * and step-by-step ones both occur; each variant's picture is then, independently and with probability p, put through one of
 * the transforms that keep the answer. With m = 1 the question is asked as it stands (plain): that is GRPO's baseline.
 * Variants can be poisoned on purpose (tasks/poison.ts), and the audit can throw variants out. MiCo's two variants are the weak
 * and the strong views of one triplet. Every draw is keyed by (seed, step, question), so the same seed gives the same step,
 * whatever ran before; poison has a generator of its own, so that a poisoned run otherwise asks what the clean one asks.
 */
import {
  applyTransform,
  auditVariant,
  drawViews,
  hintOf,
  makeQuestion,
  makeTriplet,
  paraphrases,
  poison,
  render,
  transformsKeeping,
  type Crop,
  type DigitSet,
  type ImageTransform,
  type Picture,
  type Question,
  type TextVariant,
} from '../tasks/index.ts';
import { Rng } from '../tasks/random.ts';
import type { Settings } from './settings.ts';

export interface Variant {
  readonly text: TextVariant;
  readonly transform: { readonly name: string; readonly seed: number };
  readonly hint: string;
  readonly pictures: readonly Picture[];
  /** What each picture shows of its original; empty for whole ones. */
  readonly crops: readonly Crop[];
  readonly madeBy: 'original' | 'template';
  readonly poisoned: boolean;
  readonly audit: 'kept' | 'changed' | 'unknown';
}

/** Question numbers from here on are for questions drawn anew, so that no step asks another's. */
const REDRAW_START = 2 ** 29;

export interface DrawOptions {
  readonly settings: Settings;
  /** From 1. */
  readonly step: number;
  readonly digits: DigitSet | null;
}

function trainQuestion({ settings, digits }: DrawOptions, index: number): Question {
  const { seed, tasks, mico } = settings;
  if (mico !== 'off') return makeTriplet({ seed, index, split: 'train', phrasing: 'plain' });
  return makeQuestion({ seed, index, split: 'train', family: tasks[index % tasks.length], phrasing: 'plain', digits });
}

/** The B questions of a step: the visitor's own first, then one of each task in turn, all plain. */
export function drawQuestions(o: DrawOptions & { readonly own?: readonly Question[] }): Question[] {
  const { questionsPerStep } = o.settings;
  const own = (o.own ?? []).slice(0, questionsPerStep);
  const drawn = Array.from({ length: questionsPerStep - own.length }, (_, at) =>
    trainQuestion(o, (o.step - 1) * questionsPerStep + own.length + at),
  );
  return [...own, ...drawn];
}

/** Another question in the place of question q of the step, in round 1, 2, … of drawing anew; of the same task. */
export function redrawQuestion(o: DrawOptions & { readonly q: number; readonly round: number }): Question {
  const { questionsPerStep, tasks } = o.settings;
  const turn = ((o.step - 1) * questionsPerStep + o.q) % tasks.length;
  const place = ((o.step - 1) * 8 + o.round - 1) * 16 + o.q;
  return trainQuestion(o, REDRAW_START + place * tasks.length + turn - (REDRAW_START % tasks.length));
}

/** How often a variant that the audit refuses is drawn anew before the question is asked as it stands. */
const ATTEMPTS = 8;

const refused = (audit: Variant['audit'], filter: Settings['auditFilter']): boolean =>
  (filter !== 'off' && audit === 'changed') || (filter === 'only_kept' && audit === 'unknown');

/** `q` is the question's place in the step, `round` counts how often that place was drawn anew. */
export interface VariantOptions extends DrawOptions {
  readonly q: number;
  readonly round?: number;
}

/** The m variants of one question. A question with fewer wordings than m repeats them. */
export function drawVariants(question: Question, o: VariantOptions): Variant[] {
  const { settings } = o;
  const key = [settings.seed, o.step, o.q, o.round ?? 0] as const;
  const rng = new Rng('variants', ...key);
  if (settings.mico !== 'off') return drawMicoVariants(question, settings, rng);
  const poisonRng = new Rng('poison', ...key);
  const wordings = settings.variants === 1 ? [question.text] : rng.shuffle(paraphrases(question));
  const transforms = transformsKeeping(question).filter((name) => name !== 'identity');
  const draw = (text: TextVariant): Variant => {
    const changed = rng.chance(settings.transformProbability) && transforms.length > 0;
    const transform: ImageTransform = { name: changed ? rng.pick(transforms) : 'identity', seed: rng.bits() };
    const other = poisonRng.chance(settings.poisonShare) ? poison(question, text, poisonRng, o.digits) : null;
    return makeVariant(question, { text: other?.text ?? text, transform, scene: other?.scene ?? null, digits: o.digits });
  };
  return Array.from({ length: settings.variants }, (_, j) => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const variant = draw(wordings[j % wordings.length]);
      if (!refused(variant.audit, settings.auditFilter)) return variant;
    }
    return makeVariant(question, { text: question.text, transform: { name: 'identity', seed: 0 }, scene: null, digits: o.digits });
  });
}

/** `scene`: what a poisoned variant's picture shows instead. */
function makeVariant(
  question: Question,
  o: {
    readonly text: TextVariant;
    readonly transform: ImageTransform;
    readonly scene: Question['scene'];
    readonly digits: DigitSet | null;
  },
): Variant {
  const { text, transform, scene } = o;
  const picture = scene === null || scene === question.scene ? question.picture : render(scene, o.digits);
  return {
    text,
    transform,
    hint: hintOf(transform),
    pictures: [transform.name === 'identity' ? picture : applyTransform(picture, transform)],
    crops: [],
    madeBy: text.text === question.text.text ? 'original' : 'template',
    poisoned: scene !== null,
    audit: auditVariant(question, { text, transform, scene }),
  };
}

/** Weak and strong views of a triplet, in the order of WEAK and STRONG in algorithm/rows.ts. */
function drawMicoVariants(question: Question, settings: Settings, rng: Rng): Variant[] {
  const ranges = [
    { name: 'weak_view', low: settings.weakCrop, high: 1 },
    { name: 'strong_view', low: settings.strongCrop, high: settings.strongCropMost },
  ];
  return ranges.map(({ name, ...range }) => {
    const { pictures, crops, audit } = drawViews(question, range, rng);
    return {
      text: question.text,
      transform: { name, seed: 0 },
      hint: '',
      pictures,
      crops,
      madeBy: 'original',
      poisoned: false,
      audit: audit === 'lost' ? 'changed' : audit,
    };
  });
}
