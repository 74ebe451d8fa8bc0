/** Meshes in Chromium: runs can be scrubbed, deadlocks are drawn with the lines of the program. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { MESH_PROGRAMS } from '../../demo/meshes/programs.mjs';
import { assertFits, openSite, replaceText, shows } from '../support/browser.mjs';

let page, complaints, close;
before(async () => {
  ({ page, complaints, close } = await openSite('meshes'));
  await settled(0);
});
after(() => close?.());

const settled = (before) => page.waitForFunction((last) => {
  const { turn, asked } = document.getElementById('mesh-status')?.dataset ?? {};
  return Number(turn) > last && turn === asked;
}, before);

async function choose(name) {
  const before = await page.evaluate(() => Number(document.getElementById('mesh-status').dataset.turn));
  await page.selectOption('#mesh-program', name);
  await settled(before);
}

for (const { name, hangs } of MESH_PROGRAMS) {
  test(name, async () => {
    if (name !== MESH_PROGRAMS[0].name) await choose(name);
    const devices = page.locator('.device');
    assert.ok(await devices.count() > 1);
    if (hangs) {
      await shows(page.locator('#mesh-problem'), /deadlock/);
      assert.ok(await page.locator('path.waits').count() > 0);
      const first = page.locator('.waiting-list li').first();
      await shows(first, /^replica \d waits at (all-reduce|recv-done) \w+ \(line \d+\) for /);
      await first.locator('button').click();
      await shows(page.locator('.cm-activeLine'), /all-reduce|recv/);
      return;
    }
    assert.ok(await page.isHidden('#mesh-problem'));
    await shows(page.locator('#mesh-status'), /^\d devices on \d threads?: .* meetings? (and|or) messages?\./);
    assert.ok(await page.locator('.together, .message').count() > 0); // it shows a meeting at once
    await page.locator('#scrub').fill('1000');
    assert.equal(await page.locator('.device.finished').count(), await devices.count());
  });
}

test('messages are lines on the timeline, from device to device', async () => {
  await choose('Ring all-reduce by permutes');
  /* Between the rows there is nothing but ticks and these. */
  const crossed = await page.evaluate(() => {
    const canvas = document.querySelector('canvas.timeline');
    const scale = canvas.width / canvas.clientWidth;
    const context = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
    context.drawImage(canvas, 0, 0);
    const row = (canvas.clientHeight - 24) / 4;
    const { data } = context.getImageData(72 * scale, Math.round((4 + row) * scale), canvas.width - 80 * scale, 1);
    let strong = 0;
    for (let i = 3; i < data.length; i += 4) strong += data[i] > 90 ? 1 : 0;
    return strong;
  });
  assert.ok(crossed >= 3, `${crossed}`);
});

test('a run is played', async () => {
  await choose(MESH_PROGRAMS[0].name);
  await page.locator('#scrub').fill('0');
  await page.click('#play');
  await page.waitForFunction(() => Number(document.getElementById('scrub').value) > 100);
  await page.click('#play');
  const stopped = await page.inputValue('#scrub');
  await page.waitForTimeout(200);
  assert.equal(await page.inputValue('#scrub'), stopped);
});

test('programs can be edited, and a link holds the edit', async () => {
  await choose('Hangs: a message never sent');
  const before = await page.evaluate(() => Number(document.getElementById('mesh-status').dataset.turn));
  const { program } = MESH_PROGRAMS.find(({ name }) => name === 'Hangs: a message never sent');
  const text = program.replace('direction=GT', 'direction=LT');
  await replaceText(page, text);
  await settled(before);
  assert.ok(await page.isHidden('#mesh-problem'));
  await page.waitForFunction(() => location.hash.length > 200);
  await page.reload();
  await settled(0);
  assert.ok(await page.isHidden('#mesh-problem'));
  assert.equal(await page.inputValue('#mesh-program'), 'Hangs: a message never sent');
  await assertFits(page);
});

test('complained of nothing', () => assert.deepEqual(complaints, []));
