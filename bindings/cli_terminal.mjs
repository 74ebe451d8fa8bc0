/** What only a terminal gets: colours, and a line that says what is being done. */

const STYLES = { bold: 1, faint: 2, red: 31, green: 32, cyan: 36 };

/** Nothing but the text where the stream is a file or a pipe, or where colours are not wanted. */
export function paint(stream, style, text) {
  const isWanted = stream.isTTY && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
  return isWanted ? `\x1b[${STYLES[style]}m${text}\x1b[0m` : text;
}

let isShown = false;

/** What is being done now, on standard error; it goes away when something is said instead. */
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
