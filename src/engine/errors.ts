/**
 * @file The one error type of the GPU side. Each kind is a thing that really happens to a long-training tab
 * (reference: WebGPU spec §22 "Errors & Debugging"), and each message says what happened and what to do about it.
 */

export type GpuErrorKind =
  | 'no-webgpu' // the browser has no navigator.gpu
  | 'no-adapter' // WebGPU exists, but no adapter could be had
  | 'lost' // the device was lost (driver reset, out of memory, destroy())
  | 'out-of-memory'
  | 'validation' // a programming error: invalid shader, binding or dispatch
  | 'not-finite'; // NaN or infinity in a loss, a gradient or a weight

export class GpuError extends Error {
  readonly kind: GpuErrorKind;
  /** One sentence that says what the person at the page can do. */
  readonly advice: string;

  constructor(kind: GpuErrorKind, what: string, advice: string) {
    super(`${what} ${advice}`);
    this.name = 'GpuError';
    this.kind = kind;
    this.advice = advice;
  }
}
