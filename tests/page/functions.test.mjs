/** Functions in Chromium, which fuses multiplications and additions inside them. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import * as xla from '../../bindings/index.mjs';
import { isolatedPage, launch } from '../support/browser.mjs';
import { FUNCTIONS, POINTS, runFunctions } from '../support/functions.mjs';
import { ROOT } from '../support/program.mjs';
import { ISOLATED, serveFolder } from '../support/project.mjs';

let browser, server, page;
before(async () => {
  browser = await launch();
  server = await serveFolder(ROOT, ISOLATED);
  page = await isolatedPage(browser, server);
});
after(async () => {
  await browser?.close();
  await server?.close();
});

const inPage = (fusedMultiplyAdd) => page.evaluate(async (fused) => {
  const { runFunctions: run } = await import('/tests/support/functions.mjs');
  return run(await import('/bindings/index.mjs'), fused);
}, fusedMultiplyAdd);

test("with fusedMultiplyAdd: 'never' they have the bits of any other engine", { timeout: 60000 }, async () => {
  assert.deepEqual(await inPage('never'), await runFunctions(xla, 'never'));
});

test('fused, they have other bits, as near to the truth', { timeout: 60000 }, async () => {
  const [fused, never] = [await inPage('auto'), await runFunctions(xla, 'never')];
  let others = 0;
  for (const [name, exactly] of Object.entries(FUNCTIONS)) {
    if (fused[name].some((y, i) => y !== never[name][i])) others++;
    fused[name].forEach((y, i) => {
      const want = exactly(POINTS[i]);
      assert.ok(Math.abs(y - want) <= 2.5 * 2 ** -23 * Math.abs(want), `${name}(${POINTS[i]}) is ${y}`);
    });
  }
  assert.ok(others >= 4, `${others} functions have other bits`); // few points of logistic's differ
});
