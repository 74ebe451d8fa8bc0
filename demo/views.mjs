/**
 * The views of the page. A view is a folder; its entry is loaded when the view is first shown, and
 * exports
 *
 *     mount(element, { state, setState, link, theme }) -> { dispose(), update?(state) }
 *
 * `state` is what the address holds after `#view/` (undefined: nothing): any JSON value, compressed;
 * or, where `plain` says so, text as it stands. `setState(state)` writes it there. `link(state, id)`
 * promises an address with that state, of this view or of another. `theme` is shared/theme.mjs's.
 * `worker` is the kind of the worker that the view computes in (shared/any_worker.mjs), which starts while the view loads; or a
 * function to it from the address's text.
 * Where the address changes to another state of the view that is shown, `update(state)` is called,
 * or without one the view is mounted anew. `mount` may be async. The first is the landing page, which comes with the shell (main.mjs); its link is the brand.
 */

export const VIEWS = [
  { id: 'home', title: 'Home' },
  { id: 'playground', title: 'Playground', worker: 'program', load: () => import('./playground/index.mjs') },
  { id: 'guides', title: 'Guides', plain: true, load: () => import('./guides/index.mjs') },
  { id: 'notebook', title: 'Notebook', load: () => import('./notebook/index.mjs') },
  { id: 'gallery', title: 'Gallery', plain: true, worker: (id) => (/^(teach|llama)$/.test(id) ? id : 'gallery'), load: () => import('./gallery/index.mjs') },
  { id: 'train', title: 'Digits', worker: 'train', load: () => import('./train/index.mjs') },
  { id: 'fit', title: 'Fit', worker: 'fit', load: () => import('./fit/index.mjs') },
  { id: 'meshes', title: 'Meshes', worker: 'program', load: () => import('./meshes/index.mjs') },
  { id: 'open', title: 'Open', load: () => import('./open/index.mjs') },
];
