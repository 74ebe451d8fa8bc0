/**
 * A block of code that runs where it stands: Run, an editor, what it printed, and a link into the playground.
 *
 *     const block = createRunnable({ code, link });
 *     article.append(block.element);
 *     block.dispose();
 *
 * All blocks of a page share one runner, whose workers start with the first run.
 */
import { codeElement } from './code_colours.mjs';
import { h } from './dom.mjs';
import { trusted } from './trusted.mjs';

let runner = null; /* promised */
const runnerOf = async () => {
  runner ??= import('./js_runner.mjs').then(({ createRunner }) => createRunner({ spares: false }));
  return runner;
};

/** The address at which relative addresses of code begin. */
export const baseOf = (files) => (files ? new URL(`files/${files}/`, document.baseURI).href : document.baseURI);

/** Ends the workers of all blocks. The next run starts new ones. */
export async function endRuns() {
  const ended = runner;
  runner = null;
  (await ended)?.dispose();
}

/** An array as text: rows of a matrix on lines of their own. */
async function textOf(array) {
  const { numbersText } = await import('./results.mjs');
  return `${array.name}: ${array.text}\n${numbersText(array)}`;
}

/** A block: its elements, its text, and its latest run. */
class Runnable {
  #options;
  #text;
  #editor = null;
  #timer = 0;
  #turn = 0;
  #disposed = false;
  #shown;
  #source;
  #output;
  #edit = h('button', { type: 'button', class: 'edit', onclick: () => this.#openEditor() }, 'Edit');
  #took = h('span', { class: 'soft' });
  #open = h('a', { class: 'button open', href: '#playground', onclick: () => trusted.add(this.#whole()) }, 'Open in the playground');

  constructor(options) {
    const { code, shown, language, label, reserves } = options;
    this.#options = options;
    this.#text = code;
    this.#shown = codeElement(shown, language, label);
    this.#source = h('div', { class: 'source' }, this.#shown);
    this.#output = h('output', { class: reserves ? 'output' : 'output empty' }, reserves ? '\u00a0' : '');
    const runButton = h('button', { type: 'button', class: 'run', onclick: () => this.run() }, 'Run');
    this.element = h('div', { class: 'runnable' },
      this.#source, h('div', { class: 'bar' }, runButton, this.#edit, this.#took, this.#open), this.#output);
    this.#showLink();
  }

  #whole() {
    const { before } = this.#options;
    return before ? `${before}\n${this.#text}` : this.#text;
  }

  async #showLink() {
    const { link, files } = this.#options;
    this.#open.href = await link({ text: this.#whole(), language: 'javascript', files }, 'playground');
  }

  async #openEditor() {
    this.#edit.hidden = true;
    const [{ createEditor }, height] = [await import('./editor.mjs'), this.#source.offsetHeight];
    if (this.#disposed || this.#editor) return;
    this.#source.style.minHeight = `${height}px`;
    this.#shown.hidden = true;
    const parent = h('div', { class: 'editor' });
    this.#source.append(parent);
    this.#editor = createEditor(parent, { text: this.#text, language: 'javascript', onchange: (next) => this.#changed(next) });
    this.#editor.focus();
    (await runnerOf()).warm();
  }

  #changed(next) {
    this.#text = next;
    this.#showLink();
    clearTimeout(this.#timer);
    if (this.#options.live) this.#timer = setTimeout(() => this.run(), 300);
  }

  #show(className, lines) {
    this.#output.className = className;
    this.#output.textContent = lines.join('\n');
  }

  run = async () => {
    clearTimeout(this.#timer);
    const number = ++this.#turn;
    const isStale = () => this.#disposed || number !== this.#turn;
    const { before, files } = this.#options;
    const from = before ? before.split('\n').length + 1 : 0;
    const lines = [];
    this.element.classList.add('running');
    const began = performance.now();
    try {
      const { shown: arrays } = await (await runnerOf()).run(this.#whole(), {
        base: baseOf(files), from,
        onprint: (line) => {
          if (isStale()) return;
          lines.push(line);
          this.#show('output', lines);
        },
      });
      for (const array of arrays) lines.push(await textOf(array));
      if (!isStale()) this.#showSuccess(lines, performance.now() - began);
    } catch (error) {
      if (!isStale() && error.code !== 'CANCELLED') this.#showProblem(lines, error, from);
    } finally {
      if (this.#editor && !isStale()) (await runnerOf()).warm();
      if (number === this.#turn) this.element.classList.remove('running');
    }
  };

  #showSuccess(lines, ms) {
    this.#show('output', lines.length ? lines : ['It printed nothing.']);
    this.#took.textContent = `ran in ${Math.round(ms)} ms`;
    this.#editor?.showError(null);
  }

  /** from: the line of the whole program at which the shown text begins; 0: at the first. */
  #showProblem(lines, error, from) {
    const line = error.line ? error.line - (from ? from - 1 : 0) : 0;
    this.#show('output problem', [...lines, `${line > 0 ? `${line}:${error.column} ` : ''}${error.message}`]);
    this.#took.textContent = '';
    if (line > 0) this.#editor?.showError({ ...error, message: error.message, line });
  }

  dispose() {
    this.#disposed = true;
    clearTimeout(this.#timer);
    this.#editor?.dispose();
  }
}

/**
 * @param {object} options
 * @param {string} options.code
 * @param {string} [options.shown] what is shown instead of the code until it is edited, in `language`
 * @param {string} [options.before] code that runs before it, silently
 * @param {string} [options.files] the folder of the site's files/ at which its relative addresses begin; else the site's own
 * @param {boolean} [options.reserves] whether the place of its output is there before the first run
 * @param {boolean} [options.live] whether it runs again after each change
 * @param {(state: object, view: string) => Promise<string>} options.link as in a view's context
 * @param {string} [options.label] for screen readers
 * @returns {{ element: HTMLElement, run: () => Promise<void>, dispose: () => void }}
 */
export function createRunnable({ code, shown = code, language = 'js', before = '', files, reserves = false, live = false, link, label = 'Program' }) {
  return new Runnable({ code, shown, language, before, files, reserves, live, link, label });
}
