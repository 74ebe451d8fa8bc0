/**
 * Makes emcc's glue fit to be shipped: node bindings/tools/glue.mjs FILE...
 *
 * A thread starts from the glue's own address, as a bundler may have given the file another name, and must
 * not try to bundle it into itself. Node's own modules are taken at once where that is possible: each import()
 * takes a millisecond of the time to a first result. A module that a worker runs has no top-level await: Node 20 ends
 * the whole process if such a worker is terminated just before its module is evaluated. A worker grows the memory that
 * it gets by nothing: V8 updates the memory's size in a thread that it knows of, so a growth while the message arrives
 * would be lost, and the thread's accesses of the new pages trap. And names are made short, which emcc leaves to tools it
 * does not bring.
 */
import { readFileSync, writeFileSync } from 'node:fs';

import { minify } from 'vite';

const BY_NAME = /new URL\("xla-[a-z]+\.mjs", *import\.meta\.url\)/g;
const OF_NODE = /await import\(['"](module|worker_threads)['"]\)/g;
const AWAITED_START = /isPthread = \(await import\('worker_threads'\)\)\.workerData === 'em-pthread'/;
const START = `{
  const start = ({ workerData }) => workerData === 'em-pthread' && Module();
  if (process.getBuiltinModule) start(process.getBuiltinModule('worker_threads'));
  else import('worker_threads').then(start);
}`;
const MEMORY_ARRIVES = /wasmMemory ?= ?msgData\.wasmMemory;/;
const TOP_LEVEL_AWAIT = /^export default [^]*\bawait\b/m;
const OTHER_NAME = /new Worker\((?!new URL\(import\.meta\.url\))/;

for (const file of process.argv.slice(2)) {
  const source = readFileSync(file, 'utf8').replaceAll(BY_NAME, 'new URL(import.meta.url)').replace(AWAITED_START, START)
    .replace(MEMORY_ARRIVES, '$&wasmMemory.grow(0);')
    .replaceAll(OF_NODE, (imported, name) => `(process.getBuiltinModule?.('${name}') ?? ${imported})`);
  const isThreads = source.includes('em-pthread');
  if (OTHER_NAME.test(source) || TOP_LEVEL_AWAIT.test(source) || isThreads !== source.includes('wasmMemory.grow(0)')) {
    throw new Error(`${file}: this emcc's glue starts its workers in a way that is not known here`);
  }
  const { code, errors } = await minify(file, source, { module: true, compress: true, mangle: { toplevel: true } });
  if (errors.length) throw new Error(`${file}: ${errors[0].message}`);
  writeFileSync(file, code);
}
