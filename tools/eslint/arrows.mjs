// @ts-check
/**
 * @file The import arrows as an ESLint rule: which folder of `src` may import which. Imports run one way:
 *
 *   views → ui, lessons → session → worker → training → { tasks, model, algorithm }      model → engine → kernels
 *
 * `algorithm` imports nothing, not even a package; `strings`, what the page says, imports nothing of ours. Views and tests may import `algorithm`. The command line (`cli`) is the same
 * trainer without a page. `session` may name types of everything below it, and re-exports them for the page.
 * Files directly in `src` are the page's entry. tests/house/arrows.test.ts shows what is let through and what is not.
 */
import { dirname, relative, resolve, sep } from 'node:path';

/** @type {Record<string, { values: readonly string[], types?: readonly string[], packages?: false }>} */
export const ARROWS = {
  algorithm: { values: [], packages: false },
  tasks: { values: [] },
  engine: { values: ['kernels'] },
  model: { values: ['engine'] },
  training: { values: ['tasks', 'model', 'algorithm'], types: ['engine'] },
  worker: { values: ['training', 'tasks', 'model', 'engine', 'algorithm'] },
  session: { values: ['worker', 'strings'], types: ['training', 'tasks', 'model', 'engine', 'algorithm'] },
  strings: { values: [] },
  lessons: { values: ['session', 'algorithm', 'strings'] },
  ui: { values: ['session', 'algorithm', 'strings'] },
  views: { values: ['session', 'ui', 'lessons', 'algorithm', 'strings'] },
  cli: { values: ['training', 'tasks', 'model', 'engine', 'algorithm'] },
};

/**
 * The part of the house that a file lies in: a folder of `src`, `kernels`, or '' for everything else.
 * @param {string} path from the repository's root
 */
function partOf(path) {
  const [first, second, ...rest] = path.split(sep);
  if (first === 'kernels') return 'kernels';
  return first === 'src' && second !== undefined && rest.length > 0 ? second : '';
}

/**
 * @param {{ file: string, source: string, typeOnly: boolean, root: string }} what one import: who, what, only a type?
 * @returns {string} what is wrong with it; empty if nothing is
 */
export function wrongWith({ file, source, typeOnly, root }) {
  const from = partOf(relative(root, file));
  const arrows = ARROWS[from];
  if (!arrows) return '';
  const test = /\.test\.ts$/.test(file);
  if (!source.startsWith('.')) {
    return arrows.packages === false && !test ? `${from} imports nothing, but this file imports the package “${source}”.` : '';
  }
  const target = resolve(dirname(file), source.replace(/\?.*$/, ''));
  const to = partOf(relative(root, target));
  if (to === from || (test && to === 'algorithm')) return '';
  // a test may hold a fixture, and make what its part is only handed
  if (test && /^(tests|public)\b/.test(relative(root, target))) return '';
  const allowed = [...arrows.values, ...(typeOnly || test ? (arrows.types ?? []) : [])];
  if (allowed.includes(to)) return '';
  const may = arrows.values.length > 0 ? `may import ${arrows.values.join(', ')}` : 'imports no other part';
  return `${from} ${may}; this import goes to ${to || relative(root, target)}.`;
}

/** @type {import('eslint').Rule.RuleModule} */
export const arrows = {
  meta: { type: 'problem', docs: { description: 'imports follow the arrows of the house' }, schema: [], messages: { wrong: '{{ what }}' } },
  create(context) {
    /** @param {any} node an import or export declaration, or an import expression */
    const check = (node) => {
      const source = node.source?.value;
      if (typeof source !== 'string') return;
      /** @type {{ importKind?: string, exportKind?: string }[]} */
      const names = node.specifiers ?? [];
      const isType = (/** @type {{ importKind?: string, exportKind?: string }} */ n) => n.importKind === 'type' || n.exportKind === 'type';
      const typeOnly = isType(node) || (names.length > 0 && names.every(isType));
      const what = wrongWith({ file: context.filename, source, typeOnly, root: context.cwd });
      if (what) context.report({ node, messageId: 'wrong', data: { what } });
    };
    return { ImportDeclaration: check, ExportNamedDeclaration: check, ExportAllDeclaration: check, ImportExpression: check };
  },
};
