/**
 * Measures the speed of two threads by that of one, at this moment, by a loop in registers (probes.mjs) that shares no
 * memory: on one worker, then on two at once. A virtual machine's two processors may be two threads of one core for a
 * while; then the ratio is about 1, and no program gains by a second thread.
 */
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';

import { median } from './against_native.mjs';
import { multiplyAddRate } from './probes.mjs';

const [MILLISECONDS, ROUNDS] = [10, 3];

if (!isMainThread) {
  const rate = multiplyAddRate();
  parentPort.on('message', () => parentPort.postMessage(rate(MILLISECONDS)));
}

export class Pair {
  #workers = [0, 1].map(() => new Worker(fileURLToPath(import.meta.url)));

  #rates(count) {
    return Promise.all(this.#workers.slice(0, count).map((worker) => new Promise((resolve) => {
      worker.once('message', resolve);
      worker.postMessage(0);
    })));
  }

  /** @returns {Promise<number>} 2 if the threads do not slow each other down */
  async measure() {
    const ratios = [];
    for (let i = 0; i < ROUNDS; i++) {
      const [one] = await this.#rates(1);
      const [a, b] = await this.#rates(2);
      ratios.push((a + b) / one);
    }
    return median(ratios);
  }

  close() {
    return Promise.all(this.#workers.map((worker) => worker.terminate()));
  }
}
