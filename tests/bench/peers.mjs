/** Runs programs on the other packages, in rounds that alternate with those of xla-wasm (against_native.mjs). */
import { distance } from './digest.mjs';
import { TOLERANCE } from './workloads.mjs';

export const PEERS = { ort: 'onnxruntime-web', tfjs: 'tfjs-wasm', jax: 'jax-js' };

/** An engine in its own process, with its prepared programs. */
export class Peer {
  static async start(hosts, name, threads) {
    const peer = new Peer();
    peer.name = name;
    peer.host = await hosts.start(threads);
    ({ workloads: peer.workloads } = await peer.host.call('start', name, threads));
    return peer;
  }

  prepare(row, folder) {
    const files = Object.fromEntries(row.operands.map((operand, i) => [operand, `${folder}/${row.name}.in${i}.npy`]));
    return this.host.call('prepareFrom', row.peer, files);
  }

  round(milliseconds, clock) {
    return this.host.call('round', milliseconds, clock);
  }
}

/** Returns the engines that have the operation and agree with native XLA. */
export async function preparePeers(row, peers, folder, native) {
  const ready = [];
  const able = peers.filter(({ workloads }) => workloads.includes(row.peer));
  if (!able.length) return ready;
  await native.ask({ prepare: row.name, folder });
  const wanted = await able[0].host.call('digest', `${folder}/${row.name}.out0.npy`);
  for (const peer of able) {
    try {
      const { digests } = await peer.prepare(row, folder);
      const apart = distance([wanted], digests.slice(0, 1));
      if (apart > TOLERANCE) throw new Error(`its results differ by ${apart.toPrecision(2)}`);
      ready.push(peer);
    } catch (error) {
      console.error(`  ${PEERS[peer.name]}, ${row.title}: ${error.message}`);
    }
  }
  return ready;
}
