/** Guides: the Markdown pages of docs/, with links into the playground. */
import MarkdownIt from 'markdown-it';
import API from 'virtual:api';

import { codePieces } from '../shared/code_colours.mjs';
import { h } from '../shared/dom.mjs';
import './guides.css';

const pages = import.meta.glob(['../../docs/**/*.md', '../../tests/bench/README.md', '../../tests/bench/programs/README.md', '../../tests/accuracy/README.md'], { query: '?raw', import: 'default' });
/* Pictures are put into the page itself, so that they have its colours. */
const PICTURES = import.meta.glob('../../docs/guides/pictures/*.svg', { query: '?raw', import: 'default', eager: true });
/* All pictures have the same <style>. The policy allows it as a sheet, not within the page. */
const STYLE = /<style>(.*?)<\/style>/s;
const sheet = new CSSStyleSheet();
sheet.replaceSync(STYLE.exec(Object.values(PICTURES)[0])[1]);
document.adoptedStyleSheets.push(sheet);
const at = (path) => pages[`../../${path}`];

/** In the order of the list: name in the address, title, text. */
const GUIDES = [
  ['getting-started', 'Getting started', at('docs/guides/getting-started.md'), 'docs/guides/getting-started.md'],
  ['from-jax', 'From JAX to a page', at('docs/guides/from-jax.md'), 'docs/guides/from-jax.md'],
  ['from-frameworks', 'From a framework to a page', at('docs/guides/from-frameworks.md'), 'docs/guides/from-frameworks.md'],
  ['from-keras', 'From Keras 3', at('docs/guides/from-keras.md'), 'docs/guides/from-keras.md'],
  ['from-tensorflow-js', 'From TensorFlow.js', at('docs/guides/from-tensorflow-js.md'), 'docs/guides/from-tensorflow-js.md'],
  ['from-onnxruntime-web', 'From onnxruntime-web', at('docs/guides/from-onnxruntime-web.md'), 'docs/guides/from-onnxruntime-web.md'],
  ['no-build', 'No build step', at('docs/guides/no-build.md'), 'docs/guides/no-build.md'],
  ['weights', 'Weights', at('docs/guides/weights.md'), 'docs/guides/weights.md'],
  ['training', 'Train in the page', at('docs/guides/training.md'), 'docs/guides/training.md'],
  ['batches', 'Batches and Jacobians', at('docs/guides/batches.md'), 'docs/guides/batches.md'],
  ['meshes', 'Meshes and collectives', at('docs/meshes.md'), 'docs/meshes.md'],
  ['hosts', 'Headers, bundlers, hosts', at('docs/hosts.md'), 'docs/hosts.md'],
  ['speed', 'Speed and profiles', at('docs/guides/speed.md'), 'docs/guides/speed.md'],
  ['how-it-works', 'How it works', at('docs/guides/how-it-works.md'), 'docs/guides/how-it-works.md'],
  ['errors', 'Errors', at('docs/errors.md'), 'docs/errors.md'],
  ['architecture', 'Why it is built so', at('docs/architecture.md'), 'docs/architecture.md'],
  ['operations', 'Operations', at('docs/operations.md'), 'docs/operations.md'],
  ['differences', 'Differences from XLA:CPU', at('docs/differences.md'), 'docs/differences.md'],
  ['evaluated', 'What is evaluated', at('docs/evaluated.md'), 'docs/evaluated.md'],
  ['benchmarks', 'How fast', at('tests/bench/README.md'), 'tests/bench/README.md'],
  ['programs', 'Whole programs', at('tests/bench/programs/README.md'), 'tests/bench/programs/README.md'],
  ['accuracy', 'How exact', at('tests/accuracy/README.md'), 'tests/accuracy/README.md'],
  ['api', 'API reference', async () => API, 'bindings/index.d.ts'],
].map(([name, title, load, path]) => ({ name, title, load, path }));

const byPath = new Map(GUIDES.map((guide) => [guide.path, guide]));

const slug = (text) => text.toLowerCase().replace(/[^\w\- ]/g, '').replaceAll(' ', '-');

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

/** Splits the address after #guides/ into a page and an optional heading. */
function parseState(state) {
  const [name, anchor] = (state ?? '').split('/');
  return { guide: GUIDES.find((one) => one.name === name) ?? GUIDES[0], anchor };
}

export async function mount(element, { state, link }) {
  const list = h('nav', { class: 'list', 'aria-label': 'Guides' }, GUIDES.map(({ name, title }) => h('a', { href: `#guides/${name}`, dataset: { name } }, title)));
  const article = h('article', { class: 'guide' });
  element.append(h('div', { class: 'columns' }, list, article));
  let shown = null;
  let gone = false;

  const show = async (wanted) => {
    const { guide, anchor } = parseState(wanted);
    if (guide !== shown) {
      const text = await guide.load();
      if (gone) return;
      shown = guide;
      article.innerHTML = render(text, guide.path); // the repository's own pages, with html off
      for (const code of article.querySelectorAll('pre')) code.tabIndex = 0; /* so that it can be scrolled */
      for (const entry of list.children) {
        if (entry.dataset.name === guide.name) {
          entry.setAttribute('aria-current', 'page');
          entry.scrollIntoView({ block: 'nearest', inline: 'center' });
        } else {
          entry.removeAttribute('aria-current');
        }
      }
      for (const see of article.querySelectorAll('.see')) {
        const { example, tab } = see.dataset;
        link({ example, tab }, 'playground').then((address) => { see.href = address; });
      }
    }
    const target = anchor ? article.querySelector(`[id="${CSS.escape(anchor)}"]`) : null;
    if (target) target.scrollIntoView();
    else window.scrollTo(0, 0);
  };
  await show(state);
  return { update: show, dispose() { gone = true; } };
}
