/** The context that an operation's row gets: operands, attributes, and methods that make HLO. */
import { XlaError } from '../base/error.mjs';
import { Shape } from '../values/shape.mjs';
import { ELEMENT_TYPES } from '../values/types.mjs';
import { Dense, Float, Integer, malformed, nameOf, UNIT } from './ir.mjs';
import { foreignText, isStatic, shapeOf, storageType, typeText } from './types.mjs';

export class Context {
  /**
   * @param {import('./lower.mjs').Lowering} lowering
   * @param {import('./frame.mjs').Frame} frame
   * @param {import('./ir.mjs').Operation} operation
   * @param {import('../builder/op.mjs').XlaOp[]} operands
   */
  constructor(lowering, frame, operation, operands) {
    this.lowering = lowering;
    this.frame = frame;
    this.operation = operation;
    this.in = operands;
    this.b = frame.builder;
  }

  get name() {
    return this.operation.name;
  }

  /** The first operand. */
  get x() {
    if (this.in.length) return this.in[0];
    throw malformed('takes operands, not none');
  }

  /**
   * Makes an instruction: HLO's opcode, and attributes as in HLO text. `shape`: where it does not follow from the operands;
   * `expected`: where it does; by default that of the operation's results. null: not known yet.
   */
  emit(opcode, operands, attributes = {}, shape = undefined, expected = shape ?? this.#whole()) {
    return this.lowering.emit(this.frame, opcode, operands, attributes, shape, this.operation, expected);
  }

  /** The declared shape of all results together; undefined if it is not declared. */
  #whole() {
    const { results } = this.operation;
    if (!results.every(({ type }) => isStatic(type))) return undefined;
    return results.length === 1 ? this.shape() : Shape.tuple(results.map((_, i) => this.shape(i)));
  }

  /* ---- Attributes ---- */

  attribute(name) {
    return this.operation.attributes[name];
  }

  has(name) {
    return this.attribute(name) !== undefined;
  }

  #missing(name, what) {
    const got = this.attribute(name);
    return malformed(got === undefined ? `the attribute ${name} is missing` : `${name} must be ${what}`);
  }

  /** A list of integers. Without a fallback it must be there. */
  ints(name, fallback = undefined) {
    const value = this.attribute(name);
    if (value === undefined && fallback !== undefined) return fallback;
    const list = numbersOf(value);
    if (list) return list;
    throw this.#missing(name, 'a list of integers');
  }

  bools(name, fallback = undefined) {
    return this.ints(name, fallback)?.map(Boolean);
  }

  int(name, fallback = undefined) {
    const value = this.attribute(name);
    if (value === undefined && fallback !== undefined) return fallback;
    const number = value instanceof Integer ? Number(value.value) : value;
    if (Number.isSafeInteger(number)) return number;
    throw this.#missing(name, 'an integer');
  }

  bool(name) {
    const value = this.attribute(name);
    if (value === undefined || typeof value === 'boolean') return value ?? false;
    if (value === UNIT) return true;
    if (value instanceof Integer) return Number(value.value) !== 0;
    throw this.#missing(name, 'true or false');
  }

  float(name) {
    const value = this.attribute(name);
    if (value instanceof Float) return scalarValue(value);
    throw this.#missing(name, 'a number');
  }

  /** A string, a word of an enumeration, or a symbol's name. */
  string(name, fallback = undefined) {
    const value = this.attribute(name);
    if (value === undefined && fallback !== undefined) return fallback;
    const text = nameOf(value);
    if (text !== undefined) return text;
    throw this.#missing(name, 'a string');
  }

  /** A list of lists, given as a matrix: replica groups, pairs. */
  rows(name, fallback = undefined) {
    const value = this.attribute(name);
    if (value === undefined && fallback !== undefined) return fallback;
    if (Array.isArray(value) && value.every(Array.isArray)) return value.map(numbersOf);
    if (!(value instanceof Dense) || value.type.dimensions.length !== 2) {
      throw this.#missing(name, 'a matrix of integers');
    }
    const [count, width] = value.type.dimensions;
    const list = numbersOf(value);
    return Array.from({ length: count }, (_, i) => list.slice(i * width, (i + 1) * width));
  }

  /* ---- Results ---- */

  type(i = 0) {
    const result = this.operation.results[i];
    if (result) return result.type;
    throw malformed(`has no result ${i}`);
  }

  /** The declared shape of a result; undefined if its sizes are not declared. */
  declared(i = 0) {
    const type = this.type(i);
    return isStatic(type) ? shapeOf(type, this.name) : undefined;
  }

  /** The declared shape of a result, which must have sizes. */
  shape(i = 0) {
    return shapeOf(this.type(i), this.name);
  }

  /** The element type of a result's array. */
  elementType(i = 0) {
    const type = this.type(i);
    if (type.kind === 'tensor') return storageType(type);
    throw malformed(`the result must be an array, not ${typeText(type)}${foreignText(type)}`);
  }

  /* ---- Known values ---- */

  /** The elements of an operand, if they are known now. */
  known(i) {
    return this.frame.known.get(this.in[i]);
  }

  /** The elements of an operand of integers, if they are known or a constant. */
  integers(i) {
    return (this.known(i) ?? constantOf(this.operation.operands[i]))?.map(Number);
  }

  /** Returns the known elements of an operand of sizes or indices; throws if they are unknown. */
  sizes(i) {
    if (i < 0 || i >= this.in.length) throw malformed(`has no operand ${i}`);
    const known = this.integers(i);
    if (known) return known;
    throw new XlaError('UNIMPLEMENTED', `operand ${i} does not follow from the sizes of the ` +
      "program's arguments", { operation: this.name });
  }

  /* ---- Regions ---- */

  region(i) {
    const region = this.operation.regions[i];
    if (region) return region;
    throw malformed(`region ${i} is missing`);
  }

  /** A region as a computation of arguments of these shapes; by default, those declared. */
  computation(i, shapes = undefined, name = `region_${i}`) {
    const region = this.region(i);
    const own = shapes ?? region.arguments.map(({ type }) => shapeOf(type, this.name));
    return this.lowering.computation(this.frame, region, own, name);
  }

  /** A scalar constant. */
  constant(value, elementType) {
    return this.b.constantR0(value, elementType);
  }
}

/** A number attribute's value. */
export function scalarValue(attribute) {
  if (attribute instanceof Integer) return attribute.value;
  if (!(attribute instanceof Float)) return attribute;
  const elementType = attribute.type?.elementType ?? 'f64';
  return ELEMENT_TYPES.get(elementType).read(attribute.value, 0);
}

/** @returns {number[] | undefined} */
export function numbersOf(value) {
  if (value instanceof Dense) {
    const count = value.type.dimensions.reduce((n, size) => n * size, 1);
    if (typeof value.type.elementType !== 'string' || !/^(pred|[su]\d+)$/.test(value.type.elementType) ||
      count > 1e6) {
      return undefined;
    }
    return Array.from({ length: count }, (_, i) => Number(value.data[value.splat ? 0 : i]));
  }
  if (!Array.isArray(value)) return undefined;
  const list = value.flat().map((item) => Number(item instanceof Integer ? item.value : item));
  return list.every((n) => Number.isSafeInteger(n)) ? list : undefined;
}

/** The elements of a value that is a constant of the program. */
export function constantOf(value) {
  const dense = value.owner?.name === 'stablehlo.constant' && value.owner.attributes.value;
  return dense ? numbersOf(dense) : undefined;
}
