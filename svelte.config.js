/** @file How Svelte compiles: runes everywhere. TypeScript in components is type-only syntax, which Svelte itself strips. */
export default { compilerOptions: { runes: true } };
