/** Formats numbers for people. */

/** Time between changes of a figure, so that it can be read. */
export const FIGURES_MS = 200;

/** 1234567 -> '1,234,567' */
export function whole(n) {
  return Math.round(n).toLocaleString('en');
}

/** '1 thread', '2 threads' */
export function plural(n, noun, nouns = `${noun}s`) {
  return `${whole(n)} ${n === 1 ? noun : nouns}`;
}

const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** 1234567 -> '1.23 MB'; three digits, decimal units. */
export function bytes(n) {
  let unit = 0;
  let size = Number(n);
  while (size >= 999.5 && unit < UNITS.length - 1) {
    size /= 1000;
    unit++;
  }
  return unit === 0 ? plural(size, 'byte') : `${short(size)} ${UNITS[unit]}`;
}

/** Microseconds -> '12.3 µs', '4.56 ms', '1.2 s' */
export function duration(us) {
  if (us < 999.5) return `${short(us)} µs`;
  if (us < 999500) return `${short(us / 1000)} ms`;
  return `${short(us / 1e6)} s`;
}

/** Three digits, without zeros at the end. */
function short(n) {
  return String(Number(Number(n).toPrecision(3)));
}

/** One element of an array as text: number, bigint, boolean, or the pair of a complex number. */
export function element(value, digits = 6) {
  if (Array.isArray(value)) {
    const [re, im] = value;
    const sign = im < 0 || Object.is(im, -0) ? '−' : '+';
    return `${element(re, digits)} ${sign} ${element(Math.abs(im), digits)}i`;
  }
  if (typeof value !== 'number') return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return (Object.is(value, -0) ? '−0' : String(value)).replace('-', '−');
  return String(Number(value.toPrecision(digits))).replace('-', '−').replace('Infinity', '∞');
}
