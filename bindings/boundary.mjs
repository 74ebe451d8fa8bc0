/**
 * The boundary of the package: every error that leaves a public method is an XlaError. The methods
 * check their arguments. This file handles values that throw when they are read (a getter, a Proxy,
 * a method without its object), and the engine's own limits.
 */
import { COPY, isLimit, isXlaError, messageOf, ownCopy, XlaError } from './error.mjs';

/** Who constructs an object of this package's with this is the package. */
export const PRIVATE = Symbol('xla-wasm');

/** @returns {XlaError} to be thrown by a constructor that callers may not use */
export function notConstructed(name, remedy) {
  return new XlaError('FAILED_PRECONDITION', `new ${name}() is not for callers; use ${remedy}`);
}

const callersOwn = new WeakSet();

/**
 * Calls a function of the caller's. What it throws is the caller's own, and reaches him as it is.
 * @template Result
 * @param {() => Result} body
 * @returns {Result}
 */
export function callersFunction(body) {
  try {
    return body();
  } catch (error) {
    if (error !== null && typeof error === 'object') callersOwn.add(error);
    throw error;
  }
}

/**
 * Guards a class's methods, static ones too.
 * @param {Function} Class
 */
export function atBoundary(Class) {
  Object.defineProperty(Class.prototype, COPY, { value: ownCopy });
  for (const target of [Class, Class.prototype]) {
    for (const name of Reflect.ownKeys(target)) {
      if (name === 'constructor' || typeof name === 'symbol') continue;
      const { value } = Object.getOwnPropertyDescriptor(target, name);
      if (typeof value === 'function') target[name] = guarded(value, name); // as enumerable as it was
    }
  }
}

/** A function that does as `method`, but fails with XlaErrors only. */
export function guarded(method, name = method.name) {
  const wrapped = {
    [name](...args) {
      let result;
      try {
        result = method.apply(this, args);
      } catch (error) {
        throw foreign(name, error, args);
      }
      if (!(result instanceof Promise)) return result;
      return result.catch((error) => {
        throw foreign(name, error, args);
      });
    },
  }[name];
  if (!method.length) return wrapped; // as of most methods, which are made when the package is loaded
  return Object.defineProperty(wrapped, 'length', { value: method.length, configurable: true });
}

/**
 * Makes the promises of an async method tell that an await is missing, when members of their result are called on them.
 * @param {object} target a class or a prototype, after atBoundary()
 * @param {string} method
 * @param {readonly (string | symbol)[]} members
 */
export function remindOfAwait(target, method, members) {
  const inner = target[method];
  const prototype = Object.create(Promise.prototype, Object.fromEntries(members.map((member) => [member, { value() {
    throw new XlaError('INVALID_ARGUMENT', `${method}: ${method}() gives a promise: write await before it`, { operation: method });
  } }])));
  Object.defineProperty(target, method, { ...Object.getOwnPropertyDescriptor(target, method), value: { [method](...args) {
    return Object.setPrototypeOf(inner.apply(this, args), prototype);
  } }[method] });
}

function foreign(operation, error, args) {
  if (isXlaError(error) || callersOwn.has(error)) return error;
  const [code, message] = isLimit(error)
    ? ['RESOURCE_EXHAUSTED', messageOf(error)] : ['INVALID_ARGUMENT', unreadableMessage(error, args)];
  return new XlaError(code, `${operation}: ${message}`, { operation, cause: error });
}

/** Names the argument that cannot be read, if there is one. */
function unreadableMessage(error, args) {
  const number = args.findIndex((value) => isUnreadable(value));
  if (number < 0) return messageOf(error);
  return `argument ${number + 1} cannot be read (${messageOf(error)}); it must be a value whose properties and elements ` +
    'can be read: no revoked Proxy, no getter that throws, and no array whose buffer was transferred or shortened';
}

const [MAX_DEPTH, MAX_KEYS] = [3, 100];
const { values: valuesOf } = Object.getPrototypeOf(Uint8Array.prototype);

function isUnreadable(value, depth = 0) {
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
