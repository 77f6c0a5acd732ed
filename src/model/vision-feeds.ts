/**
 * @file What both vision towers share: the inputs of a Hugging Face `vision_encoder.onnx` and the check of its output.
 * Inputs: `pixel_values` f32 [pictures, 1, 3, size, size] and, where the export has it, `pixel_attention_mask` bool
 * [pictures, 1, size, size], all true. Output: features, f32, as many as pictures × tokens × hidden in whatever shape.
 */
import type { InferenceSession, Tensor, TensorConstructor } from 'onnxruntime-web';
import { ModelError } from './errors.ts';
import type { VisionShape } from './vision.ts';

/** Pictures per run: bounds the memory of the tower's activations. */
export const PICTURES_PER_RUN = 16;

const FILE = 'onnx/vision_encoder.onnx';

/** ONNX Runtime cannot create two sessions at a time; each waits for the one before. */
let creating: Promise<unknown> = Promise.resolve();

export async function openSession(create: () => Promise<InferenceSession>): Promise<InferenceSession> {
  const turn = creating.then(create, create);
  creating = turn.catch(() => undefined);
  let session: InferenceSession;
  try {
    session = await turn;
  } catch (error) {
    throw new ModelError('file', `${FILE} cannot be opened: ${(error as Error).message}. Fetch it again, or export it anew as f32.`);
  }
  const unknown = session.inputNames.filter((name) => name !== 'pixel_values' && name !== 'pixel_attention_mask');
  if (unknown.length > 0 || !session.inputNames.includes('pixel_values')) {
    throw new ModelError(
      'unsupported',
      `${FILE} takes ${session.inputNames.join(', ')}; pixel_values (and pixel_attention_mask) are expected.`,
    );
  }
  return session;
}

export function visionFeeds(
  make: TensorConstructor,
  session: InferenceSession,
  pixels: Float32Array,
  count: number,
  size: number,
): Record<string, Tensor> {
  const feeds: Record<string, Tensor> = { pixel_values: new make('float32', pixels, [count, 1, 3, size, size]) };
  if (session.inputNames.includes('pixel_attention_mask')) {
    feeds['pixel_attention_mask'] = new make('bool', new Uint8Array(count * size * size).fill(1), [count, 1, size, size]);
  }
  return feeds;
}

export function checkFeatures(output: Tensor | undefined, count: number, { tokens, hidden }: VisionShape): Tensor {
  const want = count * tokens * hidden;
  if (!output || output.type !== 'float32' || output.size !== want) {
    const got = output ? `${output.type} [${output.dims.join(', ')}]` : 'nothing';
    throw new ModelError(
      'unsupported',
      `${FILE} gave ${got} for ${count} picture(s); ${want} f32 numbers (${tokens} tokens of ${hidden}) are expected.`,
    );
  }
  return output;
}
