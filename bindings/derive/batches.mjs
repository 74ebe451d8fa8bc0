/** Programs for batches: client.vmap() and b.vmap(). */
import { NO_BATCH } from '../base/constants.mjs';
import { describe, invalidArgument } from '../base/error.mjs';
import { checkOptions, copyList, count, isPlainObject, kind } from '../base/options.mjs';
import { xla_module_batch } from '../base/calls.mjs';
import { parametersByReference } from '../objects/chosen_parameters.mjs';
import { coreOf, pointerOf } from '../objects/handle.mjs';
import { HloModule } from '../objects/module.mjs';
import { Shape } from '../values/shape.mjs';

const isDimension = (value) => Number.isInteger(value) && Math.abs(value) < 2 ** 31;

/** Returns `in` and `out` as they were given: null means that there is no dimension. */
function optionsOf(options) {
  if (!isPlainObject(options)) return options;
  const one = (value) => (value === null ? NO_BATCH : value);
  const { in: given, out } = options;
  return { ...options, in: one(given), out: one(out) };
}

const dimensions = kind('a dimension number, null, or a list of them', (value) =>
  isDimension(value) || value === NO_BATCH ? value : Array.isArray(value) ? copyList(value) : undefined);
const dimensionsByName = kind('a dimension number, null, a list of them, or an object by name', (value) =>
  isPlainObject(value) ? { ...value } : dimensions(value));
const VMAP_OPTIONS = { in: dimensionsByName, out: dimensions, size: count(0, 2 ** 31 - 1) };

/** @returns {{ in: any, out: any, size?: number }} checked, with defaults */
export function vmapOptions(options) {
  const asked = checkOptions('vmap', optionsOf(options), VMAP_OPTIONS);
  return { size: asked.size, in: asked.in ?? 0, out: asked.out ?? 0 };
}

/**
 * The dimension of the batch in each leaf of a value.
 * @param {any} given a number for all leaves, null for none, or a list for the elements of a tuple
 * @param {Shape} shape
 * @param {string} what names the argument, for errors
 * @returns {number[]}
 */
function leafDimensions(given, shape, what) {
  const value = given ?? NO_BATCH;
  if (isDimension(value) || value === NO_BATCH) return shape.leaves().map(() => value);
  if (Array.isArray(value) && shape.isTuple && value.length === shape.tupleShapes.length) {
    return shape.tupleShapes.flatMap((element, i) => leafDimensions(value[i], element, `${what}[${i}]`));
  }
  const elements = shape.isTuple ? `, or a list of ${shape.tupleShapes.length}` : '';
  throw invalidArgument('vmap', `${what} of shape ${shape} takes a dimension number or null${elements}; got ${describe(value)}`);
}

/**
 * The dimensions of all parameters: one entry for each, which may be a list if the parameter is a tuple.
 * @param {any} given
 * @param {readonly { name: string }[]} parameters
 */
function byParameter(given, parameters) {
  if (isPlainObject(given)) {
    const entries = parameters.map(() => null);
    for (const [name, value] of Object.entries(given)) {
      for (const number of parametersByReference('vmap', 'in', parameters, name)) entries[number] = value;
    }
    return entries;
  }
  if (!Array.isArray(given)) return parameters.map(() => given);
  if (given.length === parameters.length) return given;
  throw invalidArgument('vmap', `in has ${given.length} entries for ${parameters.length} parameters; it takes one for each`);
}

const parameterText = ({ name }, number) => `in: parameter ${number} "${name}"`;

/** The dimensions of all results. A program whose result is no tuple has one. */
function byResult(given, shape) {
  return Array.isArray(given) && !shape.isTuple && given.length === 1 ? given[0] : given;
}

/**
 * @param {HloModule} module
 * @param {{ in: any, out: any, size?: number }} asked of vmapOptions()
 * @returns {HloModule}
 */
export function batch(module, asked) {
  const { parameters, resultShape } = module;
  const entries = byParameter(asked.in, parameters);
  const inputs = parameters.flatMap((parameter, number) =>
    leafDimensions(entries[number], parameter.shape, parameterText(parameter, number)));
  const outputs = leafDimensions(byResult(asked.out, resultShape), resultShape, 'out: the result');
  if (asked.size === undefined && [...inputs, ...outputs].some((dimension) => dimension !== NO_BATCH)) {
    throw invalidArgument('vmap', 'size is missing: the number of elements in the batch, which the program does not say');
  }
  const core = coreOf(module);
  const pointer = core.scoped((copy) => core.need(
    xla_module_batch, pointerOf(module), copy(Int32Array.from(inputs)), inputs.length,
    copy(Int32Array.from(outputs)), outputs.length, asked.size ?? 1));
  return new HloModule(core, pointer);
}

/* ---- In a builder ---- */

const without = (list, at) => list.filter((_, i) => i !== at);

/** The shape of one element of a batch; `see(size, text)` is called for each array. */
function elementShape(shape, given, what, see) {
  if (shape.isTuple) {
    const list = Array.isArray(given) ? given : shape.tupleShapes.map(() => given);
    if (list.length !== shape.tupleShapes.length) leafDimensions(given, shape, what); // which throws
    return Shape.tuple(shape.tupleShapes.map((element, i) => elementShape(element, list[i], `${what}[${i}]`, see)));
  }
  const [dimension] = leafDimensions(given, shape, what);
  if (dimension === NO_BATCH || !shape.isArray) return shape;
  const at = dimension < 0 ? dimension + shape.rank : dimension;
  if (at < 0 || at >= shape.rank) {
    throw invalidArgument('vmap', `${what} of shape ${shape} has no dimension ${dimension}; ` +
      (shape.rank ? `it must be in [${-shape.rank}, ${shape.rank - 1}] or null` : 'it must be null'));
  }
  see(shape.dimensions[at], `${what} of shape ${shape}`);
  return Shape.array(shape.elementType, without(shape.dimensions, at), {
    dynamicDimensions: without(shape.dynamicDimensions, at),
  });
}

/**
 * The shapes of one element of the arguments, and the size of the batch.
 * @param {Shape[]} shapes of the arguments
 * @param {{ in: any, size?: number }} asked
 * @returns {{ shapes: Shape[], entries: any[], size?: number }}
 */
export function elementShapes(shapes, asked) {
  const arguments_ = shapes.map((shape, i) => ({ shape, name: `p${i}` }));
  const entries = byParameter(asked.in, arguments_);
  let { size } = asked;
  let first = 'size';
  const see = (found, text) => {
    if (size !== undefined && found !== size) {
      throw invalidArgument('vmap', `${text} has ${found} elements in the batch, and ${first} ${first === 'size' ? 'is' : 'has'} ` +
        `${size}; all must have the same number`);
    }
    if (size === undefined) first = text;
    size = found;
  };
  const elements = shapes.map((shape, i) => elementShape(shape, entries[i], `in: argument ${i}`, see));
  return { shapes: elements, entries, size };
}
