import { describe, expect, it } from 'vitest';
import { fromJson, readJsonl, RecordError, toJson } from './jsonl.ts';
import type { StepRecord } from './record.ts';
import { runFromJson, runToJson } from './run.ts';
import { DEFAULTS } from './presets.ts';
import { SettingsError } from './settings.ts';

const record = (): StepRecord => ({
  schema: 2,
  step: 3,
  phase: 'share',
  settings: DEFAULTS,
  redrawn: [],
  update: null,
  evaluation: null,
  metrics: { reward: 0.25 },
  timing: { expand: 1.5 },
  questions: [
    {
      id: 'count-train-1-0',
      family: 'count',
      text: 'how many?',
      answer: '2',
      variants: [
        {
          text: 'how many?',
          phrasing: 'plain',
          transform: { name: 'identity', seed: 1 },
          hint: '',
          madeBy: 'original',
          audit: 'kept',
          poisoned: false,
          pictures: [{ width: 2, height: 1, data: Uint8Array.of(0, 1, 2, 253, 254, 255) }],
          crops: [],
          tokens: Int32Array.of(5, 6),
        },
      ],
      responses: [
        [
          {
            text: ' 2',
            tokens: Int32Array.of(9),
            pieces: [' 2'],
            logProbs: Float32Array.of(-0.123456789),
            entropies: Float32Array.of(1e-7),
            finish: 'stop',
          },
        ],
      ],
      rewards: [[{ accuracy: 0, format: 0, total: 0, extracted: null, careful: false }]],
      advantages: [[{ local: 0, global: 1 / 3 }]],
      groups: { local: ['all-fail'], pooled: 'alive', mean: 0, std: 0 },
      pairs: [
        [
          [
            {
              logProbs: Float32Array.of(-1),
              transferGap: Float32Array.of(0),
              weights: Float32Array.of(1),
              advantage: 1 / 3,
              base: null,
              ratios: null,
              clipped: Int32Array.of(-1),
            },
          ],
        ],
      ],
    },
  ],
});

describe('step records as JSON lines', () => {
  it('come back: pictures to the byte, numbers per token to six digits, the rest exactly', () => {
    const back = fromJson(toJson(record()));
    const [q] = back.questions;
    expect(q.variants[0].pictures[0].data).toEqual(Uint8Array.of(0, 1, 2, 253, 254, 255));
    expect(q.responses[0][0].logProbs).toEqual([-0.123457]);
    expect(q.responses[0][0].entropies).toEqual([1e-7]);
    expect(q.advantages[0][0].global).toBe(1 / 3);
    expect(q.pairs[0][0][0].clipped).toEqual([-1]);
    expect(toJson(back)).toBe(toJson(record()));
  });

  it('can leave out what is per token', () => {
    const light = fromJson(toJson(record(), { light: true }));
    expect(light.questions[0].responses[0][0]).toMatchObject({ text: ' 2', tokens: [], logProbs: [] });
    expect(light.questions[0].advantages).toEqual(record().questions[0].advantages);
    expect(light.questions[0].variants[0].pictures[0].data).toHaveLength(0);
  });

  it('say what is wrong with a bad line, and where', () => {
    const good = toJson(record());
    const bad = (change: (r: Record<string, never>) => void) => {
      const parsed = JSON.parse(good);
      change(parsed);
      return `${good}\n\n${JSON.stringify(parsed)}`;
    };
    const cases: [string, string][] = [
      [`${good}\n${good.slice(0, 500)}`, 'Line 2 is no JSON; the file may have been cut off. Remove the line, or record the run again.'],
      [bad((r) => delete r.schema), 'Line 3 has no schema number, so it is no step record. Record the run again with this version.'],
      [
        bad((r: { schema?: number }) => (r.schema = 99)),
        'Line 3 has schema 99; this version reads 2. Record the run again with this version.',
      ],
      [
        bad((r: { questions?: { answer?: number }[] }) => (r.questions![0].answer = 3)),
        'Line 3 is not complete: questions[0].answer is 3, not a text.',
      ],
      [
        bad((r: { metrics?: { reward?: null } }) => (r.metrics!.reward = null)),
        'Line 3 is not complete: metrics.reward is null, not a number.',
      ],
      [bad((r) => delete r.timing), 'Line 3 is not complete: timing is missing, not an object.'],
    ];
    for (const [file, sentence] of cases) {
      expect(() => readJsonl(file)).toThrow(sentence);
      expect(() => readJsonl(file)).toThrow(RecordError);
    }
  });
});

describe('a checkpoint', () => {
  const state = {
    settings: DEFAULTS,
    step: 7,
    adapter: { step: 7, params: Float32Array.of(1 / 3, -2), m: Float32Array.of(1e-20, 0), v: Float32Array.of(3, 4) },
  };

  it('comes back to the bit', () => {
    expect(runFromJson(runToJson(state))).toEqual(state);
  });

  it('is refused with a sentence when it is damaged', () => {
    const text = runToJson(state);
    expect(() => runFromJson(text.slice(0, -5))).toThrow('cut off');
    expect(() => runFromJson('{}')).toThrow('This is no checkpoint of a run: kind is missing');
    expect(() => runFromJson(text.replace('"step":7,"settings"', '"step":"7","settings"'))).toThrow('step is "7", not a number');
    expect(() => runFromJson(runToJson({ ...state, adapter: { ...state.adapter, m: new Float32Array(1) } }))).toThrow('differ in length');
    expect(() => runFromJson(runToJson({ ...state, settings: { ...DEFAULTS, responses: 1 } }))).toThrow(SettingsError);
  });
});
