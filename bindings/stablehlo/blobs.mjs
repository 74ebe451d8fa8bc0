/**
 * Decodes large constants of MLIR text from hexadecimal to bytes, once. The rest then fits a string,
 * however long the text is (engines' strings end at 512 MB).
 */
import { XlaError } from '../base/error.mjs';

/** The min length of a text, and of hexadecimal digits, for which this pays. */
const LARGE_TEXT = 1 << 20;
const LONG_DIGITS = 4096;

const [QUOTE, ZERO, X] = [...'"0x'].map((c) => c.charCodeAt(0));

/** The value of each ASCII digit; -1: none. */
const DIGITS = new Int8Array(256).fill(-1);
for (let value = 0; value < 16; value++) {
  for (const digit of [value.toString(16), value.toString(16).toUpperCase()]) DIGITS[digit.charCodeAt(0)] = value;
}

/** @returns {Uint8Array | undefined} the bytes of the digits from `start` to `end`; undefined: not hexadecimal */
function decoded(digits, start, end) {
  if ((end - start) % 2) return undefined;
  // Plain words only: this runs once, over 200 MB.
  const bytes = new Uint8Array((end - start) / 2);
  let wrong = 0;
  for (let i = 0, at = start; at < end; i++, at += 2) {
    const high = DIGITS[digits[at]];
    const low = DIGITS[digits[at + 1]];
    wrong |= high | low;
    bytes[i] = high << 4 | low;
  }
  return wrong < 0 ? undefined : bytes;
}

/** @param {string} text "0x00FF..." */
export function bytesOfHex(text) {
  return /^0x/i.test(text) ? decoded(new TextEncoder().encode(text), 2, text.length) : undefined;
}

/**
 * @param {string | Uint8Array} source a text, or its UTF-8 bytes
 * @returns {{ text: string, blobs: Uint8Array[] }} the text with "0x@i" instead of the digits of
 *   blobs[i]
 */
export function withoutBlobs(source) {
  if (typeof source === 'string' && source.length < LARGE_TEXT) return { text: source, blobs: [] };
  const bytes = typeof source === 'string' ? new TextEncoder().encode(source) : source;
  const [pieces, blobs] = [[], []];
  let from = 0;
  for (let open = bytes.indexOf(QUOTE); open >= 0; open = bytes.indexOf(QUOTE, open + 1)) {
    if (bytes[open + 1] !== ZERO || bytes[open + 2] !== X) continue;
    const close = bytes.indexOf(QUOTE, open + 1);
    const blob = close - open > LONG_DIGITS ? decoded(bytes, open + 3, close) : undefined;
    if (!blob) continue;
    pieces.push(bytes.subarray(from, open + 3), new TextEncoder().encode(`@${blobs.push(blob) - 1}`));
    from = close;
    open = close;
  }
  pieces.push(bytes.subarray(from));
  return { text: joined(pieces), blobs };
}

function joined(pieces) {
  const decoder = new TextDecoder();
  try {
    return pieces.map((piece) => decoder.decode(piece)).join('');
  } catch (error) {
    throw new XlaError('RESOURCE_EXHAUSTED', 'the text is longer than a string can be, its constants in ' +
      'hexadecimal aside; write the program as MLIR bytecode', { cause: error });
  }
}
