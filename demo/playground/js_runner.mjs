/** Workers for JavaScript: one that runs it, and one that waits for what comes next, with the core in place. */
import { connect } from '../shared/rpc.mjs';

export function createRunner() {
  let running = null;
  let spare = null; /* { worker, threads } */

  const start = (threads) => {
    const worker = connect(new Worker(new URL('js_worker.mjs', import.meta.url), { type: 'module' }));
    worker.call('warm', threads).catch(() => {}); /* the run will say so */
    return { worker, threads };
  };
  const end = () => {
    running?.terminate();
    running = null;
  };
  return {
    /**
     * What it was running before is ended: it is of no interest any more.
     * @param {string} code see js_worker.mjs
     * @param {number} [threads]
     * @returns {Promise<{ text: string | null, shown: object[] }>}
     */
    async run(code, threads) {
      end();
      if (spare && spare.threads !== threads) {
        spare.worker.terminate();
        spare = null;
      }
      const { worker } = spare ?? start(threads);
      spare = null;
      running = worker;
      try {
        return await worker.call('run', code, threads);
      } finally {
        if (running === worker) spare ??= start(threads);
      }
    },
    stop: end,
    dispose() {
      end();
      spare?.worker.terminate();
      spare = null;
    },
  };
}
