/** Notebook: cells of Python with JAX itself, run in a worker of this page. */
import { h, select } from '../shared/dom.mjs';
import { bytes } from '../shared/format.mjs';
import { trusted } from '../shared/trusted.mjs';
import { createCell, createText } from './cell.mjs';
import { EXAMPLES } from './examples.mjs';
import { Kernel } from './kernel.mjs';
import { cellsOf, sourceOf } from './percent.mjs';
import './notebook.css';

const byName = new Map(EXAMPLES.map((example) => [example.name, example]));

/** The state of an address: an example's name, or a source of one's own. */
function readState(state) {
  const example = byName.get(state?.name) ?? EXAMPLES[0];
  return typeof state?.source === 'string' ? { name: example.name, source: state.source } : { name: example.name };
}

class Notebook {
  constructor(element, { state, setState, link }) {
    Object.assign(this, { setState, link, state: readState(state), cells: [] });
    this.kernel = new Kernel({ onstate: (now) => this.showState(now), onprogress: (progress) => this.showProgress(progress),
      onnotice: (text) => this.showNotice(text) });
    this.layout(element);
    this.open();
  }

  layout(element) {
    const button = (text, onclick, more) => h('button', { type: 'button', onclick, ...more }, text);
    this.stop = button('Stop', () => this.kernel.stop(), { id: 'stop', disabled: true });
    this.status = h('p', { id: 'notebook-status', class: 'soft', role: 'status' });
    this.progress = h('progress', { id: 'notebook-progress', hidden: true, max: 1, value: 0, 'aria-label': 'Loading Python' });
    this.notice = h('p', { class: 'note warn', id: 'notebook-notice', role: 'alert', hidden: true });
    this.list = h('div', { class: 'cells' });
    this.choice = select('Example', EXAMPLES.map(({ name, title }) => [name, title]), this.state.name, (name) => this.choose(name));
    element.append(
      h('div', { class: 'lead' }, h('h1', {}, 'JAX in this page'),
        h('p', {}, 'Python, JAX and this project’s jaxlib run in a worker here. The first run loads Python: about 20 MB, which the browser keeps. Shift and Enter run a cell. ',
          h('a', { href: 'pyodide/THIRD_PARTY.txt' }, 'Licences'), ' of Pyodide, NumPy, JAX and the rest.')),
      h('div', { class: 'controls' }, this.choice,
        button('Run all', () => this.runAll(), { class: 'primary', id: 'run-all' }), this.stop,
        button('Start anew', () => this.restart(), { id: 'restart' }),
        button('Save as .py', () => this.save())),
      this.progress, this.status, this.notice, this.list,
      button('Add a cell', () => this.add('').focus(), { id: 'add' }));
  }

  get packages() {
    return byName.get(this.state.name).packages;
  }

  open() {
    this.cells.forEach((cell) => cell.dispose());
    this.cells = [];
    this.list.replaceChildren();
    const source = this.state.source ?? byName.get(this.state.name).source;
    for (const { kind, text } of cellsOf(source)) this.add(text, kind);
    const isOwn = this.state.source !== undefined && !trusted.has(this.state.source);
    this.status.textContent = isOwn ? 'This came with a link. It runs when you run it.' : '';
  }

  add(text, kind = 'code') {
    const cell = kind === 'text' ? createText(text) : createCell(text, {
      run: (one) => this.run(one), remove: (one) => this.remove(one), onchange: () => this.remember(), link: this.link,
    });
    this.cells.push(cell);
    this.list.append(cell.element);
    return cell;
  }

  remove(cell) {
    this.cells.splice(this.cells.indexOf(cell), 1);
    cell.element.remove();
    cell.dispose();
    this.remember();
  }

  remember() {
    this.state.source = sourceOf(this.cells);
    trusted.add(this.state.source);
    this.setState(this.state);
  }

  choose(name) {
    this.restart();
    this.state = { name };
    this.setState(this.state);
    this.open();
  }

  /** @returns {Promise<boolean>} whether it ended well */
  async run(cell) {
    cell.begin();
    try {
      const { ms } = await this.kernel.run(cell.text, {
        packages: this.packages, onbegin: () => cell.goesOn(), onoutput: cell.print, ondisplay: cell.show,
      });
      cell.end(null, ms);
      return true;
    } catch (error) {
      cell.end(error);
      return false;
    }
  }

  async runAll() {
    for (const cell of this.cells.filter(({ kind }) => kind === 'code')) {
      if (!await this.run(cell)) return;
    }
  }

  /** Ends Python; the next run starts another. */
  restart() {
    this.notice.hidden = true;
    this.kernel.restart();
  }

  save() {
    const address = URL.createObjectURL(new Blob([sourceOf(this.cells)], { type: 'text/x-python' }));
    h('a', { href: address, download: `${this.state.name}.py` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  showState(now) {
    this.stop.disabled = now !== 'running' && now !== 'loading';
    this.progress.hidden = now !== 'loading';
    if (now !== 'loading') this.status.textContent = now === 'ready' ? 'Python is ready.' : '';
  }

  showProgress({ label, loaded, total }) {
    this.status.textContent = `Loading ${label}${loaded ? `: ${bytes(loaded)}${total ? ` of ${bytes(total)}` : ''}` : ''}`;
    if (total) this.progress.value = loaded / total;
    else this.progress.removeAttribute('value');
  }

  showNotice(text) {
    this.notice.hidden = false;
    this.notice.textContent = text;
  }

  dispose() {
    this.kernel.dispose();
    this.cells.forEach((cell) => cell.dispose());
  }
}

export const mount = (element, context) => new Notebook(element, context);
