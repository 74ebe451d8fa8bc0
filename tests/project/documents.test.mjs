/**
 * Runs every code block of the guides and READMEs, on its text as it stands: Python where its modules are installed, the
 * JavaScript in Node, the pages in Chromium, the command lines in a folder with the files of the Python.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { inspect, promisify } from 'node:util';

import { blocksOf, DOCUMENTS, ELSEWHERE, fileNameOf, isElsewhere, pythonOf, ROOT, SCENES, sceneOf } from '../guides/documents.mjs';
import { launch, newPage } from '../support/browser.mjs';
import { ISOLATED, serveFolder } from '../support/project.mjs';

const execute = promisify(execFile);
const PYTHON = [process.env.GUIDES_PYTHON, join(ROOT, 'build/venv/bin/python')].find((file) => file && existsSync(file));
const inPython = (args, options) => execute(PYTHON, args, { timeout: 120_000, ...options, env: { ...process.env, JAX_PLATFORMS: 'cpu' } });
const FIXTURES = join(ROOT, 'tests/guides');

/* Inside of the package, so that it knows itself by its name. */
let scratch, browser;
before(async () => {
  scratch = await mkdtemp(join(ROOT, 'build', 'documents-'));
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await rm(scratch, { recursive: true, force: true });
});

/** A folder with the package installed, and the files that the scene's Python wrote. */
async function folderOf({ page, section = '', name }) {
  const folder = join(scratch, `${page}${section}`.replace(/\W/g, '_'));
  if (existsSync(folder)) return folder;
  if (name) await cp(join(FIXTURES, name), folder, { recursive: true });
  await mkdir(join(folder, 'node_modules'), { recursive: true });
  await symlink(ROOT, join(folder, 'node_modules/xla-wasm'));
  return folder;
}

const numbersIn = (text) => Array.from(text.matchAll(/-?\d+(?:\.\d+)?(?:e-?\d+)?/g), ([number]) => Number(number));

function assertNear(actual, expected, words) {
  assert.equal(actual.length, expected.length, words);
  actual.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 2e-6, words));
}

/** Expected values in the comments after what a line prints: console.log(…); // 1, 4, 9 */
const promisesOf = (code) => Array.from(code.matchAll(/(?:console\.log\(.*\)|textContent = .*); \/\/ (.*)$/gm), ([, said]) => said)
  .filter((said) => /^[[\d'"A-Zft-]/.test(said) && !/^the /.test(said));
const compact = (text) => text.replaceAll(/\[\s+|\s+\]/g, (bracket) => bracket.trim()).replaceAll(/\s+/g, ' ');

function assertPrinted(printed, code) {
  const text = compact(printed);
  let at = 0; // in the order of the lines
  for (const part of promisesOf(code).flatMap((said) => said.split(', then '))) {
    const found = text.indexOf(part, at);
    assert.ok(found >= 0, `${part} in ${text.slice(at)}`);
    at = found + part.length;
  }
}

/* ---- Python ---- */

const modulesOf = (code) => [...new Set(Array.from(code.matchAll(/^(?:from|import) (.*?)(?: import .*)?$/gm), ([, names]) =>
  names.split(',').map((name) => name.trim().split(/[ .]/)[0])).flat()), 'flatbuffers'];

/** Fails if a module that it is told is not there. It imports none: to import JAX takes as long as the program. */
const MISSING = `import sys
from importlib.util import find_spec
sys.exit(not all(find_spec(name) for name in sys.argv[1:]))`;

async function testPython(scene) {
  const code = await pythonOf(scene);
  assert.equal(await readFile(join(FIXTURES, scene.name, 'export.py'), 'utf8'), code,
    `the text has changed: node tests/guides/write.mjs ${scene.name}`);
  if (!PYTHON || await inPython(['-c', MISSING, ...modulesOf(code)]).then(() => false, () => true)) return;
  const folder = await mkdtemp(join(scratch, 'python-'));
  await writeFile(join(folder, 'export.py'), code);
  const { stdout } = await inPython(['export.py'], { cwd: folder });
  assertNear(numbersIn(stdout), numbersIn(await readFile(join(FIXTURES, scene.name, 'output.txt'), 'utf8')), stdout);
  assert.deepEqual((await readdir(folder)).sort(), (await readdir(join(FIXTURES, scene.name))).filter((name) => name !== 'output.txt').sort());
}

/* ---- JavaScript ---- */

async function testJs(scene, blocks) {
  const code = blocks.map(({ text }) => text).join('\n');
  const file = join(await folderOf(scene), 'blocks.mjs');
  await writeFile(file, code);
  const { stdout } = await execute(process.execPath, [file], { cwd: await folderOf(scene), timeout: 60_000 });
  assertPrinted(stdout, code);
}

/* ---- Pages ---- */

/** The import map stands for a bundler. */
const MAP = JSON.stringify({ imports: { 'xla-wasm': '/node_modules/xla-wasm/bindings/index.mjs' } });

async function testPage(scene, { text }) {
  const folder = await folderOf(scene);
  const dist = join(ROOT, 'build/dist');
  for (const at of ['xla', 'public/xla']) if (!existsSync(join(folder, at))) await cp(dist, join(folder, at), { recursive: true });
  await cp(join(ROOT, 'web'), join(folder, 'xla/web'), { recursive: true });
  await cp(join(ROOT, 'web/isolation.js'), join(folder, 'isolation.js'));
  for (const script of (await sceneOf(scene)).files) await writeFile(join(folder, fileNameOf(script)), script.text);
  const hash = createHash('sha384').update(await readFile(join(dist, 'xla-wasm.js'))).digest('base64');
  const html = `${/importmap/.test(text) ? '' : `<script type="importmap">${MAP}</script>`}<link rel="icon" href="data:,">${text.replace('HASH', hash)}`;
  await writeFile(join(folder, 'index.html'), html);
  const server = await serveFolder(folder, ISOLATED);
  const { page, complaints } = await newPage(browser);
  try {
    const said = await outputOf(page, server.address, /console\.log|textContent/.test(text), complaints);
    assert.deepEqual(complaints, []);
    if (promisesOf(text).length) {
      assertPrinted(said, text);
    } else if (said) {
      const framework = await readFile(join(FIXTURES, scene.name, 'output.txt'), 'utf8');
      assertNear(numbersIn(said), numbersIn(framework), `${said} and ${framework}`);
    }
  } finally {
    await page.close();
    await server.close();
  }
}

/** What a page prints, on the console or in #result, as Node would print it. */
async function outputOf(page, address, isLoud, complaints) {
  const printed = [];
  page.on('console', async (message) => {
    for (const argument of message.args()) printed.push(await argument.jsonValue());
  });
  await page.goto(address);
  for (let i = 0; i < 100 && isLoud && !printed.length && !complaints.length; i++) {
    await page.waitForTimeout(50);
    const result = await page.evaluate(() => document.querySelector('#result')?.textContent);
    if (result) printed.push(result);
  }
  await page.waitForTimeout(100);
  return printed.map((value) => (typeof value === 'string' ? value : inspect(value))).join(' ');
}

/* ---- Command lines ---- */

/** Not run here: they install, serve, or build. */
const LEFT_OUT = /^(npm install|pip install|python3 -m http\.server|make\b|npm pack)/;

async function testCommands(scene, { text }) {
  const folder = await folderOf(scene);
  await mkdir(join(folder, 'public'), { recursive: true });
  for (const line of text.split('\n').map((command) => command.replace(/\s+#.*$/, '')).filter((command) => command && !LEFT_OUT.test(command))) {
    if (/--on pjrt/.test(line) && !PYTHON) continue;
    const command = line.replace(/^xla-wasm /, `"${process.execPath}" "${join(ROOT, 'bindings/cli/index.mjs')}" `);
    const { stdout, stderr } = await execute('sh', ['-c', command],
      { cwd: folder, timeout: 120_000, env: { ...process.env, PYTHON, JAX_PLATFORMS: 'cpu' } });
    assert.ok(stdout || stderr || /^cp /.test(line), `${line} prints nothing`);
    if (scene.name && /--input/.test(line) && existsSync(join(FIXTURES, scene.name, 'output.txt'))) {
      const expected = numbersIn(await readFile(join(FIXTURES, scene.name, 'output.txt'), 'utf8'));
      if (expected.length) assertNear(numbersIn(stdout.replace(/^\w+\[[\d,]*\]/, '')), expected, stdout);
    }
  }
}

for (const scene of SCENES) {
  const { python, js, html, sh } = await sceneOf(scene);
  if (![...python, ...js, ...html, ...sh].length) continue;
  describe(scene.section ? `${scene.page}, ${scene.section}` : scene.page, () => {
    if (python.length) test('Python', { timeout: 240_000 }, () => testPython(scene));
    if (js.length) test('JavaScript prints the values in its comments', { timeout: 60_000 }, () => testJs(scene, js));
    html.forEach((block, i) => test(`page ${i + 1}`, { timeout: 60_000 }, () => testPage(scene, block)));
    sh.forEach((block, i) => test(`commands ${i + 1}`, { timeout: 240_000 }, () => testCommands(scene, block)));
  });
}

test('each block is run, here or elsewhere, or is no code', async () => {
  const ran = new Set();
  for (const scene of SCENES) for (const block of Object.values(await sceneOf(scene)).flat()) ran.add(`${scene.page}: ${block.text}`);
  for (const page of DOCUMENTS) {
    for (const block of await blocksOf(page)) {
      if (!['python', 'js', 'html', 'sh'].includes(block.language)) {
        assert.ok(['', 'hlo', 'text', 'ts'].includes(block.language), `${page}: nothing runs ${block.language}`);
      } else if (!isElsewhere(page, block)) {
        assert.ok(ran.has(`${page}: ${block.text}`), `${page}: ${block.text}`);
      }
    }
  }
});

test('each block that is run elsewhere is still there', async () => {
  for (const [page, section, language] of ELSEWHERE) {
    const found = (await blocksOf(page)).some((block) => block.section === section && block.language === language);
    assert.ok(found, `${page}, ${section}: no ${language}`);
  }
});
