/** The pages of operations: a list, and for each its rule, shapes, values before and after, and what it refuses. */
import OPERATIONS from 'virtual:reference';

import { EXAMPLES } from '../playground/examples.mjs';
import { createInputsBar, inputOf, stateOf } from '../shared/inputs_bar.mjs';
import { drawPicture } from '../shared/picture.mjs';
import { h } from '../shared/dom.mjs';
import { createPrograms } from '../shared/programs.mjs';
import { createResults } from '../shared/results.mjs';
import '../playground/playground.css';
import './reference.css';

const byName = new Map(OPERATIONS.map((operation) => [operation.name, operation]));
const examples = new Map(EXAMPLES.flatMap(([, all]) => all.map((one) => [one.operation, one])));
const addressOf = (name) => `#guides/operations/${name}`;
const withCode = (text) => text.split('`').map((part, i) => (i % 2 ? h('code', {}, part) : part));
const codes = (names) => names.flatMap((name, i) => [i ? ', ' : '', h('code', {}, name)]);

function list(element) {
  const families = [...new Set(OPERATIONS.map(({ family }) => family))];
  const rows = [];
  const search = h('input', { type: 'search', id: 'operation-filter', placeholder: 'dot, stablehlo.pad, softmax …', oninput: () => {
    const wanted = search.value.trim().toLowerCase();
    for (const { row, text } of rows) row.hidden = !text.includes(wanted);
  } });
  element.append(h('h1', {}, 'Operations'),
    h('p', {}, 'Every HLO operation, with what it does, its values before and after, StableHLO’s name, and the programs that it refuses. XLA’s own text: ',
      h('a', { href: 'https://openxla.org/xla/operation_semantics' }, 'operation semantics'), '.'),
    h('p', {}, h('label', { class: 'field', htmlFor: 'operation-filter' }, h('span', {}, 'Find'), search)),
    ...families.flatMap((family) => [h('h2', {}, family),
      h('ul', { class: 'index' }, OPERATIONS.filter((one) => one.family === family).map((operation) => {
      const { name, text, methods, stablehlo } = operation;
      const row = h('li', {}, h('a', { href: addressOf(name) }, name), ' ', h('span', { class: 'soft' }, text.split(/(?<=\.)\s/)[0]));
      rows.push({ row, text: [name, ...methods, ...stablehlo, text].join(' ').toLowerCase() });
      return row;
    }))]));
  return { dispose() {} };
}

const plural = (count) => (count === null ? 'any number' : String(count));

function facts({ operands, methods, stablehlo, attributes }) {
  const row = (title, ...text) => h('tr', {}, h('th', { scope: 'row' }, title), h('td', {}, ...text));
  return h('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Names and attributes' }, h('table', { class: 'facts' },
    row('Operands', plural(operands)),
    row('Builder', ...(methods.length ? methods.flatMap((method, i) =>
      [i ? ', ' : '', h('a', { href: `#guides/api/XlaBuilder/${method}` }, h('code', {}, method))]) : ['in text only'])),
    row('StableHLO', ...(stablehlo.length ? codes(stablehlo) : ['none'])),
    ...attributes.map(({ label, text, example }) => row(h('code', {}, label), text || (example ? ['for example ', h('code', {}, example)] : '')))));
}

/** The example's program with values that can be changed, where each element comes from, and the results. */
function createLiveExample(element, { program, inputs, mesh = {} }) {
  const programs = createPrograms();
  const picture = h('div', { class: 'traced', 'aria-live': 'off' });
  const resultsElement = h('div', {});
  const results = createResults(resultsElement);
  const inputsElement = h('div', { class: 'inputs' });
  let given = inputs.map(stateOf);
  let timer = 0;
  let opened = null;
  let gone = false;
  const bar = createInputsBar(inputsElement, (next) => {
    given = [...next];
    clearTimeout(timer);
    timer = setTimeout(run, 200);
  });
  bar.set(given);
  element.append(inputsElement, picture, resultsElement);

  async function run() {
    try {
      opened ??= await programs.open({ source: program, kind: 'hlo', mesh });
      if (gone) return;
      bar.show(opened.parameters);
      const perDevice = opened.replicas * opened.partitions > 1;
      const values = opened.parameters.map(({ shape }, i) => inputOf(given[i], shape, i, perDevice));
      const ran = await programs.run(opened.id, { inputs: values });
      if (gone) return;
      results.show(ran, opened);
      const traced = await programs.trace(opened.id, { inputs: values });
      if (gone) return;
      picture.replaceChildren();
      if (traced.why === undefined) drawPicture(picture, traced);
      resultsElement.hidden = traced.why === undefined;
    } catch (error) {
      if (!gone && error.code !== 'CANCELLED') picture.replaceChildren(h('p', { class: 'problem' }, error.message));
    }
  }
  run();
  return () => {
    gone = true;
    clearTimeout(timer);
    results.dispose();
    programs.dispose();
  };
}

function page(element, operation, link) {
  const { name, text, family, rules } = operation;
  const example = examples.get(name);
  const before = h('section', { class: 'view-playground live' }, h('h2', {}, 'Values before and after'));
  const open = h('a', { class: 'see', href: '#playground' }, 'Change the program in the playground');
  link({ example: name, tab: 'picture' }, 'playground').then((address) => { open.href = address; });
  element.append(
    h('p', { class: 'small' }, h('a', { href: '#guides/operations' }, 'Operations'), ` / ${family}`),
    h('h1', {}, name), h('p', {}, withCode(text)), facts(operation), before,
    ...(example ? [h('h2', {}, 'The program'),
      h('pre', { tabIndex: 0, 'aria-label': 'The program as HLO text' }, h('code', {}, example.program)),
      h('p', {}, open)] : []),
    h('h2', {}, 'Rules'),
    rules.length ? h('p', {}, 'Programs that break a rule, and the error that says so:') : h('p', { class: 'soft' }, 'No rule of its own.'),
    h('ul', { class: 'rules' }, rules.map(({ rule, message, hlo }) => h('li', {}, h('strong', {}, rule), ': ', message, ' ',
      h('details', {}, h('summary', {}, 'Program'), h('pre', { tabIndex: 0, 'aria-label': `A program that breaks the rule ${rule}` }, hlo))))));
  const stop = example ? createLiveExample(before, example) : () => before.append(h('p', {}, 'It has no example.'));
  return { dispose: stop };
}

/**
 * Fills an element with the page of an operation, or the list of all.
 * @returns {{ dispose: () => void }}
 */
export function showOperations(element, [name], link) {
  element.replaceChildren();
  const operation = byName.get(name);
  return operation ? page(element, operation, link) : list(element);
}
