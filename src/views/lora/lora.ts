/** @file The adapter's modules as a grid: layers down, the seven projections across. */
import type { UpdateRecord } from '../../session/types.ts';

export type LoraView = 'total' | 'step';
type Module = UpdateRecord['modules'][number];

export interface LoraTable {
  readonly names: readonly string[];
  /** [layer][name] */
  readonly rows: readonly (readonly (Module | null)[])[];
}

export function loraTable(modules: readonly Module[]): LoraTable {
  const names = [...new Set(modules.map((m) => m.name))];
  const layers = modules.reduce((most, m) => Math.max(most, m.layer + 1), 0);
  const rows = Array.from({ length: layers }, (_, layer) =>
    names.map((name) => modules.find((m) => m.layer === layer && m.name === name) ?? null),
  );
  return { names, rows };
}

export const moduleValue = (m: Module, view: LoraView): number => (view === 'total' ? m.deltaNorm : m.stepNorm);

export const MODULE_MEANING: Readonly<Record<string, string>> = {
  q_proj: 'the queries of attention: what each token looks for',
  k_proj: 'the keys of attention: what each token offers to be found by',
  v_proj: 'the values of attention: what is handed over',
  o_proj: 'the output of attention',
  gate_proj: 'the gate of the MLP',
  up_proj: 'the first half of the MLP',
  down_proj: 'the way back out of the MLP',
};
