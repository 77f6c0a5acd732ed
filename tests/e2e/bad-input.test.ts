/** @file Bad input on the built site: each gets a sentence that says what to do, and the page lives on. */
import { deflateSync, crc32 } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, visit, type Visit } from '../setup/visit.ts';
import { PHASE_TIMEOUT, ready } from './walk.ts';

/** A PNG of one grey, width × height. */
function png(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const framed = Buffer.alloc(body.length + 8);
    framed.writeUInt32BE(data.length, 0);
    body.copy(framed, 4);
    framed.writeUInt32BE(crc32(body), body.length + 4);
    return framed;
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8); // 8 bits, grey
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const pixels = deflateSync(Buffer.alloc((width + 1) * height), { level: 1 });
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))]);
}

const alert = (page: Page, text: RegExp) => page.getByRole('alert').filter({ hasText: text });

describe('bad input', () => {
  let browser: Browser;
  let v: Visit;

  beforeAll(async () => {
    browser = await openBrowser();
    v = await visit(browser, '#questionsPerStep=1&responses=2&maxTokens=16');
    await ready(v.page);
  });
  afterAll(() => browser.close());

  it.each([
    ['variants', '0', /must be between 1 and/],
    ['responses', '1', /Responses per variant \(n\) is 1, so there is nothing to compare within a variant/],
    ['learningRate', '1e9', /must be above 0 and at most/],
    ['maxTokens', 'many', /Longest response is NaN; it must be between/],
  ])('%s = %s is refused beside its field', async (name, value, sentence) => {
    const { page } = v;
    await page.locator(`input[name="${name}"]`).fill(value);
    await alert(page, sentence).waitFor();
    expect(await page.getByRole('button', { name: 'Apply' }).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Revert' }).click();
    await alert(page, sentence).waitFor({ state: 'detached' });
  });

  it('a file that is no picture', async () => {
    const { page } = v;
    const input = page.locator('section[aria-label="Ask the model"] input[type="file"]');
    await input.setInputFiles({ name: 'picture.png', mimeType: 'image/png', buffer: Buffer.from('this is no picture') });
    await alert(page, /cannot be read as a picture\. Choose a PNG/).waitFor();
    await input.setInputFiles({ name: 'empty.png', mimeType: 'image/png', buffer: Buffer.alloc(0) });
    await alert(page, /This file is empty/).waitFor();
  });

  it('a picture of 20 megapixels is scaled down without freezing the page', async () => {
    const { page } = v;
    await page.evaluate(() => {
      const seen = { longest: 0, last: performance.now() };
      setInterval(() => {
        seen.longest = Math.max(seen.longest, performance.now() - seen.last);
        seen.last = performance.now();
      }, 20);
      Object.assign(globalThis, { seen });
    });
    const input = page.locator('section[aria-label="Ask the model"] input[type="file"]');
    await input.setInputFiles({ name: 'large.png', mimeType: 'image/png', buffer: png(5000, 4000) });
    await page.getByText(/Your picture has 20\.0 megapixels; the model sees it at 64 × 64/).waitFor({ timeout: 60_000 });
    expect(await page.evaluate(() => (globalThis as unknown as { seen: { longest: number } }).seen.longest)).toBeLessThan(1500);
  });

  it('an empty question, and one of 5,000 characters', async () => {
    const { page } = v;
    const question = page.getByLabel('Question', { exact: true });
    await question.fill('   ');
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await alert(page, /The question is empty\. Type one/).waitFor();
    await question.fill('a'.repeat(5000));
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
    await alert(page, /5000 characters; at most 400 can be asked\. Shorten it\./).waitFor();
  });

  it(
    'after all that the page still answers',
    async () => {
      const { page } = v;
      await page.getByLabel('Question', { exact: true }).fill('how many circles are there?');
      await page.getByRole('button', { name: 'Ask', exact: true }).click();
      await page.getByText('After 0 steps').waitFor({ timeout: PHASE_TIMEOUT });
      expect(v.problems).toEqual([]);
      expect(v.strangers).toEqual([]);
    },
    PHASE_TIMEOUT,
  );

  it('a link with settings that cannot be run says so and runs the defaults', async () => {
    const bad = await visit(browser, '#variants=0&seed=3');
    await alert(bad.page, /Variants per question \(m\) is 0/).waitFor();
    await ready(bad.page);
    await bad.page.context().close();
  });

  it(
    'a model.safetensors that is cut off: the loader says so, and loads again',
    async () => {
      const { page } = await visit(browser, '', {}, (p) =>
        p.route('**/model.safetensors', async (route) => {
          const body = await (await route.fetch()).body();
          await route.fulfill({ status: 200, contentType: 'application/octet-stream', body: body.subarray(0, body.length / 2) });
        }),
      );
      await alert(page, /model\.safetensors is not a valid safetensors file/).waitFor({ timeout: PHASE_TIMEOUT });
      await page.unroute('**/model.safetensors');
      await page.getByRole('button', { name: 'Load again' }).click();
      await ready(page);
      await page.context().close();
    },
    PHASE_TIMEOUT,
  );
});
