/**
 * jaxlib in Pyodide: in Node, and in a worker of a page in Chromium and Firefox. Without NumPy, which `make pyodide` builds,
 * only the way to the core is tried.
 */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { serve } from '../../demo/serve.mjs';
import { launch, newPage, PHONE } from '../support/browser.mjs';
import { firefoxPath, openFirefox } from '../support/firefox.mjs';
import { ROOT } from '../support/program.mjs';

const FOLDER = join(ROOT, 'build/python/page');
const files = await readdir(FOLDER);
const jaxlib = files.find((name) => name.startsWith('jaxlib-'));
const hasNumpy = files.some((name) => name.startsWith('numpy-'));
const noNumpy = hasNumpy ? false : 'there is no NumPy for Pyodide: make pyodide builds it';

/** The way to the core alone: StableHLO, bytes, a callback, an error. */
const BRIDGE = `
import struct
from jaxlib._engine.page import Page

def answer(target, program, config, device, operands, results):
    [(kind, dims, data)] = operands
    return [struct.pack("<3f", *(-x for x in struct.unpack("<3f", bytes(data))))]

page = Page(answer)
page.register_target("negate")
F32 = 15
page.call("compile", 1, {}, data=b"""module { func.func public @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.add %x, %x : tensor<3xf32>
  %z = stablehlo.custom_call @negate(%y) : (tensor<3xf32>) -> tensor<3xf32>
  return %z : tensor<3xf32> } }""")
page.put(1, F32, struct.pack("<3f", 1, 2, 3), (3,))
page.execute(1, [1], [], [2], [], 0)
out = bytearray(12)
page.read(2, out)
said = [str(struct.unpack("<3f", out))]
try:
    page.call("compile", 2, {}, data=b"module { nonsense }")
except Exception as error:
    said.append("INVALID_ARGUMENT" in str(error))
said
`;
const BRIDGE_SAYS = '[\'(-2.0, -4.0, -6.0)\', True]';

const quiet = { messageCallback() {} };

test('in Node', { timeout: 300_000 }, async (t) => {
  const { loadPyodide } = await import(pathToFileURL(join(FOLDER, 'pyodide.mjs')));
  const pyodide = await loadPyodide({ packageBaseUrl: `${FOLDER}/` });
  pyodide.registerJsModule('xla_wasm', await import('xla-wasm/sync'));
  const run = (code) => String(pyodide.runPython(code));

  await t.test('the way to the core', async () => {
    pyodide.unpackArchive(new Uint8Array(await readFile(join(FOLDER, jaxlib))), 'wheel');
    assert.equal(run(BRIDGE), BRIDGE_SAYS);
  });

  await t.test("JAX's values are the real jaxlib's", { skip: noNumpy }, async () => {
    await pyodide.loadPackage('jax', quiet);
    pyodide.FS.mkdir('/tests');
    for (const name of ['jax_test.py', 'functions.py', 'values.json']) {
      pyodide.FS.writeFile(`/tests/${name}`, await readFile(join(ROOT, 'python/tests', name)));
    }
    const said = run(`
import sys, unittest
sys.path.insert(0, "/tests")
import jax_test
result = unittest.TestResult()
unittest.defaultTestLoader.loadTestsFromModule(jax_test).run(result)
"\\n".join([str(result.testsRun > 15)] + [text for _, text in result.errors + result.failures])
`);
    assert.equal(said, 'True');
  });
});

/* ---- In a page ---- */

const JAX = [
  [`import jax, jax.numpy as jnp
from jax.sharding import PartitionSpec as P
jax.config.update("jax_num_cpu_devices", 8)
print(jax.device_count())
jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 2))(jnp.arange(3.)) - jnp.sin(2 * jnp.arange(3.)) < 1e-6`,
  { output: '8\n', display: 'Array([ True,  True,  True], dtype=bool)' }],
  // Real JAX's values.
  ['[round(float(x), 5) for x in jax.random.normal(jax.random.key(0), (3,))]', { display: '[1.62264, 2.02526, -0.43359]' }],
  ['jax.lax.scan(lambda c, x: (c + x, c * x), 0, jnp.arange(5))[1].tolist()', { display: '[0, 0, 2, 9, 24]' }],
  [`mesh = jax.make_mesh((8,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
total = jax.shard_map(lambda x: jax.lax.psum(x, "x"), mesh=mesh, in_specs=P("x"), out_specs=P())
jax.vmap(total)(jnp.arange(16).reshape(2, 8)).tolist()`, { display: '[[28], [92]]' }],
  ['jax.pure_callback(lambda x: x * 2, jax.ShapeDtypeStruct((3,), "int32"), jnp.arange(3)).tolist()', { display: '[0, 2, 4]' }],
  ['def f(x):\n  return x + jnp.ones(4)\n\nf(jnp.ones(3))', { error: /incompatible shapes for broadcasting: \(3,\), \(4,\)/, line: 2 }],
  ['print(1)\nx = (', { error: /SyntaxError/, line: 2 }],
];
const INTERRUPTED = [
  ['print("now")\nwhile True:\n  pass', { output: 'now\n', error: /Stopped/, line: 3 }],
  [`print("now")
jax.jit(lambda x: jax.lax.while_loop(lambda y: y[0] < 1e9, lambda y: (y[0], jnp.sin(y[1])), (x, x)))(1.)`,
  { output: 'now\n', error: /Stopped/, line: 2 }],
  ['jax.jit(lambda x: x + 1)(1).item()', { display: '2' }],
];

/** Runs cells in python_worker.mjs of the page; a cell that prints "now" is interrupted. Returns its messages by cell. */
const runCells = ({ cells, packages }) => new Promise((resolve, reject) => {
  import('/web/lend.mjs').then(({ lendWorkers }) => {
    const worker = lendWorkers(new Worker('/demo/notebook/python_worker.mjs', { type: 'module' }));
    const interrupt = globalThis.crossOriginIsolated ? new Uint8Array(new SharedArrayBuffer(1)) : null;
    const said = cells.map(() => ({}));
    let loaded = 0;
    worker.onerror = (event) => reject(new Error(event.message));
    worker.onmessage = ({ data }) => {
      if (data.kind === 'progress') loaded++;
      if (data.kind === 'failed') reject(new Error(data.message));
      if (data.kind === 'ready') cells.forEach((code, id) => worker.postMessage({ kind: 'run', id, code }));
      if (data.kind === 'output') said[data.id].output = (said[data.id].output ?? '') + data.text;
      if (data.kind === 'display') said[data.id].display = data.data;
      if (data.kind === 'error') Object.assign(said[data.id], { error: data.message, line: data.line });
      if (data.kind === 'output' && data.text === 'now\n') setTimeout(() => { interrupt[0] = 2; }, 200);
      if ((data.kind === 'error' || data.kind === 'done') && data.id === cells.length - 1) {
        worker.terminate();
        resolve({ said, loaded });
      }
    };
    worker.postMessage({ kind: 'start', base: location.origin, interrupt, pyodide: `${location.origin}/build/python/page/`, packages });
  });
});

const HOSTS = {
  'Chromium, not isolated': { isolated: false, skip: false, async open() {
    const browser = await launch();
    return { ...await newPage(browser), close: () => browser.close() };
  } },
  'Firefox, isolated': { isolated: true, skip: firefoxPath() ? false : 'there is no Firefox', open: () => openFirefox(PHONE) },
};

for (const [name, { isolated, skip, open }] of Object.entries(HOSTS)) {
  describe(name, { skip, timeout: 400_000 }, () => {
    test('a worker runs cells', async () => {
      const server = await serve({ port: 0, isolated, folders: ['demo', 'python', 'build/python'], site: false });
      const { page, complaints, close } = await open();
      try {
        page.setDefaultTimeout(300_000);
        await page.goto(`${server.address}web/lend.mjs`); // any file of this origin
        const cases = hasNumpy ? [...JAX, ...(isolated ? INTERRUPTED : [])] : [[BRIDGE, { display: BRIDGE_SAYS }]];
        const { said, loaded } = await page.evaluate(runCells, { cells: cases.map(([code]) => code),
          packages: hasNumpy ? ['jax'] : [`${server.address}build/python/page/${jaxlib}`] });
        assert.ok(loaded > 10);
        cases.forEach(([code, { error, ...wanted }], i) => {
          const { error: got, ...others } = said[i];
          assert.match(got ?? '', error ?? /^$/, code);
          assert.deepEqual(Object.fromEntries(Object.entries(others).filter(([key]) => key in wanted)), wanted, code);
        });
        assert.deepEqual(complaints.filter((text) => !/no threads, as this page/.test(text)), []);
      } finally {
        await close();
        await server.close();
      }
    });
  });
}
