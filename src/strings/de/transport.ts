/** @file German: transport. */
import type { transport as en } from '../en/transport.ts';

export const transport: typeof en = {};
