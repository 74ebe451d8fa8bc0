/**
 * Workers for JavaScript: one that runs it, and one that waits for what comes next, with the core in place. They
 * are of an opaque origin, as a data: address makes them: what runs there sees no storage of the page's, and
 * asks its server as a stranger does.
 */
import { connect } from '../shared/rpc.mjs';
import workerAddress from './js_worker.mjs?worker&url';

const startOpaque = () => new Worker(`data:text/javascript,${encodeURIComponent(
  `import ${JSON.stringify(new URL(workerAddress, import.meta.url).href)};`)}`, { type: 'module' });

export function createRunner() {
  let running = null;
  let spare = null; /* { worker, threads } */

  const start = (threads) => {
    const worker = connect(startOpaque());
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
