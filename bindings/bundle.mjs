/**
 * Bundles the bindings for Node: node bindings/bundle.mjs FOLDER writes them there as a few files, beside the
 * folder with the builds. Node resolves and reads modules one after the other, half a millisecond each, and
 * there are fifty: a third of the time from the import to the first result.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build } from 'vite';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const [outDir] = process.argv.slice(2);

/** Puts all modules that are always loaded into one file; the bundler would make a file of each shared part. */
function isLoadedAtOnce(id, modules) {
  const loaded = new Set([`${ROOT}bindings/index.mjs`]);
  for (const one of loaded) modules.getModuleInfo(one)?.importedIds.forEach((imported) => loaded.add(imported));
  return loaded.has(id);
}

/** Names stay, as errors and stack traces have them. */
const keepNames = { function: true, class: true };

/** The builds as the bindings see them, and as FOLDER does. */
const [FROM, TO] = ['../build/dist/', '../dist/'];
const moved = {
  name: 'moved',
  transform: (code, id) => (id.endsWith('/loader.mjs') ? code.replaceAll(FROM, TO) : undefined),
};

const { output } = await build({
  root: ROOT,
  configFile: false,
  logLevel: 'error',
  plugins: [moved],
  build: {
    ssr: true, // for Node: its own modules stay imports
    outDir,
    emptyOutDir: true,
    sourcemap: true, // in files of their own, with the sources: for stack traces
    rollupOptions: {
      preserveEntrySignatures: 'strict', // shared code becomes files without further exports
      input: {
        index: 'bindings/index.mjs', stablehlo: 'bindings/stablehlo/index.mjs', train: 'bindings/train/index.mjs',
      },
      output: {
        entryFileNames: '[name].mjs',
        chunkFileNames: '[name].mjs',
        // Of a file of more than 128 kB the engine collects garbage right afterwards, for two or three milliseconds.
        minify: { compress: { keepNames }, mangle: { toplevel: true, keepNames } },
        codeSplitting: {
          groups: [
            { name: 'functions', test: /\/bindings\/functions\//, priority: 1 },
            { name: (id, modules) => (isLoadedAtOnce(id, modules) ? 'bindings' : null) },
          ],
        },
      },
    },
  },
});
const count = (text) => output.reduce((sum, { code = '' }) => sum + code.split(text).length - 1, 0);
if (count(FROM) || count(TO) !== 4) throw new Error('the builds are not where they are looked for: see loader.mjs');

// Declarations for TypeScript's CommonJS: the same text, by a name that says so.
for (const [from, to] of [['index', 'index'], ['stablehlo/index', 'stablehlo'], ['train/index', 'train']]) {
  const text = await readFile(join(ROOT, `bindings/${from}.d.ts`), 'utf8');
  await writeFile(join(outDir, `${to}.d.cts`), text.replace("'../index.js'", "'./index.cjs'"));
}
