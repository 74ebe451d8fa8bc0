/**
 * The types of StableHLO programs, and the HLO types that they become.
 *
 * - { kind: 'tensor', dimensions, elementType, bounds }: dimensions of -1 are not known; `bounds`
 *   is null or has, for each dimension, its upper bound, or -1. elementType is a name as in
 *   HLO text ('f32', 's32', 'pred', 'c64'), or a quantised type. `rank` null: unranked.
 *   container: 'vector', or '' for a number that is no array; spelled: its elements' type as MLIR has it.
 * - { kind: 'quantized', storage, expressed, scales, zeroPoints, dimension, low, high }: real value =
 *   scale * (stored - zero point); dimension -1: one scale for all. blockSizes: of sub-channels.
 * - { kind: 'token' }, { kind: 'none' }, { kind: 'tuple' | 'future', types }
 * - { kind: 'function', inputs, results }, { kind: 'opaque', text }
 */
import { invalidArgument, XlaError } from '../base/error.mjs';
import { Shape } from '../values/shape.mjs';
import { ELEMENT_TYPES } from '../values/types.mjs';

/** MLIR's names of element types that differ from HLO's. */
const INTEGERS = { i: 's', si: 's', ui: 'u' };

/** @returns {string | undefined} */
export function elementTypeOf(name) {
  if (name === 'i1') return 'pred';
  if (name === 'index') return 's64';
  const [, sign, bits] = /^(i|si|ui)(\d+)$/.exec(name) ?? [];
  const hlo = sign ? INTEGERS[sign] + bits : name.toLowerCase();
  return ELEMENT_TYPES.has(hlo) && !/^[usc]\d/.test(name) && name !== 'pred' ? hlo : undefined;
}

export const COMPLEX = { f32: 'c64', f64: 'c128' };
export const REAL = { c64: 'f32', c128: 'f64' };

/** Element types of MLIR that HLO lacks: programs may mention them, but not compute with them. Those of HLO
 * that have all of their numbers. */
export const FOREIGN = new Map([['f6E2M3FN', 'f8E4M3FN'], ['f6E3M2FN', 'f8E4M3FN'], ['tf32', 'f32']]);

/** The reason for which a type has no arrays, and a remedy. */
export function foreignText(type) {
  const [, found] = /(\w+)>?$/.exec(typeText(type).replace(/^.*x(?=[ft])/, '')) ?? [];
  return FOREIGN.has(found) ? `; XLA has no ${found}: convert the program to ${FOREIGN.get(found)}, ` +
    'which has all of its numbers' : '';
}

/** A tensor of such elements. */
export function foreignTensor(dimensions, element) {
  return { kind: 'opaque', text: `tensor<${dimensions.map((n) => `${n < 0 ? '?' : n}x`).join('')}${element}>` };
}

export function tensor(elementType, dimensions, bounds = null) {
  return { kind: 'tensor', elementType, dimensions, bounds };
}

/** The type of a number that is no array. `spelled`: as MLIR has it where HLO's name is another one's, too. */
export function scalarType(elementType, spelled = undefined) {
  return { ...tensor(elementType, []), container: '', spelled };
}

export const isQuantized = (type) => type?.kind === 'tensor' && typeof type.elementType === 'object';

/** Returns the type in which a tensor's elements are stored. */
export function storageType(type) {
  return isQuantized(type) ? type.elementType.storage : type.elementType;
}

/** Returns a type's text in MLIR's spelling, for messages. */
export function typeText(type) {
  switch (type?.kind) {
    case 'tensor': {
      const sizes = type.dimensions?.map((n) => `${n < 0 ? '?' : n}x`).join('') ?? '*x';
      const element = type.spelled ?? elementText(type.elementType);
      if (type.container === '') return element;
      const bounds = type.bounds?.map((n) => (n < 0 ? '?' : n)).join(', ');
      const encoding = bounds ? `, #stablehlo.bounds<${bounds}>` : '';
      return `${type.container ?? 'tensor'}<${sizes}${element}${encoding}>`;
    }
    case 'tuple': return `tuple<${type.types.map(typeText).join(', ')}>`;
    case 'token': return '!stablehlo.token';
    case 'opaque': return type.text;
    case 'function': {
      const list = (types) => `(${types.map(typeText).join(', ')})`;
      const [only] = type.results;
      const isOne = type.results.length === 1 && only.kind !== 'function';
      return `${list(type.inputs)} -> ${isOne ? typeText(only) : list(type.results)}`;
    }
    default: return type?.kind ?? 'no type';
  }
}

function elementText(type) {
  if (typeof type === 'object') return `!quant.uniform<${elementText(type.storage)}:...>`;
  if (type === 'pred') return 'i1';
  if (REAL[type]) return `complex<${REAL[type]}>`;
  return type.replace(/^s(\d+)$/, 'i$1').replace(/^u(\d+)$/, 'ui$1')
    .replace(/^(f[84])(e.*)$/, (_, bits, format) => bits + format.toUpperCase());
}

const shapes = new WeakMap(); // of types of arrays, as readers make few types for many values

/** Whether a shape of HLO follows from the type alone. */
export function isStatic(type) {
  if (shapes.has(type)) return true;
  if (type.kind === 'tuple') return type.types.every(isStatic);
  if (type.kind !== 'tensor') return true;
  if (!type.dimensions) return false;
  return type.dimensions.every((n, i) => n >= 0 || (type.bounds && type.bounds[i] >= 0));
}

/**
 * @param {object} type
 * @param {string} operation for the message
 * @returns {Shape}
 */
export function shapeOf(type, operation) {
  const known = shapes.get(type);
  if (known) return known;
  if (type.kind === 'token') return Shape.token();
  if (type.kind === 'tuple') return Shape.tuple(type.types.map((t) => shapeOf(t, operation)));
  if (type.kind !== 'tensor') {
    throw new XlaError('UNIMPLEMENTED', `${operation}: values of type ${typeText(type)}${foreignText(type)}`, {
      operation,
    });
  }
  if (!isStatic(type)) {
    throw invalidArgument(
      operation,
      `the size of ${typeText(type)} does not follow from the sizes of the program's arguments`,
    );
  }
  const dynamicDimensions = type.dimensions.map((n) => n < 0);
  const sizes = type.dimensions.map((n, i) => (n < 0 ? type.bounds[i] : n));
  const shape = Shape.array(storageType(type), sizes, { dynamicDimensions });
  shapes.set(type, shape);
  return shape;
}
