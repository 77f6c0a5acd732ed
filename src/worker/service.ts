/**
 * @file The worker's service: it owns the device, the model and the trainer (DESIGN §6). The page calls methods and gets
 * replies; records and progress come out through one callback.
 */
import { Gpu } from '../engine/gpu.ts';
import { urlSource } from '../model/checkpoint.ts';
import { ModelError } from '../model/errors.ts';
import { Policy } from '../model/policy.ts';
import { webgpuVision } from '../model/vision-webgpu.ts';
import { loadDigits, type DigitSet, type Question } from '../tasks/index.ts';
import { ask } from '../training/ask.ts';
import type { StepRecord } from '../training/record.ts';
import type { Settings } from '../training/settings.ts';
import { checkSettings } from '../training/settings.ts';
import { Trainer, type Progress, type StepOptions } from '../training/trainer.ts';
import { asked, questionFrom, tripletOf } from './own-question.ts';
import { decodePicture } from './picture.ts';
import { Aborted, problemOf, reply } from './problems.ts';
import type { Answers, LoadOptions, ModelInfo, OwnQuestion, Service, WorkerEvent } from './protocol.ts';
import { Queue } from './queue.ts';

/** MiCo's questions have three pictures; its model was taught to read them. */
const MODELS = { off: 'models/pico/', mico: 'models/pico-mico/' } as const;
type ModelPath = (typeof MODELS)[keyof typeof MODELS];
const modelFor = ({ mico }: Pick<Settings, 'mico'>): ModelPath => MODELS[mico === 'off' ? 'off' : 'mico'];

const DIGITS = 'data/digits.bin';
const IMAGE_SIDE = 64;

/** What is there once the model is loaded. */
interface Loaded {
  readonly base: string;
  readonly gpu: Gpu;
  readonly digits: DigitSet;
  readonly path: ModelPath;
  readonly policy: Policy;
  readonly trainer: Trainer;
}

export function createService(emit: (event: WorkerEvent) => void): Service {
  const queue = new Queue();
  let loaded: Loaded | null = null;
  let step: AsyncGenerator<StepRecord, void, void> | null = null;
  let controller = new AbortController();
  let paused = false;
  /** Those of the begun step; the trainer reads what the update is asked for when it gets there. */
  let options: { -readonly [K in keyof StepOptions]: StepOptions[K] } = {};
  let comparing = false;
  let own: Question | null = null;

  const model = (): Loaded => {
    if (!loaded) throw new Error('The model is not loaded yet');
    return loaded;
  };

  async function open({ base, settings, state }: LoadOptions): Promise<ModelInfo> {
    checkSettings(settings);
    loaded?.gpu.destroy();
    loaded = null;
    step = null;
    const gpu = await Gpu.open();
    try {
      const digits = await readDigits(base, emit);
      const policy = await loadPolicy(gpu, base, state?.settings ?? settings);
      const trainer = new Trainer({ policy, settings: state?.settings ?? settings, digits });
      if (state) {
        trainer.restore(state);
        trainer.configure(settings);
      }
      loaded = { base, gpu, digits, path: modelFor(settings), policy, trainer };
      gpu.onLost((error) => emit({ type: 'lost', problem: problemOf(error) }));
      return policy.info;
    } catch (error) {
      gpu.destroy();
      throw error;
    }
  }

  const loadPolicy = (gpu: Gpu, base: string, settings: Settings): Promise<Policy> =>
    Policy.load(gpu, urlSource(base + modelFor(settings)), {
      rank: settings.rank,
      alpha: settings.alpha,
      seed: settings.seed,
      vision: webgpuVision,
      onProgress: (progress) => emit({ type: 'load', progress }),
    });

  async function configure(settings: Settings): Promise<ModelInfo> {
    checkSettings(settings);
    await giveUp();
    const { base, gpu, digits, path, policy, trainer } = model();
    if (modelFor(settings) === path) {
      trainer.configure(settings);
      return policy.info;
    }
    // the old model goes only when the new one is there
    const next = await loadPolicy(gpu, base, settings).catch((error: unknown) => {
      const { message } = problemOf(error);
      throw new ModelError('file', `The model for these settings could not be loaded: ${message} Training goes on with the one at hand.`);
    });
    policy.destroy();
    own = null;
    loaded = { base, gpu, digits, path: modelFor(settings), policy: next, trainer: new Trainer({ policy: next, settings, digits }) };
    return next.info;
  }

  /** Runs the next phase; at the end of a step the state to go on from is sent too. */
  async function phase(): Promise<boolean> {
    const { trainer } = model();
    if (!step) {
      controller = new AbortController();
      const onProgress = (progress: Progress): void => emit({ type: 'progress', progress });
      options = { signal: controller.signal, onProgress, own: own ? [own] : [], ...(comparing ? { compareGradients: true } : {}) };
      step = trainer.run(options);
    }
    try {
      const { value: record } = await step.next();
      if (record?.phase === 'update') comparing = false;
      if (record) emit({ type: 'phase', record });
      if (record && record.phase !== 'evaluate') return false;
      await step.next();
      step = null;
      emit({ type: 'checkpoint', state: await trainer.state() });
      return true;
    } catch (error) {
      step = null; // the trainer has undone it
      throw error;
    }
  }

  /** Ends a begun step; the trainer puts the adapter back to what it was before. */
  async function giveUp(): Promise<void> {
    const begun = step;
    step = null;
    await begun?.return();
  }

  async function answer(question: OwnQuestion, maxTokens: number): Promise<Answers> {
    const { pictures, text } = asked(question);
    const { policy } = model();
    const once = (adapter: boolean): ReturnType<typeof ask> =>
      ask({
        policy,
        pictures,
        text,
        adapter,
        maxTokens,
        onText: (text) => emit({ type: 'asked', which: adapter ? 'after' : 'before', text }),
      });
    return { before: await once(false), after: await once(true) };
  }

  return {
    load: (options) => queue.add(() => reply(() => open(options))),
    configure: (settings) => queue.add(() => reply(() => configure(settings))),
    reset: () =>
      queue.add(() =>
        reply(async () => {
          await giveUp();
          model().trainer.reset();
          return null;
        }),
      ),
    advance: () => queue.add(() => reply(() => phase().then(() => null))),
    run: (steps) =>
      reply(async () => {
        paused = false;
        // phase by phase through the queue, so that a question can be asked in between
        for (let left = steps; left > 0 && !paused;) if (await queue.add(phase)) left--;
        return null;
      }),
    pause: async () => void (paused = true),
    abort: async () => {
      paused = true;
      controller.abort(new Aborted());
      await queue.add(giveUp);
    },
    compareGradients: async () => void (comparing = options.compareGradients = true),
    ask: (question, maxTokens) => queue.add(() => reply(() => answer(question, maxTokens))),
    trainOn: (question) =>
      queue.add(() =>
        reply(async () => {
          own = question && questionFrom(question);
          return null;
        }),
      ),
    decodePicture: (file) => reply(() => decodePicture(file, loaded?.policy.info.imageSize ?? IMAGE_SIDE)),
    triplet: (picture, seed) => reply(async () => tripletOf(picture, seed)),
    exportAdapter: () => queue.add(() => reply(() => model().policy.exportAdapter())),
    destroyDevice: async () => loaded?.gpu.device.destroy(),
  };
}

async function readDigits(base: string, emit: (event: WorkerEvent) => void): Promise<DigitSet> {
  const source = urlSource(base);
  const bytes = await source.read(DIGITS, (loaded, total) =>
    emit({ type: 'load', progress: { phase: 'download', file: DIGITS, loaded, total } }),
  );
  if (!bytes) throw new Error(`The file ${DIGITS} is missing on the server`);
  return loadDigits(bytes);
}
