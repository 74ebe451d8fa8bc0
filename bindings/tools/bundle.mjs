/**
 * Bundles the bindings: node bindings/tools/bundle.mjs FOLDER FILE.
 *
 * FOLDER, beside the folder with the builds, gets a few files for Node. Node resolves and reads modules one after the
 * other, half a millisecond each, and there are fifty: a third of the time from the import to the first result.
 *
 * FILE, in the folder with the builds, is for a page without a bundler: one request instead of 60. Beside it is a file
 * of parts that are loaded on demand, such as the reader of StableHLO.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { rollup } from 'rollup';
import { build, minify as minifyCode } from 'vite';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const [outDir, single] = process.argv.slice(2);

/** Puts all modules that are always loaded into one file; the bundler would make a file of each shared part. */
function isLoadedAtOnce(id, modules, entry = 'index') {
  const loaded = new Set([`${ROOT}bindings/${entry}.mjs`]);
  for (const one of loaded) modules.getModuleInfo(one)?.importedIds.forEach((imported) => loaded.add(imported));
  return loaded.has(id);
}

/** Names stay, as errors and stack traces have them. */
const keepNames = { function: true, class: true };

/** The builds as the bindings see them, and as FOLDER does. */
const [FROM, TO] = ['../../build/dist/', '../dist/'];
const moved = (to) => ({
  name: 'moved',
  transform: (code, id) => (id.endsWith('/loader.mjs') ? code.replaceAll(FROM, to) : undefined),
});

/** Of a file of more than 128 kB Node collects garbage right afterwards, for two or three milliseconds. */
const minify = { compress: { keepNames }, mangle: { toplevel: true, keepNames } };

const { output } = await build({
  root: ROOT,
  configFile: false,
  logLevel: 'error',
  plugins: [moved(TO)],
  build: {
    ssr: true, // for Node: its own modules stay imports
    outDir,
    emptyOutDir: true,
    sourcemap: true, // in files of their own, for stack traces
    rollupOptions: {
      preserveEntrySignatures: 'strict', // shared code becomes files without further exports
      input: {
        index: 'bindings/index.mjs', stablehlo: 'bindings/stablehlo/index.mjs', sync: 'bindings/sync.mjs',
        train: 'bindings/train/index.mjs',
      },
      output: {
        entryFileNames: '[name].mjs',
        chunkFileNames: '[name].mjs',
        minify,
        sourcemapExcludeSources: true, // the package has them, in bindings/
        codeSplitting: {
          groups: [
            { name: 'functions', test: /\/bindings\/builder\/functions\//, priority: 1 },
            { name: (id, modules) => (isLoadedAtOnce(id, modules) ? 'bindings' : null) },
          ],
        },
      },
    },
  },
});
const count = (text) => output.reduce((sum, { code = '' }) => sum + code.split(text).length - 1, 0);
if (count(FROM) || count(TO) !== 4) throw new Error('the builds are not where they are looked for: see loader.mjs');

/* Vite's own bundler puts what two files share into a third; a page would fetch it, too. */
const FORMATS = 'xla-wasm-formats';
const page = await rollup({
  input: { [basename(single, '.js')]: join(ROOT, 'bindings/page.mjs') },
  plugins: [moved('./')],
  logLevel: 'silent', // of circles between modules, which are meant
  preserveEntrySignatures: 'allow-extension', // or the code of the entry would be another file
});
const files = await page.generate({
  entryFileNames: '[name].js',
  chunkFileNames: '[name].js',
  onlyExplicitManualChunks: true,
  manualChunks: (id, modules) => (isLoadedAtOnce(id, modules, 'page') ? undefined : FORMATS),
});
if (files.output.length !== 2) throw new Error(`the files for pages are ${files.output.map(({ fileName }) => fileName)}`);
for (const { fileName, code } of files.output) {
  const made = await minifyCode(fileName, code, { module: true, ...minify });
  await writeFile(join(dirname(single), fileName), made.code);
}

/* The disassembler of `compile --wasm`, so that the command line needs no other package. */
const parser = await rollup({ input: join(ROOT, 'node_modules/wasmparser/dist/esm/index.js'), logLevel: 'silent' });
const { output: [{ code: parserCode }] } = await parser.generate({});
const { code: smallParser } = await minifyCode('wasmparser.mjs', parserCode, { module: true, ...minify });
await writeFile(join(outDir, 'wasmparser.mjs'), `/*! wasmparser. Copyright 2016 Mozilla Foundation. Apache-2.0, as LICENSE */\n${smallParser}`);

// Declarations for TypeScript's CommonJS: the same text, by a name that says so.
for (const [from, to] of Object.entries({
  'index': 'index', 'operations': 'operations', 'stablehlo/index': 'stablehlo', 'train/index': 'train',
})) {
  const text = await readFile(join(ROOT, `bindings/${from}.d.ts`), 'utf8');
  await writeFile(join(outDir, `${to}.d.cts`), text.replace(/'\.\.?\/(\w+)\.js'/g, "'./$1.cjs'"));
}
