/** Runs the projects of examples/ with the packed tarball, as users do who copy one. */
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { openAsBlob } from 'node:fs';
import { cp, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';

import { launch, newPage } from '../support/browser.mjs';
import { ROOT } from '../support/program.mjs';
import { ISOLATED, output, pack, project, removeProjects, serveFolder } from '../support/project.mjs';

const EXAMPLES = join(ROOT, 'examples');
const names = (await readdir(EXAMPLES, { withFileTypes: true })).filter((entry) => entry.isDirectory()).map(({ name }) => name);
const MAX_LINES = 150;
const LONG = new Set(['llama']); // its files have as many lines each

let browser;
before(async () => {
  await pack();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await removeProjects();
});

/** A copy of an example with the package installed; `others`: packages that it wants, of this clone. */
async function copyOf(name, others = []) {
  const path = await project(`example-${name}`, {});
  await cp(join(EXAMPLES, name), path, { recursive: true });
  for (const other of others) await symlink(join(ROOT, 'node_modules', other), join(path, 'node_modules', other));
  return path;
}

describe('each example', () => {
  for (const name of names) {
    test(`${name} is small, has a README with a picture, and is listed`, async () => {
      const files = (await readdir(join(EXAMPLES, name), { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
      const texts = await Promise.all(files.map((file) => readFile(join(file.parentPath ?? file.path, file.name), 'utf8')));
      const code = files.map((file, i) => (/README|package\.json/.test(file.name) ? 0 : texts[i].split('\n').length));
      assert.ok((LONG.has(name) ? Math.max(...code) : code.reduce((sum, lines) => sum + lines)) <= MAX_LINES, `${code}`);
      const description = JSON.parse(await readFile(join(EXAMPLES, name, 'package.json'), 'utf8'));
      assert.equal(description.name, `xla-wasm-example-${name}`);
      assert.ok(description.scripts.start && description.dependencies['xla-wasm']);
      assert.match(await readFile(join(EXAMPLES, name, 'README.md'), 'utf8'), /^# .*\n\n```text\n/);
      assert.ok((await readFile(join(EXAMPLES, 'README.md'), 'utf8')).includes(`(${name}/README.md)`));
    });
  }
});

/** softmax(x w + b), from the example's own numbers. */
function flowerKind(text, x) {
  const [w, bias] = Array.from(text.matchAll(/dense<(\[.*?\])>/g), ([, list]) => JSON.parse(list));
  const powers = bias.map((b, k) => Math.exp(b + x.reduce((sum, value, i) => sum + value * w[i][k], 0)));
  const total = powers.reduce((sum, power) => sum + power);
  return powers.map((power) => power / total);
}

test('node-server: answers are right, and requests share runs', { timeout: 60_000 }, async () => {
  const path = await copyOf('node-server');
  const server = spawn(process.execPath, ['server.mjs'], { cwd: path, env: { ...process.env, PORT: '0' } });
  try {
    const [, address] = await new Promise((resolve, reject) => {
      server.stdout.on('data', (data) => resolve(/(http:\S+),/.exec(data) ?? reject(new Error(`${data}`))));
      server.stderr.on('data', (data) => reject(new Error(`${data}`)));
    });
    const ask = async (body) => {
      const response = await fetch(address, { method: 'POST', body });
      return { status: response.status, ...await response.json() };
    };
    const model = await readFile(join(path, 'model.mlir'), 'utf8');
    const flowers = Array.from({ length: 40 }, (_, i) => [5 + i / 20, 3 - i / 50, 1.4 + i / 10, 0.2 + i / 20]);
    const answers = await Promise.all(flowers.map((x) => ask(JSON.stringify({ x }))));
    answers.forEach(({ status, probabilities }, i) => {
      assert.equal(status, 200);
      flowerKind(model, flowers[i]).forEach((expected, k) => assert.ok(Math.abs(probabilities[k] - expected) < 1e-5, `${flowers[i]}`));
    });
    assert.ok(Math.max(...answers.map(({ runs }) => runs)) < 20, 'requests were put together');
    for (const wrong of ['', '{"x": [1, 2, 3]}', '{"x": [1, 2, 3, "4"]}', '{"y": 1}']) {
      assert.equal((await ask(wrong)).status, 400, wrong);
    }
    assert.equal((await fetch(address.replace('predict', ''))).status, 404);
  } finally {
    server.kill();
  }
});

test('mesh-lesson: the deadlock names the line, the mended program gives means', { timeout: 60_000 }, async () => {
  const path = await copyOf('mesh-lesson');
  const printed = (await output(process.execPath, ['lesson.mjs'], { cwd: path })).trim().split('\n');
  const source = (await readFile(join(path, 'lesson.mjs'), 'utf8')).split('\n');
  const line = source.findIndex((text) => text.includes('only the replicas that have data')) + 1;
  assert.equal(printed[0], 'FAILED_PRECONDITION');
  assert.match(printed[1], /deadlock: no replica can go on: replica 0 waits at all-reduce .* for replica 3 \(which has finished\)/);
  assert.deepEqual(printed.slice(2, 5), [0, 1, 2].map((replica) => `replica ${replica} waits at line ${line} for replica 3`));
  assert.deepEqual(printed.slice(5), [0, 1, 2, 3].map((replica) => `replica ${replica}: 3,4`));
});

test('python: drives the command line', { timeout: 60_000 }, async () => {
  const path = await copyOf('python');
  const printed = (await output('python3', ['drive.py'], { cwd: path })).trim().split('\n');
  assert.deepEqual(printed.slice(0, 2), ['f32[3] [1024.0, inf, nan]', '4 devices']);
  assert.match(printed[2], /^error: .*no argument is named exponent: f32\[3\]/);
});

test('notebook-cell: the cells give what the notebook shows', { timeout: 60_000 }, async () => {
  const path = await copyOf('notebook-cell');
  const outputsOf = (text) => JSON.parse(text).cells.map(({ outputs = [] }) => outputs.flatMap(({ text: lines }) => lines).join(''));
  const shown = outputsOf(await readFile(join(path, 'notebook.ipynb'), 'utf8'));
  await output(process.execPath, ['make.mjs'], { cwd: path });
  const ran = outputsOf(await readFile(join(path, 'notebook.ipynb'), 'utf8'));
  assert.deepEqual(ran, shown);
  const f = (x) => x * x - 3 * x + Math.sin(4 * x), slope = (x) => 2 * x - 3 + 4 * Math.cos(4 * x);
  assert.equal(ran[3], [0, 1, 2].map((x) => `${x} ${f(x).toFixed(3)} ${slope(x).toFixed(3)}\n`).join(''));
  const minimum = Number(ran[5].trim().split(' ').at(-1));
  assert.ok(Math.abs(slope(minimum)) < 1e-3, `${minimum}`);
});

test('offline-page: goes on when the server has ended', { timeout: 60_000 }, async () => {
  const path = await copyOf('offline-page');
  await cp(join(path, 'node_modules/xla-wasm/build/dist'), join(path, 'xla'), { recursive: true });
  const server = await serveFolder(path, {});
  const { page, complaints } = await newPage(browser);
  const resultOf = async (numbers) => {
    await page.fill('#numbers', numbers);
    const expected = numbers.split(' ').map((x) => Math.sqrt(x).toFixed(3)).join(' ');
    await page.waitForFunction((text) => document.getElementById('result').textContent === text, expected, { timeout: 10_000 });
  };
  try {
    await page.goto(server.address);
    await resultOf('1 2 4 9');
    await page.waitForFunction(() => document.getElementById('state').textContent !== '', null, { timeout: 10_000 });
    await page.reload(); // the worker takes over
    await resultOf('16 25');
    assert.deepEqual(complaints, []);
  } finally {
    await server.close();
  }
  await page.reload();
  await resultOf('36 49 2');
  await page.close();
});

test('vite-react: classifies drawings', { timeout: 120_000 }, async () => {
  const path = await copyOf('vite-react', ['react', 'react-dom', 'scheduler', 'vite']);
  await promisify(execFile)(process.execPath, [join(ROOT, 'node_modules/vite/bin/vite.js'), 'build'], { cwd: path });
  const server = await serveFolder(join(path, 'dist'), ISOLATED);
  const { page, complaints } = await newPage(browser);
  try {
    await page.goto(server.address);
    const strokes = {
      horizontal: (k) => [3, k + 1], vertical: (k) => [k + 1, 5], diagonal: (k) => [k + 1, k + 1],
    };
    for (const [kind, place] of Object.entries(strokes)) {
      await page.click('text=Clear');
      for (let k = 0; k < 8; k++) await page.click(`[aria-label="row ${place(k)[0]}, column ${place(k)[1]}"]`);
      await page.waitForFunction((text) => new RegExp(`${text}: (9\\d|100) %`).test(document.getElementById('kinds').textContent),
        kind, { timeout: 10_000 });
    }
    assert.deepEqual(complaints, []);
  } finally {
    await page.close();
    await server.close();
  }
});

describe('llama', { timeout: 120_000 }, () => {
  const GOLDEN = join(ROOT, 'tests/golden/llama');
  const TRAINED = join(ROOT, 'demo/gallery/programs/llama');
  let path, client, Session, openGgufModel, openSafetensors, values;
  before(async () => {
    path = await copyOf('llama', ['@huggingface', 'vite']);
    ({ Session } = await import(join(path, 'session.mjs')));
    ({ openGgufModel, openSafetensors } = await import(join(path, 'weights.mjs')));
    const { Client, readNpz } = await import(join(path, 'node_modules/xla-wasm/build/node/index.mjs'));
    client = await Client.create({ threads: 0 });
    values = await readNpz(join(GOLDEN, 'values.npz'));
  });
  after(() => client?.dispose());

  /** Reads a text in parts, as tests/golden/llama_files.py does, and compares the logits after each. */
  async function check(key, model, options) {
    const session = await Session.open(client, model, null, { context: 24, lengths: [1, 4], ...options });
    const tokens = [...values.tokens.data], parts = [tokens.slice(0, 4), tokens.slice(4, 7), ...tokens.slice(7).map((token) => [token])];
    for (const [i, part] of parts.entries()) {
      const { logits, token } = await session.read(part, { temperature: 0, topK: 40, topP: 1, penalty: 1, random: Math.random });
      const wanted = values[key].data.subarray(i * logits.length, (i + 1) * logits.length);
      const most = Math.max(...wanted.map(Math.abs));
      logits.forEach((x, j) => assert.ok(Math.abs(x - wanted[j]) <= 2e-6 * most, `${key}, part ${i}: ${x}, ${wanted[j]}`));
      assert.equal(token, logits.indexOf(Math.max(...logits)));
    }
    session.dispose();
  }

  const QUANTISED = { llama: 'int8', qwen2: 'int4' };
  for (const name of ['llama', 'llama3', 'biased', 'qwen2', 'qwen3', 'gemma']) {
    test(`${name}: logits of safetensors, of GGUF and of JAX's program are the reference's`, async () => {
      const json = JSON.parse(await readFile(join(GOLDEN, name, 'config.json'), 'utf8'));
      const file = (of) => openAsBlob(join(GOLDEN, name, of));
      await check(name, await openSafetensors(json, [await file('model.safetensors')]));
      if (`${name}.gguf` in values) await check(`${name}.gguf`, await openGgufModel(await file('model.gguf')));
      const quantise = QUANTISED[name];
      if (!quantise) return;
      const large = new Blob([await file('model.safetensors'), new Uint8Array(2 ** 24)]); // its tensors are read one by one
      const model = await openSafetensors(json, [large], { quantise });
      await check(`${name}.${quantise}`, model);
      await check(`${name}.${quantise}`, model, { programOf: (length) => client.load(join(GOLDEN, name, `step.${length}.mlirbc`)) });
    });
  }

  test('weights that the settings do not use are named', async () => {
    const json = JSON.parse(await readFile(join(GOLDEN, 'biased/config.json'), 'utf8'));
    const file = await openAsBlob(join(GOLDEN, 'biased/model.safetensors'));
    await assert.rejects(openSafetensors({ ...json, mlp_bias: false }, [file]),
      /the files have model\.layers\.0\.mlp\.\w+_proj\.bias, which llama with these settings does not use/);
  });

  test('sampling: the shares of tokens are those of temperature, top-k, top-p and repetition', async () => {
    const json = JSON.parse(await readFile(join(GOLDEN, 'llama/config.json'), 'utf8'));
    const session = await Session.open(client, await openSafetensors(json, [await openAsBlob(join(GOLDEN, 'llama/model.safetensors'))]),
      null, { context: 24, lengths: [1] });
    const COUNT = 200;
    for (const [temperature, topK, topP, penalty] of [[1, 64, 1, 1], [0.7, 5, 1, 1], [1.3, 40, 0.6, 1], [1, 8, 0.9, 4], [1, 64, 0, 1]]) {
      const drawn = new Map();
      let logits;
      for (let i = 0; i < COUNT; i++) {
        session.reset();
        const result = await session.read([7], { temperature, topK, topP, penalty, random: () => (i + 0.5) / COUNT });
        ({ logits } = result);
        drawn.set(result.token, (drawn.get(result.token) ?? 0) + 1);
      }
      const scores = Array.from(logits, (x, token) => (token === 7 ? (x > 0 ? x / penalty : x * penalty) : x) / temperature);
      const order = scores.map((_, token) => token).sort((a, b) => scores[b] - scores[a]).slice(0, topK);
      const powers = order.map((token) => Math.exp(scores[token])), all = powers.reduce((a, b) => a + b);
      let before = 0;
      const kept = powers.filter((power, i) => {
        const isKept = i === 0 || before < topP * all;
        before += power;
        return isKept;
      });
      const total = kept.reduce((a, b) => a + b);
      assert.ok([...drawn.keys()].every((token) => order.indexOf(token) < kept.length), `${[...drawn]}`);
      kept.forEach((power, i) => {
        const share = (drawn.get(order[i]) ?? 0) / COUNT;
        assert.ok(Math.abs(share - power / total) <= 1.01 / COUNT, `${order[i]}: ${share}, ${power / total}`);
      });
    }
    session.dispose();
  });

  test('chat.mjs goes on with a text; a signal ends it, a full cache does not', async () => {
    const ask = (...options) => output(process.execPath, ['chat.mjs', TRAINED, 'ROMEO.\nBut soft,', '--tokens', '30', ...options], { cwd: path });
    const text = await ask('--temperature', '0');
    assert.match(text, /^[\x20-\x7e\n]{40,}\n$/);
    assert.equal(await ask('--temperature', '0', '--threads', '0'), text);

    const { Tokenizer } = await import(join(path, 'node_modules/@huggingface/tokenizers/dist/tokenizers.mjs'));
    const json = async (name) => JSON.parse(await readFile(join(TRAINED, name), 'utf8'));
    const model = await openSafetensors(await json('config.json'), [await openAsBlob(join(TRAINED, 'model.safetensors'))]);
    const session = await Session.open(client, model, new Tokenizer(await json('tokenizer.json'), {}), { context: 40 });
    const controller = new AbortController();
    let pieces = 0;
    for await (const piece of session.generate('ROMEO.\n', { signal: controller.signal })) {
      assert.equal(typeof piece, 'string');
      if (++pieces === 5) controller.abort();
    }
    assert.equal(pieces, 5);
    const before = session.tokens.length;
    let more = '';
    for await (const piece of session.generate(' And', { temperature: 0, maxTokens: 60 })) more += piece;
    assert.ok(before < 20 && session.tokens.length <= 40 && more.length > 60, more); // the cache was full, and begun anew
    await assert.rejects(session.generate('').next(), /the text has no tokens/);
    session.dispose();
  });

  test('the page writes from a folder, stops, and keeps the files', async () => {
    await cp(TRAINED, join(path, 'public/model'), { recursive: true });
    await promisify(execFile)(process.execPath, [join(ROOT, 'node_modules/vite/bin/vite.js'), 'build'], { cwd: path });
    const server = await serveFolder(join(path, 'dist'), ISOLATED);
    const { page, complaints } = await newPage(browser);
    try {
      await page.goto(server.address);
      await page.click('#open');
      await page.waitForFunction(() => !document.getElementById('write').disabled, null, { timeout: 30_000 });
      await page.click('#write');
      await page.waitForFunction(() => /^[\d.]+ tokens a second; [\d.]+ MB in all/.test(document.getElementById('status').textContent),
        null, { timeout: 30_000 });
      await page.click('#stop');
      await page.waitForFunction(() => document.getElementById('stop').disabled);
      const written = await page.textContent('#written');
      assert.ok(written.startsWith('Once upon a time') && written.length > 20, written);
      const kept = await page.evaluate(async () => (await (await caches.open('models')).keys()).map(({ url }) => url.split('/').at(-1)));
      assert.deepEqual(kept.sort(), ['config.json', 'model.safetensors', 'tokenizer.json']);
      const others = complaints.filter((text) => !/404|(tokenizer_config|index)\.json|model\.gguf/.test(text)); // those that a folder need not have
      assert.deepEqual(others, []);
    } finally {
      await page.close();
      await server.close();
    }
  });
});
