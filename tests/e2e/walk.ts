/** @file What the end-to-end tests do on the page, in its own words: wait, press, save, read. */
import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { Page } from 'playwright-core';
import { readSafetensors } from '../../src/model/safetensors.ts';
import { readJsonl } from '../../src/training/jsonl.ts';
import type { StepRecord } from '../../src/training/record.ts';

/** SwiftShader computes on the processor: a phase takes seconds, the first of its kind longer (its kernels are compiled). */
export const PHASE_TIMEOUT = 240_000;

export const PHASE_LABELS = ['Expand', 'Roll out', 'Reward', 'Advantage', 'Share', 'Update', 'Evaluate'] as const;

const status = (page: Page) => page.locator('nav[aria-label="Run"] [aria-live]');

/** Waits until the model can be used; `text` is part of the status line. */
export async function ready(page: Page, text = /^Ready/): Promise<void> {
  await status(page).getByText(text).waitFor({ timeout: PHASE_TIMEOUT });
}

/** Presses “Next phase” and waits until this phase is done. */
export async function nextPhase(page: Page, label: string): Promise<void> {
  await page.getByRole('button', { name: 'Next phase' }).click();
  await page.locator('[aria-current="step"]', { hasText: label }).waitFor({ timeout: PHASE_TIMEOUT });
  await page.locator('button:enabled', { hasText: 'Next phase' }).waitFor({ timeout: PHASE_TIMEOUT });
}

async function saved(page: Page, button: string, files: number): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  const all = new Promise<void>((resolve, reject) => {
    page.on('download', (download) => {
      download
        .path()
        .then((path) => readFile(path))
        .then((bytes) => {
          found.set(download.suggestedFilename(), bytes);
          if (found.size === files) resolve();
        })
        .catch(reject);
    });
  });
  await page.getByRole('button', { name: button }).click();
  await all;
  page.removeAllListeners('download');
  return found;
}

/** The weights of the adapter, as the page saves them: one array of all tensors, by name. */
export async function savedAdapter(page: Page): Promise<Float32Array> {
  const files = await saved(page, 'Save the adapter', 2);
  const config = JSON.parse(String(files.get('adapter_config.json'))) as { peft_type: string };
  expect(config.peft_type).toBe('LORA');
  const { tensors } = readSafetensors(new Uint8Array(files.get('adapter_model.safetensors') as Buffer), 'adapter_model.safetensors');
  const names = [...tensors.keys()].sort();
  return Float32Array.from(
    names.flatMap((name) => {
      const { data } = tensors.get(name) as { data: Uint8Array };
      return Array.from(new Float32Array(data.slice().buffer));
    }),
  );
}

/** The records of the run, as the page saves them. */
export async function savedRun(page: Page): Promise<StepRecord[]> {
  const files = await saved(page, 'Save the run', 1);
  return readJsonl(String(files.get('run.jsonl')));
}
