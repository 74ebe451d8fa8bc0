/** A subject in a Node process, which bench.mjs forks and calls by messages. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { readNpy } from '../../bindings/formats/npy.mjs';
import { digestOf } from './digest.mjs';
import { Subject } from './subject.mjs';

const require = createRequire(new URL('../../build/bench/package.json', import.meta.url));
const load = (name) =>
  name === 'xla-wasm' ? import('../../build/node/index.mjs') : require(name);

/** Reads a NumPy file as an operand in the form of workloads.mjs. */
function operandFrom(file) {
  const { shape, data } = readNpy(readFileSync(file));
  return { shape: shape.dimensions, data };
}

const read = (path) => readFileSync(new URL(`../../${path}`, import.meta.url));

const subject = new Subject();
const METHODS = {
  start: (name, threads) => subject.start(name, { threads, load, read }),
  prepare: (id) => subject.prepare(id),
  prepareFrom: (id, files) => subject.prepare(id, Object.fromEntries(
    Object.entries(files).map(([name, file]) => [name, operandFrom(file)]))),
  prepareProgram: (...paths) => subject.prepareProgram(...paths),
  digest: (file) => digestOf(operandFrom(file).data),
  round: (milliseconds, clock) => subject.round(milliseconds, clock),
  end: () => subject.end(),
};

process.on('message', async ({ method, args }) => {
  try {
    process.send({ result: await METHODS[method](...args) });
  } catch (error) {
    process.send({ error: String(error?.message ?? error) });
  }
});
process.on('disconnect', () => process.exit());
