/**
 * The page as files for any static host: `make site` puts them into build/site. Addresses are
 * relative, so that the folder may be served from anywhere.
 */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Files that no module imports: what the page fetches, and the service worker, by fixed names. */
function furtherFiles() {
  const files = {
    'digits.bin.gz': '../build/digits.bin.gz', // by train/pack_digits.mjs
    'isolation.js': '../web/isolation.js',
  };
  return {
    name: 'further-files',
    apply: 'build',
    async generateBundle() {
      for (const [fileName, path] of Object.entries(files)) {
        this.emitFile({ type: 'asset', fileName, source: await readFile(here(path)) });
      }
    },
    // A classic script that comes before all others: see web/isolation.js.
    transformIndexHtml: () => [{ tag: 'script', attrs: { src: 'isolation.js' }, injectTo: 'head-prepend' }],
  };
}

export default {
  root: here('.'),
  base: './',
  publicDir: false,
  logLevel: 'warn',
  plugins: [furtherFiles()],
  worker: { format: 'es' },
  build: {
    outDir: here('../build/site'),
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1500,
  },
};
