/**
 * The boundary of the package: every error that leaves a public method is an XlaError. Methods check their arguments; this
 * file handles values that throw when they are read (a getter, a Proxy, a method without its object), and the engine's
 * limits.
 */
import { captureCall, COPY, describe, enter, fromCall, invalidArgument, isLimit, isXlaError, messageOf, ownCopy, XlaError } from './error.mjs';

/** The key with which the package constructs its objects; callers do not have it. */
export const PRIVATE = Symbol('xla-wasm');

/** @returns {XlaError} to be thrown by a constructor that callers may not use */
export function notConstructed(name, remedy) {
  return new XlaError('FAILED_PRECONDITION', `new ${name}() is not for callers; use ${remedy}`);
}

const callersOwn = new WeakSet();

/**
 * Calls a function of the caller's. An error that it throws reaches the caller unchanged.
 * @template Result
 * @param {() => Result} body
 * @returns {Result}
 */
export function callersFunction(body) {
  const outer = enter(undefined);
  try {
    return body();
  } catch (error) {
    if (error !== null && typeof error === 'object') callersOwn.add(error);
    throw error;
  } finally {
    enter(outer);
  }
}

/**
 * Guards a class's methods, static ones too.
 * @param {Function} Class
 * @param {Record<string, { members?: readonly (string | symbol)[], isFast?: boolean }>} [methods] members, of an async
 *   method: members of its result. Called on the promise, they throw an error that asks for an await
 */
export function atBoundary(Class, methods = {}) {
  Object.defineProperty(Class.prototype, COPY, { value: ownCopy });
  for (const target of [Class, Class.prototype]) {
    for (const name of Reflect.ownKeys(target)) {
      if (name === 'constructor' || typeof name === 'symbol') continue;
      const { value } = Object.getOwnPropertyDescriptor(target, name);
      if (typeof value === 'function') target[name] = guarded(value, name, Object.hasOwn(methods, name) ? methods[name] : undefined); // as enumerable as it was
    }
  }
}

/**
 * Wraps `method` so that it fails with XlaErrors only. The stack of an error begins at the line of the call, also if the
 * returned promise is rejected later.
 * @param {Function} method
 * @param {string} [name]
 * @param {{ members?: readonly (string | symbol)[], isFast?: boolean }} [options] members: see atBoundary(); isFast: a run,
 *   which captures the call itself if it takes time
 */
export function guarded(method, name = method.name, { members, isFast } = {}) {
  const promise = members && reminder(name, members);
  const isSlow = !isFast && method[Symbol.toStringTag] === 'AsyncFunction';
  const wrapped = {
    [name](...args) {
      const outer = enter(wrapped);
      if (outer) enter(outer); // the outermost counts
      let result, call;
      try {
        if (isSlow) call = captureCall();
        result = method.apply(this, args);
      } catch (error) {
        throw foreign(name, error, args);
      } finally {
        enter(outer);
      }
      if (!(result instanceof Promise)) return result;
      const caught = result.catch((error) => {
        throw fromCall(foreign(name, error, args), call);
      });
      return promise ? Object.setPrototypeOf(caught, promise) : caught;
    },
  }[name];
  if (!method.length) return wrapped; // as of most methods, which are made when the package is loaded
  return Object.defineProperty(wrapped, 'length', { value: method.length, configurable: true });
}

/** A promise with members of its result, which throw an error that asks for an await. */
const reminder = (method, members) => Object.create(Promise.prototype, Object.fromEntries(members.map((member) => [member, { value() {
  throw invalidArgument(method, `${method}() gives a promise: write await before it`);
} }])));

/**
 * Makes missing members that callers may expect throw an error with a remedy. They are in a prototype above that of the
 * class, so they are not own members of it.
 * @param {Function} Class
 * @param {Record<string, string>} remedies the replacement to write, by member
 */
export function lacks(Class, remedies) {
  const missing = Object.create(Object.getPrototypeOf(Class.prototype));
  for (const [member, remedy] of Object.entries(remedies)) {
    const get = () => { throw invalidArgument('', `${Class.name} has no ${member}: ${remedy}`); };
    Object.defineProperty(missing, member, { get });
  }
  Object.setPrototypeOf(Class.prototype, missing);
}

/**
 * Makes JavaScript's operators fail for objects of a class, which they would convert to NaN or text. Templates and String()
 * still give an object's text.
 * @param {Function} Class
 * @param {string} remedy the replacement to write
 * @param {boolean} [isText] whether `+`, which also joins texts, takes the object's text
 */
export function refuseOperators(Class, remedy, isText = false) {
  const value = guarded(function toPrimitive(hint) {
    if (hint === 'string' || (isText && hint === 'default')) return this.toString();
    throw invalidArgument('', `JavaScript's operators cannot compute with ${describe(this)}: ${remedy}`);
  });
  Object.defineProperty(Class.prototype, Symbol.toPrimitive, { value, configurable: true });
}

function foreign(operation, error, args) {
  if (isXlaError(error) || callersOwn.has(error)) return error;
  if (isImport(error)) {
    return new XlaError('UNAVAILABLE', `${operation}: a file of the package cannot be loaded: ${messageOf(error)}; serve all of its ` +
      'files, of one version, and load the page again', { operation, cause: error });
  }
  const [code, message] = isLimit(error)
    ? ['RESOURCE_EXHAUSTED', messageOf(error)] : ['INVALID_ARGUMENT', unreadableMessage(error, args)];
  return new XlaError(code, `${operation}: ${message}`, { operation, cause: error });
}

/** Whether a part of the package could not be imported: in the words of V8, Firefox, Safari, Node and Deno. */
const isImport = (error) => /dynamically imported module|Importing a module script|^Cannot find (module|package)|^Module not found/.test(messageOf(error));

/** Names the argument that cannot be read, if there is one. */
function unreadableMessage(error, args) {
  const number = args.findIndex((value) => isUnreadable(value));
  if (number < 0) return isEngines(error) ? misfitMessage(args) : messageOf(error);
  return `argument ${number + 1} cannot be read (${messageOf(error)}); it must be a value whose properties and elements ` +
    'can be read: no revoked Proxy, no getter that throws, and no array whose buffer was transferred or shortened';
}

/** Whether an error is the engine's message about code of the package, which does not help callers; it stays the cause. */
const isEngines = (error) => error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
const REMEDY = "objects of this package's classes must be made by it, and memory must not have been transferred away";
const misfitMessage = (args) => (args.length ? `the arguments do not fit: got ${args.slice(0, MAX_DEPTH).map(describe).join(', ')}` : 'the object does not fit') + `; ${REMEDY}`;

const [MAX_DEPTH, MAX_KEYS] = [3, 100];
const { values: valuesOf } = Object.getPrototypeOf(Uint8Array.prototype);

/** Whether a value's properties or elements cannot be read: a revoked Proxy, a getter that throws, a detached buffer. */
export function isUnreadable(value, depth = 0) {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false;
  try {
    // Both throw if the buffer was transferred, or became too short.
    if (ArrayBuffer.isView(value)) return value instanceof DataView ? value.byteLength < 0 : !valuesOf.call(value);
    const keys = Array.isArray(value) ? value.slice(0, MAX_KEYS).keys() : Object.keys(value).slice(0, MAX_KEYS);
    for (const key of keys) {
      if (depth < MAX_DEPTH && isUnreadable(value[key], depth + 1)) return true;
    }
    return false;
  } catch {
    return true;
  }
}
