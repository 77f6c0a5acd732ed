/**
 * @file What `vitest` means in a test that runs in Deno: vitest's own runner and matchers, without the server and the browser
 * around them. The bundle for Deno (tools/deno-tests.mjs) puts this file in the place of the package.
 */
import {
  ASYMMETRIC_MATCHERS_OBJECT,
  customMatchers,
  GLOBAL_EXPECT,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
  type ExpectStatic,
} from '@vitest/expect';
import * as chai from 'chai';

export { afterAll, afterEach, beforeAll, beforeEach, describe, it, onTestFinished, suite, test } from '@vitest/runner';
export { fn, spyOn } from '@vitest/spy';

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);
// pictures of a failure, not whole buffers
chai.config.truncateThreshold = 120;

const shared = globalThis as unknown as Record<symbol, object>;
export const expect = ((value: unknown, message?: string) => chai.expect(value, message)) as unknown as ExpectStatic;
Object.assign(expect, chai.expect, shared[ASYMMETRIC_MATCHERS_OBJECT]);
shared[GLOBAL_EXPECT] = expect;
setState({ assertionCalls: 0, isExpectingAssertions: false, isExpectingAssertionsError: null, expectedAssertionsNumber: null }, expect);
const chaiExpect = chai.expect as unknown as { extend(self: ExpectStatic, matchers: object): void };
expect.extend = (matchers) => chaiExpect.extend(expect, matchers);
expect.extend(customMatchers);
