/**
 * @file The laboratory of settings, on the built site: a combination far from the presets adds up, poison and audit are on the
 * board, gradients are compared on demand, what cannot be run is refused beside its field, and presets can be switched.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, visit, type Visit } from '../setup/visit.ts';
import { addsUp } from './adds-up.ts';
import { nextPhase, PHASE_TIMEOUT, ready, savedRun } from './walk.ts';

const SETTINGS =
  '#questionsPerStep=1&responses=2&maxTokens=16&temperature=1.5&tasks=count&transformProbability=0&evaluateEvery=1000' +
  '&crossVariant=sequence_truncate&klBeta=0.1&iterations=2&poisonShare=1&localWeight=0.5';

const preset = (page: Page) => page.locator('select[name="preset"]');

describe('the laboratory', () => {
  let browser: Browser;
  let v: Visit;

  beforeAll(async () => {
    browser = await openBrowser();
    v = await visit(browser, SETTINGS, { acceptDownloads: true, viewport: { width: 1280, height: 800 } });
    await ready(v.page);
  });
  afterAll(() => browser.close());

  it('says in the summary of a group how many of its settings were changed', async () => {
    const objective = v.page.locator('form[aria-label="Settings"] summary', { hasText: 'Objective' });
    expect(await objective.innerText()).toMatch(/2 changed/);
  });

  it('refuses a combination that cannot be run, beside its field', async () => {
    const { page } = v;
    await page.locator('form[aria-label="Settings"] summary', { hasText: 'Update' }).click();
    await page.locator('input[name="minibatches"]').fill('3');
    const field = page.locator('.field', { has: page.locator('input[name="minibatches"]') });
    await field.getByRole('alert').filter({ hasText: 'Parts of the batch is 3, but a step has 1 questions' }).waitFor();
    expect(await page.getByRole('button', { name: 'Apply' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Revert' }).click();
    await field.getByRole('alert').waitFor({ state: 'detached' });
  });

  it(
    'takes a step of truncated weights, a distance from the base and two passes, whose numbers add up',
    async () => {
      const { page } = v;
      await page.getByRole('button', { name: /^Compare published and corrected gradient/ }).click();
      await page.getByText('Asked for: the next update measures it.').waitFor();
      await page.getByRole('button', { name: 'Whole step' }).click();
      await ready(page, /1 step taken/);
      const records = await savedRun(page);
      records.forEach(addsUp);
      const [{ update, questions }] = records;
      expect(update?.inner).toHaveLength(2);
      expect(questions[0].pairs.flat(2).every((pair) => pair.base !== null)).toBe(true);
      expect(await page.getByText('2 AdamW steps').isVisible()).toBe(true);
      expect(await page.getByText('Asked for').count()).toBe(0);
      if (questions[0].groups?.pooled === 'alive') {
        expect(update?.cosine).not.toBeNull();
        expect(await page.getByText('cosine', { exact: true }).isVisible()).toBe(true);
      }
      await v.picture('laboratory');
    },
    PHASE_TIMEOUT,
  );

  it('marks poisoned variants, and the audit sees them', async () => {
    const board = v.page.getByRole('grid', { name: 'Responses by variant' });
    expect(await board.getByText('poisoned on purpose').count()).toBe(2);
    expect(await board.getByText('✗ answer changed').count()).toBe(2);
    expect(await v.page.getByRole('button', { name: /consistency of the step\s*0 %/ }).isVisible()).toBe(true);
  });

  it('switches presets, and says what each is', async () => {
    const { page } = v;
    await preset(page).selectOption('dr-grpo');
    await page.getByText('no division by σ nor by a response’s own length').waitFor();
    await page.getByText('differs from share-grpo in').waitFor();
    await expect.poll(() => page.evaluate(() => location.hash)).toBe('#preset=dr-grpo');
    expect(await page.locator('input[name="variants"]').inputValue()).toBe('1');
  });

  it(
    'takes a visitor’s word for it that noise keeps the answer',
    async () => {
      const { page } = v;
      await page.getByLabel('Question', { exact: true }).fill('how many circles are there?');
      await page.getByLabel(/^Right answer/).fill('2');
      await page.getByLabel('The answer stays the same when noise is added').check();
      await page.getByRole('button', { name: 'Train on it' }).click();
      await page.getByText('Its variants count as kept').waitFor();
      await nextPhase(page, 'Expand');
      expect(await page.getByText('Task: your own').isVisible()).toBe(true);
      expect(await page.getByText('✓ answer kept').count()).toBe(1);
    },
    PHASE_TIMEOUT,
  );

  it('stays with its model when that of MiCo cannot be loaded, and says so', async () => {
    const { page } = v;
    await page.route('**/pico-mico/**', (route) => route.fulfill({ status: 404 }));
    await preset(page).selectOption('mico-strong');
    await page
      .getByRole('alert')
      .filter({ hasText: /The model for these settings could not be loaded.*Training goes on with the one at hand/ })
      .waitFor({ timeout: PHASE_TIMEOUT });
    await ready(page);
    expect(await preset(page).inputValue()).toBe('dr-grpo');
    await page.unroute('**/pico-mico/**');
  });
});

describe('MiCo', () => {
  it(
    'brings its own model; a step samples under weak views, learns on strong ones, and adds up',
    async () => {
      const browser = await openBrowser();
      try {
        const hash = '#preset=mico-corrected&questionsPerStep=1&responses=3&maxTokens=24&evaluateEvery=1000';
        const { page, problems, picture } = await visit(browser, hash, { acceptDownloads: true, viewport: { width: 1280, height: 800 } });
        await ready(page);
        await page.getByText(/^pico-mico:/).waitFor();
        await page.getByRole('button', { name: 'Whole step' }).click();
        await ready(page, /1 step taken/);
        const [record] = await savedRun(page);
        addsUp(record);
        const [q] = record.questions;
        expect(q.family).toBe('mico');
        expect(q.variants.map((v) => v.pictures.length)).toEqual([3, 3]);
        expect(q.responses.map((group) => group.length)).toEqual([3, 0]);
        expect(record.update?.rows).toBe(3);
        expect(problems).toEqual([]);
        await picture('mico');
      } finally {
        await browser.close();
      }
    },
    PHASE_TIMEOUT,
  );
});
