/** The views of the page in the states in which they show most. */
import { EXHIBITS } from '../../demo/gallery/exhibits.mjs';
import { ALL } from './sample.mjs';

/** One exhibit for each kind of stage and each set of controls; with CORPUS=all, every exhibit. */
export const SHOWN_EXHIBITS = EXHIBITS.filter((exhibit, i) => {
  const parts = (one) => [one.kind, ...['sliders', 'choices', 'zoom'].filter((part) => one[part])].join();
  return ALL || !EXHIBITS.slice(0, i).some((before) => parts(before) === parts(exhibit));
});

/** One or two scenes of each view, in which no view may violate the page's policy. */
export const POLICY_SCENES = ['home', 'train', 'fit', 'playground, indices', 'playground, memory', 'meshes', `gallery, ${EXHIBITS[0].id}`, 'open, a run'];

/** Views that have no scenes of one kind, and why. */
export const WITHOUT_SCENES = { notebook: 'tests/page/notebook.test.mjs: it needs NumPy for Pyodide' };
export const WITHOUT_POLICY_SCENES = { ...WITHOUT_SCENES, guides: 'policy.test.mjs has a test of them' };

/**
 * @param {object} page of Playwright's
 * @returns {{ started: () => Promise<void>, played: () => Promise<void>, scenes: [string, string, () => Promise<void>][] }}
 *   `started`, `played`: waits for the first of the training view and of the playground; `scenes`: the name of each,
 *   its address, and what leads there from a fresh page
 */
export function scenesOf(page) {
  const started = () => page.waitForFunction(() => document.getElementById('start')?.disabled === false);
  const played = () => page.waitForFunction(() => {
    const { turn, asked } = document.getElementById('play-status')?.dataset ?? {};
    return turn !== undefined && turn === asked;
  });
  const tab = (id, inside) => async () => {
    await played();
    await page.click(`[data-tab="${id}"]`);
    await page.waitForSelector(`[data-panel="${id}"] ${inside}`);
  };

  const scenes = [
    ['home', 'home', () => page.waitForFunction(() => document.querySelector('.output')?.textContent.startsWith('y ='))],
    ['train', 'train', async () => {
      await started();
      await page.click('#start');
      await page.waitForFunction(() => Number(document.getElementById('step').textContent) > 20);
      await page.click('#start');
    }],
    ['playground', 'playground', played],
    ['playground, indices', 'playground', async () => {
      await played();
      await page.selectOption('#example', 'gather');
      await tab('picture', '.cell')();
    }],
    ['playground, module', 'playground', tab('module', 'pre')],
    ['playground, timeline', 'playground', tab('timeline', 'td')],
    ['playground, memory', 'playground', async () => {
      await played();
      await page.selectOption('#example', 'Mandelbrot set');
      await tab('memory', '.plan')();
    }],
    ['playground, an error', 'playground', async () => {
      await played();
      await page.click('.cm-content');
      await page.keyboard.type('x');
      await page.waitForSelector('#play-problem:not([hidden])');
    }],
    ['fit', 'fit', () => page.waitForFunction(() => Number(document.getElementById('fit-loss').textContent) < 0.1)],
    ['meshes', 'meshes', () => page.waitForSelector('.together')],
    ['meshes, a deadlock', 'meshes', async () => {
      await page.waitForSelector('.together');
      await page.selectOption('#mesh-program', { label: 'Hangs: a ring of receivers' });
      await page.waitForSelector('path.waits');
    }],
    ...EXHIBITS.map(({ id }) => [`gallery, ${id}`, `gallery/${id}`, () => page.waitForSelector('[data-figure="Program"]')]),
    ['open', 'open', () => page.waitForSelector('#drop')],
    ['open, a run', 'open', async () => {
      await page.click('#sample');
      await page.click('#run');
      await page.click('#outcome [data-tab="profile"]');
      await page.waitForSelector('#outcome [data-panel="profile"] td');
    }],
    ['guides', 'guides/how-it-works', () => page.waitForSelector('.guide h2')],
    ['guides, code that ran', 'guides/getting-started', async () => {
      await page.click('.runnable .run');
      await page.waitForFunction(() => /ran in/.test(document.querySelector('.runnable').textContent));
      await page.click('.runnable .edit');
      await page.waitForSelector('.cm-content');
    }],
    ['guides, a search', 'guides/training', async () => {
      await page.fill('#search', 'gradient');
      await page.waitForSelector('.hits a');
    }],
    ['guides, the API', 'guides/api', () => page.waitForSelector('.guide h2')],
    ['guides, a class', 'guides/api/Client', async () => {
      await page.click('#compile summary');
      await page.waitForSelector('.runnable');
    }],
    ['guides, operations', 'guides/operations', () => page.waitForSelector('.guide h2')],
    ['guides, an operation', 'guides/operations/gather', async () => {
      await page.waitForSelector('.live .result .cell');
      await page.click('.rules summary');
    }],
  ];
  return { started, played, scenes };
}
