/** Writes names and attributes as HLO text has them, from XlaBuilder's arguments. */
import { invalidArgument } from './error.mjs';

/** HLO names have letters, digits, "_", "-" and "."; the first is a letter or "_". */
export function cleanName(name) {
  return String(name).replace(/[^\w.-]/g, '_').replace(/^(?![A-Za-z_])/, '_');
}

/** Lists in braces, nested ones too; everything else as it prints. */
export function attributeText(value, nameOf) {
  if (Array.isArray(value)) return `{${value.map((v) => attributeText(v, nameOf)).join(',')}}`;
  return typeof value === 'object' ? `%${nameOf(value)}` : String(value);
}

/** CustomCallApiVersion of XLA's xla/service/hlo.proto, by number: the attribute api_version of a custom call. */
export const API_VERSIONS = [
  'API_VERSION_UNSPECIFIED', 'API_VERSION_ORIGINAL', 'API_VERSION_STATUS_RETURNING',
  'API_VERSION_STATUS_RETURNING_UNIFIED', 'API_VERSION_TYPED_FFI',
];

/** The attribute of a version's number. XLA writes none for API_VERSION_ORIGINAL, which a call without it has. */
export const apiVersionText = (version) => (version > 1 ? API_VERSIONS[version] : undefined);

/* ---- Strings: bytes, most often UTF-8 ---- */

const encoder = new TextEncoder();
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const BYTE = 0xdc00; // and a byte of 128 or more: a lone surrogate, as UTF-8 has none
const STRAY = /[\udc80-\udcff]/gu;

/** UTF-8 as text; each byte that is no UTF-8 becomes a lone surrogate, so that no byte is lost. */
export function textOfBytes(bytes) {
  try {
    return strict.decode(bytes);
  } catch {
    return textOfStrayBytes(bytes);
  }
}

function textOfStrayBytes(bytes) {
  let text = '';
  for (let i = 0; i < bytes.length;) {
    const length = bytes[i] < 0xc0 ? 1 : bytes[i] < 0xe0 ? 2 : bytes[i] < 0xf0 ? 3 : 4;
    try {
      text += strict.decode(bytes.subarray(i, i + length));
      i += length;
    } catch {
      text += String.fromCharCode(BYTE + bytes[i++]);
    }
  }
  return text;
}

/** The bytes that textOfBytes made `text` of. @returns {Uint8Array} */
export function bytesOfText(text) {
  if (text.search(STRAY) < 0) return encoder.encode(text);
  const bytes = [];
  for (const [part] of text.matchAll(/[\udc80-\udcff]|[^\udc80-\udcff]+/gu)) {
    const code = part.charCodeAt(0) - BYTE;
    if (part.length === 1 && code >= 0x80 && code < 0x100) bytes.push(code);
    else for (const byte of encoder.encode(part)) bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}

const ESCAPES = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };
const PLAIN = /^[ !#-[\]-~]*$/; // as nearly all names
const octal = (byte) => `\\${byte.toString(8).padStart(3, '0')}`;

/** A string of HLO text: control codes and bytes that are no UTF-8 in octal, as XLA writes them. */
export function quote(text) {
  if (PLAIN.test(text)) return `"${text}"`;
  const escaped = text
    .replace(/["\\]|[^\P{Cc}\x80-\x9f]/gu, (c) => ESCAPES[c] ?? octal(c.charCodeAt(0)))
    .replace(STRAY, (c) => octal(c.charCodeAt(0) - BYTE));
  return `"${escaped}"`;
}

/**
 * The metadata of an instruction in HLO text: where it comes from. Undefined if nothing is known.
 * @param {{ name?: string, file?: string, fileLine?: number }} location
 */
export function metadataText({ name, file, fileLine }) {
  const fields = [
    name && `op_name=${quote(name)}`, file && `source_file=${quote(file)}`, file && fileLine && `source_line=${fileLine}`,
  ].filter(Boolean);
  return fields.length ? `{${fields.join(' ')}}` : undefined;
}

const LETTERS = { n: 10, r: 13, t: 9, a: 7, b: 8, f: 12, v: 11 };

/** The bytes that a string of HLO text, with its quotes, stands for: C's escapes. @returns {Uint8Array} */
export function unquotedBytes(text) {
  if (!text.includes('\\')) return bytesOfText(text.slice(1, -1));
  const bytes = [];
  for (const [part, eight, sixteen, letter] of text.slice(1, -1)
    .matchAll(/\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|([^]))|[^\\]+/g)) {
    if (eight ?? sixteen) bytes.push(parseInt(eight ?? sixteen, eight ? 8 : 16));
    else if (LETTERS[letter]) bytes.push(LETTERS[letter]);
    else if (/^\\[uU]/.test(part)) bytes.push(...encoder.encode(String.fromCodePoint(parseInt(part.slice(2), 16))));
    else bytes.push(...bytesOfText(letter ?? part));
  }
  return Uint8Array.from(bytes);
}

/** The value of a string literal in HLO text. */
export const unquoted = (text) => textOfBytes(unquotedBytes(text));

/**
 * A backend_config in HLO text: an MLIR dictionary or a JSON object stands there as it is, everything else is a
 * string.
 */
export function configText(config) {
  return config.startsWith('{') && isBalanced(config) ? config : quote(config);
}

const CLOSE = { '{': '}', '[': ']', '(': ')' };

/** Whether the text is one group in braces, with nothing in it that HLO text reads as something else. */
function isBalanced(text) {
  if (text.includes('\0') || text.search(STRAY) >= 0) return false;
  const stack = [];
  let end = 0;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\[^])*"|[^]/g)) {
    if (CLOSE[token]) stack.push(CLOSE[token]);
    else if ('}])'.includes(token) && stack.pop() !== token) return false;
    else if (['"', "'", '/'].includes(token)) return false;
    if (!stack.length && !end) end = index + 1;
  }
  return end === text.length;
}

/** {[0:2:1], [1:3:1]} */
export function sliceText(starts, limits, strides) {
  return `{${starts.map((start, i) => `[${start}:${limits[i]}:${strides[i]}]`).join(', ')}}`;
}

/** 0_0_0x1_1_0: low, high and interior padding of each dimension. */
export function paddingText(dimensions) {
  return dimensions.map(({ low, high, interior }) => `${low}_${high}_${interior}`).join('x');
}

/**
 * {size=2x3 stride=1x1 pad=0_0x1_1 ...}. windowDimensions has an entry per dimension, and so
 * must each of the others that is given.
 * @param {string} operation for errors
 * @param {Record<string, any[] | undefined>} lists windowDimensions, windowStrides, padding
 *   (pairs), baseDilations, windowDilations, windowReversal
 */
export function windowText(operation, lists) {
  const { windowDimensions: sizes } = lists;
  for (const [name, list] of Object.entries(lists)) {
    if (!list || list.length === sizes.length) continue;
    throw invalidArgument(
      operation,
      `${name} has ${list.length} entries; the window has ${sizes.length} dimensions`,
    );
  }
  if (!sizes.length) return undefined;
  const parts = {
    size: sizes,
    stride: lists.windowStrides,
    pad: lists.padding?.map(([low, high]) => `${low}_${high}`),
    lhs_dilate: lists.baseDilations,
    rhs_dilate: lists.windowDilations,
    rhs_reversal: lists.windowReversal?.map(Number),
  };
  const texts = Object.entries(parts).filter(([, list]) => list);
  return `{${texts.map(([name, list]) => `${name}=${list.join('x')}`).join(' ')}}`;
}

/**
 * Converts 'SAME' and 'VALID' to [low, high] pairs. SAME gives ceil(size / stride) window positions; if the padding is odd,
 * the high end gets one element more.
 */
export function makePadding(padding, sizes, windowSizes, strides) {
  if (Array.isArray(padding)) return padding;
  return sizes.map((size, i) => {
    if (padding === 'VALID') return [0, 0];
    const positions = Math.ceil(size / strides[i]);
    const total = Math.max((positions - 1) * strides[i] + windowSizes[i] - size, 0);
    return [Math.floor(total / 2), Math.ceil(total / 2)];
  });
}

/** b01f_01io->b01f, from ConvolutionDimensionNumbers. */
export function convolutionLabels(operation, numbers) {
  const side = (name, batch, feature, spatial) => {
    const labels = [];
    const put = (dimension, label) => {
      if (labels[dimension] !== undefined || dimension < 0 || dimension >= spatial.length + 2) {
        throw invalidArgument(
          operation,
          `dimensionNumbers: the dimensions of the ${name} must be 0 to ${spatial.length + 1}, ` +
            'each once',
        );
      }
      labels[dimension] = label;
    };
    put(...batch);
    put(...feature);
    spatial.forEach((dimension, i) => put(dimension, i));
    return labels.join('');
  };
  const n = numbers;
  const input = side(
    'input',
    [n.inputBatchDimension, 'b'],
    [n.inputFeatureDimension, 'f'],
    n.inputSpatialDimensions,
  );
  const kernel = side(
    'kernel',
    [n.kernelInputFeatureDimension, 'i'],
    [n.kernelOutputFeatureDimension, 'o'],
    n.kernelSpatialDimensions,
  );
  const output = side(
    'output',
    [n.outputBatchDimension, 'b'],
    [n.outputFeatureDimension, 'f'],
    n.outputSpatialDimensions,
  );
  return `${input}_${kernel}->${output}`;
}
