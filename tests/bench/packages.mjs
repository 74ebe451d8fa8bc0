/** The versions of the compared packages, and the bytes that a page downloads to use each. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';

const ROOT = new URL('../../', import.meta.url);
const PEERS = 'build/bench/node_modules/';

/** The files that a page with SIMD and threads loads. */
const OURS = ['build/dist/xla-threads.mjs', 'build/dist/xla-threads.wasm'];
const peerFiles = () => ({
  'onnxruntime-web': [
    `${PEERS}onnxruntime-web/dist/ort.wasm.bundle.min.mjs`,
    `${PEERS}onnxruntime-web/dist/ort-wasm-simd-threaded.wasm`,
  ],
  '@tensorflow/tfjs-backend-wasm': [
    `${PEERS}@tensorflow/tfjs-core/dist/tf-core.es2017.min.js`,
    `${PEERS}@tensorflow/tfjs-backend-cpu/dist/tf-backend-cpu.es2017.min.js`,
    `${PEERS}@tensorflow/tfjs-backend-wasm/dist/tf-backend-wasm.es2017.min.js`,
    `${PEERS}@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-threaded-simd.wasm`,
  ],
  '@jax-js/jax': [`${PEERS}@jax-js/jax/dist/index.js`, ...jaxModules()],
});

/** The files that its index imports, whose names change with each version. */
function jaxModules() {
  const text = readFileSync(new URL(`${PEERS}@jax-js/jax/dist/index.js`, ROOT), 'utf8');
  return Array.from(text.matchAll(/from "\.\/([^"]+)"/g), ([, name]) =>
    `${PEERS}@jax-js/jax/dist/${name}`);
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);
const gzipped = (content) => gzipSync(content, { level: 9 }).length;
const gzippedFiles = (files) => sum(files.map((file) => gzipped(readFileSync(new URL(file, ROOT)))));

/**
 * The chunks of a bundle of `import 'xla-wasm'`, as the other packages' files are bundled, too. Chunks that are loaded on
 * demand (StableHLO's reader) do not count.
 */
async function bundledBindings() {
  const { output } = await build({
    root: fileURLToPath(ROOT),
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      modulePreload: false,
      rollupOptions: { input: 'bindings/index.mjs', preserveEntrySignatures: 'strict' },
    },
  });
  const chunks = new Map(output.map((chunk) => [chunk.fileName, chunk]));
  const loaded = new Set(output.filter((chunk) => chunk.isEntry).map((chunk) => chunk.fileName));
  for (const name of loaded) for (const next of chunks.get(name).imports) loaded.add(next);
  return Array.from(loaded, (name) => chunks.get(name).code);
}

/** Returns the gzipped bytes that a page downloads before its first result. */
export const downloadSize = async () =>
  gzippedFiles(OURS) + sum((await bundledBindings()).map(gzipped));

/** Returns these bytes for each other package. */
export async function sizesOf() {
  const peers = Object.entries(peerFiles()).map(([name, files]) => [name, gzippedFiles(files)]);
  return { 'xla-wasm': await downloadSize(), ...Object.fromEntries(peers) };
}

export function versionsOf() {
  return Object.fromEntries(['xla-wasm', ...Object.keys(peerFiles())].map((name) => {
    const folder = name === 'xla-wasm' ? '' : `${PEERS}${name}/`;
    return [name, JSON.parse(readFileSync(new URL(`${folder}package.json`, ROOT), 'utf8')).version];
  }));
}
