/** Starts workers of the site; any_worker.mjs is their script. */

let early = null; /* { name, worker }: started before its view has loaded, and not asked for yet */

const start = (name) => new Worker(new URL('any_worker.mjs', import.meta.url), { type: 'module', name });

function endEarly() {
  early?.worker.terminate();
  early = null;
}

/**
 * Starts a worker before its view has loaded, so that both load side by side; startWorker() gives it to the view. A worker that
 * cannot load is dropped: the view then starts another, and hears of the error.
 * @param {string} [name] of its kind; undefined: none, which ends an earlier one
 */
export function startEarly(name) {
  endEarly();
  if (!name) return;
  const worker = start(name);
  early = { name, worker };
  worker.addEventListener('error', (event) => {
    if (early?.worker !== worker) return;
    event.preventDefault();
    endEarly();
  });
}

/**
 * Starts a worker, or gives the one that was started early. Ends one of another kind.
 * @param {string} name of its kind, in any_worker.mjs
 */
export function startWorker(name) {
  if (early?.name !== name) endEarly();
  const worker = early?.worker ?? start(name);
  early = null;
  return worker;
}
