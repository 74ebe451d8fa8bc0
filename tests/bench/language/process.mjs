/** An engine in a process of Node's, which language.mjs forks and talks to. */
import { createRequire } from 'node:module';

import { prepare, round } from './engine.mjs';

const require = createRequire(new URL('../../../build/bench/package.json', import.meta.url));
const LIBRARIES = { xla: () => import('../../../build/node/index.mjs'), ort: () => require('onnxruntime-web') };

process.on('message', async ({ method, args: [name, options] }) => {
  try {
    process.send({ result: method === 'round' ? await round() : await prepare(name, await LIBRARIES[name](), options) });
  } catch (error) {
    process.send({ error: String(error?.message ?? error) });
  }
});
process.on('disconnect', () => process.exit());
