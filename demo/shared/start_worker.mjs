/**
 * Starts a worker of the site.
 * @param {string} name of its kind, in any_worker.mjs
 */
export const startWorker = (name) => new Worker(new URL('any_worker.mjs', import.meta.url), { type: 'module', name });
