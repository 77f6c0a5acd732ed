// @ts-check
/**
 * @file Finds a Chromium-family browser that starts, for the tests and the benchmarks.
 *
 * Looked at in this order, the first that starts wins:
 *   1. the file named by the environment variable CHROME_PATH;
 *   2. Chrome, Chromium, Edge or Brave where they are usually installed on Linux, macOS and Windows, and on the PATH;
 *   3. the Chromium inside the npm package @sparticuz/chromium (Linux on x64: unpacked into the temporary folder; its WebGPU
 *      runs on the processor, over SwiftShader). On Debian and Ubuntu, as root, missing system libraries come by apt-get.
 * If none starts, the error says what to install. GRPO_BROWSER=sparticuz skips 1 and 2.
 *
 *   node tools/browser.mjs     prints the path of the browser that the tests use
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { aptInstall } from './apt.mjs';

/**
 * WebGPU on the processor, so that every machine gives the same numbers, and no request of the browser's own.
 * `--no-sandbox`: the tests may run as root in a container, and open nothing but this repository's pages.
 */
export const BROWSER_ARGS = [
  '--no-sandbox',
  '--enable-unsafe-webgpu',
  '--use-webgpu-adapter=swiftshader',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];

/** What @sparticuz/chromium's browser is linked against and a small Debian lacks. */
const LIBRARIES = ['libnss3', 'libnspr4', 'libexpat1', 'libfontconfig1', 'libvulkan1', 'ca-certificates'];

const NAMES = [
  'google-chrome-stable',
  'google-chrome',
  'chromium',
  'chromium-browser',
  'microsoft-edge-stable',
  'microsoft-edge',
  'brave-browser',
];

const WHAT_TO_INSTALL =
  'No Chromium-family browser was found that starts. Install Google Chrome, Chromium or Microsoft Edge ' +
  '(Debian, Ubuntu: sudo apt-get install chromium), or set CHROME_PATH to the browser’s executable file.';

/** @returns {string[]} where a browser may lie on this machine */
function candidates() {
  const { env, platform } = process;
  if (platform === 'darwin') {
    const apps = ['Google Chrome', 'Chromium', 'Microsoft Edge', 'Brave Browser', 'Google Chrome Canary'];
    return ['/Applications', join(env['HOME'] ?? '', 'Applications')].flatMap((folder) =>
      apps.map((app) => `${folder}/${app}.app/Contents/MacOS/${app}`),
    );
  }
  if (platform === 'win32') {
    const folders = [env['PROGRAMFILES'], env['PROGRAMFILES(X86)'], env['LOCALAPPDATA']].filter((f) => f !== undefined);
    const programs = [
      'Google\\Chrome\\Application\\chrome.exe',
      'Chromium\\Application\\chrome.exe',
      'Microsoft\\Edge\\Application\\msedge.exe',
    ];
    return folders.flatMap((folder) => programs.map((program) => join(folder, program)));
  }
  const folders = [...(env['PATH'] ?? '').split(delimiter), '/usr/bin', '/usr/local/bin', '/snap/bin'].filter(Boolean);
  return [
    ...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))),
    '/opt/google/chrome/chrome',
    '/opt/microsoft/msedge/msedge',
  ];
}

/**
 * Starts the browser and opens an empty page.
 * @param {string} path
 * @returns {Promise<string>} why it does not start; empty if it does
 */
async function whyNot(path) {
  try {
    const browser = await chromium.launch({ executablePath: path, args: BROWSER_ARGS, timeout: 60_000 });
    // a text field too: it crashes a browser that finds no font
    await (await browser.newPage()).setContent('<input value="a">');
    await browser.close();
    return '';
  } catch (error) {
    const lines = String(error)
      .split('\n')
      .map((line) => line.trim());
    return (lines.find((line) => /error while loading|cannot open shared|not found|denied/i.test(line)) ?? lines[0] ?? '').slice(0, 300);
  }
}

/**
 * Without a single font Chromium crashes at the first text field. The package's own configuration looks for its fonts where they
 * lie in Amazon's cloud; this one looks here, and where a system keeps its own.
 * @param {string} folder where the package was unpacked
 * @returns {string} a file for FONTCONFIG_FILE
 */
function fontsOf(folder) {
  const file = join(folder, 'fonts.conf');
  const folders = [join(folder, 'fonts'), '/usr/share/fonts', '/usr/local/share/fonts'].map((dir) => `<dir>${dir}</dir>`).join('');
  const cache = `<cachedir>${join(folder, 'fonts-cache')}</cachedir>`;
  writeFileSync(file, `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>${folders}${cache}</fontconfig>\n`);
  return file;
}

/** @returns {Promise<{path: string, why: string}>} the browser in @sparticuz/chromium, unpacked, and why it does not start */
async function packaged() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return { path: '', why: '' };
  // the package unpacks into the temporary folder and trusts what lies there under its names: it gets a folder of its own
  const folder = join(tmpdir(), `grpo-playground-chromium-${process.getuid?.() ?? 0}`);
  const unpack = () =>
    withEnv({ TMPDIR: folder, AWS_LAMBDA_JS_RUNTIME: 'nodejs22.x' }, async () => {
      mkdirSync(folder, { recursive: true });
      const { default: packed } = await import('@sparticuz/chromium');
      return packed.executablePath();
    });
  let path = await unpack();
  process.env['FONTCONFIG_FILE'] ??= fontsOf(folder);
  let why = await whyNot(path);
  if (why && aptInstall(LIBRARIES)) why = await whyNot(path);
  if (why) {
    // its own copies of the libraries (Amazon Linux's) serve where nothing can be installed; an interrupted unpacking is redone
    process.env['LD_LIBRARY_PATH'] = [join(folder, 'al2023', 'lib'), process.env['LD_LIBRARY_PATH']].filter(Boolean).join(delimiter);
    why = await whyNot(path);
  }
  if (why) {
    rmSync(folder, { recursive: true, force: true });
    path = await unpack();
    fontsOf(folder);
    why = await whyNot(path);
  }
  return { path, why };
}

/**
 * @template T
 * @param {Record<string, string>} values set while `task` runs, and put back
 * @param {() => Promise<T>} task
 */
async function withEnv(values, task) {
  const before = Object.keys(values).map((name) => /** @type {const} */ ([name, process.env[name]]));
  Object.assign(process.env, values);
  try {
    return await task();
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
    }
  }
}

/** @type {Promise<string> | undefined} */
let found;

/** @returns {Promise<string>} the executable file of a browser that starts */
export function findBrowser() {
  found ??= search();
  return found;
}

async function search() {
  /** @type {string[]} */
  const tried = [];
  const { CHROME_PATH, GRPO_BROWSER, GRPO_BROWSER_CHECKED } = process.env;
  // a parent process of ours has already seen it start
  if (GRPO_BROWSER_CHECKED && existsSync(GRPO_BROWSER_CHECKED)) return GRPO_BROWSER_CHECKED;
  if (GRPO_BROWSER !== 'sparticuz') {
    for (const path of CHROME_PATH ? [CHROME_PATH, ...candidates()] : candidates()) {
      if (!existsSync(path)) {
        if (path === CHROME_PATH) tried.push(`CHROME_PATH=${path}: there is no such file`);
        continue;
      }
      const why = await whyNot(path);
      if (!why) return (process.env['GRPO_BROWSER_CHECKED'] = path);
      tried.push(`${path}: ${why}`);
    }
  }
  const { path, why } = await packaged().catch((/** @type {unknown} */ error) => ({ path: '@sparticuz/chromium', why: String(error) }));
  if (path && !why) return (process.env['GRPO_BROWSER_CHECKED'] = path);
  if (path) tried.push(`${path}: ${why}`);
  throw new Error([WHAT_TO_INSTALL, ...tried.map((line) => `  tried ${line}`)].join('\n'));
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  findBrowser().then(
    (path) => process.stdout.write(`${path}\n`),
    (/** @type {Error} */ error) => {
      process.stderr.write(`${error.message}\n`);
      process.exitCode = 1;
    },
  );
}
