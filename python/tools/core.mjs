/**
 * Packs the core for the wheel: node core.mjs FOLDER FILE. The bindings that Python needs as one module, and the build
 * with threads in FOLDER, go into FILE: a line of JSON with names and sizes, then the files. wheel.py compresses it.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { rollup } from 'rollup';
import { minify } from 'vite';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const DIST = '../../build/dist/';
const NAMES = { function: false, class: true }; // error messages name classes
const [folder, target] = process.argv.slice(2);

/** Parts that JAX has no use for: it differentiates and batches itself, and sends StableHLO as text. */
const LEFT_OUT = ['api/loading', 'objects/advice', 'objects/launch', 'stablehlo/quantized', 'stablehlo/bytecode', 'builder/batches', 'builder/functions/index', 'formats/hlo_proto',
  'formats/hlo_to_proto', 'formats/proto_text', 'objects/gradients', 'objects/profile'];
const isLeftOut = (id) => LEFT_OUT.some((part) => id.endsWith(`/bindings/${part}.mjs`));
const EXPORT = /^export (?:async )?(?:function|const|class) (\w+)/gm;

/** A module with the same exports, which fail when they are called. */
const refusing = (code) => [...code.matchAll(EXPORT)].map(([, name]) =>
  `export function ${name}() { if (new.target) return; ${name === 'functionsBeside' ? 'return {};' : ''} throw new Error('${name} is not in the core that a wheel holds'); }`)
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
const small = await minify('sync.mjs', code, { module: true, compress: { keepNames: NAMES },
  mangle: { toplevel: true, keepNames: NAMES } });

const files = { 'sync.mjs': Buffer.from(small.code) };
for (const name of ['xla-threads.mjs', 'xla-threads.wasm']) files[name] = await readFile(`${folder}/${name}`);
const names = Object.entries(files).map(([name, { length }]) => [name, length]);
const all = Buffer.concat([Buffer.from(`${JSON.stringify(names)}\n`), ...Object.values(files)]);
await writeFile(target, all);
