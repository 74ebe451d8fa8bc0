/**
 * Tests the page's Content-Security-Policy: it forbids the right things, and no view violates it. Other tests of the
 * page that look at the console find violations too; page_access.test.mjs has all scenes.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { POLICY } from '../../demo/policy.mjs';
import { loadAnew, openSite, replaceText, shows } from '../support/browser.mjs';
import { ALL, sample } from '../support/sample.mjs';
import { POLICY_SCENES, scenesOf } from '../support/scenes.mjs';

/** Code for the playground that shows whether `expression` worked, and how many violations came in its worker. */
const attempt = (expression) => `let seen = 0;
self.addEventListener('securitypolicyviolation', () => { seen++; });
let worked = 1;
try { await ${expression}; } catch { worked = 0; }
await new Promise((resolve) => setTimeout(resolve, 50));
show([worked, Math.sign(seen)], 'attempt');
`;

test('allows no inline script, no inline style and no eval', () => {
  assert.match(POLICY, /^default-src 'none';/);
  assert.doesNotMatch(POLICY, /'unsafe-inline'|'unsafe-eval'|\*|https?:/);
});

for (const [turn, [host, server]] of [['the dev server', {}], ['a static host', { isolated: 'by worker' }]].entries()) {
  describe(host, { timeout: 300000 }, () => {
    let page, complaints, address, close;
    before(async () => {
      ({ page, complaints, address, close } = await openSite('train', { server, viewport: { width: 1280, height: 900 } }));
      await page.waitForFunction(() => window.crossOriginIsolated);
      await page.waitForSelector('.view > *');
      complaints.length = 0; // the service worker may have reloaded the page
    });
    after(() => close?.());

    const goTo = async (hash) => {
      await loadAnew(page, `${address}#${hash}`);
      await page.waitForSelector('.view > *');
    };
    /** The complaints, without those about files that a worker was loading when its view was left. */
    const taken = () => complaints.splice(0).filter((text) => !/: net::ERR_(ABORTED|BLOCKED)/.test(text));

    test('the policy comes as it should', async () => {
      const { headers, inPage } = await page.evaluate(async () => ({
        headers: (await fetch('index.html', { cache: 'reload' })).headers.get('Content-Security-Policy'),
        inPage: document.querySelector('meta[http-equiv="Content-Security-Policy"]').content,
      }));
      assert.equal(inPage, POLICY);
      assert.equal(headers, host === 'the dev server' ? POLICY : null);
    });

    test('forbidden code is reported and has no effect', async () => {
      await goTo('guides');
      for (const [put, directive] of [
        [() => { document.body.insertAdjacentHTML('beforeend', '<i style="color: red">x</i>'); }, 'style-src-attr'],
        [() => { document.head.append(Object.assign(document.createElement('style'), { textContent: 'i {}' })); }, 'style-src-elem'],
        [() => { document.head.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 1;' })); }, 'script-src-elem'],
        [() => { document.body.insertAdjacentHTML('beforeend', '<img src="nothing:" onerror="window.ran = 1">'); }, 'script-src-attr'],
        [() => {
          const script = document.createElement('script');
          script.src = 'data:text/javascript,window.ran = 1;';
          document.head.append(script);
        }, 'script-src-elem'],
        [() => { try { setTimeout('window.ran = 1'); } catch { /* so it should */ } }, 'script-src'],
        [() => fetch('https://elsewhere.invalid/').catch(() => {}), 'connect-src'],
      ]) {
        taken();
        await page.evaluate(put);
        await page.waitForTimeout(50);
        const found = taken();
        assert.ok(found.some((text) => text.startsWith(`policy: ${directive} `)), `${put}: ${found}`);
      }
      assert.equal(await page.evaluate(() => window.ran), undefined);
    });

    test("the playground's JavaScript keeps to it, and is bound by it", async () => {
      const play = async (text) => {
        const before = await page.evaluate(() => Number(document.getElementById('play-status').dataset.turn));
        await replaceText(page, text);
        await page.waitForFunction((was) => {
          const { turn, asked } = document.getElementById('play-status').dataset;
          return Number(turn) > was && turn === asked;
        }, before);
      };
      await goTo('playground');
      await scenesOf(page).played();
      await page.selectOption('#example', 'A loop by the builder');
      await page.waitForFunction(() => /from -10/.test(document.querySelector('[data-panel="results"]').textContent));
      const shown = () => page.locator('[data-panel="results"] .numbers').first().textContent();
      const builds = "(async () => { const b = client.builder(); const x = b.parameter(0, 'f32[3]'); return (await client.compile(b.build(b.add(x, x)))).execute([[1, 2, 3]]); })()";
      await play(attempt(builds));
      assert.match(await shown(), /\[1, 0\]/);
      for (const forbidden of ["eval('1')", "new Function('')", "fetch('https://elsewhere.invalid/')", "import('data:text/javascript,')"]) {
        await play(attempt(forbidden));
        assert.match(await shown(), /\[0, 1\]/, forbidden);
      }
      await play('for (;\n');
      await shows(page.locator('#play-problem'), /Unexpected token/);
      assert.deepEqual(taken(), []);
    });

    // access.test.mjs shows all scenes on the dev server, guides.test.mjs all guides.
    if (turn === 0 && !ALL) return;

    test('every view keeps to it, light and dark', async () => {
      await goTo('guides');
      const { scenes } = scenesOf(page);
      taken();
      for (const [name, hash, lead] of sample(scenes.filter(([scene]) => POLICY_SCENES.includes(scene)), 2, turn)) {
        await goTo(hash);
        await lead();
        const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
        const first = await theme();
        await page.click('#theme');
        assert.notEqual(await theme(), first);
        await page.waitForTimeout(50); // canvases are drawn anew
        assert.deepEqual(taken(), [], name);
      }
    });

    test('every guide keeps to it', async () => {
      await goTo('guides');
      for (const link of sample(await page.locator('.list a').all(), 2, turn)) {
        await link.click();
        await page.waitForFunction((name) => document.querySelector('.list [aria-current]')?.dataset.name === name,
          await link.getAttribute('data-name'));
      }
      assert.deepEqual(taken(), []);
    });
  });
}
