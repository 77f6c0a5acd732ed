/** @file The sum that a row's advantage is, in words. */
import type { AdvantageRecord, Settings } from '../../session/types.ts';
import { plus, signed } from '../../ui/format.ts';

const weighted = (weight: number, x: string): string => (weight === 1 ? x : `${weight}·(${x})`);

/** “+0.42 + 0.957 = ”, with the weights where they are not 1; empty where the advantage is no sum. */
export function advantageSum(a: AdvantageRecord, { k, j }: { readonly k: number; readonly j: number }, s: Settings): string {
  if (s.mico !== 'off' || s.variants === 1) return '';
  const own = k === j;
  if (!own) return s.globalWeight === 1 ? '' : `${weighted(s.globalWeight, signed(a.global))} = `;
  const local = s.localWeight === 1 ? plus(a.local) : `+ ${weighted(s.localWeight, signed(a.local))}`;
  return `${weighted(s.globalWeight, signed(a.global))} ${local} = `;
}
