/**
 * The kinds of a call's options. As in arguments.mjs, a kind is a function that converts a value, or returns undefined if
 * the value is not of the kind. `kind.wants` describes the kind for errors.
 */
import { describe, invalidArgument } from './error.mjs';
import { suggestion } from './names.mjs';

export const MAX_ENTRIES = 2 ** 22; // of a list; a longer list is a mistake of the caller and would take long to check

/** Whether a value is an object of named fields, and no list, bytes, map, promise or instance of a class. */
export function isPlainObject(value) {
  if (value === null || typeof value !== 'object') return false;
  const prototype = Object.getPrototypeOf(value);
  // Object.prototype of any realm
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** @param {string} [type] its name in index.d.ts */
export function kind(wants, convert, type) {
  return Object.assign(convert, { wants, type });
}

export const boolean = kind('true or false', (value) =>
  typeof value === 'boolean' ? value : undefined, 'boolean');

export const string = kind('a string', (value) =>
  typeof value === 'string' ? value : undefined, 'string');

export const count = (min, max) =>
  kind(`an integer from ${min} to ${max}`, (value) =>
    Number.isInteger(value) && value >= min && value <= max ? value : undefined);

/** Recognised by its methods: a signal may come from another realm, or from a polyfill. */
export const signal = kind('an AbortSignal', (value) =>
  typeof value?.addEventListener === 'function' && typeof value.removeEventListener === 'function' &&
  typeof value.aborted === 'boolean' ? value : undefined);

/**
 * Copies a caller's array: reads each element once and skips none, whatever the array's own iterator
 * does. Not for the elements of literals, which may be many.
 * @param {ArrayLike<any>} list
 * @param {{ operation?: string, argument?: string }} [context] for errors
 */
export function copyList(list, { operation = '', argument = 'a list' } = {}) {
  if (list.length > MAX_ENTRIES) {
    throw invalidArgument(operation, `${argument} must have at most ${MAX_ENTRIES} entries; got ${list.length}`);
  }
  const copy = new Array(list.length);
  for (let i = 0; i < copy.length; i++) copy[i] = list[i];
  return copy;
}

/**
 * Returns the options of a call, each read once and checked. Options that are null or undefined are left out.
 * @template {Record<string, Function>} Known
 * @param {string} operation for errors
 * @param {unknown} options the caller's argument
 * @param {Known} known the kinds of all options, by name
 * @returns {{ [name in keyof Known]?: any }}
 */
export function checkOptions(operation, options, known) {
  if (options === undefined) return {};
  if (!isPlainObject(options)) {
    throw invalidArgument(operation, `options must be an object; got ${describe(options)}`);
  }
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(known, name)) throw unknownName(operation, name, Object.keys(known));
  }
  const checked = {};
  for (const name of Object.keys(known)) {
    const value = options[name];
    if (value === undefined || value === null) continue;
    const kindOf = known[name];
    checked[name] = kindOf(value);
    if (checked[name] !== undefined) continue;
    throw invalidArgument(operation, `${name} must be ${kindOf.wants}; got ${describe(value)}`);
  }
  return checked;
}

/** @returns {XlaError} to be thrown: there is no option, or no field, of this name */
export function unknownName(operation, name, known, prefix = '') {
  const nearest = suggestion(name, known);
  const remedy = nearest
    ? `did you mean ${prefix}${nearest}?`
    : `there are ${known.join(', ') || 'none'}`;
  return invalidArgument(operation, `${prefix}${name} is not known here; ${remedy}`);
}
