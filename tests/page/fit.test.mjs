/** The curve that follows points, and the model that learns drawings, in Chromium. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { readSafetensors } from '../../bindings/index.mjs';
import { PHONE, assertFits, loadAnew, openSite, shows } from '../support/browser.mjs';

let page, complaints, address, close;
before(async () => {
  ({ page, complaints, address, close } = await openSite('fit', { viewport: { width: 1280, height: 900 }, acceptDownloads: true }));
});
after(() => close?.());

describe('the curve', () => {
  const below = (limit) => page.waitForFunction((wanted) => {
    const text = document.getElementById('fit-loss')?.textContent; // null while the page loads
    return text && Number(text) < wanted;
  }, limit);
  /** How far the curve is from where it should be at x, in parts of the height. */
  const curveAt = (x) => page.evaluate((part) => {
    const canvas = document.getElementById('fit');
    const copy = new OffscreenCanvas(canvas.width, canvas.height);
    const context = copy.getContext('2d', { willReadFrequently: true });
    context.drawImage(canvas, 0, 0);
    const probe = document.createElement('i');
    document.body.append(probe);
    probe.style.color = 'var(--accent)';
    const rgb = getComputedStyle(probe).color.match(/\d+/g).map(Number);
    probe.remove();
    const { data } = context.getImageData(Math.round(part * canvas.width), 0, 1, canvas.height);
    const rows = Array.from({ length: canvas.height }, (_, y) => y).filter((y) => rgb.every((c, k) => Math.abs(c - data[4 * y + k]) < 12));
    return rows.length ? rows.reduce((a, b) => a + b) / rows.length / canvas.height : null;
  }, x);

  test('it fits at once, and again when a point is dragged', async () => {
    await below(0.01);
    const box = await page.locator('#fit').boundingBox();
    const at = (x, y) => [box.x + ((x + 1) / 2) * box.width, box.y + ((1 - y) / 2) * box.height];
    const [x, y] = [0, 0.6 * Math.sin(0)];
    await page.mouse.move(...at(x, y));
    await page.mouse.down();
    await page.mouse.move(...at(0, 0.8), { steps: 4 });
    await page.mouse.up();
    for (let i = 0; i < 100 && !(Math.abs(((await curveAt(0.52)) ?? 1) - 0.1) < 0.12); i++) await page.waitForTimeout(100);
    const height = await curveAt(0.52); // beside the point, which hides the curve
    assert.ok(Math.abs(height - 0.1) < 0.12, `${height}`);
  });

  test('by keyboard: points are chosen, moved, removed; the address has them', async () => {
    await loadAnew(page, `${address}#fit`);
    await below(0.05);
    await page.focus('#fit');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowUp');
    await shows(page.locator('.view-fit [role=status]'), /^Point at -0\.90, 0\.32/);
    await page.keyboard.press('Delete');
    await page.waitForFunction(() => location.hash.startsWith('#fit/'));
    await page.waitForTimeout(400);
    await page.reload();
    await below(0.05);
    await page.focus('#fit');
    await page.keyboard.press('ArrowRight');
    await shows(page.locator('.view-fit [role=status]'), /^Point at -0\.6[78],/);
  });

  test('it pauses, starts anew with another width, and fits a phone', async () => {
    const step = () => page.evaluate(() => Number(document.getElementById('fit-step').textContent.replaceAll(',', '')));
    // Enough that a new start is seen before it has come as far.
    await page.waitForFunction(() => Number(document.getElementById('fit-step').textContent.replaceAll(',', '')) > 3000);
    await page.click('#fit-play');
    await page.waitForTimeout(300);
    const before = await step();
    await page.waitForTimeout(300);
    assert.equal(await step(), before);
    await page.click('#fit-play');
    await page.selectOption('.view-fit select', '48');
    await page.waitForFunction((was) => {
      const now = Number(document.getElementById('fit-step').textContent.replaceAll(',', ''));
      return now > 0 && now < was;
    }, before);
    await below(0.05);
    await page.setViewportSize(PHONE);
    await assertFits(page);
    await page.setViewportSize({ width: 1280, height: 900 });
  });
});

describe('the model that learns', () => {
  /* As in docs/guides/own-drawings.md, in a 28 x 28 box. */
  const DRAWINGS = [[0, [14, 5, 8, 14, 14, 23, 20, 14, 14, 5, 18, 7, 10, 21]], [1, [6, 15, 15, 5, 15, 23]], [4, [15, 23, 15, 5, 7, 17, 21, 17]],
    [7, [7, 6, 20, 6, 15, 15, 20, 15, 9, 15, 15, 15, 10, 23]], [9, [18, 12, 9, 12, 9, 5, 18, 5, 18, 23, 9, 23]]];
  const draw = async (points) => {
    const box = await page.locator('#stage').boundingBox();
    const at = (i) => [box.x + (points[i] / 28) * box.width, box.y + (points[i + 1] / 28) * box.height];
    await page.mouse.move(...at(0));
    await page.mouse.down();
    for (let i = 2; i < points.length; i += 2) await page.mouse.move(...at(i), { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => !document.querySelector('.keys button').disabled);
  };

  test('five drawings, ten steps, and it knows them', async () => {
    await page.goto(`${address}#gallery/teach`);
    await page.waitForSelector('[data-figure="Program"]');
    for (const [digit, points] of DRAWINGS) {
      await draw(points);
      await page.click(`.keys button:nth-child(${digit + 1})`);
    }
    await page.waitForFunction(() => /^5 of 5 examples; it knows/.test(document.getElementById('learned').textContent));
    const [, knew] = /it knows (\d)/.exec(await page.textContent('#learned'));
    assert.ok(Number(knew) < 5, 'it knew all of them before');
    await page.click('#teach');
    await page.waitForFunction(() => /^It knew/.test(document.getElementById('learned').textContent));
    await shows(page.locator('#learned'), new RegExp(`^It knew ${knew} of 5, now 5\\.`));
    assert.equal(await page.locator('.taught .wrong').count(), 0);
  });

  test('the weights are saved as safetensors, and are others than before', async () => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save')]);
    const saved = await readSafetensors(new Uint8Array(await readFile(await download.path())));
    assert.deepEqual(Object.keys(saved).sort(),
      ['Conv_0.bias', 'Conv_0.kernel', 'Conv_1.bias', 'Conv_1.kernel', 'Dense_0.bias', 'Dense_0.kernel', 'Dense_1.bias', 'Dense_1.kernel']);
    const before = await readSafetensors(new Uint8Array(await readFile(new URL('../../demo/gallery/programs/digits.safetensors', import.meta.url))));
    assert.equal(String(saved['Dense_0.kernel'].shape), 'f32[784,32]');
    assert.notDeepEqual([...saved['Dense_1.bias'].data], [...before.bias4.convert('f32').data]);
  });

  test('it forgets on request', async () => {
    await page.click('#forget');
    await draw(DRAWINGS[1][1]);
    await page.waitForFunction(() => /It takes this for a 4/.test(document.getElementById('digit').textContent));
  });
});

test('complained of nothing', () => assert.deepEqual(complaints.filter((text) => !/: net::ERR_(ABORTED|BLOCKED)/.test(text)), []));
