// @ts-check
/**
 * @file Makes the README's picture: builds and serves the page, takes one real step of Share-GRPO with the default settings in
 * the browser that the tests use, and writes docs/screenshot.png.
 *
 *   node tools/screenshot.mjs
 */
import { chromium } from 'playwright-core';
import { build, preview } from 'vite';
import { BROWSER_ARGS, findBrowser } from './browser.mjs';

const STEP_TIMEOUT = 900_000; // a step on the processor takes minutes

await build({ logLevel: 'warn' });
const server = await preview({ logLevel: 'warn' });
const browser = await chromium.launch({ executablePath: await findBrowser(), args: BROWSER_ARGS });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1000 }, colorScheme: 'light' });
  await page.goto(server.resolvedUrls?.local[0] ?? '');
  const status = page.locator('nav[aria-label="Run"] [aria-live]');
  await status.getByText(/^Ready/).waitFor({ timeout: STEP_TIMEOUT });
  await page.getByRole('button', { name: 'Whole step' }).click();
  await page.locator('[aria-current="step"]', { hasText: 'Evaluate' }).waitFor({ timeout: STEP_TIMEOUT });
  await page.locator('button:enabled', { hasText: 'Next phase' }).waitFor({ timeout: STEP_TIMEOUT });
  await page.screenshot({ path: 'docs/screenshot.png' });
} finally {
  await browser.close();
  await server.close();
}
