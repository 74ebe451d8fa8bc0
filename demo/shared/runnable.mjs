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
  runner ??= import('../playground/js_runner.mjs').then(({ createRunner }) => createRunner({ spares: false }));
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
export function createRunnable({ code, shown: given = code, language = 'js', before = '', files, reserves = false, live = false, link, label = 'Program' }) {
  let text = code;
  let editor = null;
  let timer = 0;
  let turn = 0;
  let disposed = false;
  const shown = codeElement(given, language, label);
  const source = h('div', { class: 'source' }, shown);
  const output = h('output', { class: reserves ? 'output' : 'output empty' }, reserves ? '\u00a0' : '');
  const runButton = h('button', { type: 'button', class: 'run', onclick: () => run() }, 'Run');
  const edit = h('button', { type: 'button', class: 'edit', onclick: () => openEditor() }, 'Edit');
  const took = h('span', { class: 'soft' });
  const open = h('a', { class: 'button open', href: '#playground', onclick: () => trusted.add(whole()) }, 'Open in the playground');
  const element = h('div', { class: 'runnable' }, source, h('div', { class: 'bar' }, runButton, edit, took, open), output);

  const whole = () => (before ? `${before}\n${text}` : text);
  const showLink = async () => {
    const address = await link({ text: whole(), language: 'javascript', files }, 'playground');
    open.href = address;
  };

  async function openEditor() {
    edit.hidden = true;
    const [{ createEditor }, height] = [await import('../playground/editor.mjs'), source.offsetHeight];
    if (disposed || editor) return;
    source.style.minHeight = `${height}px`;
    shown.hidden = true;
    const parent = h('div', { class: 'editor' });
    source.append(parent);
    editor = createEditor(parent, { text, language: 'javascript', onchange: changed });
    editor.focus();
    (await runnerOf()).warm();
  }

  function changed(next) {
    text = next;
    showLink();
    clearTimeout(timer);
    if (live) timer = setTimeout(run, 300);
  }

  async function run() {
    clearTimeout(timer);
    const number = ++turn;
    const lines = [];
    const isStale = () => disposed || number !== turn;
    const show = (className) => {
      output.className = className;
      output.textContent = lines.join('\n');
    };
    element.classList.add('running');
    const began = performance.now();
    const from = before ? before.split('\n').length + 1 : 0;
    try {
      const { shown: arrays } = await (await runnerOf()).run(whole(), {
        base: baseOf(files), from,
        onprint(line) {
          if (isStale()) return;
          lines.push(line);
          show('output');
        },
      });
      for (const array of arrays) lines.push(await textOf(array));
      if (isStale()) return;
      if (!lines.length) lines.push('It printed nothing.');
      show('output');
      took.textContent = `ran in ${Math.round(performance.now() - began)} ms`;
      editor?.showError(null);
    } catch (error) {
      if (isStale() || error.code === 'CANCELLED') return;
      const line = error.line ? error.line - (from ? from - 1 : 0) : 0;
      lines.push(`${line > 0 ? `${line}:${error.column} ` : ''}${error.message}`);
      show('output problem');
      took.textContent = '';
      if (line > 0) editor?.showError({ ...error, message: error.message, line });
    } finally {
      if (editor && !isStale()) (await runnerOf()).warm();
      if (number === turn) element.classList.remove('running');
    }
  }

  showLink();
  return {
    element, run,
    dispose() {
      disposed = true;
      clearTimeout(timer);
      editor?.dispose();
    },
  };
}
