/** The bar that chooses an input for each parameter. */
import { h } from './dom.mjs';

const CHOICES = ['random', 'iota', 'zeros', 'ones', 'elements', 'file'];

const SPECIAL = { NaN, Infinity, '-Infinity': -Infinity };

/** Elements as text: JSON, with NaN and Infinity. */
export function elementsText(value) {
  if (Array.isArray(value)) return `[${value.map(elementsText).join(', ')}]`;
  return Object.is(value, -0) ? '-0' : String(value);
}

export function parseElements(text) {
  const quoted = text.replace(/-?\b(NaN|Infinity)\b/g, '"$&"');
  return JSON.parse(quoted, (key, value) => (typeof value === 'string' ? SPECIAL[value] : value));
}

/** An input of an example as the state has it: { fill } or { elements }. */
export const stateOf = (input) => (CHOICES.includes(input) ? { fill: input } : { elements: elementsText(input) });

/** Whether nested arrays have these dimensions; complex elements are pairs. */
function fits(value, dimensions) {
  if (!dimensions.length) return !Array.isArray(value) || (value.length === 2 && value.every((part) => typeof part === 'number'));
  return Array.isArray(value) && value.length === dimensions[0] && value.every((one) => fits(one, dimensions.slice(1)));
}

/** An input in the form that a run takes. Elements of another shape are replaced by random ones. */
export function inputOf({ fill, elements, npy } = {}, { dimensions }, seed, perDevice) {
  if (npy) return { npy };
  if (elements !== undefined) {
    const value = parseElements(elements);
    if (fits(value, dimensions)) return { value };
  }
  return { fill: fill ?? 'random', seed, perDevice };
}

/** A text box for elements; `change` gets { elements } whenever it can be read. */
function elementsBox(name, elements, change) {
  const box = h('input', { type: 'text', class: 'mono', value: elements, 'aria-label': `Elements of ${name}`, oninput: () => {
    try {
      parseElements(box.value);
      box.setCustomValidity('');
      change({ elements: box.value });
    } catch {
      box.setCustomValidity('numbers in brackets, as [1, 2.5, NaN]');
    }
    box.classList.toggle('wrong', !box.checkValidity());
  } });
  return box;
}

/** A chooser of a file; `change` gets { npy }, its bytes. */
function fileBox(name, change) {
  return h('input', { type: 'file', accept: '.npy', 'aria-label': `A .npy file for ${name}`, onchange: async (event) => {
    const file = event.target.files[0];
    if (file) change({ npy: new Uint8Array(await file.arrayBuffer()) });
  } });
}

/** The control of one parameter. @param {(input: object) => void} change */
function inputControl({ name, shape }, given, change) {
  const chosen = given.npy ? 'file' : given.elements !== undefined ? 'elements' : given.fill ?? 'random';
  const more = h('span', { class: 'more' });
  const showMore = (choice, elements) => more.replaceChildren(
    ...(choice === 'elements' ? [elementsBox(name, elements, change)] : choice === 'file' ? [fileBox(name, change)] : []));
  const box = h('select', { 'aria-label': `What ${name} is filled with`, onchange: () => {
    const elements = shape.dimensions.length ? '[]' : '0';
    if (box.value === 'elements') change({ elements });
    else if (box.value !== 'file') change({ fill: box.value });
    showMore(box.value, elements);
  } }, CHOICES.map((choice) => h('option', { value: choice, selected: choice === chosen }, choice)));
  showMore(chosen, given.elements);
  return h('span', { class: 'field input' }, h('span', {}, h('code', {}, `${name}: ${shape.text}`)), box, more);
}

/**
 * @param {HTMLElement} element that it fills
 * @param {(inputs: object[]) => void} onchange
 */
export function createInputsBar(element, onchange) {
  let inputs = [];
  let shown = '';
  const control = (parameter, i) => inputControl(parameter, inputs[i] ?? {}, (input) => {
    inputs[i] = input;
    onchange(inputs);
  });

  return {
    inputs: () => inputs,
    set(next) {
      inputs = next;
      shown = '';
    },
    /** The parameters of the program that is shown now. */
    show(parameters) {
      const key = JSON.stringify(parameters.map(({ name, shape }) => [name, shape.text]));
      if (key === shown) return;
      shown = key;
      element.hidden = !parameters.length;
      element.replaceChildren(...parameters.map(control));
    },
  };
}
