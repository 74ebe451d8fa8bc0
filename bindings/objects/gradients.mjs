/** Differentiates modules: client.gradient(), vjp() and jvp(). */
import {
  CHECKPOINT_ALL, CHECKPOINT_NONE, CHECKPOINT_SQRT, GRADIENT_JVP, GRADIENT_OF_SCALAR, GRADIENT_VJP,
} from '../base/constants.mjs';
import { describe, invalidArgument } from '../base/error.mjs';
import { suggestion } from '../base/names.mjs';
import { boolean, checkOptions, copyList, count, kind } from '../base/options.mjs';
import { isFloat } from '../values/shape.mjs';
import { coreOf, pointerOf } from './handle.mjs';
import { HloModule } from './module.mjs';

const isReference = (value) => typeof value === 'string' || (Number.isInteger(value) && value >= 0);

export const wrt = kind('numbers or names of parameters', (value) => {
  const list = Array.isArray(value) ? copyList(value) : [value];
  return list.length && list.every(isReference) ? list : undefined;
});
export const maxTrips = count(1, 2 ** 31 - 1);
export const CHECKPOINTS = { none: CHECKPOINT_NONE, sqrt: CHECKPOINT_SQRT, all: CHECKPOINT_ALL };
export const checkpoint = kind("'none', 'sqrt' or 'all'", (value) => (typeof value === 'string' && Object.hasOwn(CHECKPOINTS, value) ? value : undefined));
const REVERSE = { wrt, value: boolean, maxTrips, checkpoint };
export const GRADIENT_OPTIONS = { ...REVERSE, of: count(0, 2 ** 20) };
const KINDS = {
  jvp: { mode: GRADIENT_JVP, options: { wrt } },
  vjp: { mode: GRADIENT_VJP, options: REVERSE },
  gradient: { mode: GRADIENT_OF_SCALAR, options: GRADIENT_OPTIONS },
};

/**
 * @param {HloModule} module
 * @param {'gradient' | 'vjp' | 'jvp'} operation
 * @param {object} [options]
 * @returns {HloModule}
 */
export function differentiate(module, operation, options) {
  const { mode, options: known } = KINDS[operation];
  const asked = checkOptions(operation, options, known);
  const numbers = parameterNumbers(operation, module.parameters, asked.wrt);
  const core = coreOf(module);
  const pointer = core.gradientRules.apply(operation === 'jvp', (copy, ...rules) => core.call(
    'xla_module_differentiate', pointerOf(module), mode, copy(Int32Array.from(numbers)), numbers.length,
    asked.of ?? 0, asked.value ?? false, asked.maxTrips ?? 0, CHECKPOINTS[asked.checkpoint ?? 'none'], ...rules));
  return new HloModule(core, pointer);
}

/**
 * The numbers of the parameters that are meant; by default all of floating-point or complex numbers.
 * @param {string} operation for errors
 * @param {readonly { name: string, shape: any }[]} parameters
 * @param {(number | string)[]} [references]
 * @returns {number[]}
 */
export function parameterNumbers(operation, parameters, references) {
  if (!references) {
    const all = parameters.map((_, number) => number).filter((number) => isFloat(parameters[number].shape));
    if (all.length) return all;
    throw invalidArgument(operation, 'the program has no parameter of floating-point or complex numbers');
  }
  const fits = ({ shape }) => isFloat(shape);
  const found = references.flatMap((reference) => meantBy(operation, 'wrt', parameters, reference, fits));
  return [...new Set(found)];
}

/** The name as a path: JAX's "params__w1__.1" is params.w1. */
const path = (name) => name.replace(/[^A-Za-z0-9]+/g, '.').replace(/^\.+|\.+$/g, '');

/**
 * The numbers of the parameters that a number, a name, a prefix of names, or the end of one name means.
 * @param {string} operation for errors
 * @param {string} argument the same
 * @param {readonly { name: string, shape: any }[]} parameters
 * @param {number | string} reference
 * @param {(parameter: any) => boolean} [fits] which of those with the prefix
 * @returns {number[]}
 */
export function meantBy(operation, argument, parameters, reference, fits = () => true) {
  const names = parameters.map(({ name }) => name);
  if (typeof reference === 'number') {
    if (reference < parameters.length) return [reference];
    throw invalidArgument(operation, `${argument}: there is no parameter ${reference}; the program has ${parameters.length}`);
  }
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
