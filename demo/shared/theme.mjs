/** The theme, light or dark: the system's until the visitor chooses. The choice is kept in this browser. */

const system = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set();
let chosen = read();

function read() {
  try {
    return /^(light|dark)$/.test(localStorage.theme) ? localStorage.theme : null;
  } catch {
    return null; /* no storage here */
  }
}

function write(value) {
  try {
    if (value) localStorage.theme = value;
    else delete localStorage.theme;
  } catch {
    /* Without storage the choice lasts as long as the page. */
  }
}

/** @returns {'light' | 'dark'} */
export function current() {
  return chosen ?? (system.matches ? 'dark' : 'light');
}

function apply() {
  document.documentElement.dataset.theme = current();
  for (const listener of listeners) listener(current());
}

/** Calls a listener when the theme changes, as canvases must be drawn anew. @returns a function that removes the listener */
export function onChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the value of a custom property, for canvases, which CSS does not paint. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Returns a colour's red, green and blue, 0 to 255. The property must be #rgb or #rrggbb. */
export function rgb(name) {
  const hex = colour(name).slice(1);
  const digits = hex.length < 6 ? 1 : 2;
  return [0, 1, 2].map((i) => {
    const part = hex.slice(i * digits, (i + 1) * digits);
    return parseInt(digits === 1 ? part + part : part, 16);
  });
}

const ICON = { light: '☀', dark: '☾' };

export function bindButton(button) {
  const label = () => {
    button.textContent = ICON[current()];
    const other = current() === 'dark' ? 'light' : 'dark';
    button.setAttribute('aria-label', `Show the page ${other}`);
    button.title = `Show the page ${other}`;
  };
  button.addEventListener('click', () => {
    const other = current() === 'dark' ? 'light' : 'dark';
    chosen = other === (system.matches ? 'dark' : 'light') ? null : other;
    write(chosen);
    apply();
  });
  system.addEventListener('change', apply);
  listeners.add(label);
  label();
}
