/** A client whose core takes faults: `make build/faulty/xla-single.mjs`, which make test does (src/base/step.h). */
import { pathToFileURL } from 'node:url';

import { Client } from '../../bindings/index.mjs';
import { coreOf } from '../../bindings/objects/handle.mjs';
import { ROOT } from './program.mjs';

const FOLDER = new URL('build/faulty/', pathToFileURL(ROOT));

/** @returns {Promise<{ client: Client, put: (step: string, traps?: boolean) => void }>} put('') takes the fault away */
export async function faultyClient() {
  const client = await Client.create({ threads: 0, assets: FOLDER });
  const module = client.parseHlo('ENTRY e { ROOT x = f32[] parameter(0) }'), core = coreOf(module);
  module.dispose(); // else it goes at some time, and its memory with it
  const put = (step, traps = false) => core.scoped((copy) => core.call('xla_put_fault', copy(step), traps));
  return { client, put };
}
