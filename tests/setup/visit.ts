/**
 * @file A visit to the built site in a real Chromium, for the end-to-end tests: what the page writes to the console as an error,
 * and every request that leaves its origin, are kept for the test to look at.
 */
import { mkdirSync } from 'node:fs';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { inject } from 'vitest';
import { BROWSER_ARGS, findBrowser } from '../../tools/browser.mjs';

export interface Visit {
  readonly page: Page;
  /** Console errors, uncaught exceptions and failed requests, as text. */
  readonly problems: string[];
  /** Addresses outside the site that the page asked for. */
  readonly strangers: string[];
  /** Writes test-results/NAME.png. */
  picture(name: string): Promise<void>;
}

/** The browser of the tests; `args` are added to the usual ones. */
export async function openBrowser(args: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath: await findBrowser(), args: [...BROWSER_ARGS, ...args], headless: true });
}

/** Opens the site (`path` may carry a query or a hash) on a fresh profile; `before` prepares the page, before it asks for anything. */
export async function visit(
  browser: Browser,
  path = '',
  options: BrowserContextOptions = {},
  before?: (page: Page) => Promise<unknown>,
): Promise<Visit> {
  const site = inject('site');
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  const problems: string[] = [];
  const strangers: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('requestfailed', (request) => problems.push(`${request.url()}: ${request.failure()?.errorText ?? 'failed'}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(new URL('/', site).href) && !/^(data|blob|about):/.test(url)) strangers.push(url);
  });
  await before?.(page);
  await page.goto(new URL(path, site).href);
  return {
    page,
    problems,
    strangers,
    picture: async (name) => {
      mkdirSync('test-results', { recursive: true });
      await page.screenshot({ path: `test-results/${name}.png` });
    },
  };
}
