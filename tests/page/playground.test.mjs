/** Tests the playground in Chromium: the content of each tab, underlined errors, links that restore a program. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { newPage, openSite, replaceText, shows } from '../support/browser.mjs';

let page, complaints, browser, close;
before(async () => {
  ({ page, complaints, browser, close } = await openSite('playground', { viewport: { width: 1400, height: 900 } }));
  await settled(page);
});
after(() => close?.());

/** Waits until the editor's program has run, or failed. */
async function settled(of, after = -1) {
  await of.waitForFunction((before) => {
    const { turn = -1, asked } = document.getElementById('play-status')?.dataset ?? {};
    return Number(turn) > before && turn === asked;
  }, after);
}

const turn = () => page.evaluate(() => Number(document.getElementById('play-status').dataset.turn ?? -1));

/** Calls `work`, which starts a run, and waits for the run's end. */
async function andSettled(work) {
  const before = await turn();
  await work();
  await settled(page, before);
}

const choose = (name) => andSettled(() => page.selectOption('#example', name));
const tab = async (id) => {
  await page.click(`[data-tab="${id}"]`);
  return page.locator(`[data-panel="${id}"]`);
};

const type = (text) => replaceText(page, text);

const program = (body) => `HloModule m\n\nENTRY main {\n${body}\n}\n`;

describe('tabs', () => {
  before(() => choose('Softmax'));

  test('results', async () => {
    const panel = await tab('results');
    await shows(panel, /f32\[8,24\]/);
    await panel.locator('.result > header select').first().selectOption('table');
    const sum = await panel.locator('tr').nth(3).evaluate((row) =>
      [...row.querySelectorAll('td')].reduce((total, cell) => total + Number(cell.textContent), 0));
    assert.ok(Math.abs(sum - 1) < 1e-4, `${sum}`);
    for (const view of ['numbers', 'plot', 'image', 'heat map']) {
      await panel.locator('.result > header select').first().selectOption(view);
      await panel.locator('.array > *').first().waitFor();
    }
  });

  test('the module, after each pass as differences', async () => {
    const panel = await tab('module');
    await panel.locator('pre').waitFor();
    await shows(panel, /fusion/);
    const passes = await panel.locator('.pass-list button').allTextContents();
    assert.ok(passes.some((name) => /fuse-loops/.test(name)), `${passes}`);
    await panel.locator('.pass-list button', { hasText: 'fuse-loops' }).click();
    await shows(panel.locator('.come').first(), /^\+ /);
    assert.ok(await panel.locator('.gone').count() > 3);
  });

  test('steps', async () => {
    const panel = await tab('steps');
    await panel.locator('pre').waitFor();
    await shows(panel, /parameter0 -> /);
  });

  test('the WebAssembly as text', async () => {
    const panel = await tab('code');
    await panel.locator('pre').waitFor();
    const text = await panel.textContent();
    assert.match(text, /\(module/);
    assert.match(text, /f32x4\.(add|mul|sub)/);
    assert.match(text, /;; generated most\n +\(func \$most /); // named after instructions
    assert.match(text, /\(export "5" \(func \$y\)\)[^]*;; region y\n/);
    assert.doesNotMatch(text, /\$func\d/);
  });

  test('the timeline', async () => {
    const panel = await tab('timeline');
    await panel.locator('td').first().waitFor();
    const shades = await panel.locator('canvas').evaluate((canvas) =>
      new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size);
    assert.ok(shades > 2, `${shades}`);
  });

  test('the memory plan', async () => {
    await choose('Mandelbrot set');
    const panel = await tab('memory');
    await panel.locator('svg').waitFor();
    await shows(panel, /temporary buffers of [\d.]+ kB share an arena of [\d.]+ kB/);
    assert.ok(await panel.locator('svg rect').count() > 5);
  });

  test('what it does to indices, and the picture follows the editor', async () => {
    await choose('transpose');
    const panel = await tab('picture');
    await panel.locator('.result .cell').nth(14).waitFor(); // of 15
    await panel.locator('.result .cell').nth(1).hover();
    await shows(panel, /result\[0, 1\] comes from x\[1, 0\]\./);
    await andSettled(() => type(program('  x = f32[4] parameter(0)\n  zero = f32[] constant(0)\n  ROOT y = f32[6] pad(x, zero), padding=1_1')));
    await panel.locator('.result .cell.none').first().waitFor();
    assert.equal(await panel.locator('.result .cell.none').count(), 2);
  });

  test('of sums, all that goes into them', async () => {
    /* The picture comes after the results. */
    const drawn = (shape) => page.waitForFunction((wanted) =>
      [...document.querySelectorAll('[data-panel="picture"] figcaption')].some((caption) => caption.textContent.includes(wanted)), `result ${shape}`);
    await choose('convolution');
    const panel = await tab('picture');
    await drawn('f32[1,4,4,1]');
    await panel.locator('.result .cell').first().hover();
    assert.equal(await panel.locator('.source .cell.lit').count(), 18); // 9 of the image, 9 of the kernel
    await choose('gather');
    await drawn('f32[3,4]');
    await shows(panel.locator('.result .cell text').first(), '12'); // row 3
    await panel.locator('.result .cell').nth(5).hover();
    await page.waitForFunction(() =>
      /result\[1, 1\] comes from table\[0, 1\], rows\[1, 0\]\./.test(document.querySelector('[data-panel="picture"]').textContent));
  });
});

test('several programs: each has its steps, and they meet', async () => {
  const one = (name, body) => `HloModule ${name}\n\nENTRY main {
  x = f32[4] parameter(0)
  t = token[] after-all()
${body}  ROOT y = f32[4] add(x, x)
}\n`;
  const pairs = 'frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}';
  const sends = `  s = (f32[4], u32[], token[]) send(x, t), channel_id=1, ${pairs}\n  d = token[] send-done(s), channel_id=1\n`;
  const takes = `  r = (f32[4], u32[], token[]) recv(t), channel_id=1, ${pairs}\n  got = (f32[4], token[]) recv-done(r), channel_id=1, ${pairs}\n`;
  await andSettled(() => type(`${one('speaks', sends)}\n${one('listens', takes)}`));
  assert.ok(await page.isHidden('#play-problem'));
  await shows(page.locator('#play-status'), /on 2 devices/);
  const panel = await tab('steps');
  await panel.locator('pre', { hasText: 'channel s' }).waitFor();
  await page.locator('label:has-text("Program") select').selectOption('1');
  await panel.locator('pre', { hasText: 'channel got' }).waitFor();
  assert.equal(await page.locator('.inputs .input').count(), 2);
  await andSettled(() => type(`${one('speaks', sends)}\n${one('listens', '  z = f32[4] ad(x, x)\n')}`));
  await shows(page.locator('#play-problem'), /^16:\d+ /); // a line of the whole text
  await shows(page.locator('.cm-lintRange-error'), 'ad');
});

test('threads are chosen', async () => {
  await choose('add');
  for (const [threads, says] of [['0', /single-threaded build/], ['1', /1 thread[;\b]/], ['', /\d threads?;/]]) {
    await andSettled(() => page.locator('.view > .controls label:has-text("Threads") select').selectOption(threads));
    await shows(page.locator('#play-status'), says);
  }
});

test('of a sort, where each element went', async () => {
  await choose('sort');
  const panel = await tab('picture');
  await panel.locator('.result .cell').nth(15).waitFor();
  await panel.locator('.result .cell').nth(7).hover();
  await page.waitForFunction(() => /result 0\[7\] comes from x\[3\]\./.test(document.querySelector('[data-panel="picture"]').textContent));
});

test('a clipboard that refuses: the link stands there', async () => {
  await page.evaluate(() => { navigator.clipboard.writeText = () => Promise.reject(new Error('refused')); });
  await page.click('#share');
  await page.locator('#address').waitFor();
  assert.match(await page.inputValue('#address'), /#playground\/[\w-]+$/);
  await shows(page.locator('#share'), 'Copy link');
  await page.evaluate(() => { navigator.clipboard.writeText = () => Promise.resolve(); });
  await page.click('#share');
  await page.waitForFunction(() => document.getElementById('share').textContent === 'Copied');
  assert.ok(await page.isHidden('#address'));
});

describe('editing', () => {
  test('errors are underlined where they are, and go away', async () => {
    await andSettled(() => type(program('  x = f32[4] parameter(0)\n  y = f32[3] parameter(1)\n  ROOT z = f32[4] add(x, y)')));
    await page.locator('.cm-lintRange-error').waitFor();
    await shows(page.locator('#play-problem'), /^6:\d+ add: operands f32\[4\] and f32\[3\]/);
    await andSettled(() => type(program('  x = f32[4] parameter(0)\n  ROOT z = f32[4] ad(x, x)')));
    await shows(page.locator('.cm-lintRange-error'), 'ad');
    await andSettled(() => type(program('  x = f32[4] parameter(0)\n  ROOT z = f32[4] add(x, x)')));
    assert.equal(await page.locator('.cm-lintRange-error').count(), 0);
    assert.ok(await page.isHidden('#play-problem'));
  });

  test('an edit shows its result soon', async () => {
    await tab('results');
    const took = [];
    for (const n of [5, 6, 7, 8, 9]) {
      await andSettled(() => type(program(`  x = f32[${n}] iota(), iota_dimension=0\n  ROOT z = f32[${n}] add(x, x)`)));
      await shows(page.locator('[data-panel="results"]'), new RegExp(`\\b${2 * n - 2}\\b`));
      took.push(await page.evaluate(() => Number(document.getElementById('play-status').dataset.ms)));
    }
    assert.ok(Math.min(...took) < 100, `${took} ms`);
  });

  test('completes operations and attributes, with what they mean', async () => {
    await type('HloModule m\n\nENTRY main {\n  x = f32[4] parameter(0)\n  y = f32[4,2] ');
    await page.keyboard.type('broad');
    await page.locator('.cm-tooltip-autocomplete').waitFor();
    await shows(page.locator('.cm-tooltip-autocomplete [aria-selected]'), /^broadcast/);
    await page.locator('.cm-completionInfo').waitFor();
    await shows(page.locator('.cm-completionInfo'), /Repeats an array along new dimensions/);
    await page.waitForTimeout(100);
    await page.keyboard.press('Enter');
    await page.keyboard.type('x), dim');
    await page.locator('.cm-tooltip-autocomplete').waitFor();
    await shows(page.locator('.cm-tooltip-autocomplete [aria-selected]'), /^dimensions/);
    await page.keyboard.press('Escape');
  });

  test('StableHLO', async () => {
    await choose('A layer in StableHLO');
    await shows(page.locator('[data-panel="results"]'), /f32\[4,3\]/);
    await andSettled(() => page.click('.cm-content').then(() => page.keyboard.press('ControlOrMeta+Home'))
      .then(() => page.keyboard.type('modul e')));
    assert.ok(await page.isVisible('#play-problem'));
  });

  test('JavaScript with the builder, its errors, and stopping it', async () => {
    await choose('A loop by the builder');
    const text = await page.textContent('[data-panel="results"]');
    assert.match(text, /from -10/);
    assert.match(text, /2\.999/);
    await andSettled(() => type('const b = client.builder();\nreturn b.build(b.nothing());\n'));
    await shows(page.locator('#play-problem'), /^2:18 .*nothing is not a function/);
    await type('for (;;);\n');
    await page.locator('#stop').waitFor();
    await andSettled(() => page.click('#stop'));
    await shows(page.locator('#play-problem'), /Stopped/);
  });
});

test('a deadlock says who waits for whom, and where', async () => {
  await choose('add');
  await andSettled(() => type(`HloModule m, replica_count=2
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
yes { x = f32[] parameter(0)
  ROOT r = f32[] all-reduce(x), replica_groups={}, to_apply=add }
no { x = f32[] parameter(0)
  ROOT c = f32[] copy(x) }
ENTRY e {
  id = u32[] replica-id()
  zero = u32[] constant(0)
  p = pred[] compare(id, zero), direction=EQ
  x = f32[] parameter(0)
  ROOT c = f32[] conditional(p, x, x), true_computation=yes, false_computation=no }`));
  await shows(page.locator('#play-problem'), /deadlock.*replica 0 waits at all-reduce r for replica 1/);
  await page.locator('.cm-lintRange-error').waitFor();
  await page.click('#play-problem');
  await shows(page.locator('.cm-activeLine'), /all-reduce/);
});

test('by keyboard: tabs are moved through by arrows', async () => {
  await choose('Softmax');
  await page.focus('[data-tab="results"]');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.getAttribute('[data-tab="module"]', 'aria-selected'), 'true');
  assert.ok(await page.isVisible('[data-panel="module"]'));
  await page.keyboard.press('Home');
  assert.ok(await page.isVisible('[data-panel="results"]'));
});

test('devices and inputs are chosen above', async () => {
  await choose('all-reduce');
  await tab('results');
  await andSettled(() => page.locator('label:has-text("Replicas") select').selectOption('2'));
  assert.equal(await page.locator('[data-panel="results"] label:has-text("Device") option').count(), 2);
  await choose('add');
  await andSettled(() => page.locator('select[aria-label="What x is filled with"]').selectOption('zeros'));
  await andSettled(() => page.locator('select[aria-label="What y is filled with"]').selectOption('iota'));
  await page.locator('.result > header select').first().selectOption('numbers');
  await shows(page.locator('.numbers'), /\[0, 1, 2, 3, 4, 5, 6, 7\]/);
});

test('a link holds it all', async () => {
  await page.locator('[data-tab="steps"]').click();
  await page.waitForTimeout(400);
  const second = await newPage(browser);
  await second.page.goto(page.url());
  await settled(second.page);
  assert.equal(await second.page.inputValue('#example'), 'add');
  assert.equal(await second.page.inputValue('select[aria-label="What y is filled with"]'), 'iota');
  await shows(second.page.locator('[data-panel="steps"]:not([hidden])'), /parameter1/);
  await second.page.close();
});

test('JavaScript of a link runs after a click, in an origin of its own', async () => {
  const { pack } = await import('../../demo/shared/address.mjs');
  const language = (text) => pack({ text, language: 'javascript', inputs: [], mesh: {}, seed: 0 });
  const asked = [];
  const second = await newPage(browser);
  await second.page.route('**/ran', (route) => {
    asked.push(route.request().url());
    return route.fulfill({ status: 200, headers: { 'Access-Control-Allow-Origin': '*' }, body: '' });
  });
  const origin = new URL(page.url()).origin;
  const code = `await fetch('${origin}/ran');
show(Number(self.origin === 'null' && typeof localStorage === 'undefined'), 'opaque');
let stored = 1;
try { indexedDB.open('x'); } catch { stored = 0; }
show(stored, 'stored');`;
  await second.page.goto(`${page.url().split('#')[0]}#playground/${await language(code)}`);
  await settled(second.page);
  await shows(second.page.locator('#play-status'), /came with the link. It runs when you click Run/);
  await shows(second.page.locator('.cm-content'), /await fetch/);
  // Neither an edit nor another choice starts it.
  await second.page.click('.cm-content');
  await second.page.keyboard.type(' ');
  await second.page.locator('input[type="number"]').first().fill('3');
  await second.page.waitForTimeout(1000);
  assert.deepEqual(asked, []);
  // Nor another address, while the playground is open.
  const elsewhere = await language(`${code}\n`);
  await second.page.evaluate((state) => { location.hash = `playground/${state}`; }, elsewhere);
  await second.page.waitForFunction(() => document.getElementById('play-status').textContent.includes('came with the link'));
  await second.page.waitForTimeout(500);
  assert.deepEqual(asked, []);
  const before = await second.page.evaluate(() => Number(document.getElementById('play-status').dataset.turn));
  await second.page.click('#run');
  await settled(second.page, before);
  assert.equal(asked.length, 1, await second.page.textContent('#play-problem'));
  const shown = await second.page.textContent('[data-panel="results"]');
  assert.match(shown, /opaque[^]*1/);
  assert.match(shown, /stored[^]*0/);
  await second.page.close();
});

test('complained of nothing', () => assert.deepEqual(complaints, []));
