/** @file The type that every language fills: English is the pattern, so a missing or an invented text does not compile. */
import type { en } from './en/index.ts';

export type Strings = typeof en;
