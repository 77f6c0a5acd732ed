/**
 * @file The vision tower without ORT's WebGPU: onnxruntime-web's wasm build on one CPU thread; features are uploaded. For
 * the command line, and where the browser's tower fails.
 */
import * as ort from 'onnxruntime-web/wasm';
import type { VisionEncoderFactory } from './vision.ts';
import { checkFeatures, openSession, PICTURES_PER_RUN, visionFeeds } from './vision-feeds.ts';

/** `wasm`: the address of `ort-wasm-simd-threaded.wasm`, or its bytes. */
export function wasmVision(wasm: string | ArrayBuffer): VisionEncoderFactory {
  return async (gpu, onnx, shape) => {
    if (typeof wasm === 'string') ort.env.wasm.wasmPaths = { wasm };
    else ort.env.wasm.wasmBinary = wasm;
    ort.env.wasm.numThreads = 1;
    ort.env.logLevel = 'error';
    const session = await openSession(() => ort.InferenceSession.create(onnx, { executionProviders: ['wasm'] }));
    const perPicture = 3 * shape.size * shape.size;
    const featureBytes = shape.tokens * shape.hidden * 4;
    return {
      async encode(pixels, count, target, offset) {
        for (let first = 0; first < count; first += PICTURES_PER_RUN) {
          const n = Math.min(PICTURES_PER_RUN, count - first);
          const part = pixels.slice(first * perPicture, (first + n) * perPicture);
          const outputs = await session.run(visionFeeds(ort.Tensor, session, part, n, shape.size));
          const features = checkFeatures(outputs[session.outputNames[0] as string], n, shape);
          gpu.write(target, features.data as Float32Array, offset + first * featureBytes);
        }
        gpu.check();
      },
      destroy: () => session.release(),
    };
  };
}
