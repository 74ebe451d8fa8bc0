/** Guides: the Markdown pages of docs/, whose code runs where it stands, the references, and a search over all. */
import MarkdownIt from 'markdown-it';

import { codePieces } from '../shared/code_colours.mjs';
import { h } from '../shared/dom.mjs';
import { createRunnable, endRuns } from '../shared/runnable.mjs';
import { GUIDES, slug } from './pages.mjs';
import { createSearch } from './search.mjs';
import './guides.css';

const pages = import.meta.glob([
  '../../docs/**/*.md', '../../tests/bench/README.md', '../../tests/bench/programs/README.md', '../../tests/accuracy/README.md',
  '../../python/README.md',
], { query: '?raw', import: 'default' });
/* Pictures are put into the page itself, so that they have its colours. */
const PICTURES = import.meta.glob('../../docs/guides/pictures/*.svg', { query: '?raw', import: 'default', eager: true });
/* All pictures have the same <style>. The policy allows it as a sheet, not within the page. */
const STYLE = /<style>(.*?)<\/style>/s;
const sheet = new CSSStyleSheet();
sheet.replaceSync(STYLE.exec(Object.values(PICTURES)[0])[1]);
document.adoptedStyleSheets.push(sheet);

/* These have views of their own. */
const REFERENCES = {
  api: async () => (await import('../reference/api.mjs')).showApi,
  operations: async () => (await import('../reference/operations.mjs')).showOperations,
};

const byPath = new Map(GUIDES.map((guide) => [guide.path, guide]));

/** The path of a link, seen from the page it is on. */
function resolve(from, link) {
  const parts = from.split('/').slice(0, -1);
  for (const part of link.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '.') parts.push(part);
  }
  return parts.join('/');
}

const { escapeHtml } = new MarkdownIt().utils;

/** HTML of code. */
const colours = (text, language) => codePieces(text, language).map(({ kind, text: piece }) =>
  (kind ? `<span class="code-${kind}">${escapeHtml(piece)}</span>` : escapeHtml(piece))).join('');

/** HTML of a page. Links to other pages stay here; those to files of the repository are their names. */
function render(text, path) {
  const markdown = new MarkdownIt({ html: false, highlight: colours });
  const { rules } = markdown.renderer;
  rules.heading_open = (tokens, i, options, env, self) => {
    tokens[i].attrSet('id', slug(tokens[i + 1].content));
    return self.renderToken(tokens, i, options);
  };
  const isDead = [];
  rules.link_open = (tokens, i, options, env, self) => {
    const href = tokens[i].attrGet('href');
    const outside = /^https?:/.test(href);
    const [file, anchor] = href.split('#');
    const guide = outside ? null : byPath.get(file ? resolve(path, file) : path);
    isDead.push(!outside && !guide);
    if (isDead.at(-1)) return '<span class="file">';
    if (guide) tokens[i].attrSet('href', `#guides/${guide.name}${anchor ? `/${anchor}` : ''}`);
    return self.renderToken(tokens, i, options);
  };
  rules.link_close = (tokens, i, options, env, self) => (isDead.pop() ? '</span>' : self.renderToken(tokens, i, options));
  rules.image = (tokens, i) => {
    const picture = PICTURES[`../../${resolve(path, tokens[i].attrGet('src'))}`];
    if (!picture) throw new Error(`there is no picture ${tokens[i].attrGet('src')}`);
    return picture.replace(STYLE, '');
  };
  /* Its alignment is an attribute `style`, which the policy forbids. */
  rules.th_open = rules.td_open = (tokens, i, options, env, self) => {
    if (tokens[i].attrGet('style')) tokens[i].attrs = [['class', 'number']];
    return self.renderToken(tokens, i, options);
  };
  rules.table_open = () => '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>';
  rules.table_close = () => '</table></div>';
  /* <!-- see: EXAMPLE/TAB --> is a link into the playground. */
  const marked = text.replace(/^<!-- see: (.+?)\/(\w+) -->$/gm, (_, example, tab) => `\`see:${example}/${tab}\``);
  return markdown.render(marked).replace(/<p><code>see:(.+?)\/(\w+)<\/code><\/p>/g,
    '<p><a class="see" data-example="$1" data-tab="$2" href="#playground">See it in the playground: $1</a></p>');
}

/** Splits the address after #guides/ into a page and what comes after it: a heading, or the page's own. */
function parseState(state) {
  const [name, ...rest] = (state ?? '').split('/');
  return { guide: GUIDES.find((one) => one.name === name) ?? GUIDES[0], rest };
}

/** Whether a block runs in a page: its imports are the package's. */
const runsHere = (code) => Array.from(code.matchAll(/^import .* from '([^']+)';?$/gm)).every(([, name]) => /^xla-wasm(\/train)?$/.test(name)) &&
  !/^\/\/ [\w.]+\.mjs$/m.test(code);

/** The JavaScript of a block that runs here, or undefined. Of an HTML page it is the script, if that needs no elements. */
function codeOf({ className, textContent: text }) {
  if (className === 'language-js') return runsHere(text) ? text : undefined;
  const script = className === 'language-html' ? /^<script type="module">\n([^]*)^<\/script>$/m.exec(text)?.[1].replace(/^ {2}/gm, '') : undefined;
  return script && script.includes('console.log') && !/\bdocument\b/.test(script) && runsHere(script) ? script : undefined;
}

/**
 * Makes a page's blocks of code run, each after those above it; an HTML page is a program of its own.
 * @returns {{ dispose: () => void }[]}
 */
function makeRunnable(article, { files }, link) {
  let above = '';
  return Array.from(article.querySelectorAll('pre > code')).flatMap((element) => {
    const code = codeOf(element);
    if (!code) return [];
    const isPage = element.className === 'language-html';
    const block = createRunnable({ code, before: isPage ? '' : above, files, link, ...(isPage && { shown: element.textContent, language: 'html' }) });
    if (!isPage) above += `${above && '\n'}${code}`;
    element.parentNode.replaceWith(block.element);
    return [block];
  });
}

function createList() {
  const sections = [...new Set(GUIDES.map(({ section }) => section))];
  const links = new Map(GUIDES.map(({ name, title }) => [name, h('a', { href: `#guides/${name}`, dataset: { name } }, title)]));
  const wide = matchMedia('(min-width: 761px)');
  const menu = h('details', { class: 'menu' }, h('summary', {}, 'All pages'),
    h('nav', { class: 'list', 'aria-label': 'Guides' }, sections.map((section) => [h('p', { class: 'heading' }, section),
      GUIDES.filter((guide) => guide.section === section).map(({ name }) => links.get(name))])));
  const adapt = () => { menu.open = wide.matches; };
  adapt();
  wide.addEventListener('change', adapt);
  return {
    element: menu,
    dispose: () => wide.removeEventListener('change', adapt),
    mark(name) {
      adapt();
      for (const [of, entry] of links) {
        if (of === name) {
          entry.setAttribute('aria-current', 'page');
          if (wide.matches) entry.scrollIntoView({ block: 'nearest' });
        } else {
          entry.removeAttribute('aria-current');
        }
      }
    },
  };
}

/** Whether an event comes from a field that takes text. */
const isTyped = (event) => event.target.closest?.('input, textarea, select, .editor');

/** The list of guides, the search, and the page that is shown. */
class GuideView {
  #list = createList();
  #search = createSearch();
  #article = h('article', { class: 'guide' });
  #shown = null;
  #parts = []; /* of the page that is shown, to be disposed of */
  #turn = 0;
  #link;

  constructor(element, link) {
    this.#link = link;
    const side = h('div', { class: 'side' }, this.#search.input, this.#list.element);
    element.append(h('div', { class: 'columns' }, side, h('div', {}, this.#search.hits, this.#article)));
    document.addEventListener('keydown', this.#onSlash);
  }

  #onSlash = (event) => {
    if (event.key !== '/' || isTyped(event)) return;
    event.preventDefault();
    this.#search.input.focus();
  };

  #clear() {
    this.#parts.forEach((part) => part.dispose());
    this.#parts = [];
  }

  async #showGuide(guide, turn) {
    const text = await pages[`../../${guide.path}`]();
    if (turn !== this.#turn) return;
    this.#clear();
    const article = this.#article;
    article.innerHTML = render(text, guide.path); // the repository's own pages, with html off
    this.#parts = makeRunnable(article, guide, this.#link);
    for (const code of article.querySelectorAll('pre')) code.tabIndex = 0; /* so that it can be scrolled */
    for (const see of article.querySelectorAll('.see')) {
      const { example, tab } = see.dataset;
      this.#link({ example, tab }, 'playground').then((address) => { see.href = address; });
    }
  }

  async #showReference(guide, rest, turn) {
    const fill = await REFERENCES[guide.name]();
    if (turn !== this.#turn) return;
    this.#clear();
    this.#parts = [fill(this.#article, rest, this.#link)];
  }

  #scrollTo(anchor) {
    const target = anchor ? this.#article.querySelector(`[id="${CSS.escape(anchor)}"]`) : null;
    if (target) target.scrollIntoView();
    else window.scrollTo(0, 0);
  }

  /** Shows the page of a state, and its heading; a later call ends an earlier one. */
  async show(state) {
    const turn = ++this.#turn;
    const { guide, rest } = parseState(state);
    const isReference = Boolean(REFERENCES[guide.name]);
    this.#search.close();
    const key = isReference ? `${guide.name}/${rest[0] ?? ''}` : guide.name;
    if (key !== this.#shown) {
      await (isReference ? this.#showReference(guide, rest, turn) : this.#showGuide(guide, turn));
      if (turn !== this.#turn) return;
      this.#shown = key;
      this.#list.mark(guide.name);
    }
    this.#scrollTo(isReference ? rest[1] : rest[0]);
  }

  dispose() {
    this.#turn = Infinity;
    document.removeEventListener('keydown', this.#onSlash);
    this.#list.dispose();
    this.#clear();
    endRuns();
  }
}

export async function mount(element, { state, link }) {
  const view = new GuideView(element, link);
  await view.show(state);
  return { update: (next) => view.show(next), dispose: () => view.dispose() };
}
