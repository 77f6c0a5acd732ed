/**
 * @file Light, dark, or as the system says; remembered on this machine.
 */
export type ThemeName = 'system' | 'light' | 'dark';
export const THEMES: readonly ThemeName[] = ['system', 'light', 'dark'];

const KEY = 'grpo-playground.theme';

function remembered(): ThemeName {
  try {
    const name = localStorage.getItem(KEY);
    return THEMES.find((t) => t === name) ?? 'system';
  } catch {
    return 'system'; // storage is switched off: the choice lasts as long as the page
  }
}

export class Theme {
  #name = $state<ThemeName>(remembered());

  constructor() {
    this.#apply();
  }

  get name(): ThemeName {
    return this.#name;
  }

  set name(name: ThemeName) {
    this.#name = name;
    this.#apply();
    try {
      localStorage.setItem(KEY, name);
    } catch {
      // as above
    }
  }

  #apply(): void {
    const root = document.documentElement;
    if (this.#name === 'system') delete root.dataset.theme;
    else root.dataset.theme = this.#name;
  }
}
