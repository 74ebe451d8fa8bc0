/** An engine in a Node process, which language.mjs forks and calls by messages. */
import { createRequire } from 'node:module';

import { prepare, round } from './engine.mjs';

const require = createRequire(new URL('../../../build/bench/package.json', import.meta.url));
const LIBRARIES = { xla: () => import('../../../build/node/index.mjs'), ort: () => require('onnxruntime-web') };

/** Runs a round; adds the processor's milliseconds per token. */
async function timed() {
  const before = process.cpuUsage(), result = await round(), { user, system } = process.cpuUsage(before);
  return { ...result, cpu: (user + system) / 1000 / result.tokens };
}

process.on('message', async ({ method, args: [name, options] }) => {
  try {
    process.send({ result: method === 'round' ? await timed() : await prepare(name, await LIBRARIES[name](), options) });
  } catch (error) {
    process.send({ error: String(error?.message ?? error) });
  }
});
process.on('disconnect', () => process.exit());
