/** Functions that create elements. */

function setProperty(element, name, value) {
  if (name === 'class') element.className = value;
  else if (name === 'dataset') Object.assign(element.dataset, value);
  else if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
  else if (name in element && name !== 'list' && name !== 'form') element[name] = value;
  else element.setAttribute(name, value);
}

/**
 * Creates an element with properties (`onclick` and the like are listeners; null and undefined are left
 * out) and children: nodes, text, or arrays of them.
 * @returns {HTMLElement}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value != null) setProperty(element, name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null));
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

/** Creates an SVG element. All properties are attributes except `style`: the page's policy forbids it as an attribute. @returns {SVGElement} */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'style') element.style.cssText = value ?? '';
    else if (value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null));
  return element;
}

/** A labelled choice. `options` are texts, or pairs of value and text. */
export function select(label, options, value, onchange) {
  const box = h('select', { onchange: () => onchange?.(box.value) }, options.map((option) => {
    const [of, text] = Array.isArray(option) ? option : [option, option];
    return h('option', { value: of, selected: String(of) === String(value) }, String(text));
  }));
  return h('label', { class: 'field' }, h('span', {}, label), box);
}

/** A number with its label, for a list of figures (`dl.figures`). `id` is that of the number, if it changes. */
export const figure = (label, value, id) => h('div', {}, h('dt', {}, label), h('dd', { id }, value));

/** A panel with a heading. `kind` is a further class. */
export const panel = (kind, title, ...children) => h('section', { class: `panel ${kind}`.trim() }, h('h2', {}, title), children);

/** Calls `listener` when the element's size changes. @returns a function that removes the listener */
export function onResize(element, listener) {
  const observer = new ResizeObserver(() => listener());
  observer.observe(element);
  return () => observer.disconnect();
}

/** Returns a function that runs `work` at most once a frame, however often it is called. */
export function eachFrame(work) {
  let asked = 0;
  return () => {
    asked ||= requestAnimationFrame(() => {
      asked = 0;
      work();
    });
  };
}
