/** Shows the changes that passes made to a module, as differences line by line. */
import { h } from '../shared/dom.mjs';

const MAX_LINES = 1500; /* the comparison looks at all pairs of lines */

/**
 * The longest common subsequence of lines.
 * @returns {{ kind: ' ' | '-' | '+', line: string }[]}
 */
export function differences(before, after) {
  const a = before.split('\n');
  const b = after.split('\n');
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [middleA, middleB] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const same = (lines) => lines.map((line) => ({ kind: ' ', line }));
  return [...same(a.slice(0, start)), ...between(middleA, middleB), ...same(a.slice(a.length - end))];
}

function between(a, b) {
  const all = (kind, lines) => lines.map((line) => ({ kind, line }));
  if (a.length > MAX_LINES || b.length > MAX_LINES || !a.length || !b.length) return [...all('-', a), ...all('+', b)];
  const width = b.length + 1;
  const longest = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] = a[i] === b[j]
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const result = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) result.push({ kind: ' ', line: a[i++], j: j++ });
    else if (j === b.length || (i < a.length && longest[(i + 1) * width + j] >= longest[i * width + j + 1])) result.push({ kind: '-', line: a[i++] });
    else result.push({ kind: '+', line: b[j++] });
  }
  return result;
}

/** Names and metadata that only make lines long. */
const short = (text) => text.replace(/, metadata=\{[^{}]*\}/g, '').trimEnd();

const CLASS = { '-': 'gone', '+': 'come', ' ': '' };

function differenceElement(before, after) {
  const rows = differences(before, after);
  return h('pre', { class: 'difference' }, rows.map(({ kind, line }) =>
    h('span', { class: CLASS[kind] }, `${kind} ${line}\n`)));
}

/** The passes that changed something: a list to choose from, and the changes of the chosen one. */
export function createPasses(element) {
  let chosen = 'last';
  return {
    /** @param {{ pass: string, text: string }[]} passes @param {string} source the module as it was read */
    show(passes, source) {
      const steps = [];
      let before = short(source);
      for (const { pass, text } of passes) {
        const after = short(text);
        if (after !== before) steps.push({ pass, before, after });
        before = after;
      }
      const whole = { pass: 'optimised', before: short(source), after: before };
      const body = h('div', { class: 'pass-body' });
      const show = (id) => {
        chosen = id;
        buttons.forEach((button, of) => button.setAttribute('aria-pressed', String(of === id)));
        const step = steps[id];
        if (step) body.replaceChildren(differenceElement(step.before, step.after));
        else if (id === 'all') body.replaceChildren(differenceElement(whole.before, whole.after));
        else body.replaceChildren(h('pre', {}, whole.after));
      };
      const button = (id, text) => h('button', { type: 'button', onclick: () => show(id) }, text);
      const buttons = new Map([['last', button('last', 'Optimised')], ['all', button('all', 'All differences')],
        ...steps.map(({ pass }, i) => [i, button(i, `${i + 1} ${pass}`)])]);
      element.replaceChildren(h('div', { class: 'pass-list' }, [...buttons.values()]), body);
      show(buttons.has(chosen) ? chosen : 'last');
    },
  };
}
