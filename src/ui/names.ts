/** @file What variants and responses are called: by number, or with MiCo by how much their views leave out. */
import { WEAK, type Mico } from '../algorithm/rows.ts';

type Named = { readonly mico: Mico };

/** “variant 2”, “weak views” */
export const variantName = ({ mico }: Named, j: number): string =>
  mico === 'off' ? `variant ${j + 1}` : j === WEAK ? 'weak views' : 'strong views';

/** “response 3 of variant 2”, “response 3, sampled under the weak views” */
export const responseName = (settings: Named, j: number, i: number): string =>
  settings.mico === 'off' ? `response ${i + 1} of variant ${j + 1}` : `response ${i + 1}, sampled under the ${variantName(settings, j)}`;

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
