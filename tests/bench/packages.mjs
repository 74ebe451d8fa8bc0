/** The versions of what is compared, and how many bytes a page must load to use it. */
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const ROOT = new URL('../../', import.meta.url);
const PEERS = 'build/bench/node_modules/';

const bindings = readdirSync(new URL('bindings/', ROOT))
  .filter((name) => name.endsWith('.mjs') && name !== 'cli.mjs' && name !== 'npy.mjs')
  .map((name) => `bindings/${name}`);

/** As a page would load them that has WebAssembly with SIMD and threads. */
const FILES = {
  'xla-wasm': [...bindings, 'build/dist/xla-threads.mjs', 'build/dist/xla-threads.wasm'],
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
};

/** What its index imports, under names that change with each version. */
function jaxModules() {
  const text = readFileSync(new URL(`${PEERS}@jax-js/jax/dist/index.js`, ROOT), 'utf8');
  return Array.from(text.matchAll(/from "\.\/([^"]+)"/g), ([, name]) =>
    `${PEERS}@jax-js/jax/dist/${name}`);
}

/** Bytes after gzip, file by file, by package. */
export function sizesOf() {
  const size = (file) => gzipSync(readFileSync(new URL(file, ROOT)), { level: 9 }).length;
  return Object.fromEntries(Object.entries(FILES).map(([name, files]) =>
    [name, files.reduce((sum, file) => sum + size(file), 0)]));
}

export function versionsOf() {
  return Object.fromEntries(Object.keys(FILES).map((name) => {
    const folder = name === 'xla-wasm' ? '' : `${PEERS}${name}/`;
    return [name, JSON.parse(readFileSync(new URL(`${folder}package.json`, ROOT), 'utf8')).version];
  }));
}
