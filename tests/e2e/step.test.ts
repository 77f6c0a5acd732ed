/**
 * @file The main job, on the built site in a real browser: the model loads, a step is walked through phase by phase, its numbers
 * add up, the adapter changes, a question of one's own is answered, and a device lost in mid-step costs nothing that was finished.
 */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, visit, type Visit } from '../setup/visit.ts';
import { addsUp } from './adds-up.ts';
import { nextPhase, PHASE_LABELS, PHASE_TIMEOUT, ready, savedAdapter, savedRun } from './walk.ts';

// small, and hot enough that the responses of a group differ, so that there is something to learn from
const SMALL = '#questionsPerStep=1&responses=3&maxTokens=24&temperature=1.5&tasks=count&evaluateEvery=1&evaluateQuestions=1';

describe('a step, walked through by clicks', () => {
  let browser: Browser;
  let v: Visit;
  let start: Float32Array;
  let trained: Float32Array;

  beforeAll(async () => {
    browser = await openBrowser();
    v = await visit(browser, SMALL, { acceptDownloads: true, viewport: { width: 1280, height: 800 } });
    await ready(v.page, /no step taken yet/);
  });
  afterAll(() => browser.close());

  it('loads pico in a worker', async () => {
    expect(v.page.workers()).toHaveLength(1);
    expect(await v.page.getByText(/frozen parameters/).isVisible()).toBe(true);
    start = await savedAdapter(v.page);
    expect(start.length).toBeGreaterThan(10_000);
  });

  it(
    'takes the seven phases one by one, each adding its layer',
    async () => {
      const { page } = v;
      const cells = page.getByRole('grid', { name: 'Responses by variant' }).getByRole('gridcell');
      const layers: Partial<Record<string, () => Promise<void>>> = {
        Expand: async () => expect(await page.getByText('✓ answer kept').count()).toBe(2),
        'Roll out': async () => expect(await cells.count()).toBe(6),
        Reward: async () => expect(await cells.getByText(/[✓✗] right/).count()).toBe(6),
        Advantage: async () => expect(await page.getByText(/All 6 together/).isVisible()).toBe(true),
        Share: async () => expect(await page.getByRole('grid', { name: 'Rows by variant' }).getByRole('gridcell').count()).toBe(12),
        Update: async () => expect(await page.getByText('gradient norm').isVisible()).toBe(true),
        Evaluate: async () => expect(await page.getByText('before and after this step').isVisible()).toBe(true),
      };
      for (const label of PHASE_LABELS) {
        await nextPhase(page, label);
        await layers[label]?.();
      }
      await ready(page, /1 step taken/);
      await v.picture('step');
    },
    PHASE_TIMEOUT * 4,
  );

  it('has numbers that add up, and changes the adapter', async () => {
    const records = await savedRun(v.page);
    expect(records.map((r) => [r.step, r.phase])).toEqual([[1, 'evaluate']]);
    records.forEach(addsUp);
    trained = await savedAdapter(v.page);
    expect(trained.length).toBe(start.length);
    const moved = trained.filter((x, i) => x !== start[i]).length;
    const alive = records[0].questions.some((q) => q.groups?.pooled === 'alive');
    expect(moved, `pooled group alive: ${alive}`).toBeGreaterThan(alive ? start.length / 4 : 0);
  });

  it('can look back at an earlier phase', async () => {
    const { page } = v;
    await page.locator('nav ol button', { hasText: 'Roll out' }).click();
    expect(await page.getByText(/All 6 together/).count()).toBe(0);
    await page.locator('nav ol button', { hasText: 'Evaluate' }).click();
    expect(await page.getByText(/All 6 together/).count()).toBe(1);
  });

  it(
    'answers a question of the visitor’s own, before and after training',
    async () => {
      const { page } = v;
      await page.getByLabel('Question', { exact: true }).fill('how many squares are there?');
      await page.getByRole('button', { name: 'Ask', exact: true }).click();
      await page.getByText('After 1 step').waitFor({ timeout: PHASE_TIMEOUT });
      const answers = page.locator('section[aria-label="Ask the model"] article');
      for (const text of await answers.allInnerTexts()) expect(text).toMatch(/mean log-prob/);
    },
    PHASE_TIMEOUT,
  );

  it(
    'keeps the adapter when the device is lost in the middle of a step, and goes on after a restart',
    async () => {
      const { page } = v;
      await nextPhase(page, 'Expand');
      await page.getByText('What if the device is lost?').click();
      await page.getByRole('button', { name: 'Lose the device' }).click();
      const notice = page.getByRole('alert').filter({ hasText: 'The graphics device was lost' });
      await notice.waitFor({ timeout: PHASE_TIMEOUT });
      expect(await notice.innerText()).toMatch(/Restart the model/);
      await notice.getByRole('button', { name: 'Restart the model' }).click();
      await ready(page, /1 step taken/);
      expect(await savedAdapter(page)).toEqual(trained);
      await nextPhase(page, 'Expand');
    },
    PHASE_TIMEOUT * 3,
  );

  it('wrote no error to the console and asked no other host for anything', () => {
    expect(v.strangers).toEqual([]);
    expect(v.problems).toEqual([]);
  });
});
