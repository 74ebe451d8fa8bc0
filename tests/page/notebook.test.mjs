/** The notebook: Python in a worker. JAX itself where `make pyodide` has built NumPy; else the page says what is missing. */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { cellsOf, sourceOf } from '../../demo/notebook/percent.mjs';
import { pack } from '../../demo/shared/address.mjs';
import { assertFits, openSite, showView, shows } from '../support/browser.mjs';
import { ROOT } from '../support/program.mjs';

const LONG = 600000;
const hasNumpy = readdirSync(join(ROOT, 'build/site/pyodide')).some((name) => name.startsWith('numpy-'));
const PLAIN = `# %% [markdown]
# Some *text*.

# %%
import sys
print("a", "b")
print("c", file=sys.stderr)
21 * 2

# %%
def fails(x):
    raise ValueError(f"no {x}")


fails(1)

# %%
while True:
    pass

# %%
class Dot:
    def _repr_svg_(self):
        return '<svg xmlns="http://www.w3.org/2000/svg" width="31" height="20"><circle r="9"/></svg>'


Dot()
`;

let page, complaints, close;
const requests = [];
before(async () => {
  ({ page, complaints, close } = await openSite('notebook'));
  page.setDefaultTimeout(LONG);
  page.on('request', (request) => requests.push(request.url()));
  await page.waitForSelector('.cell');
});
after(() => close?.());

const cell = (i) => page.locator('.cell').nth(i);
/** Runs a cell and waits for its end. @returns the text of what it shows */
async function run(i) {
  await cell(i).locator('.run').click();
  await page.waitForFunction((at) => !document.querySelectorAll('.cell')[at].classList.contains('running'), i);
  return (await cell(i).locator('.shown').innerText()).replaceAll(/\n+/g, '\n');
}

test('cells are there before Python is: nothing is loaded for a reader', async () => {
  assert.ok(await page.locator('.cell').count() >= 3);
  assert.deepEqual(requests.filter((url) => /pyodide|python/.test(url)), []);
  await assertFits(page);
});

test('names the licences of what it loads', async () => {
  const address = await page.locator('.lead a', { hasText: 'Licences' }).evaluate((a) => a.href);
  const text = await page.evaluate(async (url) => (await fetch(url)).text(), address);
  for (const name of ['Pyodide 314', 'jax 0.10.2: Apache-2.0', 'Mozilla Public License 2.0', 'opt_einsum']) {
    assert.ok(text.includes(name), `${name} is not in THIRD_PARTY.txt`);
  }
});

test('a source is its cells', () => {
  const cells = cellsOf(PLAIN);
  assert.deepEqual(cells.map(({ kind }) => kind), ['text', 'code', 'code', 'code', 'code']);
  assert.equal(cells[0].text, 'Some *text*.');
  assert.deepEqual(cellsOf(sourceOf(cells)), cells);
});

describe('Python', { timeout: LONG }, () => {
  before(async () => showView(page, `notebook/${await pack({ source: PLAIN })}`));

  test('of a link runs when it is run; prints, and shows the last value', async () => {
    await shows(page.locator('#notebook-status'), /came with a link/);
    assert.equal(await run(0), 'a b\nc\n42');
    assert.match(await cell(0).locator('.took').innerText(), /^ran in /);
    const notice = page.locator('#notebook-notice');
    if (hasNumpy) assert.ok(await notice.isHidden());
    else assert.match(await notice.innerText(), /numpy|ml_dtypes/i);
  });

  test('says the line of an error', async () => {
    assert.match(await run(1), /^ValueError: no 1/);
    assert.match(await cell(1).locator('pre').last().textContent(), /line 2, in fails/);
  });

  test('shows a value as the picture that it makes', async () => {
    await run(3);
    await page.waitForFunction(() => document.querySelector('img.picture')?.naturalWidth === 31);
  });

  test('stops', async () => {
    // The view gives Python three seconds to stop. A busy machine may need more.
    await page.evaluate(() => {
      const set = window.setTimeout;
      window.setTimeout = (callback, ms, ...args) => set(callback, ms === 3000 ? 60_000 : ms, ...args);
    });
    await cell(2).locator('.run').click();
    await cell(2).locator('.took', { hasText: 'runs' }).waitFor();
    await page.click('#stop');
    await page.waitForFunction(() => !document.querySelector('.cell.running'));
    assert.equal(await cell(2).locator('.shown').innerText(), 'Stopped.');
    assert.equal(await run(0), 'a b\nc\n42'); // names and packages are still there
    if (!hasNumpy) complaints.length = 0; // of packages that a machine without the web cannot have
  });
});

const WRONG = `# %%
import jax, jax.numpy as jnp
jax.jit(lambda x: x @ jnp.ones(3))(jnp.ones(2))
`;

describe('JAX', { timeout: LONG, skip: hasNumpy ? false : 'needs NumPy for Pyodide: make pyodide, then make site' }, () => {
  // Flax and NumPyro need packages of Pyodide's distribution.
  for (const name of ['grad', 'perceptron', 'ode', 'meshes', 'walks', 'look', 'life', 'nbody']) {
    test(name, async () => {
      await showView(page, `notebook/${await pack({ name })}`);
      await page.click('#run-all');
      await page.waitForFunction(() => {
        const cells = [...document.querySelectorAll('.cell')];
        return cells.some((one) => one.querySelector('.message')) || cells.every((one) => /^ran/.test(one.querySelector('.took').textContent));
      });
      assert.deepEqual(await page.locator('.cell .message').allInnerTexts(), []);
      if (name === 'grad') assert.match(await cell(0).locator('.shown').innerText(), /^Array\(0\.25695/);
      if (name === 'meshes') {
        await page.locator('.shown a', { hasText: 'in Meshes, on 8 devices' }).click();
        await page.locator('#mesh-status', { hasText: /^8 devices .*\b[1-9]\d* meetings/ }).waitFor();
      }
      if (['life', 'nbody'].includes(name)) assert.ok(await page.locator('canvas.pixels').count());
    });
  }

  test('an error of JAX is its own sentence, without a note on frames', async () => {
    await showView(page, `notebook/${await pack({ source: WRONG })}`);
    assert.match(await run(0), /^TypeError: dot_general requires [^\n]*\(2,\) and \(3,\)\.\nWhere it came from$/);
    assert.match(await cell(0).locator('pre').last().textContent(), /line 2, in <lambda>/);
  });
});

test('complained of nothing', () => assert.deepEqual(complaints, []));
