/** Reads tokens of MLIR text, and makes errors with line and column. */
import { textOfBytes } from '../base/attribute_text.mjs';
import { bytesOfHex } from './blobs.mjs';
import { malformed, MAX_LEVELS } from './ir.mjs';

const SPACE = /(?:[ \t\r\n]+|\/\/[^\n]*)*/y;
const IDENTIFIER = /[A-Za-z_][\w$]*/y;
const DOTTED = /[A-Za-z_][\w$.]*(?:-[a-z]\w*)*/y; // stablehlo.cross-replica-sum
const SUFFIX = /\d+|[A-Za-z_$.-][\w$.-]*/y;
const NUMBER = /-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*(?:[eE][+-]?\d+)?)?)/y;
const STRING = /"(?:[^"\\\n]|\\[^\n])*"/y;
const ESCAPES = { n: '\n', t: '\t', '"': '"', '\\': '\\' };

/** Text with escapes: \n, \t, \", \\, and \XX for bytes, which are UTF-8. */
function unescaped(body) {
  if (!body.includes('\\')) return body;
  const bytes = [];
  const encoder = new TextEncoder();
  for (const [part] of body.matchAll(/\\[0-9A-Fa-f]{2}|\\.|[^\\]+/g)) {
    if (part[0] !== '\\') for (const byte of encoder.encode(part)) bytes.push(byte);
    else if (part.length === 3) bytes.push(parseInt(part.slice(1), 16));
    else bytes.push((ESCAPES[part[1]] ?? part[1]).charCodeAt(0));
  }
  return textOfBytes(Uint8Array.from(bytes));
}

const CLOSE = { '<': '>', '(': ')', '[': ']', '{': '}' };

export class Lexer {
  #lineStarts;

  /**
   * @param {string} text
   * @param {Uint8Array[]} [blobs] what "0x@0" and so on stand for: see blobs.mjs
   */
  constructor(text, blobs = []) {
    this.text = text;
    this.blobs = blobs;
    this.at = 0;
    this.depth = 0;
    this.skipSpace();
  }

  get atEnd() {
    return this.at >= this.text.length;
  }

  /** 1-based line and column of an offset. Each operation is asked for its place: the lines are found once. */
  placeOf(at) {
    this.#lineStarts ??= [0, ...Array.from(this.text.matchAll(/\n/g), ({ index }) => index + 1)];
    let [low, high] = [0, this.#lineStarts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.#lineStarts[middle] <= at) low = middle;
      else high = middle;
    }
    return { line: low + 1, column: at - this.#lineStarts[low] + 1 };
  }

  fail(problem, at = this.at) {
    const { line, column } = this.placeOf(at);
    return malformed(problem, { line, column });
  }

  /** The text at this position, as messages show it. */
  found() {
    if (this.atEnd) return 'the end';
    const [word] = /^[\w.%@#!$-]+|^[\s\S]/.exec(this.text.slice(this.at, this.at + 40));
    return JSON.stringify(word);
  }

  skipSpace() {
    SPACE.lastIndex = this.at;
    SPACE.exec(this.text);
    this.at = SPACE.lastIndex;
  }

  /** Matches a sticky expression here; undefined where it does not. */
  #match(expression) {
    expression.lastIndex = this.at;
    const match = expression.exec(this.text);
    if (!match) return undefined;
    this.at = expression.lastIndex;
    return match[0];
  }

  #token(expression) {
    const match = this.#match(expression);
    if (match !== undefined) this.skipSpace();
    return match;
  }

  peek(string) {
    return this.text.startsWith(string, this.at);
  }

  /** Takes punctuation. */
  accept(string) {
    if (!this.text.startsWith(string, this.at)) return false;
    this.at += string.length;
    this.skipSpace();
    return true;
  }

  expect(string, why = '') {
    if (this.accept(string)) return;
    throw this.fail(`expected '${string}'${why}, found ${this.found()}`);
  }

  /** Takes a word, unless it goes on. */
  acceptWord(word) {
    if (this.peekWord() !== word) return false;
    this.at += word.length;
    this.skipSpace();
    return true;
  }

  expectWord(word) {
    if (!this.acceptWord(word)) throw this.fail(`expected '${word}', found ${this.found()}`);
  }

  peekWord() {
    IDENTIFIER.lastIndex = this.at;
    return IDENTIFIER.exec(this.text)?.[0];
  }

  /** letters, digits, "_" and "$" */
  identifier(what = 'a name') {
    const found = this.#token(IDENTIFIER);
    if (found === undefined) throw this.fail(`expected ${what}, found ${this.found()}`);
    return found;
  }

  /** "stablehlo.add" */
  dotted(what = 'an operation') {
    const found = this.#token(DOTTED);
    if (found === undefined) throw this.fail(`expected ${what}, found ${this.found()}`);
    return found;
  }

  /** Reads %, @, # or !, and returns the name after it. */
  sigil(sign) {
    if (!this.peek(sign)) throw this.fail(`expected '${sign}', found ${this.found()}`);
    this.at++;
    if (sign === '@' && this.peek('"')) return this.string();
    const found = this.#token(SUFFIX);
    if (found === undefined) throw this.fail(`expected a name after '${sign}'`);
    return found;
  }

  string() {
    const start = this.at;
    const found = this.#token(STRING);
    if (found === undefined) throw this.fail(`expected a string, found ${this.found()}`, start);
    return unescaped(found.slice(1, -1));
  }

  /** A string without escapes, which may be very long: "0x..." */
  rawString() {
    const end = this.text.indexOf('"', this.at + 1);
    if (!this.peek('"') || end < 0) throw this.fail('expected a string');
    const raw = this.text.slice(this.at + 1, end);
    this.at = end + 1;
    this.skipSpace();
    return raw;
  }

  /** The bytes that a string spells, "0x00FF..."; undefined: it is no such string. */
  hexString() {
    const raw = this.rawString();
    const [, blob] = /^0x@(\d+)$/.exec(raw) ?? [];
    return blob === undefined ? bytesOfHex(raw) : this.blobs[blob];
  }

  /** The text of a number, or undefined. */
  number() {
    return this.#token(NUMBER);
  }

  /** @returns {number} a whole number that a double holds */
  integer(what = 'an integer') {
    const start = this.at;
    const text = this.number();
    const value = Number(text);
    if (text !== undefined && Number.isSafeInteger(value)) return value;
    throw this.fail(`expected ${what}`, start);
  }

  /** Reads item, item, ... and `close`. */
  list(close, item) {
    const items = [];
    if (this.accept(close)) return items;
    do items.push(item(items.length)); while (this.accept(','));
    this.expect(close);
    return items;
  }

  /** Runs `body` a level deeper. */
  nested(body) {
    if (this.depth === MAX_LEVELS) throw this.fail(`more than ${MAX_LEVELS} levels in each other`);
    this.depth++;
    try {
      return body();
    } finally {
      this.depth--;
    }
  }

  /** Skips to the bracket that closes the one just read, and returns the skipped text. */
  balanced(open) {
    const start = this.at;
    this.#skipTo(open);
    const body = this.text.slice(start, this.at - 1).trim();
    this.skipSpace();
    return body;
  }

  /** Skips to a comma or a closing bracket, and returns the skipped text. */
  untilComma() {
    const start = this.at;
    while (!this.atEnd && !/[,)\]}>]/.test(this.text[this.at])) {
      if (this.peek('"')) this.string();
      else if (this.peek('->')) this.at += 2;
      else if (CLOSE[this.text[this.at++]]) this.#skipTo(this.text[this.at - 1]);
    }
    return this.text.slice(start, this.at).trim();
  }

  #skipTo(open) {
    const start = this.at;
    const stack = [CLOSE[open]];
    while (stack.length) {
      if (this.atEnd) throw this.fail(`nothing closes '${open}'`, start);
      const c = this.text[this.at];
      if (c === '"') {
        this.string();
        continue;
      }
      if (c === '-' && this.text[this.at + 1] === '>') this.at++;
      else if (CLOSE[c]) stack.push(CLOSE[c]);
      else if (c === stack.at(-1)) stack.pop();
      this.at++;
    }
  }
}
