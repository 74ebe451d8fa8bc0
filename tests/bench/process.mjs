/** A subject in a process of Node's, which bench.mjs forks and talks to. */
import { createRequire } from 'node:module';

import { Subject } from './subject.mjs';

const require = createRequire(new URL('../../build/bench/package.json', import.meta.url));
const load = (name) =>
  name === 'xla-wasm' ? import('../../bindings/index.mjs') : require(name);

const subject = new Subject();
const METHODS = {
  start: (name, threads) => subject.start(name, { threads, load }),
  prepare: (id) => subject.prepare(id),
  round: (milliseconds) => subject.round(milliseconds),
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
