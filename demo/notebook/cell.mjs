/** A cell of the notebook: Python in an editor, and what it printed and showed below. Or a text. */
import MarkdownIt from 'markdown-it';

import { createEditor } from '../shared/editor.mjs';
import { h } from '../shared/dom.mjs';
import { duration } from '../shared/format.mjs';
import { createDisplays } from './displays.mjs';

/** @returns {object} a text between cells: it has the properties of a cell, but does not run */
export function createText(text) {
  const element = h('div', { class: 'text' });
  element.innerHTML = new MarkdownIt({ html: false }).render(text);
  return { kind: 'text', element, get text() { return text; }, dispose() {} };
}

/**
 * @param {string} text
 * @param {{ run: (cell: object) => void, remove: (cell: object) => void, onchange: () => void, link: Function }} notebook
 */
export function createCell(text, { run, remove, onchange, link }) {
  const shown = h('div', { class: 'shown' });
  const displays = createDisplays(shown, { link });
  const took = h('span', { class: 'soft took', role: 'status' });
  const source = h('div', { class: 'source' });
  const cell = {
    kind: 'code',
    element: h('section', { class: 'cell', 'aria-label': 'Cell' }, source,
      h('div', { class: 'bar' },
        h('button', { type: 'button', class: 'run', title: 'Shift and Enter', onclick: () => run(cell) }, 'Run'), took,
        h('button', { type: 'button', class: 'quiet remove', onclick: () => remove(cell) }, 'Remove')),
      shown),
    get text() { return editor.text(); },
    focus: () => editor.focus(),
    /** Says that it waits, or runs. */
    begin() {
      displays.clear();
      editor.showError(null);
      cell.element.classList.add('running');
      took.textContent = 'waits';
    },
    goesOn() { took.textContent = 'runs'; },
    print: displays.print,
    show: displays.show,
    end(error, ms) {
      cell.element.classList.remove('running');
      took.textContent = error ? '' : `ran in ${duration(ms * 1000)}`;
      if (!error) return;
      displays.fail(error);
      if (error.line && error.code !== 'CANCELLED') editor.showError({ message: error.message, line: error.line });
    },
    dispose() {
      editor.dispose();
      displays.dispose();
    },
  };
  const editor = createEditor(source, {
    text, language: 'python', label: 'Python', onchange,
    keys: [{ key: 'Shift-Enter', run: () => { run(cell); return true; } }],
  });
  return cell;
}
