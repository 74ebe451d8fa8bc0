/** Creates clients whose threads have started, for tests of threads and memory: in Node create() does not wait. */
import { keepAlive } from '../../bindings/host/keep_alive.mjs';
import { Client } from '../../bindings/index.mjs';
import { coreOf } from '../../bindings/objects/handle.mjs';

/** Resolved when a core's threads have loaded. */
export const threadsOf = (core) => core.started.finally(keepAlive());

/** As Client.create. */
export async function startedClient(options) {
  const client = await Client.create(options);
  const module = client.parseHlo('ENTRY main { ROOT zero = f32[] constant(0) }');
  await threadsOf(coreOf(module));
  module.dispose();
  return client;
}
