/** @file A browser without WebGPU: the page says what is missing and what to do, and steps through the recorded run. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, visit } from '../setup/visit.ts';
import { PHASE_LABELS } from './walk.ts';

const withoutWebGpu = (page: Page): Promise<unknown> => page.addInitScript(() => void Reflect.deleteProperty(Navigator.prototype, 'gpu'));

describe('without WebGPU', () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  it('says so and steps through the recorded run with the same views', async () => {
    const { page, problems, strangers, picture } = await visit(browser, '', {}, withoutWebGpu);
    const notice = page.getByText(/This browser has no WebGPU.*Open the page in a current Chrome, Edge/);
    await notice.waitFor();
    await page.getByText(/Recorded run, step 1 of/).waitFor();
    const phase = page.locator('[aria-current="step"]');
    for (const label of PHASE_LABELS) {
      expect(await phase.innerText()).toBe(label);
      if (label !== 'Evaluate') await page.getByRole('button', { name: 'Next phase' }).click();
    }
    const board = page.getByRole('grid', { name: 'Responses by variant' });
    expect(await board.getByRole('gridcell').count()).toBeGreaterThan(1);
    expect(await page.getByRole('grid', { name: 'Rows by variant' }).getByRole('gridcell').count()).toBeGreaterThan(3);
    await page.getByRole('button', { name: 'Whole step' }).click();
    await page.getByText(/Recorded run, step 2 of/).waitFor();
    await picture('no-webgpu');
    expect(problems).toEqual([]);
    expect(strangers).toEqual([]);
  });

  it.each([
    ['wide, light', 1280, 800, 'light'],
    ['wide, dark', 1280, 800, 'dark'],
    ['tablet', 768, 1024, 'light'],
    ['phone', 360, 780, 'dark'],
  ] as const)('fits the screen: %s', async (name, width, height, colorScheme) => {
    const v = await visit(browser, '', { viewport: { width, height }, colorScheme }, withoutWebGpu);
    await v.page.getByText(/Recorded run, step 1 of/).waitFor();
    await v.page.getByRole('button', { name: 'Whole step' }).click();
    expect(await v.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)).toBeLessThanOrEqual(0);
    const small = await v.page.evaluate(() =>
      [...document.querySelectorAll('#page *')]
        .filter(
          (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent?.trim()) && parseFloat(getComputedStyle(e).fontSize) < 12,
        )
        .filter((e) => !['SUB', 'SUP'].includes(e.tagName) && e.getClientRects().length > 0)
        .map((e) => e.outerHTML.slice(0, 80)),
    );
    expect(small).toEqual([]);
    await v.picture(`fits-${name.replace(', ', '-')}`);
    await v.page.context().close();
  });
});
