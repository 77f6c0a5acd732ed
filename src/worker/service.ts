/**
 * @file The worker's service: it owns the device, the model and the trainer (DESIGN §6). The page calls methods and gets
 * replies; records and progress come out through one callback.
 */
import { Gpu } from '../engine/gpu.ts';
import { urlSource } from '../model/checkpoint.ts';
import { ModelError } from '../model/errors.ts';
import { Policy } from '../model/policy.ts';
import { webgpuVision } from '../model/vision-webgpu.ts';
import { loadDigits, ownQuestion, type DigitSet, type Question } from '../tasks/index.ts';
import { ask } from '../training/ask.ts';
import type { StepRecord } from '../training/record.ts';
import type { Settings } from '../training/settings.ts';
import { checkSettings } from '../training/settings.ts';
import { Trainer } from '../training/trainer.ts';
import { decodePicture } from './picture.ts';
import { Aborted, problemOf, reply } from './problems.ts';
import type { Answers, LoadOptions, ModelInfo, OwnQuestion, Service, WorkerEvent } from './protocol.ts';
import { Queue } from './queue.ts';

const MODEL = 'models/pico/';
const DIGITS = 'data/digits.bin';
const IMAGE_SIDE = 64;
const LONGEST_QUESTION = 400; // characters; also keeps a pasted book from the tokenizer

/** What is there once the model is loaded. */
interface Loaded {
  readonly gpu: Gpu;
  readonly policy: Policy;
  readonly trainer: Trainer;
}

export function createService(emit: (event: WorkerEvent) => void): Service {
  const queue = new Queue();
  let loaded: Loaded | null = null;
  let step: AsyncGenerator<StepRecord, void, void> | null = null;
  let controller = new AbortController();
  let paused = false;
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
      const { rank, alpha, seed } = state?.settings ?? settings;
      const policy = await Policy.load(gpu, urlSource(base + MODEL), {
        rank,
        alpha,
        seed,
        vision: webgpuVision,
        onProgress: (progress) => emit({ type: 'load', progress }),
      });
      const trainer = new Trainer({ policy, settings: state?.settings ?? settings, digits });
      if (state) {
        trainer.restore(state);
        trainer.configure(settings);
      }
      loaded = { gpu, policy, trainer };
      gpu.onLost((error) => emit({ type: 'lost', problem: problemOf(error) }));
      return policy.info;
    } catch (error) {
      gpu.destroy();
      throw error;
    }
  }

  /** Runs the next phase; at the end of a step the state to go on from is sent too. */
  async function phase(): Promise<boolean> {
    const { trainer } = model();
    if (!step) {
      controller = new AbortController();
      step = trainer.run({
        signal: controller.signal,
        onProgress: (progress) => emit({ type: 'progress', progress }),
        own: own ? [own] : [],
      });
    }
    try {
      const { value: record } = await step.next();
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
    checkQuestion(question);
    const { policy } = model();
    const once = (adapter: boolean): ReturnType<typeof ask> =>
      ask({
        policy,
        picture: question.picture,
        text: question.text.trim(),
        adapter,
        maxTokens,
        onText: (text) => emit({ type: 'asked', which: adapter ? 'after' : 'before', text }),
      });
    return { before: await once(false), after: await once(true) };
  }

  return {
    load: (options) => queue.add(() => reply(() => open(options))),
    configure: (settings: Settings) =>
      queue.add(() =>
        reply(async () => {
          checkSettings(settings);
          await giveUp();
          model().trainer.configure(settings);
          return null;
        }),
      ),
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
    ask: (question, maxTokens) => queue.add(() => reply(() => answer(question, maxTokens))),
    trainOn: (question) =>
      queue.add(() =>
        reply(async () => {
          if (question) checkQuestion(question);
          own = question && ownQuestion({ picture: question.picture, text: question.text.trim(), answer: question.answer });
          return null;
        }),
      ),
    decodePicture: (file) => reply(() => decodePicture(file, loaded?.policy.info.imageSize ?? IMAGE_SIDE)),
    exportAdapter: () => queue.add(() => reply(() => model().policy.exportAdapter())),
    destroyDevice: async () => loaded?.gpu.device.destroy(),
  };
}

function checkQuestion(question: OwnQuestion): void {
  const length = question.text.trim().length;
  if (length === 0) throw new ModelError('prompt', 'The question is empty. Type one, for example “how many circles are there?”.');
  if (length > LONGEST_QUESTION)
    throw new ModelError('prompt', `The question has ${length} characters; at most ${LONGEST_QUESTION} can be asked. Shorten it.`);
}

async function readDigits(base: string, emit: (event: WorkerEvent) => void): Promise<DigitSet> {
  const source = urlSource(base);
  const bytes = await source.read(DIGITS, (loaded, total) =>
    emit({ type: 'load', progress: { phase: 'download', file: DIGITS, loaded, total } }),
  );
  if (!bytes) throw new Error(`The file ${DIGITS} is missing on the server`);
  return loadDigits(bytes);
}
