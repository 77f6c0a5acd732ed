/** @file The device itself: a dispatch computes, errors have names, caches hold. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GpuError } from './errors.ts';
import { Gpu } from './gpu.ts';

const DOUBLE = `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
override FACTOR: f32 = 2.0;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&x)) { y[id.x] = FACTOR * x[id.x]; }
}`;

describe('Gpu', () => {
  let gpu: Gpu;
  beforeAll(async () => {
    gpu = await Gpu.open();
  });
  afterAll(() => gpu.destroy());

  it('runs a kernel on an odd size and reads the result back', async () => {
    const x = Float32Array.from({ length: 131 }, (_, i) => i - 65.5);
    const input = gpu.upload('x', x);
    const output = gpu.buffer('y', x.byteLength);
    const kernel = gpu.kernel({ name: 'double', source: DOUBLE, constants: { FACTOR: 3 } });
    gpu.submit('double', (pass) => gpu.dispatch(pass, kernel, [input, output], [3]));
    const [bytes] = await gpu.read({ buffer: output, bytes: x.byteLength });
    expect([...new Float32Array(bytes)]).toEqual([...x].map((v) => 3 * v));
  });

  it('makes a pipeline once for the same source and constants', () => {
    const before = gpu.counters.pipelines;
    const first = gpu.kernel({ name: 'double', source: DOUBLE, constants: { FACTOR: 5 } });
    expect(gpu.kernel({ name: 'double', source: DOUBLE, constants: { FACTOR: 5 } })).toBe(first);
    expect(gpu.kernel({ name: 'double', source: DOUBLE, constants: { FACTOR: 7 } })).not.toBe(first);
    expect(gpu.counters.pipelines).toBe(before + 2);
  });

  it('reads back through the same buffer, also several reads at once', async () => {
    const [a, b] = [gpu.upload('a', Float32Array.of(1, 2, 3)), gpu.upload('b', Float32Array.of(4))];
    await gpu.read({ buffer: a, bytes: 12 });
    const before = gpu.counters.buffers;
    for (const [buffer, offset, bytes, values] of [
      [b, 0, 4, [4]],
      [a, 4, 8, [2, 3]],
    ] as const) {
      expect([...new Float32Array((await gpu.read({ buffer, offset, bytes }))[0])]).toEqual(values);
    }
    expect(gpu.counters.buffers).toBe(before);
    const both = await Promise.all([gpu.read({ buffer: a, bytes: 12 }), gpu.read({ buffer: b, bytes: 4 })]);
    expect(both.map(([bytes]) => [...new Float32Array(bytes)])).toEqual([[1, 2, 3], [4]]);
  });

  it('turns a lost device into a named error that says what to do', async () => {
    const other = await Gpu.open();
    const lost = new Promise<GpuError>((resolve) => other.onLost(resolve));
    other.destroy();
    const error = await lost;
    expect(error).toBeInstanceOf(GpuError);
    expect(error.kind).toBe('lost');
    expect(() => other.check()).toThrow(/restart the model/);
  });
});
