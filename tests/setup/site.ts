/**
 * @file Before the end-to-end tests: the built site (built now, unless `npm test` has just done it) is served on a free port, in
 * a sub-folder, as a host of static files would. Tests find its address with `inject('site')`.
 */
import { build, preview } from 'vite';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** Address of the built site, with a slash at the end. */
    site: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!process.env['GRPO_SITE_IS_BUILT']) await build({ logLevel: 'warn', mode: 'production' });
  const server = await preview({ base: '/playground/', logLevel: 'warn', preview: { port: 0, host: '127.0.0.1', open: false } });
  const address = server.httpServer.address();
  if (address === null || typeof address === 'string') throw new Error('The preview server has no port.');
  project.provide('site', `http://127.0.0.1:${address.port}/playground/`);
  return () => server.close();
}
