/**
 * Reads a program's HLO text in the form that HloModule.toString() prints, as lines: computations of instructions. Tools
 * change lines and write them again, which no function of the core does; the parser of all HLO text is the core's.
 *
 * @typedef {object} Line an instruction
 * @property {string} name
 * @property {string} shape as text
 * @property {string} opcode
 * @property {string[]} operands names; none for parameters and constants
 * @property {string} inside the text between the parentheses of a parameter or constant
 * @property {string[]} attributes "to_apply=add"
 *
 * @typedef {object} Lines a computation
 * @property {string} name
 * @property {boolean} isEntry
 * @property {Line[]} instructions operands before users
 * @property {string} root the name of its result
 */
import { XlaError } from '../base/error.mjs';

const COMPUTATION = /^(ENTRY )?(\S+) \{$/;
const INSTRUCTION = /^ {2}(ROOT )?(\S+) = /;

/** Splits a text at commas outside of brackets and strings. */
export function split(text) {
  const parts = [];
  let [depth, start] = [0, 0];
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === '"') {
      for (i++; i < text.length && text[i] !== '"'; i++) if (text[i] === '\\') i++;
    } else if ('{[('.includes(c)) depth++;
    else if ('}])'.includes(c)) depth--;
    else if (c === ',' && depth === 0) {
      parts.push(text.slice(start, i).trim());
      start = i + 1;
    }
  }
  const last = text.slice(start).trim();
  return last ? [...parts, last] : parts;
}

/** Returns the position where the bracket at `at` is closed. */
export function closing(text, at) {
  for (let depth = 0, i = at; i < text.length; i++) {
    const c = text[i];
    if (c === '"') for (i++; i < text.length && text[i] !== '"'; i++) if (text[i] === '\\') i++;
    if ('{[('.includes(c)) depth++;
    if ('}])'.includes(c) && --depth === 0) return i;
  }
  throw new XlaError('INTERNAL', `nothing closes ${text.slice(at, at + 40)}`);
}

/**
 * @param {string} text of HloModule.toString()
 * @returns {{ header: string[], computations: Lines[] }} the parts of the first line; callees first, the entry last
 */
export function readLines(text) {
  const [first, ...rest] = text.split('\n');
  const computations = [];
  for (const line of rest) {
    const [, entry, name] = COMPUTATION.exec(line) ?? [];
    if (name) computations.push({ name, isEntry: Boolean(entry), instructions: [], root: '' });
    else if (INSTRUCTION.test(line)) addLine(computations.at(-1), line);
  }
  return { header: split(first), computations };
}

function addLine(computation, text) {
  const [head, root, name] = INSTRUCTION.exec(text);
  const shapeEnd = text[head.length] === '(' ? closing(text, head.length) + 1 : text.indexOf(' ', head.length);
  const open = text.indexOf('(', shapeEnd), close = closing(text, open);
  const inside = text.slice(open + 1, close), opcode = text.slice(shapeEnd + 1, open);
  const isLeaf = opcode === 'parameter' || opcode === 'constant';
  computation.instructions.push({
    name, shape: text.slice(head.length, shapeEnd), opcode, operands: isLeaf ? [] : split(inside),
    inside: isLeaf ? inside : '', attributes: split(text.slice(close + 1).replace(/^, /, '')),
  });
  if (root) computation.root = name;
}
