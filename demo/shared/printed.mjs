/** Values as a console prints them, in the form of Node's: [ [ 1, 2 ], [ 3, 4 ] ]. */

const MAX_ELEMENTS = 100;
const WIDTH = 76; /* characters of a line */

const quoted = (text) => `'${text.replaceAll('\\', '\\\\').replaceAll('\'', '\\\'').replaceAll('\n', '\\n')}'`;
const isPlain = (value) => [Object.prototype, null].includes(Object.getPrototypeOf(value));

function scalar(value) {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value === 'function') return `[Function${value.name ? `: ${value.name}` : ''}]`;
  return Object.is(value, -0) ? '-0' : String(value);
}

function list(open, items, close, total) {
  const rest = total - items.length;
  const shown = rest > 0 ? [...items, `… ${rest} more`] : items;
  if (!shown.length) return `${open.trim()}${close.trim()}`;
  const line = `${open}${shown.join(', ')}${close}`;
  if (line.length <= WIDTH && !line.includes('\n')) return line;
  return `${open.trim()}\n${shown.map((item) => `  ${item.replaceAll('\n', '\n  ')}`).join(',\n')}\n${close.trim()}`;
}

/** Formats a value that is alone or inside of another value. @returns {string} */
function nested(value, depth = 0) {
  if (value === null || typeof value !== 'object') return scalar(value);
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (depth > 5) return '…';
  if (Array.isArray(value) || ArrayBuffer.isView(value)) {
    const name = Array.isArray(value) ? '' : `${value.constructor.name}(${value.length}) `;
    return list(`${name}[ `, Array.from(value.slice(0, MAX_ELEMENTS), (one) => nested(one, depth + 1)), ' ]', value.length);
  }
  if (value instanceof Map) return nested(Object.fromEntries(value), depth);
  const text = isPlain(value) ? '[object Object]' : String(value);
  if (!text.startsWith('[object')) return text; /* its class says how it is written */
  const entries = Object.entries(value);
  const name = isPlain(value) ? '' : `${value.constructor.name} `;
  return list(`${name}{ `, entries.map(([key, one]) => `${key}: ${nested(one, depth + 1)}`), ' }', entries.length);
}

/** @param {any[]} values those of one call of console.log @returns {string} */
export const printed = (values) => values.map((value) => (typeof value === 'string' ? value : nested(value))).join(' ');
