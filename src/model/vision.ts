/**
 * @file What a vision tower is to the policy: pixels in, feature rows out, on the trainer's device. Two implementations:
 * `vision-webgpu.ts` (browser) and `vision-wasm.ts` (command line); a factory is passed in so that each bundle holds one.
 */
import type { Gpu } from '../engine/gpu.ts';

export interface VisionEncoder {
  /**
   * Encodes `count` pictures, `pixels` f32 [count, 3, size, size] in −1..1, and writes their features, f32
   * [count * tokens, hidden], to `target` from byte `offset` on.
   */
  encode(pixels: Float32Array, count: number, target: GPUBuffer, offset: number): Promise<void>;
  destroy(): Promise<void>;
}

export interface VisionShape {
  /** Side of the square picture, in pixels. */
  readonly size: number;
  /** Tokens of one picture. */
  readonly tokens: number;
  /** Width of the language model: the ONNX graph includes the connector. */
  readonly hidden: number;
}

/** Opens the tower in `onnx` (the bytes of `onnx/vision_encoder.onnx`). */
export type VisionEncoderFactory = (gpu: Gpu, onnx: Uint8Array, shape: VisionShape) => Promise<VisionEncoder>;
