/**
 * Tests the package in every host and with every bundler that npm has: each row of docs/hosts.md is a
 * test here. Their tools are installed into build/hosts (make hosts does it).
 */
import assert from 'node:assert/strict';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { launch, newPage } from '../support/browser.mjs';
import { ROOT } from '../support/program.mjs';
import { ISOLATED, output, pack, project, removeProjects, serveFolder } from '../support/project.mjs';

const TOOLS = join(ROOT, 'build/hosts/node_modules');
const tool = (name) => join(TOOLS, '.bin', name);
const SECONDS = 180;
const LONG = { timeout: SECONDS * 1000 };

/** The program of every host: three replicas on two threads sum their values. */
const program = (options = '') => `
async function main(Client) {
  const client = await Client.create({ replicas: 3, threads: 2, ${options} });
  const b = client.builder('main');
  const x = b.parameter(0, 'f32[2]', 'x');
  const id = b.replicaId().convertElementType('f32');
  const exe = await client.compile(b.build(x.mul(id).allReduce('add')));
  const [sum] = await exe.execute([[1, 2]]);
  const result = { threads: client.threads, sum: sum.toArray() };
  client.dispose();
  return result;
}
`;
const IMPORT = "import { Client } from 'xla-wasm';\n";
const PRINT = 'console.log(JSON.stringify(await main(Client)));\n';
const SHOW = `main(Client).then((result) => { document.title = JSON.stringify(result); },
  (error) => { document.title = JSON.stringify({ error: String(error) }); });
`;
const page = (script, type = 'module') => `<!doctype html><html><head>
<link rel="icon" href="data:,"></head><body><script type="${type}" src="${script}"></script></body></html>`;

const check = ({ threads, sum, error }, wanted = 2) => {
  assert.equal(error, undefined);
  assert.deepEqual(sum, [3, 6]);
  assert.equal(threads, wanted);
};

let browser;
before(async () => {
  await pack();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await removeProjects();
});

/** Returns the title of a folder's page, with shared memory or without. */
async function shown(folder, headers = ISOLATED) {
  const server = await serveFolder(folder, headers);
  const { page: tab, complaints } = await newPage(browser);
  try {
    await tab.goto(server.address);
    await tab.waitForFunction(() => document.title !== '', null, { timeout: 60000 })
      .catch((error) => assert.fail(`${error.message} ${complaints}`));
    return JSON.parse(await tab.title());
  } finally {
    await tab.close();
    await server.close();
  }
}

async function checkSite(folder) {
  check(await shown(folder));
  check(await shown(folder, {}), 0);
}

/** Copies the served folder, for bundlers that do not copy the files. */
async function copyFiles(path, target) {
  const from = join(path, 'node_modules/xla-wasm/build/dist');
  await cp(from, join(path, target), { recursive: true });
}

describe('hosts', () => {
  const hosts = {
    'this Node': [process.execPath],
    'Node 22': [join(TOOLS, 'node-22/bin/node')],
    'Node 24': [join(TOOLS, 'node-24/bin/node')],
    Bun: [tool('bun'), 'run'],
    Deno: [tool('deno'), 'run', '--allow-all', '--node-modules-dir=manual'],
  };
  for (const [name, [file, ...args]] of Object.entries(hosts)) {
    test(name, LONG, async () => {
      const folder = name.replace(/\W/g, '-').toLowerCase();
      const path = await project(folder, { 'main.mjs': IMPORT + program() + PRINT });
      const text = await output(file, [...args, 'main.mjs'], { cwd: path, seconds: SECONDS });
      check(JSON.parse(text));
    });
  }
  for (const version of ['22', '24']) {
    test(`require() in Node ${version}`, LONG, async () => {
      const path = await project(`require-${version}`, {
        'main.cjs': `const { Client } = require('xla-wasm');\n${program()}
main(Client).then((result) => console.log(JSON.stringify(result)));`,
      });
      const node = join(TOOLS, `node-${version}/bin/node`);
      check(JSON.parse(await output(node, ['--no-warnings', 'main.cjs'], { cwd: path })));
    });
  }
  test('bun build --compile, with assets', LONG, async () => {
    const assets = "assets: new URL('file://' + process.cwd() + '/files/')";
    const path = await project('bun-compile', { 'main.mjs': IMPORT + program(assets) + PRINT });
    await copyFiles(path, 'files');
    await output(tool('bun'), ['build', '--compile', 'main.mjs', '--outfile', 'main'], { cwd: path });
    check(JSON.parse(await output(join(path, 'main'), [], { cwd: path })));
  });
  test('Jest, in its default mode', LONG, async () => {
    const path = await project('jest-default', {
      'main.test.cjs': `const { Client } = require('xla-wasm');\n${program()}
test('runs', async () => { expect(await main(Client)).toEqual({ threads: 2, sum: [3, 6] }); });
test('StableHLO, and arguments by name, which are objects of another realm', async () => {
  const client = await Client.create({ threads: 0 });
  const module = require('xla-wasm/stablehlo').parseStableHlo(client,
    'func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }');
  const [y] = await (await client.compile(module)).execute({ arg0: [1, 2] });
  expect(y.toArray()).toEqual([1, 2]);
  client.dispose();
});`,
    });
    await output(process.execPath, [join(TOOLS, 'jest/bin/jest.js'), '--ci', '--testMatch=**/*.cjs'],
      { cwd: path, seconds: SECONDS });
  });
  test('Vitest', LONG, async () => {
    const path = await project('vitest', {
      'main.test.js': `${IMPORT}${program()}
test('runs', async () => { expect(await main(Client)).toEqual({ threads: 2, sum: [3, 6] }); });`,
    });
    await output(process.execPath, [join(TOOLS, 'vitest/vitest.mjs'), 'run', '--globals'],
      { cwd: path, seconds: SECONDS });
  });
  test('Jest, with modules', LONG, async () => {
    const path = await project('jest', {
      'main.test.mjs': `${IMPORT}${program()}
test('runs', async () => { expect(await main(Client)).toEqual({ threads: 2, sum: [3, 6] }); });`,
      'jest.config.json': JSON.stringify({ testMatch: ['**/*.test.mjs'], transform: {} }),
    });
    await output(process.execPath, ['--no-warnings', '--experimental-vm-modules',
      join(TOOLS, 'jest/bin/jest.js'), '--ci', '--forceExit'], { cwd: path, seconds: SECONDS });
  });
});

/** Copies an example of the repository, with the package beside it. */
async function example(name, path) {
  await cp(join(ROOT, 'examples', name), path, { recursive: true });
  return path;
}

describe('examples', () => {
  test('deno-script', LONG, async () => {
    const path = await example('deno-script', await project('example-deno-script', {}));
    const [plane, error] = (await output(tool('deno'), ['run', '--allow-read', '--allow-net', '--node-modules-dir=manual', 'main.ts'],
      { cwd: path, seconds: SECONDS })).split('\n');
    assert.equal(plane, 'y = 2.00 x1 + -0.50 x2 + 1.00'); // the rows are on that plane
    assert.match(error, /^mean squared error 0\.0000, \d+ threads$/);
    await output(tool('deno'), ['check', '--node-modules-dir=manual', 'main.ts'], { cwd: path, seconds: SECONDS });
  });

  test('next-page', LONG, async () => {
    const folder = join(ROOT, 'build/hosts/next-page'), packages = await project('example-next-page', {});
    await rm(folder, { recursive: true, force: true });
    await example('next-page', folder);
    await cp(join(packages, 'node_modules'), join(folder, 'node_modules'), { recursive: true });
    await output(process.execPath, [join(TOOLS, 'next/dist/bin/next'), 'build'],
      { cwd: folder, seconds: SECONDS, env: { ...process.env, EXPORT: '1', NEXT_TELEMETRY_DISABLED: '1' } });
    const server = await serveFolder(join(folder, 'out'), ISOLATED);
    const { page: tab, complaints } = await newPage(browser);
    try {
      await tab.goto(server.address);
      const roughness = async (width) => {
        const before = await tab.textContent('#roughness');
        await tab.fill('input', String(width));
        await tab.waitForFunction((old) => /^Roughness/.test(document.getElementById('roughness').textContent) &&
          document.getElementById('roughness').textContent !== old, before);
        return Number((await tab.textContent('#roughness')).split(' ')[1]);
      };
      const rough = await roughness(1), smooth = await roughness(30);
      assert.ok(smooth < rough / 10, `${rough}, ${smooth}`);
      assert.deepEqual(complaints, []);
    } finally {
      await tab.close();
      await server.close();
    }
  });
});

describe('bundlers', () => {
  test('webpack', LONG, async () => {
    const path = await project('webpack', {
      'src/index.js': IMPORT + program() + SHOW, 'dist/index.html': page('main.js', 'text/javascript'),
      'webpack.config.cjs': 'module.exports = { mode: "production", performance: false };',
    });
    await output(process.execPath, [join(TOOLS, 'webpack/bin/webpack.js')],
      { cwd: path, seconds: SECONDS, env: { ...process.env, NODE_PATH: TOOLS } });
    await checkSite(join(path, 'dist'));
  });

  // In the folder of the tools: its bundler takes no packages from elsewhere.
  test('Next', LONG, async () => {
    const folder = join(ROOT, 'build/hosts/next'), packages = await project('next', {});
    await rm(folder, { recursive: true, force: true });
    const files = {
      'package.json': '{ "name": "next-project", "private": true }',
      'next.config.mjs': "export default { output: 'export' };",
      'app/layout.js': `export default function Layout({ children }) {
  return <html><head><link rel="icon" href="data:," /></head><body>{children}</body></html>;
}`,
      'app/page.js': `'use client';
import { useEffect } from 'react';
${IMPORT}${program()}
export default function Page() {
  useEffect(() => { ${SHOW} }, []);
  return <p>Next</p>;
}`,
    };
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text);
    }
    await cp(join(packages, 'node_modules'), join(folder, 'node_modules'), { recursive: true });
    await output(process.execPath, [join(TOOLS, 'next/dist/bin/next'), 'build'],
      { cwd: folder, seconds: SECONDS, env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1' } });
    await checkSite(join(folder, 'out'));
  });

  test('Parcel', LONG, async () => {
    const path = await project('parcel', {
      'src/main.js': IMPORT + program("assets: '/files/'") + SHOW, 'src/index.html': page('main.js'),
    });
    await output(process.execPath, [join(TOOLS, 'parcel/lib/bin.js'), 'build', 'src/index.html',
      '--dist-dir', 'dist', '--no-cache', '--no-optimize'], { cwd: path, seconds: SECONDS });
    await copyFiles(path, 'dist/files');
    await checkSite(join(path, 'dist'));
  });

  const bundle = {
    esbuild: (path, options, kind) => output(tool('esbuild'), [
      'main.js', '--bundle', `--format=${kind}`, '--outfile=dist/bundle.js',
      ...(options.isBrowser ? ['--platform=browser'] : ['--platform=node'])],
    { cwd: path, seconds: SECONDS }),
    rollup: async (path, options, kind) => {
      await writeFile(join(path, 'rollup.config.mjs'), `
import { createRequire } from 'node:module';
const { nodeResolve } = createRequire('${TOOLS}/')('@rollup/plugin-node-resolve');
export default {
  input: 'main.js', output: { file: 'dist/bundle.js', format: '${kind}', inlineDynamicImports: true },
  plugins: [nodeResolve()],
};`);
      return output(process.execPath, [join(TOOLS, 'rollup/dist/bin/rollup'), '-c'],
        { cwd: path, seconds: SECONDS });
    },
  };
  for (const [name, build] of Object.entries(bundle)) {
    for (const kind of ['esm', 'iife']) {
      test(`${name} to ${kind}, with assets`, LONG, async () => {
        const path = await project(`${name}-${kind}`, {
          'main.js': IMPORT + program("assets: 'files/'") + SHOW,
          'dist/index.html': page('bundle.js', kind === 'esm' ? 'module' : 'text/javascript'),
        });
        await build(path, { isBrowser: true }, kind);
        await copyFiles(path, 'dist/files');
        await checkSite(join(path, 'dist'));
      });
      test(`${name} to ${kind}, without: names the missing file`, LONG, async () => {
        const path = await project(`${name}-${kind}-without`, {
          'main.js': IMPORT + program() + SHOW,
          'dist/index.html': page('bundle.js', kind === 'esm' ? 'module' : 'text/javascript'),
        });
        await build(path, { isBrowser: true }, kind);
        const { error } = await shown(join(path, 'dist'));
        assert.match(error, /XlaError: cannot load \S*xla-threads\.\w+: .*Client\.create\(\{ assets/);
      });
    }
  }
});

test('docs/hosts.md has no row without a test here', async () => {
  const page = await readFile(join(ROOT, 'docs/hosts.md'), 'utf8');
  const tests = await readFile(new URL(import.meta.url), 'utf8')
    + (await Promise.all((await readdir(join(ROOT, 'tests'), { recursive: true }))
      .filter((file) => /^(page\/|project\/package).*\.mjs$/.test(file))
      .map((file) => readFile(join(ROOT, 'tests', file), 'utf8')))).join();
  for (const [, name] of page.matchAll(/^\| (\w+)\b.* \|$/gm)) {
    if (/^(host|bundler)$/.test(name)) continue;
    assert.match(tests, new RegExp(name, 'i'));
  }
});
