/**
 * Workers for JavaScript: one that runs it, and a spare one with the core loaded for the next run. A data: address
 * gives them an opaque origin: their code cannot read the page's storage, and its requests to the server are
 * cross-origin. They have no threads, because the page's workers would have the page's origin.
 */
import { connect } from './rpc.mjs';
import workerAddress from './js_worker.mjs?worker&url';

const startOpaque = () => new Worker(`data:text/javascript,${encodeURIComponent(
  `import ${JSON.stringify(new URL(workerAddress, import.meta.url).href)};`)}`, { type: 'module' });

/**
 * @param {object} [options]
 * @param {boolean} [options.spares] whether a spare worker starts after each run; else by warm()
 */
export function createRunner({ spares = true } = {}) {
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
     * Runs code; ends a run that is still going on.
     * @param {string} code see js_worker.mjs
     * @param {object} [options] `base` and `from`, as there; `onprint`, which gets each text that it prints
     * @returns {Promise<{ text: string | null, shown: object[] }>}
     */
    async run(code, { onprint, ...options } = {}) {
      end();
      const worker = spare ?? start();
      spare = null;
      running = worker;
      worker.on('printed', (text) => onprint?.(text));
      try {
        return await worker.call('run', code, options);
      } finally {
        if (running === worker && spares) spare ??= start();
      }
    },
    stop: end,
    /** Starts the worker of the next run. */
    warm() {
      spare ??= start();
    },
    dispose() {
      end();
      spare?.terminate();
      spare = null;
    },
  };
}
