/** The search over the site: an index that is made at the first key. */
import MiniSearch from 'minisearch';

import { h } from '../shared/dom.mjs';

const MAX_HITS = 20;
const EXCERPT = 140; /* characters around the first word that is found */

let index = null; /* promised */

async function indexOf() {
  index ??= (async () => {
    const { default: documents } = await import('virtual:search');
    const made = new MiniSearch({
      fields: ['title', 'text', 'where'], storeFields: ['href', 'title', 'where', 'text'],
      tokenize: (text) => text.split(/[^\p{L}\p{N}]+/u).flatMap((word) => [word, ...word.split(/(?<=[a-z])(?=[A-Z])/)]).filter(Boolean),
      searchOptions: { boost: { title: 4, where: 2 }, prefix: true, fuzzy: (term) => (term.length > 4 ? 0.2 : false), combineWith: 'AND' },
    });
    await made.addAllAsync(documents.map((one, id) => ({ id, ...one })), { chunkSize: 100 });
    return made;
  })();
  return index;
}

function excerpt(text, terms) {
  const at = Math.max(0, Math.min(...terms.map((term) => text.toLowerCase().indexOf(term)).filter((i) => i >= 0), text.length) - EXCERPT / 3);
  const from = at ? text.indexOf(' ', at) + 1 : 0;
  const part = text.slice(from, from + EXCERPT);
  return `${from ? '… ' : ''}${part}${from + EXCERPT < text.length ? ' …' : ''}`;
}

/** @returns {{ input: HTMLInputElement, hits: HTMLElement }} a field, and the list of what it finds */
export function createSearch() {
  const hits = h('div', { class: 'hits', hidden: true, role: 'region', 'aria-label': 'What the search found', 'aria-live': 'polite' });
  let turn = 0;
  const search = async () => {
    const number = ++turn;
    const wanted = input.value.trim();
    if (!wanted) {
      hits.hidden = true;
      return;
    }
    const found = (await indexOf()).search(wanted).slice(0, MAX_HITS);
    if (number !== turn) return;
    hits.hidden = false;
    hits.replaceChildren(...(found.length ? found.map(({ href, title, where, text, terms }) =>
      h('a', { href }, h('strong', {}, title), ' ', h('span', { class: 'soft small' }, where), h('span', { class: 'excerpt' }, excerpt(text, terms))))
      : [h('p', { class: 'soft' }, `Nothing is found for “${wanted}”.`)]));
  };
  const input = h('input', {
    type: 'search', id: 'search', placeholder: 'Search',
    'aria-label': 'Search the guides and references', oninput: search, onfocus: () => indexOf(),
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') hits.querySelector('a')?.click();
    if (event.key !== 'Escape') return;
    input.value = '';
    search();
  });
  return {
    input, hits,
    close() {
      input.value = '';
      hits.hidden = true;
    },
  };
}
