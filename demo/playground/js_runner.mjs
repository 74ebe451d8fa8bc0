/**
 * Workers for JavaScript: one that runs it, and one that waits for what comes next, with the core in place. They
 * are of an opaque origin, as a data: address makes them: what runs there sees no storage of the page's, and
 * asks its server as a stranger does. They have no threads: the page lends them no workers, which would be of its
 * own origin.
 */
import { connect } from '../shared/rpc.mjs';
import workerAddress from './js_worker.mjs?worker&url';

const startOpaque = () => new Worker(`data:text/javascript,${encodeURIComponent(
  `import ${JSON.stringify(new URL(workerAddress, import.meta.url).href)};`)}`, { type: 'module' });

export function createRunner() {
  let running = null;
  let spare = null;

  const start = () => {
    const worker = connect(startOpaque(), { lends: false });
    worker.call('warm').catch(() => {}); /* the run will say so */
    return worker;
  };
  const end = () => {
    running?.terminate();
    running = null;
  };
  return {
    /**
     * What it was running before is ended: it is of no interest any more.
     * @param {string} code see js_worker.mjs
     * @returns {Promise<{ text: string | null, shown: object[] }>}
     */
    async run(code) {
      end();
      const worker = spare ?? start();
      spare = null;
      running = worker;
      try {
        return await worker.call('run', code);
      } finally {
        if (running === worker) spare ??= start();
      }
    },
    stop: end,
    dispose() {
      end();
      spare?.terminate();
      spare = null;
    },
  };
}
