/**
 * The script of most workers of the site, so that the bundle has each module of workers once. The worker's name says which
 * kind it is (start_worker.mjs); a kind's module exports listen(). Two kinds have scripts of their own: the playground's, which
 * has an opaque origin, and the notebook's, which has a policy of its own (policy.mjs).
 */
const KINDS = {
  fit: () => import('../fit/worker.mjs'),
  gallery: () => import('../gallery/worker.mjs'),
  llama: () => import('../gallery/llama_worker.mjs'),
  open: () => import('../open/worker.mjs'),
  program: () => import('./program_worker.mjs'),
  teach: () => import('../gallery/teach_worker.mjs'),
  train: () => import('../train/worker.mjs'),
};

/** The kinds whose clients have no threads: which build of the core is requested while a kind's files load. */
const SINGLE = new Set(['fit', 'teach']);

/* Keeps messages that arrive before the kind's module listens. */
const early = [];
function keep(event) {
  event.stopImmediatePropagation();
  early.push(event);
}
self.addEventListener('message', keep);
const kind = KINDS[self.name]();
import('../../bindings/host/core.mjs').then(({ Core }) => Core.prepare(SINGLE.has(self.name) ? 0 : undefined))
  .catch(() => {}); /* the view's call then fails, too, and says why */
const { listen } = await kind;
listen();
self.removeEventListener('message', keep);
for (const { data, ports } of early) self.dispatchEvent(new MessageEvent('message', { data, ports }));
