/**
 * Packs the JavaScript of the wheel: node core.mjs FOLDER. The bindings that Python needs as one module, and the build
 * with threads in FOLDER, go into FOLDER/core: a line of JSON with names and sizes, then the files. wheel.py compresses
 * it. The scripts beside the Python modules are made short, and go into FOLDER/scripts.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { rollup } from 'rollup';
import { minify } from 'vite';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DIST = '../../build/dist/';
const NAMES = { function: false, class: true }; // error messages name classes
const [folder] = process.argv.slice(2);
const ENGINE = `${ROOT}python/jaxlib/_engine`;

/** Parts that JAX has no use for: it differentiates and batches itself, and sends StableHLO as text. */
const LEFT_OUT = ['api/loading', 'objects/advice', 'objects/launch', 'stablehlo/quantized', 'stablehlo/bytecode', 'builder/functions/index',
  'derive/batches', 'derive/gradient_rules', 'derive/gradients', 'derive/jacobians', 'formats/hlo_proto', 'formats/hlo_to_proto',
  'formats/proto_text', 'objects/profile'];
const isLeftOut = (id) => LEFT_OUT.some((part) => id.endsWith(`/bindings/${part}.mjs`));
const EXPORT = /^export (?:async )?(?:function|const|class) (\w+)/gm;

/** Results of functions and classes that are left out although the other parts call them. */
const ANSWERS = { functionsBeside: '{}', addRules: 'undefined', rulesOf: '{ has: () => false }' };
/** A module with the same exports, which fail when they are called. */
const refusing = (code) => [...code.matchAll(EXPORT)].map(([, name]) => `export function ${name}() { ${
  name in ANSWERS ? `return ${ANSWERS[name]};` : `if (!new.target) throw new Error('${name} is not in the core that a wheel holds');`} }`)
  .join('\n');

const bundle = await rollup({
  input: `${ROOT}python/tools/entry.mjs`,
  logLevel: 'silent', // of circles between modules, which are meant
  plugins: [{
    name: 'beside', // the builds lie beside the module
    transform: (code, id) => (isLeftOut(id) ? { code: refusing(code), moduleSideEffects: false }
      : id.endsWith('/loader.mjs') ? code.replaceAll(DIST, './') : undefined),
  }],
});
const { output: [{ code }] } = await bundle.generate({ inlineDynamicImports: true });

async function short(name, source) {
  const options = { module: true, compress: { keepNames: NAMES }, mangle: { toplevel: true, keepNames: NAMES } };
  return Buffer.from((await minify(name, source, options)).code);
}

const files = { 'sync.mjs': await short('sync.mjs', code) };
for (const name of ['xla-threads.mjs', 'xla-threads.wasm']) files[name] = await readFile(`${folder}/${name}`);
const names = Object.entries(files).map(([name, { length }]) => [name, length]);
const all = Buffer.concat([Buffer.from(`${JSON.stringify(names)}\n`), ...Object.values(files)]);
await writeFile(`${folder}/core`, all);

await mkdir(`${folder}/scripts`, { recursive: true });
for (const name of (await readdir(ENGINE)).filter((file) => file.endsWith('.mjs'))) {
  await writeFile(`${folder}/scripts/${name}`, await short(name, await readFile(`${ENGINE}/${name}`, 'utf8')));
}
