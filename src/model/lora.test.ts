/** @file The adapter's layout, initial values and norms. */
import { describe, expect, test } from 'vitest';
import { randoms } from '../../tests/reference/backward.ts';
import { TINY } from '../../tests/reference/tiny.ts';
import { initialLora, loraLayout, moduleNorms } from './lora.ts';

const layout = loraLayout(TINY, 3);

describe('loraLayout', () => {
  test('has seven modules a layer, aligned blocks that do not overlap, and layers of equal size', () => {
    expect(layout.blocks.length).toBe(8);
    expect(layout.blocks.slice(0, 4).flatMap((b) => b.modules.map((m) => m.name))).toEqual([
      'q_proj',
      'k_proj',
      'v_proj',
      'o_proj',
      'gate_proj',
      'up_proj',
      'down_proj',
    ]);
    let end = 0;
    let parameters = 0;
    for (const b of layout.blocks) {
      const aEnd = b.aOffset + b.modules.length * 3 * b.in;
      expect([b.aOffset % 64, b.bOffset % 64]).toEqual([0, 0]);
      expect(b.aOffset).toBeGreaterThan(end - 1);
      expect(b.bOffset).toBeGreaterThan(aEnd - 1);
      expect(b.sumOut).toBe(b.modules.reduce((sum, m) => sum + m.out, 0));
      end = b.bOffset + b.sumOut * 3;
      parameters += b.modules.reduce((sum, m) => sum + 3 * (b.in + m.out), 0);
    }
    expect(layout.total).toBeGreaterThan(end - 1);
    expect(layout.total).toBe(2 * layout.layerFloats);
    expect(layout.blocks[4].aOffset).toBe(layout.layerFloats);
    expect(layout.parameters).toBe(parameters);
  });
});

describe('initialLora', () => {
  test('is uniform within ±1/√in in A and zero elsewhere', () => {
    const big = loraLayout({ ...TINY, hidden: 200, intermediate: 400 }, 16);
    const params = initialLora(big, 5);
    let used = 0;
    for (const b of big.blocks) {
      const bound = 1 / Math.sqrt(b.in);
      const a = params.subarray(b.aOffset, b.aOffset + b.modules.length * 16 * b.in);
      expect(a.every((x) => Math.abs(x) <= bound)).toBe(true);
      const square = a.reduce((sum, x) => sum + x * x, 0) / a.length;
      expect(Math.abs(square / (bound ** 2 / 3) - 1)).toBeLessThan(0.1);
      expect(Math.abs(a.reduce((sum, x) => sum + x, 0) / a.length) / bound).toBeLessThan(0.05);
      used += a.filter((x) => x !== 0).length;
    }
    expect(params.filter((x) => x !== 0).length).toBe(used);
  });

  test('follows the seed', () => {
    expect([...initialLora(layout, 1)]).toEqual([...initialLora(layout, 1)]);
    expect([...initialLora(layout, 1)]).not.toEqual([...initialLora(layout, 2)]);
  });
});

describe('moduleNorms', () => {
  test('are the Frobenius norms of s·B·A, and zero for a fresh adapter', () => {
    const params = randoms(1, layout.total);
    const norms = moduleNorms(layout, params, -1.5);
    expect(norms.length).toBe(14);
    let i = 0;
    for (const b of layout.blocks) {
      for (const [m, module] of b.modules.entries()) {
        let square = 0;
        for (let o = 0; o < module.out; o++) {
          for (let c = 0; c < b.in; c++) {
            let sum = 0;
            for (let j = 0; j < 3; j++)
              sum += params[b.bOffset + (module.outOffset + o) * 3 + j] * params[b.aOffset + (m * 3 + j) * b.in + c];
            square += (1.5 * sum) ** 2;
          }
        }
        expect([norms[i].name, norms[i].layer, norms[i].stepNorm]).toEqual([module.name, b.layer, 0]);
        expect(norms[i].deltaNorm).toBeCloseTo(Math.sqrt(square), 4);
        i++;
      }
    }
    expect(moduleNorms(layout, initialLora(layout, 1), 2).every((n) => n.deltaNorm === 0)).toBe(true);
  });

  test('tell how far each module has moved', () => {
    const before = initialLora(layout, 1);
    const params = before.slice();
    const { aOffset, bOffset, in: width, modules } = layout.blocks[4]; // q, k, v of layer 1
    params[aOffset + 3 * width] += 3; // the first of k's A
    params[bOffset + modules[1].outOffset * 3] += 4; // the first of k's B
    const moved = moduleNorms(layout, params, 1, before).filter((n) => n.stepNorm !== 0);
    expect(moved.map((n) => [n.layer, n.name])).toEqual([[1, 'k_proj']]);
    expect(moved[0].stepNorm).toBeCloseTo(5, 5);
  });
});
