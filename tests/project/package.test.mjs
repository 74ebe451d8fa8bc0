/** Tests the npm package: its contents, and its use by an empty project, tsc and Vite. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { copyFile, cp, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';

import { build, createServer, preview } from 'vite';

import { downloadSize } from '../bench/packages.mjs';
import { blocksOf, fileNameOf } from '../guides/documents.mjs';
import { launch, newPage } from '../support/browser.mjs';
import { ROOT, run } from '../support/program.mjs';
import { ISOLATED, output, pack, project, removeProjects, serveFolder } from '../support/project.mjs';

let packed; // what npm pack says
let browser;

before(async () => {
  packed = await pack();
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await removeProjects();
});

test('the tarball holds what users need, and nothing else', async () => {
  const inBindings = await readdir(join(ROOT, 'bindings'), { recursive: true });
  const bindings = inBindings.filter((name) =>
    name.includes('.') && !['host/library.js', 'page.mjs'].includes(name) && !name.startsWith('tools/'));
  const web = await readdir(join(ROOT, 'web'));
  const filesIn = async (folder) => (await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(ROOT.length))
    .filter((path) => !path.includes('node_modules'));
  const expected = [
    'LICENSE', 'README.md', 'CHANGELOG.md', 'THIRD_PARTY.md', 'package.json', ...await filesIn('docs'), ...await filesIn('examples'),
    ...['threads', 'single'].flatMap((b) => [`build/dist/xla-${b}.mjs`, `build/dist/xla-${b}.wasm`]),
    'build/dist/xla-wasm.js', 'build/dist/xla-wasm-formats.js',
    ...[
      'index', 'advice', 'bindings', 'functions', 'inflate', 'loading', 'locations', 'read_lines', 'stablehlo', 'sync', 'train', 'weights_reader',
        'hlo_proto', 'hlo_to_proto', 'hlo_schema',
      'hlo_proto_sharding', 'proto_text',
    ].flatMap((name) => [`build/node/${name}.mjs`, ...(name === 'index' ? [] : [`build/node/${name}.mjs.map`])]),
    'build/node/wasmparser.mjs', 'build/node/index.d.cts', 'build/node/operations.d.cts', 'build/node/stablehlo.d.cts', 'build/node/train.d.cts',
    ...bindings.map((name) => `bindings/${name}`),
    ...web.map((name) => `web/${name}`),
  ];
  assert.deepEqual(packed.files.map(({ path }) => path).sort(), expected.sort());
  assert.ok(packed.size < 2.21e6, `${packed.size} bytes`);
  const { dependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
  assert.deepEqual(dependencies ?? {}, {});
});

describe('THIRD_PARTY.md', () => {
  let text;
  before(async () => { text = await readFile(join(ROOT, 'THIRD_PARTY.md'), 'utf8'); });

  test('has a row for each library that is linked', async () => {
    for (const build of ['threads', 'single']) {
      const map = await readFile(join(ROOT, `build/obj/${build}/xla-${build}.map`), 'utf8');
      const libraries = new Set(Array.from(map.matchAll(/\b(lib\w+)[\w-]*\.a\(/g), ([, name]) => name));
      assert.ok(libraries.has('libc'), [...libraries].join());
      for (const name of libraries) assert.ok(text.includes(`\`${name}\``), `${name} is linked, and THIRD_PARTY.md does not name it`);
    }
  });

  test("has musl's licence as the toolchain has it", async () => {
    const emcc = await readFile(join(ROOT, 'build/toolchain/bin/emcc'), 'utf8');
    const folder = dirname(await realpath(emcc.match(/exec '(.*?)'/)[1]));
    const licence = await readFile(join(folder, 'system/lib/libc/musl/COPYRIGHT'), 'utf8');
    assert.ok(text.includes(licence.trim()));
  });
});

test('links of the README and the documents lead to files of the tarball, or to what only the repository has', async () => {
  const inTarball = new Set(packed.files.map(({ path }) => path));
  const onlyInRepository = /^(tests|demo|src|python|CONTRIBUTING\.md|SECURITY\.md)\b/;
  for (const page of [...inTarball].filter((path) => path.endsWith('.md'))) {
    const text = await readFile(join(ROOT, page), 'utf8');
    for (const [, link] of text.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)) {
      const path = normalize(join(dirname(page), link));
      const isThere = inTarball.has(path) || [...inTarball].some((file) => file.startsWith(`${path.replace(/\/$/, '')}/`));
      assert.ok(isThere || onlyInRepository.test(path), `${page}: ${link}`);
    }
  }
});

test('publint and Are The Types Wrong? have no complaint', async () => {
  const tool = (name) => join(ROOT, 'node_modules/.bin', name);
  await output(tool('publint'), [packed.path, '--strict']);
  await output(tool('attw'), [packed.path, '--exclude-entrypoints', 'dist/*', 'web/*', 'sync']);
});

test("a stack trace has the sources' places, with --enable-source-maps", async () => {
  // An error of the caller's own keeps all frames; those of the package begin at the caller.
  const program = `import { Client } from './build/node/index.mjs';
    const client = await Client.create({ threads: 0 }), b = client.builder();
    try { b.map([b.parameter(0, 'f32[2]')], () => { throw new Error('mine'); }, [0]); } catch (e) { console.log(e.stack); }
    client.dispose();`;
  const stack = await output(process.execPath, ['--enable-source-maps', '--input-type=module', '-e', program], { cwd: ROOT });
  assert.match(stack, /bindings\/base\/boundary\.mjs:\d+:\d+/);
});

// How functions lie moves this by up to 1 kB either way (bindings/tools/compressible.mjs).
test('a page downloads at most 584 kB, gzipped, to use it', async () => {
  const bytes = await downloadSize();
  assert.ok(bytes <= 584e3, `${bytes} bytes`);
});

const AXPY = `HloModule axpy
ENTRY %main (x: f32[2,3], v: f32[3]) -> f32[2,3] {
  %x = f32[2,3] parameter(0)
  %v = f32[3] parameter(1)
  %b = f32[2,3] broadcast(%v), dimensions={1}
  ROOT %r = f32[2,3] add(%x, %b)
}
`;

test('Node gets the same modules in fewer files', async () => {
  const [node, all] = await Promise.all(
    ['build/node/', 'bindings/'].map((folder) => import(pathToFileURL(join(ROOT, `${folder}index.mjs`)))));
  assert.deepEqual(Object.keys(node), Object.keys(all));
  for (const [name, { name: own }] of Object.entries(node)) assert.equal(own, name);
  const { parseStableHlo, ...more } = await import(pathToFileURL(join(ROOT, 'build/node/stablehlo.mjs')));
  assert.deepEqual(Object.keys(more), Object.keys(await import('../../bindings/stablehlo/index.mjs'))
    .filter((name) => name !== 'parseStableHlo'));
  const client = await node.Client.create({ threads: 0 });
  const text = 'func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }';
  assert.ok(parseStableHlo(client, text) instanceof node.HloModule); // of the same classes
  client.dispose();
});

describe('an empty project that installs it', () => {
  let path;
  before(async () => {
    path = await project('empty', { 'axpy.hlo': AXPY });
  });

  test("runs README's example, with the output that README shows", { timeout: 60000 }, async () => {
    const readme = await readFile(join(path, 'node_modules/xla-wasm/README.md'), 'utf8');
    const [, example, , expected] =
      readme.match(/```js\n([^]*?)```([^]*?)```(?:text|console)?\n([^]*?)```/);
    assert.match(example, /from 'xla-wasm'/);
    await writeFile(join(path, 'example.mjs'), example);
    assert.equal(await output(process.execPath, ['example.mjs'], { cwd: path }), expected);
  });

  test('has the command line', { timeout: 60000 }, async () => {
    const args = ['run', 'axpy.hlo', '--json'];
    const { code, stdout, stderr } =
      await run(join(path, 'node_modules/.bin/xla-wasm'), args, { cwd: path });
    assert.equal(code, 1);
    assert.equal(stdout, '');
    assert.match(stderr, /^error: [^\n]*2[^\n]*\n$/); // it wants two inputs
    await writeFile(join(path, 'iota.hlo'), 'HloModule m\nENTRY %e () -> s32[3] {\n' +
      '  ROOT %i = s32[3] iota(), iota_dimension=0\n}\n');
    assert.equal(
      await output(join(path, 'node_modules/.bin/xla-wasm'), ['run', 'iota.hlo', '--json'], { cwd: path }),
      '{"replica":0,"outputs":[{"shape":"s32[3]","data":[0,1,2]}]}\n');
  });

  const tsc = (files, options) => run(join(ROOT, 'node_modules/.bin/tsc'), [
    '--noEmit', '--strict', '--skipLibCheck', 'false', '--target', 'es2022', '--types', '',
    '--noUncheckedIndexedAccess', '--lib', 'es2022,dom', ...options, ...files], { cwd: path });
  const MODULES = [
    ['--module', 'nodenext'],
    ['--module', 'esnext', '--moduleResolution', 'bundler'],
  ];
  for (const options of MODULES) {
    test(`is typed: tsc --strict ${options.join(' ')}`, { timeout: 60000 }, async () => {
      await writeFile(join(path, 'right.ts'), `
        import { Client, Literal, type XlaOp } from 'xla-wasm';
        const client = await Client.create({ replicas: 4, threads: 2 });
        const b = client.builder('axpy');
        const x: XlaOp = b.parameter(0, 'f32[2,3]', 'x');
        const v = b.parameter(1, 'f32[3]', 'v');
        const exe = await client.compile(b.build(b.add(x, v, [1])));
        const [y] = await exe.execute([[[1, 2, 3], [4, 5, 6]], [7, 8, 9]]);
        const rows: Literal[][] = await exe.executeReplicas([[1, 2], [3, 4]]);
        console.log(y.shape.toString(), y.toArray(), rows.length);
      `);
      await writeFile(join(path, 'wrong.ts'), `
        import { Client } from 'xla-wasm';
        const client = await Client.create({ replicas: 'four' });
        client.builder('x').add('1', 2);
        client.compile('HloModule');
        export const n: number = client.parseHlo('').name;
      `);
      const { stdout } = await tsc(['right.ts', 'wrong.ts'], options);
      assert.deepEqual([...new Set(Array.from(stdout.matchAll(/^(.*?\(\d+),/gm), ([, place]) => place))], [3, 4, 5, 6].map((line) => `wrong.ts(${line}`), stdout);
    });
  }
});

/** The only complaint of a page: it asked for threads and has none. */
const NO_THREADS = /^xla-wasm: no threads, as this page is not cross-origin isolated/;
function assertOnlyThreads(complaints, threads) {
  assert.equal(complaints.length, threads ? 0 : 1, `${complaints}`);
  if (!threads) assert.match(complaints[0], NO_THREADS);
}

/* ---- A site made by Vite ---- */

const SITE = {
  'index.html': `<!doctype html><html><head><link rel="icon" href="data:,"></head>
<body><script type="module" src="main.js"></script></body></html>`,
  'main.js': `
import { Client } from 'xla-wasm';
async function main() {
  const client = await Client.create({ replicas: 3, threads: 2 });
  const s = client.builder('add');
  const add = s.build(s.add(s.parameter(0, 'f32[]', 'x'), s.parameter(1, 'f32[]', 'y')));
  const b = client.builder('main');
  const x = b.parameter(0, 'f32[2]', 'x');
  const id = b.convertElementType(b.replicaId(), 'f32');
  const exe = await client.compile(b.build(b.allReduce(b.exp(b.mul(x, id, [])), add)));
  const [sum] = await exe.execute([[0, 1]]);
  return { threads: client.threads, sum: sum.toArray() };
}
main().then((result) => { document.title = JSON.stringify(result); },
  (error) => { document.title = JSON.stringify({ error: String(error.stack) }); });
`,
};
describe('a site that Vite makes of it', () => {
  let dist;
  before(async () => {
    const path = await project('site', SITE);
    dist = join(path, 'dist');
    const warnings = [];
    const customLogger = {
      info() {}, warn: (text) => warnings.push(text), warnOnce: (text) => warnings.push(text),
      error: (text) => warnings.push(text), clearScreen() {}, hasErrorLogged: () => false,
      hasWarned: false,
    };
    await build({ root: path, configFile: false, customLogger });
    assert.deepEqual(warnings, []);
    const script = join(path, 'node_modules/xla-wasm/web/isolation.js');
    await copyFile(script, join(dist, 'isolation.js'));
    const html = await readFile(join(dist, 'index.html'), 'utf8');
    await writeFile(join(dist, 'isolated.html'),
      html.replace('<head>', '<head><script src="isolation.js"></script>'));
  });

  for (const [name, headers, threads] of [['with', ISOLATED, 2], ['without', {}, 0]]) {
    test(`runs ${name} shared memory`, { timeout: 60000 }, async () => {
      const server = await serveFolder(dist, headers);
      const { page, complaints } = await newPage(browser);
      await page.goto(server.address);
      await page.waitForFunction(() => document.title !== '', null, { timeout: 30000 })
        .catch((error) => assert.fail(`${error.message} ${complaints}`));
      const result = JSON.parse(await page.title());
      assert.equal(result.error, undefined);
      assert.equal(result.threads, threads);
      assert.equal(result.sum[0], 3);
      assert.ok(Math.abs(result.sum[1] - (1 + Math.E + Math.E ** 2)) < 1e-5, `${result.sum}`);
      assertOnlyThreads(complaints, threads);
      await page.close();
      await server.close();
    });
  }

  test('gets shared memory by web/isolation.js, without headers', { timeout: 60000 }, async () => {
    const server = await serveFolder(dist, {});
    const { page, complaints } = await newPage(browser);
    await page.goto(`${server.address}isolated.html`);
    await page.waitForFunction(() => crossOriginIsolated && document.title !== '', null,
      { timeout: 30000 });
    assert.equal(JSON.parse(await page.title()).threads, 2);
    // The reload may cut requests off.
    assert.deepEqual(complaints.filter((complaint) => !complaint.includes('ERR_ABORTED')), []);
    await page.close();
    await server.close();
  });
});

test('web/isolation.js says so if it cannot reach the page', { timeout: 60000 }, async () => {
  const path = await project('isolation', {});
  const script = await readFile(join(ROOT, 'web/isolation.js'), 'utf8');
  const folders = ['elsewhere', 'pages', 'pages/below'];
  for (const folder of folders) await mkdir(join(path, folder), { recursive: true });
  await writeFile(join(path, 'elsewhere/isolation.js'), script);
  await writeFile(join(path, 'pages/isolation.js'), script);
  const pages = { // and whether it can
    'pages/beside.html': ['isolation.js', '', true], 'pages/below/below.html': ['../isolation.js', '', true],
    'pages/elsewhere.html': ['/elsewhere/isolation.js', '', false], 'pages/module.html': ['isolation.js', 'type="module"', false],
  };
  const server = await serveFolder(path, {});
  try {
    for (const [name, [src, type, isReached]] of Object.entries(pages)) {
      await writeFile(join(path, name), `<!doctype html><link rel="icon" href="data:,"><script ${type} src="${src}"></script>`);
      const context = await browser.newContext();
      const { page, complaints } = await newPage(context);
      await page.goto(`${server.address}${name}`);
      if (isReached) await page.waitForFunction(() => crossOriginIsolated, null, { timeout: 30000 });
      const warned = complaints.filter((text) => /^isolation\.js adds no headers to this page: .*\/pages\//.test(text));
      assert.equal(warned.length, isReached ? 0 : 1, `${name}: ${complaints}`);
      await context.close();
    }
  } finally {
    await server.close();
  }
});

describe('a client in a worker, as docs/hosts.md has it', () => {
  let path;
  const CONFIG = 'vite.config.mjs';
  before(async () => {
    const blocks = (await blocksOf('docs/hosts.md')).filter(fileNameOf).map((block) => [fileNameOf(block), block.text]);
    path = await project('worker-site', { 'index.html': SITE['index.html'].replace('main.js', 'main.mjs'), ...Object.fromEntries(blocks) });
    for (const name of [CONFIG, 'main.mjs', 'worker.mjs']) assert.ok(blocks.some(([is]) => is === name), name);
    await build({ root: path, configFile: join(path, CONFIG), logLevel: 'silent' });
  });

  for (const [name, start] of [
    ['built', async (options) => preview({ ...options, preview: { port: 0 } })],
    ['by the server of development', async (options) => (await createServer({ ...options, server: { port: 0, hmr: false } })).listen()],
  ]) {
    test(`runs, ${name}`, { timeout: 120000 }, async () => {
      const server = await start({ root: path, configFile: join(path, CONFIG), logLevel: 'silent', cacheDir: join(path, '.vite') });
      const { page, complaints } = await newPage(browser);
      try {
        const said = page.waitForEvent('console', { predicate: (message) => message.text() === '2 4 6', timeout: 60000 });
        await page.goto(server.resolvedUrls.local[0]);
        await said.catch((error) => assert.fail(`${error.message} ${complaints}`));
        assert.equal(await page.evaluate(() => crossOriginIsolated), true);
        assert.deepEqual(complaints.filter((text) => !/favicon/.test(text)), []);
      } finally {
        await page.close();
        await server.close();
      }
    });
  }
});

/* ---- Where the files are ---- */

describe("the package's files", () => {
  let path, server;
  const MAIN = (options) => `
import { Client } from '/node_modules/xla-wasm/bindings/index.mjs';
${SITE['main.js'].replace(/import .*/, '').replace('threads: 2', `threads: 2, ${options}`)}`;
  const page = (script) => `<!doctype html><link rel="icon" href="data:,">
<script type="module" src="${script}"></script>`;
  before(async () => {
    path = await project('files', {
      'elsewhere.html': page('elsewhere.js'), 'elsewhere.js': MAIN("assets: 'moved/'"),
      'chosen.html': page('chosen.js'), 'chosen.js': MAIN("assets: (name) => '/moved/' + name"),
      'missing.html': page('missing.js'), 'missing.js': MAIN("assets: '/nowhere'"),
    });
    await cp(join(path, 'node_modules/xla-wasm/build/dist'), join(path, 'moved'), { recursive: true });
    server = await serveFolder(path, { ...ISOLATED, 'Access-Control-Allow-Origin': '*',
      'Cross-Origin-Resource-Policy': 'cross-origin' });
  });
  after(() => server?.close());

  async function resultOf(address) {
    const { page: tab, complaints } = await newPage(browser);
    await tab.goto(address);
    await tab.waitForFunction(() => document.title !== '', null, { timeout: 30000 })
      .catch((error) => assert.fail(`${error.message} ${complaints}`));
    const result = JSON.parse(await tab.title());
    await tab.close();
    return result;
  }

  for (const name of ['elsewhere', 'chosen']) {
    test(`are where assets says: ${name}`, { timeout: 60000 }, async () => {
      assert.deepEqual((await resultOf(`${server.address}${name}.html`)).threads, 2);
    });
  }
  test('that are missing are named, with the remedy', { timeout: 60000 }, async () => {
    const { error } = await resultOf(`${server.address}missing.html`);
    assert.match(error, /XlaError: cannot load \S+\/nowhere\/xla-threads\.\w+: .*assets/);
  });
  test('in Node, too', async () => {
    const { Client } = await import(join(path, 'node_modules/xla-wasm/bindings/index.mjs'));
    for (const assets of [join(path, 'moved'), pathToFileURL(join(path, 'moved')),
      (name) => pathToFileURL(join(path, 'moved', name))]) {
      (await Client.create({ threads: 1, assets })).dispose();
    }
    await assert.rejects(Client.create({ threads: 1, assets: join(path, 'nowhere') }),
      { code: 'UNAVAILABLE', message: /cannot load .*nowhere\/xla-threads.*assets/ });
    await assert.rejects(Client.create({ assets: () => Symbol('s') }), { code: 'UNAVAILABLE' });
  });

  /** A page that takes the package from one file; its title tells the result, or the error. */
  const ONE_FILE = (map = '') => `<!doctype html><link rel="icon" href="data:,">
<script type="importmap">{ "imports": { "xla-wasm": "./xla/xla-wasm.js" }${map} }</script>
<script type="module">
  import { adam, Client } from 'xla-wasm';

  const client = await Client.create({ threads: 2 });
  const b = client.builder();
  const square = await client.compile(b.build(b.mul(b.parameter(0, 'f32[2]'), 2)));
  const [y] = await square.execute([[1, 2]]);
  document.title = JSON.stringify({ threads: client.threads, twice: y.toArray(), train: typeof adam });
</script>`;
  const asOneFile = async (name, map) => {
    const site = await project(name, { 'index.html': ONE_FILE(map) });
    await cp(join(site, 'node_modules/xla-wasm/build/dist'), join(site, 'xla'), { recursive: true });
    return site;
  };

  test('as one file: three requests to a first result', { timeout: 60000 }, async () => {
    const site = await asOneFile('one-file');
    for (const [headers, threads] of [[ISOLATED, 2], [{}, 0]]) {
      const other = await serveFolder(site, headers);
      const { page: tab, complaints } = await newPage(browser);
      const requests = new Set();
      tab.on('request', (request) => requests.add(request.url().replace(other.address, '')));
      try {
        await tab.goto(other.address);
        await tab.waitForFunction(() => document.title !== '', null, { timeout: 30000 });
        assert.deepEqual(JSON.parse(await tab.title()), { threads, twice: [2, 4], train: 'function' });
        assertOnlyThreads(complaints, threads);
        const build = threads ? 'threads' : 'single';
        assert.deepEqual([...requests].filter((url) => url && !url.startsWith('data:')).sort(),
          [`xla/xla-${build}.mjs`, `xla/xla-${build}.wasm`, 'xla/xla-wasm.js']);
      } finally {
        await tab.close();
        await other.close();
      }
    }
  });

  test('as one file it is no larger than what a bundler makes', async () => {
    const gzipped = async (file) => gzipSync(await readFile(join(ROOT, 'build/dist', file)), { level: 9 }).length;
    const sizes = await Promise.all(['xla-wasm.js', 'xla-threads.mjs', 'xla-threads.wasm'].map(gzipped));
    assert.ok(sizes.reduce((sum, size) => sum + size) <= await downloadSize(), `${sizes}`);
  });

  test('a file with another integrity hash is refused', { timeout: 60000 }, async () => {
    const site = await asOneFile('integrity',
      ', "integrity": { "./xla/xla-wasm.js": "sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC" }');
    const other = await serveFolder(site, ISOLATED);
    const { page: tab, complaints } = await newPage(browser);
    await tab.goto(other.address);
    for (let i = 0; i < 100 && !complaints.length; i++) await tab.waitForTimeout(50);
    assert.match(complaints.join('\n'), /digest in the 'integrity' attribute for resource '\S+xla-wasm\.js'/);
    await tab.close();
    await other.close();
  });

  test('by an import map, under a content security policy', { timeout: 60000 }, async () => {
    const map = JSON.stringify({ imports: {
      'xla-wasm': '/node_modules/xla-wasm/bindings/index.mjs' } });
    const site = await project('import-map', {
      'map.html': page('main.js').replace('<script', `<script type="importmap">${map}</script><script`),
      'main.js': MAIN('').replace('/node_modules/xla-wasm/bindings/index.mjs', 'xla-wasm'),
    });
    const hash = createHash('sha256').update(map).digest('base64');
    for (const [headers, threads] of [[ISOLATED, 2], [{}, 0]]) {
      const other = await serveFolder(site, {
        ...headers,
        'Content-Security-Policy': "default-src 'none'; connect-src 'self'; img-src data:; " +
          `worker-src 'self'; script-src 'self' 'wasm-unsafe-eval' 'sha256-${hash}'`,
      });
      const result = await resultOf(`${other.address}map.html`);
      assert.equal(result.error, undefined);
      assert.equal(result.threads, threads);
      await other.close();
    }
  });

  test('come from another origin, with threads', { timeout: 60000 }, async () => {
    const main = MAIN('').replace('/node_modules', `${server.address}node_modules`);
    const site = await project('other', { 'index.html': page('main.js'), 'main.js': main });
    for (const [headers, threads] of [[ISOLATED, 2], [{}, 0]]) {
      const other = await serveFolder(site, headers);
      const result = await resultOf(other.address);
      assert.equal(result.error, undefined);
      assert.equal(result.threads, threads);
      await other.close();
    }
  });
});
