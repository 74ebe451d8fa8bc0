/** Writes to terminals: colours, and a progress line. Files and pipes get neither. */

const STYLES = { bold: 1, faint: 2, red: 31, green: 32, cyan: 36 };

/** C0 without tabs and line ends, DEL, C1, and characters that change the direction of text or end a line. */
// eslint-disable-next-line no-control-regex
const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const escape = (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Returns untrusted text, such as a program's names, for output. On a terminal its control characters are escaped as in
 * JSON; for a file or a pipe it is unchanged.
 */
export const shown = (stream, text) => (stream.isTTY ? `${text}`.replace(CONTROLS, escape) : `${text}`);

/** As shown, and in a style where the stream is a terminal and colours are wanted. */
export function paint(stream, style, text) {
  const isWanted = stream.isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
  return isWanted ? `\x1b[${STYLES[style]}m${shown(stream, text)}\x1b[0m` : shown(stream, text);
}

let isShown = false;

/** Shows the current activity on standard error, until the next line of output. */
export function progress(text = '') {
  const { stderr } = process;
  if (!stderr.isTTY || process.env.TERM === 'dumb' || (!text && !isShown)) return;
  stderr.write(`\r\x1b[2K${text && paint(stderr, 'faint', `${text} …`)}`);
  isShown = Boolean(text);
}

/** "12.3 MB of 200 MB" */
export function bytesText(loaded, total) {
  const mega = (bytes) => `${(bytes / 1e6).toPrecision(3)} MB`;
  return total ? `${mega(loaded)} of ${mega(total)}` : mega(loaded);
}
