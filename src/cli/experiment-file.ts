/**
 * @file An experiment as a file: docs/experiments/NAME.json says which lanes are compared, over which seeds, for how many steps,
 * how they are measured, and what is drawn and told of them. docs/experiments/README.md describes the fields. Reading checks
 * every one: a lane that cannot be run is found before the first run starts.
 */
import { PRESETS } from '../training/presets.ts';
import { SETTINGS, settingsProblems, type Settings } from '../training/settings.ts';
import { ExperimentError, X_AXES, type Experiment, type Lane, type Plot, type Table } from './experiment-types.ts';
import { modelFor } from './open.ts';
import { curveQuantity, quantity } from './quantities.ts';

/** What the runner decides itself: runs are measured by the experiment, not by the trainer, and its seeds are a list. */
const OURS = { evaluateEvery: 1000, evaluateQuestions: 1, evaluateSamples: 0 } as const;

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;

type Fields = Readonly<Record<string, unknown>>;

/** Reads fields of an object, each with what it must be; unknown ones are refused, since they are most often misspelt. */
class Reader {
  private readonly fields: Fields;
  readonly where: string;

  constructor(value: unknown, where: string, known: readonly string[]) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ExperimentError(`${where}: must be an object.`);
    this.fields = value as Fields;
    this.where = where;
    const strange = Object.keys(this.fields).filter((key) => !known.includes(key));
    if (strange.length > 0)
      throw new ExperimentError(`${where}: there is no field “${strange.join('”, “')}”; there are ${known.join(', ')}.`);
  }

  fail(field: string, must: string): never {
    const value = this.fields[field];
    const seen = value === undefined ? 'is missing' : `is ${JSON.stringify(value)}`;
    throw new ExperimentError(`${this.where}: ${field} ${seen}; it must be ${must}.`);
  }

  has(field: string): boolean {
    return this.fields[field] !== undefined;
  }

  text(field: string, fallback?: string): string {
    const value = this.fields[field] ?? fallback;
    return typeof value === 'string' && (value !== '' || fallback === '') ? value : this.fail(field, 'a text');
  }

  name(field: string): string {
    const value = this.text(field);
    return NAME.test(value) ? value : this.fail(field, 'lower-case letters and digits, with single hyphens between (grpo-mn)');
  }

  choice<T extends string>(field: string, choices: readonly T[], fallback?: T): T {
    const value = (this.fields[field] ?? fallback) as T;
    return choices.includes(value) ? value : this.fail(field, `one of ${choices.join(', ')}`);
  }

  whole(field: string, low: number, fallback?: number): number {
    const value = this.fields[field] ?? fallback;
    return Number.isInteger(value) && (value as number) >= low ? (value as number) : this.fail(field, `a whole number of at least ${low}`);
  }

  list(field: string, must: string, fallback?: readonly unknown[]): readonly unknown[] {
    const value = this.fields[field] ?? fallback;
    return Array.isArray(value) && (value.length > 0 || fallback) ? value : this.fail(field, must);
  }

  object(field: string): Fields {
    const value = this.fields[field] ?? {};
    return typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : this.fail(field, 'an object');
  }
}

/** Refuses what no two things may share. */
function noTwice(where: string, field: string, values: readonly (string | number)[]): void {
  const twice = values.find((v, at) => values.indexOf(v) !== at);
  if (twice !== undefined) throw new ExperimentError(`${where}: ${field} has ${twice} twice; leave one out.`);
}

function checkedSettings(where: string, changes: Fields): Partial<Settings> {
  const known: readonly string[] = SETTINGS.map((s) => s.key).filter((key) => key !== 'seed' && !(key in OURS));
  for (const key of Object.keys(changes)) {
    if (known.includes(key)) continue;
    const why =
      key === 'seed'
        ? 'seeds stand in the experiment’s “seeds”'
        : key in OURS
          ? 'how runs are measured stands in the experiment’s “evaluate”'
          : `there are ${known.join(', ')}`;
    throw new ExperimentError(`${where}: “${key}” cannot be set here; ${why}.`);
  }
  return changes as Partial<Settings>;
}

function readLane(value: unknown, where: string, base: Partial<Settings>, model: string | null): Lane {
  const r = new Reader(value, where, ['name', 'label', 'preset', 'settings', 'model']);
  const preset = r.choice('preset', Object.keys(PRESETS) as (keyof typeof PRESETS)[]);
  const changes = checkedSettings(`${where}.settings`, r.object('settings'));
  const settings: Settings = { ...PRESETS[preset], ...base, ...changes, ...OURS };
  const problems = settingsProblems(settings);
  if (problems.length > 0) throw new ExperimentError(`${where}.settings: ${problems.join(' ')}`);
  return { name: r.name('name'), label: r.text('label'), settings, model: r.text('model', model ?? modelFor(preset)) };
}

/** Throws ExperimentError with the place in front if the text is no quantity. */
function checkQuantity(where: string, name: string, over: 'run' | 'end'): void {
  try {
    if (over === 'run') curveQuantity(name);
    else quantity(name);
  } catch (error) {
    throw new ExperimentError(`${where}: ${(error as Error).message}`);
  }
}

function readPlot(value: unknown, where: string, lanes: readonly string[]): Plot {
  const r = new Reader(value, where, ['name', 'kind', 'title', 'y', 'x', 'lanes']);
  const kind = r.choice('kind', ['curve', 'final'], 'curve');
  const y = r.text('y');
  checkQuantity(`${where}.y`, y, kind === 'curve' ? 'run' : 'end');
  const shown = r.list('lanes', 'a list of lanes', lanes) as readonly string[];
  const strange = shown.find((name) => !lanes.includes(name));
  if (strange !== undefined) throw new ExperimentError(`${where}.lanes: there is no lane “${strange}”; there are ${lanes.join(', ')}.`);
  return { name: r.name('name'), kind, title: r.text('title'), y, x: r.choice('x', X_AXES, 'step'), lanes: shown };
}

function readTable(value: unknown, where: string): Table {
  const r = new Reader(value, where, ['title', 'columns']);
  const columns = r.list('columns', 'a list of columns').map((column, at) => {
    if (typeof column !== 'string') throw new ExperimentError(`${where}.columns[${at}]: must be a text.`);
    const [, kind = '', rest = column] = /^(setting|difference)\.(.*)$/.exec(column) ?? [];
    if (kind === 'setting') {
      if (!SETTINGS.some((s) => s.key === rest)) throw new ExperimentError(`${where}.columns[${at}]: there is no setting “${rest}”.`);
    } else if (rest !== 'shape') checkQuantity(`${where}.columns[${at}]`, rest, 'end');
    return column;
  });
  return { title: r.text('title', ''), columns };
}

const EXPERIMENT_FIELDS = [
  'name',
  'title',
  'question',
  'order',
  'steps',
  'seeds',
  'baseline',
  'model',
  'base',
  'lanes',
  'evaluate',
  'plots',
  'tables',
  'conclusion',
];

/** What every experiment shows unless its file says otherwise. */
const TABLE: Table = {
  title: '',
  columns: [
    'shape',
    'greedy.plain',
    'sampled.plain',
    'careful.plain',
    'greedy.steps',
    'found',
    'difference.sampled.plain',
    'samples',
    'token-passes',
  ],
};

/** Reads an experiment; `file` is named in errors, and its base name must be the experiment's. Throws ExperimentError. */
export function readExperiment(text: string, file: string): Experiment {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    throw new ExperimentError(`${file} is no JSON: ${(error as Error).message}.`);
  }
  const r = new Reader(parsed, file, EXPERIMENT_FIELDS);
  const name = r.name('name');
  if (!file.split(/[\\/]/).at(-1)?.startsWith(`${name}.json`)) r.fail('name', 'the name of the file without .json');
  const base = checkedSettings(`${file}: base`, r.object('base'));
  const model = r.has('model') ? r.text('model') : null;
  const lanes = r.list('lanes', 'a list of lanes').map((lane, at) => readLane(lane, `${file}: lanes[${at}]`, base, model));
  const names = lanes.map((lane) => lane.name);
  noTwice(file, 'lanes', names);
  const seeds = r.list('seeds', 'a list of whole numbers') as readonly number[];
  if (!seeds.every((seed) => Number.isInteger(seed) && seed >= 0)) r.fail('seeds', 'a list of whole numbers of at least 0');
  noTwice(file, 'seeds', seeds);
  const e = new Reader(r.object('evaluate'), `${file}: evaluate`, ['every', 'questions', 'samples', 'test']);
  const plots = r.list('plots', 'a list of plots', []).map((plot, at) => readPlot(plot, `${file}: plots[${at}]`, names));
  noTwice(
    file,
    'plots',
    plots.map((plot) => plot.name),
  );
  return {
    name,
    title: r.text('title'),
    question: r.text('question'),
    order: r.whole('order', 0, 0),
    steps: r.whole('steps', 1),
    seeds,
    baseline: r.choice('baseline', names),
    lanes,
    evaluate: { every: e.whole('every', 0), questions: e.whole('questions', 1), samples: e.whole('samples', 0), test: e.whole('test', 1) },
    plots,
    tables: r.has('tables') ? r.list('tables', 'a list of tables', []).map((t, at) => readTable(t, `${file}: tables[${at}]`)) : [TABLE],
    conclusion: r.text('conclusion', ''),
  };
}
