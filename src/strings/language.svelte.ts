/**
 * @file The page's language: what the visitor chose, else what the browser asks for, else English. Views read `language.text`, so a
 * change redraws them; what is not a view is handed a `Strings`.
 */
import { de } from './de/index.ts';
import { en } from './en/index.ts';
import type { Strings } from './types.ts';

const TABLES = { en, de } satisfies Record<string, Strings>;

export type LanguageName = keyof typeof TABLES;

/** Each in its own words. */
export const LANGUAGES: readonly { readonly name: LanguageName; readonly label: string }[] = [
  { name: 'en', label: 'English' },
  { name: 'de', label: 'Deutsch' },
];

const KEY = 'grpo-playground.language';

const known = (name: string | null | undefined): LanguageName | null => LANGUAGES.find((l) => l.name === name)?.name ?? null;

function remembered(): LanguageName {
  let chosen: string | null = null;
  try {
    chosen = localStorage.getItem(KEY);
  } catch {
    // storage is switched off, or there is none: the choice lasts as long as the page
  }
  const asked = typeof navigator === 'undefined' ? null : navigator.language?.slice(0, 2);
  return known(chosen) ?? known(asked) ?? 'en';
}

export class Language {
  #name = $state<LanguageName>(remembered());

  constructor() {
    this.#apply();
  }

  get name(): LanguageName {
    return this.#name;
  }

  set name(name: LanguageName) {
    this.#name = name;
    this.#apply();
    try {
      localStorage.setItem(KEY, name);
    } catch {
      // as above
    }
  }

  /** Everything the page says, in this language. */
  get text(): Strings {
    return TABLES[this.#name];
  }

  #apply(): void {
    if (typeof document !== 'undefined') document.documentElement.lang = this.#name;
  }
}

/** The page has one language. */
export const language = new Language();
