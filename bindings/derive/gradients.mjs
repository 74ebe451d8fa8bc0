/** Differentiates modules: client.gradient(), vjp() and jvp(). */
import {
  CHECKPOINT_ALL, CHECKPOINT_NONE, CHECKPOINT_SQRT, GRADIENT_JVP, GRADIENT_OF_SCALAR, GRADIENT_VJP,
} from '../base/constants.mjs';
import { invalidArgument } from '../base/error.mjs';
import { boolean, checkOptions, copyList, count, kind } from '../base/options.mjs';
import { xla_module_differentiate } from '../base/calls.mjs';
import { isFloat } from '../values/shape.mjs';
import { coreOf, pointerOf } from '../objects/handle.mjs';
import { parametersByReference } from '../objects/chosen_parameters.mjs';
import { HloModule } from '../objects/module.mjs';
import { rulesOf } from './gradient_rules.mjs';

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
  const pointer = rulesOf(core).apply(operation === 'jvp', (copy, ...rules) => core.call(
    xla_module_differentiate, pointerOf(module), mode, copy(Int32Array.from(numbers)), numbers.length,
    asked.of ?? 0, asked.value ?? false, asked.maxTrips ?? 0, CHECKPOINTS[asked.checkpoint ?? 'none'], ...rules));
  return new HloModule(core, pointer);
}

/**
 * Returns the numbers of the referenced parameters; by default of all that hold floating-point or complex numbers.
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
  const found = references.flatMap((reference) => parametersByReference(operation, 'wrt', parameters, reference, fits));
  const twice = found.find((number, i) => found.indexOf(number) < i);
  if (twice === undefined) return found;
  throw invalidArgument(operation, `wrt has parameter ${twice} ${JSON.stringify(parameters[twice].name)} twice; name each once`);
}
