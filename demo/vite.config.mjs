/**
 * The page as files for any static host: `make site` puts them into build/site. Addresses are
 * relative, so that the folder may be served from anywhere.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { GUIDES } from './guides/pages.mjs';
import { searchData } from './guides/search_data.mjs';
import { facts } from './home/facts.mjs';
import { operationsTable } from './playground/operations_table.mjs';
import { POLICY } from './policy.mjs';
import { apiDeclarations } from './reference/declarations.mjs';
import { operationsReference } from './reference/operations_data.mjs';

const PYTHON = '../build/python/page';
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The scripts of each view, by its name: its entry and what that imports at once, without those of the shell. */
function filesOfViews(bundle) {
  const chunks = Object.values(bundle).filter(({ type }) => type === 'chunk');
  const withImports = (chunk) => {
    const files = new Set([chunk.fileName]);
    for (const file of files) bundle[file].imports.forEach((imported) => files.add(imported));
    return files;
  };
  const shell = withImports(chunks.find(({ isEntry }) => isEntry));
  return Object.fromEntries(chunks.filter(({ isDynamicEntry }) => isDynamicEntry).flatMap((chunk) => {
    const [, view] = /^(?!.*\/bindings\/).*\/demo\/(\w+)\/index\.mjs$/.exec(chunk.facadeModuleId ?? '') ?? [];
    return view ? [[view, [...withImports(chunk)].filter((file) => !shell.has(file))]] : [];
  }));
}

/** Modules that those of `entry` import at once. */
function isImportedBy(entry, id, modules) {
  const loaded = new Set([here(entry)]);
  for (const one of loaded) modules.getModuleInfo(one)?.importedIds.forEach((imported) => loaded.add(imported));
  return loaded.has(id);
}

/**
 * The package in two files for workers, as each file is a request after that of the file which imports it: what is always loaded,
 * and what programs of other formats need.
 */
const PACKAGE = [
  { name: (id, modules) => (isImportedBy('../bindings/index.mjs', id, modules) ? 'bindings' : null), priority: 1 },
  { name: 'formats', test: /\/bindings\// },
];

/** Files that no module imports: what the page fetches, and the service worker, by fixed names. */
function furtherFiles() {
  const files = {
    'digits.bin.gz': '../build/digits.bin.gz', // by train/pack_digits.mjs
    'isolation.js': '../web/isolation.js',
    'first_theme.js': 'shared/first_theme.js',
  };
  return {
    name: 'further-files',
    apply: 'build',
    async generateBundle() {
      /* What the Python of a guide wrote, for the JavaScript after it. */
      for (const [name, folder] of GUIDES.flatMap((guide) => guide.folders.map((folder) => [guide.name, `../tests/guides/${folder}`]))) {
        const all = await readdir(here(folder), { recursive: true, withFileTypes: true });
        for (const entry of all.filter((one) => !one.isDirectory() && !/\.(py|txt)$/.test(one.name))) {
          const path = relative(here(folder), join(entry.parentPath ?? entry.path, entry.name));
          files[`files/${name}/${path}`] = `${folder}/${path}`;
        }
      }
      /* Python for the notebook, which `make python-page` writes. */
      for (const name of await readdir(here(PYTHON)).catch(() => [])) files[`pyodide/${name}`] = `${PYTHON}/${name}`;
      for (const [fileName, path] of Object.entries(files)) {
        this.emitFile({ type: 'asset', fileName, source: await readFile(here(path)) });
      }
    },
    // The policy holds for what comes after it. Classic scripts run before all others and before the first paint. With a policy
    // in the page browsers look ahead for nothing that it needs, so links request the scripts, which come after those of Vite.
    transformIndexHtml(_, { bundle }) {
      const scripts = [{ src: 'isolation.js' }, { src: 'first_theme.js', 'data-files': JSON.stringify(filesOfViews(bundle)) }];
      return [
        { tag: 'meta', attrs: { 'http-equiv': 'Content-Security-Policy', content: POLICY }, injectTo: 'head-prepend' },
        ...scripts.map(({ src }) => ({ tag: 'link', attrs: { rel: 'preload', as: 'script', href: src }, injectTo: 'head-prepend' })),
        ...scripts.map((attrs) => ({ tag: 'script', attrs, injectTo: 'head' })),
      ];
    },
  };
}

/** The modules that are made from the core's sources when the site is built. */
function virtualModules() {
  const modules = {
    'virtual:operations': operationsTable, 'virtual:reference': operationsReference, 'virtual:api': apiDeclarations,
    'virtual:search': searchData, 'virtual:facts': facts,
  };
  return {
    name: 'virtual-modules',
    resolveId: (id) => (modules[id] ? `\0${id}` : undefined),
    async load(id) {
      const make = id.startsWith('\0') ? modules[id.slice(1)] : undefined;
      return make && `export default ${JSON.stringify(await make())};`;
    },
  };
}

export default {
  root: here('.'),
  base: './',
  publicDir: false,
  logLevel: 'warn',
  plugins: [furtherFiles(), virtualModules()],
  resolve: { alias: { 'xla-wasm': here('../bindings/index.mjs') } }, // which examples import
  worker: { format: 'es', rollupOptions: { output: { codeSplitting: { groups: PACKAGE } } } },
  build: {
    outDir: here('../build/site'),
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1500,
  },
};
