/**
 * @file Writes an adapter of noise for pico, as the page exports it, for check_adapter.py to read:
 * `deno run -A tools/oracle/write-adapter.ts FOLDER`.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { parseConfig, parseJson } from '../../src/model/config.ts';
import { loraLayout } from '../../src/model/lora.ts';
import { adapterSlices, writeAdapterFiles } from '../../src/model/peft.ts';
import { noise } from '../../tests/model/fixtures.ts';

const folder = process.argv[2];
if (!folder) throw new Error('Say where to: deno run -A tools/oracle/write-adapter.ts FOLDER');
const config = parseConfig(
  parseJson(readFileSync(new URL('../../public/models/pico/config.json', import.meta.url)), 'config.json'),
  null,
  null,
);
const layout = loraLayout(config.text, 5);
const params = new Float32Array(layout.total);
adapterSlices(layout).forEach(({ shape, offset }, i) => params.set(noise(shape[0] * shape[1], i, 0.1), offset));
mkdirSync(folder, { recursive: true });
const files = writeAdapterFiles({ layout, params, alpha: 7, baseModel: 'pico' });
for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
