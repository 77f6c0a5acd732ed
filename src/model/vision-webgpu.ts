/**
 * @file The vision tower in the browser: onnxruntime-web on the trainer's own GPUDevice (a session option; ORT ≥ 1.30), so
 * that features go from ORT's output buffer to ours without leaving the GPU. Vite ships the wasm with the page.
 */
import * as ort from 'onnxruntime-web/webgpu';
import wasmUrl from 'onnxruntime-web/ort-wasm-simd-threaded.asyncify.wasm?url';
import type { Gpu } from '../engine/gpu.ts';
import type { VisionEncoder, VisionEncoderFactory, VisionShape } from './vision.ts';
import { checkFeatures, openSession, PICTURES_PER_RUN, visionFeeds } from './vision-feeds.ts';

/** Adapters that are a processor in disguise: ORT's CPU kernels are many times faster on it, and give the same numbers. */
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|basic render/i;

/** ORT on the GPU, or on the CPU where the adapter is a processor or ORT's WebGPU does not start. */
export const webgpuVision: VisionEncoderFactory = (gpu, onnx, shape) =>
  SOFTWARE.test(gpu.adapterName)
    ? open('wasm', gpu, onnx, shape)
    : open('webgpu', gpu, onnx, shape).catch(() => open('wasm', gpu, onnx, shape));

/** ORT on the GPU, whatever it is. */
export const strictWebgpuVision: VisionEncoderFactory = (gpu, onnx, shape) => open('webgpu', gpu, onnx, shape);

async function open(provider: 'webgpu' | 'wasm', gpu: Gpu, onnx: Uint8Array, shape: VisionShape): Promise<VisionEncoder> {
  ort.env.wasm.wasmPaths = { wasm: wasmUrl };
  ort.env.wasm.numThreads = 1; // threads would need cross-origin isolation, and the work is on the GPU
  const session = await openSession(() =>
    ort.InferenceSession.create(onnx, {
      logSeverityLevel: 3, // errors only: not a word about the few shape operators that run on the CPU
      ...(provider === 'webgpu'
        ? { executionProviders: [{ name: 'webgpu', device: gpu.device }], preferredOutputLocation: 'gpu-buffer' }
        : { executionProviders: ['wasm'] }),
    }),
  );
  const { device } = gpu;
  const perPicture = 3 * shape.size * shape.size;
  const featureBytes = shape.tokens * shape.hidden * 4;
  return {
    async encode(pixels, count, target, offset) {
      for (let first = 0; first < count; first += PICTURES_PER_RUN) {
        const n = Math.min(PICTURES_PER_RUN, count - first);
        const part = pixels.subarray(first * perPicture, (first + n) * perPicture);
        const outputs = await session.run(visionFeeds(ort.Tensor, session, part, n, shape.size));
        try {
          const features = checkFeatures(outputs[session.outputNames[0] as string], n, shape);
          const at = offset + first * featureBytes;
          if (features.location === 'gpu-buffer') {
            const encoder = device.createCommandEncoder({ label: 'image features' });
            encoder.copyBufferToBuffer(features.gpuBuffer as GPUBuffer, 0, target, at, n * featureBytes);
            device.queue.submit([encoder.finish()]);
          } else gpu.write(target, features.data as Float32Array, at);
        } finally {
          for (const output of Object.values(outputs)) output.dispose();
        }
      }
      gpu.check();
    },
    destroy: () => session.release(),
  };
}
