/** Finds the parameters that an option refers to by number, name, or prefix of names. */
import { describe, invalidArgument } from '../base/error.mjs';
import { suggestion } from '../base/names.mjs';

/** The name as a path: JAX's "params__w1__.1" is params.w1. */
const path = (name) => name.replace(/[^A-Za-z0-9]+/g, '.').replace(/^\.+|\.+$/g, '');

/**
 * Returns the numbers of the parameters that a reference selects: a number, a name, a prefix of names, or the end of one
 * name.
 * @param {string} operation for errors
 * @param {string} argument for errors
 * @param {readonly { name: string, shape: any }[]} parameters
 * @param {number | string} reference
 * @param {(parameter: any) => boolean} [fits] selects among those with the prefix
 * @returns {number[]}
 */
export function parametersByReference(operation, argument, parameters, reference, fits = () => true) {
  if (typeof reference === 'number') {
    if (parameters[reference]) return [reference];
    throw invalidArgument(operation, `${argument}: there is no parameter ${reference}; the program has ${parameters.length}`);
  }
  const names = parameters.map(({ name }) => name);
  const numbered = names.map((name, number) => ({ name, number }));
  const exact = numbered.filter(({ name }) => name === reference);
  const prefix = `${path(reference)}.`;
  const found = exact.length ? exact : numbered.filter(({ number, name }) =>
    `${path(name)}.`.startsWith(prefix) && fits(parameters[number]));
  if (found.length) return found.map(({ number }) => number);
  const ending = numbered.filter(({ name }) => `.${path(name)}`.endsWith(`.${path(reference)}`));
  if (ending.length === 1) return [ending[0].number];
  const near = suggestion(reference, names);
  throw invalidArgument(operation, `${argument}: no parameter is named ${describe(reference)}, or begins with it` +
    `${near ? `; did you mean ${near}?` : `; there are ${names.join(', ') || 'none'}`}`);
}
