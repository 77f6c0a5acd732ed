/**
 * @file Results as files and back, placeholders in prose, and the page: docs/results.md and its plots are what the generator makes of
 * docs/experiments today.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ExperimentError } from './experiment-types.ts';
import { experimentFile } from './experiment.fixture.ts';
import { fillIn, readAll, report } from './report.ts';
import { experiment, results } from './results.fixture.ts';
import { readResults, resultsFromJson, resultsToJson } from './results.ts';

let folder: string;
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'report-')), 'experiments');
  await mkdir(folder);
});
afterEach(() => rm(join(folder, '..'), { recursive: true, force: true }));

const put = (name: string, content: unknown) =>
  writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
const all = [{ experiment, results }];

describe('results', () => {
  it('come back from their file as they were', () => {
    expect(resultsFromJson(resultsToJson(results), 'x')).toEqual(results);
    // one line per run
    expect(
      resultsToJson(results)
        .split('\n')
        .filter((l) => l.startsWith('{"seed"')),
    ).toHaveLength(6);
  });

  it('are refused if they are something else', () => {
    expect(() => resultsFromJson('[', 'x.json')).toThrow('x.json is no JSON');
    expect(() => resultsFromJson('{}', 'x.json')).toThrow('x.json holds no results of an experiment.');
  });

  it.each([
    ['of a lane that is now another', { ...experiment, lanes: [{ ...experiment.lanes[0], model: 'other' }, experiment.lanes[1]] }, [0, 3]],
    ['of other steps', { ...experiment, steps: 7 }, []],
    ['of seeds that are no longer asked for', { ...experiment, seeds: [1, 3] }, [2, 2]],
  ])('%s are left out', async (_, changed, runs) => {
    await put('r.json', resultsToJson(results));
    const read = await readResults(changed, join(folder, 'r.json'));
    const counts = experiment.lanes.map(({ name }) => read?.lanes.find((l) => l.name === name)?.runs.length ?? 0);
    expect(counts).toEqual(runs.length > 0 ? runs : [0, 0]);
    expect(await readResults(changed, join(folder, 'none.json'))).toBeNull();
  });
});

describe('placeholders', () => {
  const fill = (text: string, own: (typeof all)[number] | null = all[0]) => fillIn(text, 'here', own, all);

  it('become the number that they name', () => {
    expect(fill('a {{share.sampled.plain}} b {{ share.found|median }}')).toBe('a 83.0 % b 3');
    expect(fill('{{share.sampled.plain|interval}}; {{share.sampled.plain|difference}}')).toBe('83.0 % (80.0–88.0); +29.0 (+28.0 to +30.0)');
    expect(fill('{{grpo.found|each}}, {{grpo.found|median}}')).toBe('never, 6, never, never');
    expect(fill('{{tiny:share.samples}}', null)).toBe('288');
  });

  it('say that there is no number yet', () => {
    const none = { experiment, results: null };
    expect(fillIn('{{share.found}}', 'here', none, [none])).toBe('(not run yet)');
  });

  it.each([
    ['{{share}}', 'it must be lane.quantity'],
    ['{{x.found}}', 'there is no lane “x” in tiny; there are grpo, share'],
    ['{{share.luck}}', 'there is no quantity “luck”'],
    ['{{share.found|best}}', 'there is no form “best”'],
    ['{{other:share.found}}', 'it must be lane.quantity, or experiment:lane.quantity'],
  ])('%s cannot be filled in', (text, message) => {
    expect(() => fill(text)).toThrow(ExperimentError);
    expect(() => fill(text)).toThrow(`here: ${text} cannot be filled in: ${message}`);
  });
});

describe('the page', () => {
  it('is made of the head and every experiment, in order', async () => {
    await put('HEAD.md', '# Head of {{tiny:share.sampled.plain}}\n');
    await put('tiny.json', { ...experimentFile, order: 2, conclusion: 'It is {{share.sampled.plain}}.' });
    await put('tiny.results.json', resultsToJson(results));
    await put('first.json', { ...experimentFile, name: 'first', title: 'The first', question: 'Why?', order: 1 });
    const files = await report(folder);
    expect([...files.keys()].map((path) => path.slice(folder.length - 'experiments'.length)).sort()).toEqual([
      'experiments/tiny-sampled.svg',
      'results.md',
    ]);
    const page = files.get(join(folder, '..', 'results.md'))!;
    const at = [
      '# Head of 83.0 %',
      '## The first',
      'Not run yet.',
      '## A tiny experiment',
      '**Does it run?**',
      'experiment -- docs/experiments/tiny.json',
    ];
    const rest = [
      '| GRPO | 1 × 6 |',
      '![Plain questions right](experiments/tiny-sampled.svg)',
      'It is 83.0 %.',
      'Cost: 6 runs, 1,296 samples, 129,600 token-passes; 3.0 h of training',
    ];
    const places = [...at, ...rest].map((text) => page.indexOf(text));
    expect(places).not.toContain(-1);
    expect(places).toEqual([...places].sort((a, b) => a - b));
  });

  it.runIf(readFileSync('docs/results.md', 'utf8').startsWith('<!--'))('in docs/ is what the generator makes', async () => {
    for (const [path, content] of await report('docs/experiments')) {
      expect(existsSync(path), `${path} is missing; run npm run experiment -- --results`).toBe(true);
      expect(readFileSync(path, 'utf8') === content, `${path} is out of date; run npm run experiment -- --results`).toBe(true);
    }
    const plots = new Set([...(await report('docs/experiments')).keys()].map((path) => path.split('/').at(-1)));
    for (const file of readdirSync('docs/experiments').filter((name) => name.endsWith('.svg'))) expect(plots).toContain(file);
  });

  it('can be made of what lies in docs/experiments', async () => {
    expect((await readAll('docs/experiments')).length).toBeGreaterThan(1);
  });
});
