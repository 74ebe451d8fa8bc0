/** ORDER STATUS: XLA's status codes by number (absl::StatusCode), which is how the core reports them. */
export const STATUS_CODES = Object.freeze([
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
]);

const MAX_CHARACTERS = 10_000;

/** The class of all errors of this package. */
export class XlaError extends Error {
  /**
   * @param {string} code XLA's status code, such as 'INVALID_ARGUMENT'
   * @param {string} message
   * @param {object} [details]
   * @param {string} [details.operation] HLO text name of the operation at fault
   * @param {number} [details.line] 1-based position in HLO text
   * @param {number} [details.column]
   * @param {object[]} [details.waiting] of a deadlock, or a run that timed out: the waiting devices, and for what
   * @param {unknown} [details.cause]
   */
  constructor(code, message, { operation, line, column, waiting, cause } = {}) {
    const shown = `${message}`.slice(0, MAX_CHARACTERS); // a name of the caller's may be in it
    super(shown, cause === undefined ? undefined : { cause });
    this.code = code;
    this.operation = operation;
    this.line = line;
    this.column = column;
    if (waiting) this.waiting = waiting;
    if (entered && code !== 'INTERNAL') Error.captureStackTrace?.(this, entered);
  }
}

/**
 * The outermost public function on the stack; undefined in callbacks of the caller's. The stack of an error begins at its
 * caller.
 */
let entered;

/** Sets that function. @returns {Function | undefined} the one before, to be restored */
export function enter(method) {
  const before = entered;
  entered = method;
  return before;
}

const MAX_FRAMES = 8;

/**
 * Captures the location of the public call on the stack, for errors after its return. Formatted only if it is read.
 * Measured: 4 us (Node 20, 2026-11), so short calls do not use it.
 * @returns {{ stack?: string } | undefined} undefined where the engine cannot
 */
export function captureCall() {
  if (!entered || !Error.captureStackTrace) return undefined;
  const { stackTraceLimit } = Error, call = {};
  Error.stackTraceLimit = Math.min(stackTraceLimit, MAX_FRAMES);
  Error.captureStackTrace(call, entered);
  Error.stackTraceLimit = stackTraceLimit;
  return call;
}

/** Returns file and line of the public call on the stack. @returns {{ file?: string, fileLine?: number }} */
export function placeOfCall() {
  const [, file, line] = /\n {4}at (?:.*\()?(.*?):(\d+):\d+\)?(?:\n|$)/.exec(captureCall()?.stack) ?? [];
  return file ? { file, fileLine: Number(line) } : {};
}

/** Sets the stack of an error to that of a call. @returns the error */
export function fromCall(error, call) {
  const frames = isXlaError(error) && error.code !== 'INTERNAL' && /\n {4}at [^]*/.exec(call?.stack)?.[0];
  if (frames) Object.defineProperty(error, 'stack', { value: `XlaError: ${error.message}${frames}`, writable: true, configurable: true });
  return error;
}
/** Returns "got VALUE", the end of errors about arguments, with advice for a value that was not awaited. */
export const got = (value) => `got ${describe(value)}${typeof value?.then === 'function' ? '; await it' : ''}`;

/** Returns the error with line and column at the end of its message, so that an uncaught error shows them. */
export function withPosition(error) {
  if (!isXlaError(error) || !error.line || error.waiting) return error;
  const { code, message, operation, line, column, cause } = error;
  return new XlaError(code, `${message} (line ${line}, column ${column ?? 1})`, { operation, line, column, cause });
}

// On the prototype, as with the built-in errors, so that a printed error has no further field.
Object.defineProperties(XlaError.prototype, {
  name: { value: 'XlaError', configurable: true },
  docs: { get() { return `xla-wasm/docs/errors.md#${this.waiting ? 'waiting' : String(this.code).toLowerCase()}`; }, configurable: true },
});

/** @returns {XlaError} to be thrown: a caller's mistake in a call of `operation` */
export function invalidArgument(operation, message) {
  return new XlaError('INVALID_ARGUMENT', operation ? `${operation}: ${message}` : message, {
    operation,
  });
}

/**
 * Facts about errors, for code that adds advice to their messages. They are no public field:
 *   argument   number of the parameter whose argument is at fault
 *   isUnnamed  some parameters have no argument of their name
 *   isNoProto  the bytes are no proto at all
 * @type {WeakMap<XlaError, { argument?: number, isUnnamed?: boolean, isNoProto?: boolean }>}
 */
const facts = new WeakMap();

/** Notes facts about an error, and returns it. */
export function about(error, found) {
  facts.set(error, found);
  return error;
}

export const factsOf = (error) => facts.get(error) ?? {};

/** Returns a literal's error message without the words that name the literal, for an error that names the argument. */
export const reasonOf = ({ message }) => message.replace(/^(?:\w+: )?(?:literal: )?(?:value: )?/, '');

const MAX_SHOWN = 60;

/** Marks the package's classes with their copy of the package, as a program may load two copies. */
export const COPY = Symbol.for('xla-wasm.copy');
export const ownCopy = {};

/** Describes a value for an error message: short and on one line. Never throws. */
export function describe(value) {
  try {
    return described(value);
  } catch {
    return 'a value that cannot be looked at';
  }
}

function described(value) {
  if (typeof value === 'string') return JSON.stringify(shorten(value));
  if (typeof value === 'bigint') return shorten(`${value}n`);
  if (typeof value === 'function') return `a function${value.name ? ` ${value.name}` : ''}`;
  if (value === null || typeof value !== 'object') return shorten(String(value).split('\n')[0]);
  if (Array.isArray(value)) return shorten(describeList(value));
  if (Object.getPrototypeOf(value) === Object.prototype) return 'an object';
  const name = shorten(value.constructor?.name || 'object');
  const whose = (value[COPY] ?? ownCopy) === ownCopy ? '' : ' of another copy of xla-wasm';
  return `${/^[AEIOUX]/.test(name) ? 'an' : 'a'} ${name}${whose}`;
}

/** Reads only the part that is shown: the list may be long, deep, or a part of itself. */
function describeList(values, depth = 0) {
  if (depth > MAX_SHOWN) return '...';
  let text = '';
  for (const value of values) {
    if (text.length > MAX_SHOWN) break;
    const shown = Array.isArray(value) ? describeList(value, depth + 1) : describe(value);
    text += text ? `, ${shown}` : shown;
  }
  return `[${text}]`;
}

function shorten(text) {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 3)}...` : text;
}

/** Returns the message of any thrown value. Never throws. */
export function messageOf(error) {
  try {
    if (typeof error?.message === 'string' && error.message) return error.message;
    if (typeof error !== 'object') return String(error);
  } catch {
    // It has a message that throws.
  }
  return describe(error);
}

/** Whether a thrown value, which may even be a Proxy, is an XlaError. @returns {error is XlaError} */
export function isXlaError(error) {
  try {
    return error instanceof XlaError;
  } catch {
    return false;
  }
}

/** Whether an error is a failure of the engine: no stack (Firefox: InternalError), or no memory. */
export function isLimit(error) {
  try {
    return error instanceof RangeError || error?.name === 'InternalError';
  } catch {
    return false;
  }
}
