/** The shell: shows the view that the address names, and keeps the theme. Views do everything else. */
import * as home from './home/index.mjs';
import { h } from './shared/dom.mjs';
import { pack, unpack } from './shared/address.mjs';
import { startEarly } from './shared/start_worker.mjs';
import * as theme from './shared/theme.mjs';
import { VIEWS } from './views.mjs';

const WRITE_MS = 200; /* delay from a change of state to the address: browsers limit how often it is written */

const main = document.getElementById('view');
const [HOME, ...others] = VIEWS;
const brand = document.querySelector('.brand');
const links = others.map(({ id, title }) => [id, h('a', { href: `#${id}` }, title)]);
const tabs = new Map([[HOME.id, brand], ...links]);
document.getElementById('views').append(...links.map(([, tab]) => tab));

let shown = null; /* { view, mounted, written } */
let turn = 0; /* of showing: a later one overtakes */

/** { view, text } of the address: the text is what comes after the view's name. */
function parseAddress() {
  const [id, ...rest] = location.hash.slice(1).split('/');
  return { view: VIEWS.find((view) => view.id === id) ?? VIEWS[0], text: rest.join('/') };
}

async function stateOf(view, text) {
  if (!text) return undefined;
  return view.plain ? decodeURIComponent(text) : unpack(text);
}

async function addressOf(view, state) {
  if (state === undefined) return `#${view.id}`;
  return `#${view.id}/${view.plain ? encodeURI(state) : await pack(state)}`;
}

function contextOf(view) {
  const session = { view, mounted: null, written: location.hash, timer: 0, gone: false };
  const write = async (state) => {
    const address = await addressOf(view, state);
    if (session.gone || location.hash !== session.written) return; /* it is on its way elsewhere */
    history.replaceState(null, '', address);
    session.written = location.hash;
  };
  const context = {
    theme,
    setState(state) {
      clearTimeout(session.timer);
      session.timer = setTimeout(write, WRITE_MS, state);
    },
    link: (state, id = view.id) => addressOf(VIEWS.find((other) => other.id === id), state),
  };
  return { session, context };
}

function leave() {
  if (!shown) return;
  shown.gone = true;
  clearTimeout(shown.timer);
  shown.mounted?.dispose();
  shown = null;
}

async function show() {
  const { view, text } = parseAddress();
  if (shown && location.hash === shown.written) return;
  const number = ++turn;
  if (shown?.view !== view) startEarly(typeof view.worker === 'function' ? view.worker(text) : view.worker);
  const state = await stateOf(view, text).catch(() => undefined);
  if (number !== turn) return;
  if (shown?.view === view && shown.mounted?.update) {
    shown.written = location.hash;
    shown.mounted.update(state);
    return;
  }
  leave();
  tabs.forEach((tab, id) => {
    if (id === view.id) tab.setAttribute('aria-current', 'page');
    else tab.removeAttribute('aria-current');
  });
  tabs.get(view.id).scrollIntoView({ block: 'nearest', inline: 'nearest' });
  document.title = view === HOME ? 'xla-wasm: XLA programs in your page' : `${view.title} · xla-wasm`;
  const element = h('div', { class: `view view-${view.id}` });
  main.replaceChildren(element);
  main.classList.add('loading');
  const { session, context } = contextOf(view);
  shown = session;
  try {
    const { mount } = await (view === HOME ? home : view.load());
    if (number !== turn) return;
    const mounted = await mount(element, { ...context, state });
    if (session.gone) mounted.dispose(); /* it was left while it mounted */
    else session.mounted = mounted;
  } catch (error) {
    if (number === turn) element.replaceChildren(h('p', { class: 'problem' }, `This view does not load: ${error.message}`));
    throw error;
  } finally {
    if (number === turn) main.classList.remove('loading');
  }
}

theme.bindButton(document.getElementById('theme'));
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener('hashchange', show);
show();
