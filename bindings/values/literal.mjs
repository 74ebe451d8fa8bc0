/** Values on the host: arrays and tuples of them. */
import { atBoundary, guarded, refuseOperators } from '../base/boundary.mjs';
import { MAX_RANK } from '../base/constants.mjs';
import { describe, invalidArgument, XlaError } from '../base/error.mjs';
import { INSPECT } from '../base/inspect.mjs';
import { copyList } from '../base/options.mjs';
import { Shape } from './shape.mjs';
import {
  ELEMENT_TYPES, firstOutside, isNarrow, packElements, perByte, refusal, typeOfTypedArray, typeOfValue, unpackElements,
} from './types.mjs';

/**
 * Whether a value is a Literal that the constructor made.
 * @type {(value: unknown) => value is Literal}
 */
export let isLiteral;

/** Whether a literal holds packed bytes only, as `data` was not read yet. @type {(literal: Literal) => boolean} */
let hasPacked;

/** Marks the data of a new literal as packed bytes. */
const PACKED = Symbol('packed');

/**
 * A value on the host: an array of elements, or a tuple of literals.
 *
 * `data` holds the elements as they lie in linear memory, in the order of the shape's layout, which
 * is row-major unless another one was asked for.
 */
export class Literal {
  #genuine = true;
  /** Of a literal made of packed bytes: the bytes, or `data` once it was read. */
  #packed;
  #data;

  static {
    isLiteral = (value) => typeof value === 'object' && value !== null && #genuine in value;
    hasPacked = (literal) => literal.#packed !== undefined;
  }

  /**
   * @param {Shape | string} shape
   * @param {ArrayBufferView | readonly Literal[] | null} data of an array: the natural typed array
   *   (kept, not copied), or nested arrays; of a tuple: its elements; of a token: null
   */
  constructor(shape, data, form) {
    this.shape = Shape.of(shape);
    this.elements = this.shape.isTuple ? checkElements(this.shape, data) : null;
    if (form === PACKED) {
      this.#packed = data;
      Object.defineProperty(this, 'data', { enumerable: true, get: () => this.#unpacked() });
    } else {
      this.data = this.shape.isArray ? ownData(this.shape, data) : null;
    }
    Object.freeze(this);
  }

  #unpacked() {
    const { elementType, linearSize } = this.shape;
    if (this.#packed) this.#data = unpackElements(ELEMENT_TYPES.get(elementType), this.#packed, linearSize);
    this.#packed = undefined;
    return this.#data;
  }

  /**
   * Makes a literal of packed elements of 4 or 2 bits, the first in the lowest bits of the first byte. The bytes are kept,
   * not copied. `data` is unpacked when it is first read.
   * @param {Uint8Array} bytes
   * @param {Shape | string} shape
   */
  static fromPacked(bytes, shape) {
    if (arrayKind(bytes) !== 'Uint8Array') throw invalidArgument('literal', `bytes must be a Uint8Array; got ${describe(bytes)}`);
    const made = Shape.of(shape), type = ELEMENT_TYPES.get(made.elementType);
    if (!type || perByte(type) === 1) throw invalidArgument('literal', `${made} has no elements of 4 or 2 bits, which are packed`);
    const length = Math.ceil(made.linearSize / perByte(type)), used = made.linearSize * type.bits & 7;
    if (bytes.length !== length) {
      throw invalidArgument('literal', `${made} needs a Uint8Array of ${length} packed bytes; got a Uint8Array of ${bytes.length}`);
    }
    if (used && bytes[length - 1] >> used) throw invalidArgument('literal', `${made} ends within its last byte, whose upper ${8 - used} bits must be 0`);
    return new Literal(made, bytes, PACKED);
  }

  /**
   * The elements in the core's form: those of 4 or 2 bits are packed, the first in the lowest bits; others are as in
   * `data`. Null of a tuple.
   */
  get packed() {
    const { shape } = this;
    if (!shape.isArray) return null;
    if (this.#packed) return this.#packed;
    const type = ELEMENT_TYPES.get(shape.elementType), data = checkData(shape, this.data);
    return perByte(type) > 1 ? packElements(type, data) : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  }

  /**
   * Makes a literal of `shape` from any of these values:
   *   a number, bigint, boolean or [re, im]   for a scalar;
   *   nested arrays                           one level per dimension; typed arrays may stand for
   *                                           any number of inner levels, row-major;
   *   a typed array                           all elements as they lie in memory: in the order of
   *                                           the shape's layout;
   *   a Literal                               in any layout;
   *   an array of such values                 for a tuple.
   * A typed array of the element type's natural kind (see `data`) is used unchanged, so a Uint16Array holds the bits
   * of f16 and bf16. Others are converted by value. Integers must be in range.
   *
   * The default shape follows from the value. A typed array is a vector of its own type. Other arrays and scalars are
   * pred, s64 or f32 if their first element is a boolean, a bigint or a number.
   * @param {any} value
   * @param {Shape | string} [shape]
   */
  static from(value, shape) {
    if (typeof shape === 'string' && ELEMENT_TYPES.has(shape)) {
      throw invalidArgument('literal', `${shape} is an element type: the shape is ${shape}[${shapeOfValue(value).dimensions}]`);
    }
    return makeLiteral(value, shape === undefined ? shapeOfValue(value) : Shape.of(shape), []);
  }

  /** @param {readonly Literal[]} elements */
  static tuple(elements) {
    const copy = Array.isArray(elements) ? copyList(elements) : [null];
    if (!copy.every(isLiteral)) {
      throw invalidArgument('literal', `elements must be an array of literals; got ${describe(elements)}`);
    }
    return new Literal(Shape.tuple(copy.map((element) => element.shape)), copy);
  }

  /** All zeros. */
  static zeros(shape) {
    const made = Shape.of(shape);
    if (made.isTuple) return new Literal(made, made.tupleShapes.map(Literal.zeros));
    return new Literal(made, made.isArray ? allocate(made) : null);
  }

  /** Numbers, bigints, booleans and [re, im], in nested arrays that follow the dimensions. */
  toArray() {
    const { shape, data, elements } = this;
    if (elements) return elements.map((element) => element.toArray());
    if (!shape.isArray) return null;
    checkData(shape, data);
    const { read } = ELEMENT_TYPES.get(shape.elementType);
    const { dimensions } = shape;
    const strides = shape.strides();
    const gather = (dim, at) => {
      if (dim === dimensions.length) return read(data, at);
      const row = new Array(dimensions[dim]);
      for (let i = 0; i < row.length; i++) row[i] = gather(dim + 1, at + i * strides[dim]);
      return row;
    };
    return gather(0, 0);
  }

  /** One element: literal.get([i, j]). */
  get(multiIndex = []) {
    if (!this.data) throw invalidArgument('literal', `${this.shape} has no array elements`);
    const { read } = ELEMENT_TYPES.get(this.shape.elementType);
    const index = this.shape.linearIndex(multiIndex);
    return read(checkData(this.shape, this.data), index);
  }

  /**
   * The same value with its elements in another order in memory.
   * @param {import('./shape.mjs').Layout | readonly number[] | null} layout a Layout, its
   *   minorToMajor, or null: row-major
   */
  inLayout(layout) {
    const shape = this.shape.withLayout(layout);
    if (shape.effectiveLayout.equals(this.shape.effectiveLayout)) return this;
    const data = allocate(shape);
    fillPadding(shape, data);
    copyStrided(shape, this.shape.strides(), checkData(this.shape, this.data), shape.strides(), data);
    return new Literal(shape, data);
  }

  /**
   * The same values in another element type, rounded to the nearest where it is narrower. As for Literal.from(), integers
   * must be whole and in range.
   * @param {string} elementType such as 'bf16'
   */
  convert(elementType) {
    const data = checkArray(this, 'convert'), shape = this.shape.withElementType(elementType), to = allocate(shape);
    const { read } = ELEMENT_TYPES.get(this.shape.elementType), { write } = ELEMENT_TYPES.get(elementType);
    for (let i = 0, size = shape.linearSize; i < size; i++) {
      const value = read(data, i), plain = value === true || value === false ? Number(value) : value;
      if (!write(to, i, plain)) throw problem({ shape, path: [] }, refusal(elementType, value, `, which is entry ${i}`));
    }
    return new Literal(shape, to);
  }

  /**
   * Dimension i of the result is dimension permutation[i] of this: XLA's Transpose, in memory.
   * @param {readonly number[]} [permutation] by default in reverse: [1, 0] of a matrix
   */
  transpose(permutation) {
    const data = checkArray(this, 'transpose'), { dimensions, elementType } = this.shape;
    const order = permutation === undefined ? [...dimensions.keys()].reverse() : permutation;
    const isOne = Array.isArray(order) && order.length === dimensions.length && dimensions.every((_, i) => order.includes(i));
    if (!isOne) {
      throw invalidArgument('transpose', `permutation must be an array that names each of the ${dimensions.length} dimensions of ${this.shape} once; got ${
        describe(order)}`);
    }
    const shape = Shape.array(elementType, order.map((i) => dimensions[i])), to = allocate(shape), strides = this.shape.strides();
    copyStrided(shape, order.map((i) => strides[i]), data, shape.strides(), to);
    return new Literal(shape, to);
  }

  /** The literals of the arrays in it, depth first; null for tokens. */
  leaves() {
    if (this.elements) return this.elements.flatMap((element) => element.leaves());
    return [this.shape.isArray ? this : null];
  }

  [INSPECT]() {
    if (this.elements) return `Literal { ${this.shape} }`;
    if (this.data && this.data.length < this.shape.linearSize) return `Literal { ${this.shape}, transferred away }`;
    return `Literal { ${this.data ? shortText(this.shape, this.data) : this.shape} }`;
  }

  /** Prints as XLA does: 'f32[2] {1, 2}'; from rank 2 on, one row per line. */
  toString() {
    if (this.elements) {
      return this.elements.length ? `(\n${this.elements.join(',\n')}\n)` : '()';
    }
    if (!this.data) return `${this.shape}`;
    return `${this.shape} ${formatNested(this.toArray(), this.shape, 0)}`;
  }
}

/* ---- Checks ---- */

function checkArray({ shape, data }, operation) {
  if (!shape.isArray) throw invalidArgument(operation, `${shape} is no array`);
  return checkData(shape, data);
}

/** Returns the kind of a view, also from another realm; subclasses such as Node's Buffer do not count. */
const arrayKind = (value) => (ArrayBuffer.isView(value) ? value[Symbol.toStringTag] : undefined);

const checkElements = guarded(function literal(shape, elements) {
  const expected = shape.tupleShapes;
  if (!Array.isArray(elements) || elements.length !== expected.length) {
    throw invalidArgument('literal', `${shape} needs an array of ${expected.length} literals as data; got ${describe(elements)}`);
  }
  const copy = copyList(elements);
  copy.forEach((element, i) => {
    if (isLiteral(element) && element.shape.compatible(expected[i])) return;
    throw invalidArgument('literal', `element ${i} must be a literal of ${expected[i]}; got ${describe(element)}`);
  });
  return Object.freeze(copy);
});

/** Checks data again, as its memory may have been transferred since the last check. */
const checkData = guarded(function literal(shape, data) {
  const type = ELEMENT_TYPES.get(shape.elementType);
  const length = shape.linearSize * type.lanes;
  if (arrayKind(data) !== type.Array.name) {
    throw invalidArgument('literal', `${shape} needs a ${type.Array.name} as data; got ${describe(data)}`);
  }
  checkAttached(data);
  if (data.length !== length) {
    throw invalidArgument('literal', `${shape} needs ${length} entries; got ${data.length}`);
  }
  return data;
});

/** Returns the data of a new literal, after a check of all entries. */
const ownData = guarded(function literal(shape, data) {
  if (Array.isArray(data)) return Literal.from(data, shape).data;
  return checkRange(shape, checkData(shape, data));
});

const checkRange = guarded(function literal(shape, data) {
  const at = firstOutside(shape.elementType, data);
  if (at < 0) return data;
  throw problem({ shape, path: [] }, refusal(shape.elementType, data[at], `, which is entry ${at}`));
});

function checkAttached(view) {
  if (view.byteLength || !isDetached(view.buffer)) return;
  throw invalidArgument(
    'literal',
    `the memory of this ${arrayKind(view)} was transferred away (its ArrayBuffer is detached)`,
  );
}

function isDetached(buffer) {
  try {
    new Uint8Array(buffer);
    return false;
  } catch {
    return true;
  }
}

function allocate(shape) {
  const type = ELEMENT_TYPES.get(shape.elementType);
  try {
    return new type.Array(shape.linearSize * type.lanes);
  } catch (error) {
    const code = shape.byteSize > Number.MAX_SAFE_INTEGER ? 'INVALID_ARGUMENT' : 'RESOURCE_EXHAUSTED';
    throw new XlaError(code, `literal: ${shape} is too large: its ${shape.byteSize} bytes are more than an array holds here`, { cause: error });
  }
}

/* ---- From JavaScript values ---- */

function makeLiteral(value, shape, path) {
  if (isLiteral(value)) return adaptLiteral(value, shape, path);
  if (shape.isTuple) return makeTuple(value, shape, path);
  if (!shape.isArray) return new Literal(shape, null);
  const isWhole = arrayKind(value) !== undefined && shape.layout;
  const target = isWhole ? shape : shape.withLayout(null);
  const data = allocate(target);
  if (isWhole) {
    copyTypedArray({ shape: target, data, path }, value, 0, target.linearSize);
    return new Literal(target, data);
  }
  fillNested({ shape: target, data, path }, value, 0, 0);
  const literal = new Literal(target, data);
  return shape.layout ? literal.inLayout(shape.layout) : literal;
}

function makeTuple(value, shape, path) {
  const { tupleShapes } = shape;
  if (!Array.isArray(value) || value.length !== tupleShapes.length) {
    const text = `needs an array of ${tupleShapes.length}; got ${describe(value)}`;
    throw problem({ shape, path }, text);
  }
  const elements = copyList(value).map((element, i) => makeLiteral(element, tupleShapes[i], [...path, i]));
  return new Literal(shape, elements);
}

function adaptLiteral(literal, shape, path) {
  if (!literal.shape.compatible(shape)) {
    throw problem({ shape, path }, `does not fit a literal of ${literal.shape}`);
  }
  if (!shape.isTuple) return shape.isArray ? literal.inLayout(shape.layout) : literal;
  return new Literal(
    shape,
    literal.elements.map((element, i) => adaptLiteral(element, shape.tupleShapes[i], path)),
  );
}

const product = (numbers) => numbers.reduce((a, b) => a * b, 1);

function problem({ shape, path }, text) {
  const where = path.length ? ` at [${path.join('][')}]` : '';
  return invalidArgument('literal', `value: ${shape}${where} ${text}`);
}

/** Fills dimensions `dim` and on from `value`, to element `at` of the row-major target and on. */
function fillNested(target, value, dim, at) {
  const { shape, data, path } = target;
  if (arrayKind(value) !== undefined) {
    return copyTypedArray(target, value, at, product(shape.dimensions.slice(dim)));
  }
  const type = ELEMENT_TYPES.get(shape.elementType);
  if (dim === shape.rank) {
    if (!type.write(data, at, value)) throw problem(target, refusal(type.name, value));
    return undefined;
  }
  const size = shape.dimensions[dim];
  if (!Array.isArray(value)) {
    throw problem(target, `needs an array of ${size} for dimension ${dim}; got ${describe(value)}`);
  }
  if (value.length !== size) {
    throw problem(target, `needs ${size} elements in dimension ${dim}; got ${value.length}`);
  }
  const step = product(shape.dimensions.slice(dim + 1));
  for (let i = 0; i < size; i++) {
    path.push(i);
    fillNested(target, value[i], dim + 1, at + i * step);
    path.pop();
  }
  return undefined;
}

/** Copies `count` elements of a typed array to element `at` of the target and on. */
function copyTypedArray(target, source, at, count) {
  const { shape, data } = target;
  const type = ELEMENT_TYPES.get(shape.elementType);
  checkAttached(source);
  const kind = arrayKind(source) === 'Uint8ClampedArray' ? 'Uint8Array' : arrayKind(source);
  const natural = kind === type.Array.name || (kind === 'Float16Array' && type.name === 'f16');
  const length = count * (natural ? type.lanes : 1);
  if (kind === 'DataView' || source.length !== length) {
    const got = kind === 'DataView' ? ', whose elements have no type: give a typed array of its buffer' : ` of ${source.length}`;
    throw problem(target, `needs ${length} entries; got ${describe(source)}${got}`);
  }
  if (kind === 'Float16Array') source = new Uint16Array(source.buffer, source.byteOffset, length);
  // Not every byte is a predicate or a 4-bit integer.
  if (natural && !isNarrow(type)) {
    return data.set(source, at * type.lanes);
  }
  if (/^Float(32|64)/.test(kind) && /^Float/.test(type.Array.name) && type.lanes === 1) {
    return data.set(source, at);
  }
  for (let i = 0; i < count; i++) {
    if (!type.write(data, at + i, source[i])) {
      throw problem(target, refusal(type.name, source[i], `, which is entry ${i}`));
    }
  }
  return undefined;
}

function shapeOfValue(value) {
  if (isLiteral(value)) return value.shape;
  if (ArrayBuffer.isView(value)) checkAttached(value);
  const dimensions = [];
  let inner = value;
  while (Array.isArray(inner) && dimensions.length <= MAX_RANK) { // or is it a part of itself?
    dimensions.push(inner.length);
    inner = inner[0];
  }
  const vectorType = typeOfTypedArray(inner);
  if (vectorType) return Shape.array(vectorType, [...dimensions, inner.length]);
  if (inner === undefined && dimensions.at(-1) > 0) throw invalidArgument('literal', `element 0 of an array of ${dimensions.at(-1)} is missing`);
  if (Array.isArray(inner)) {
    throw invalidArgument('literal', `the arrays of ${describe(value)} are nested deeper than ` +
      `${MAX_RANK} levels, which is the highest rank`);
  }
  if (!['number', 'bigint', 'boolean'].includes(typeof inner) && inner !== undefined) {
    throw invalidArgument('literal', `the value must be a number, a bigint, a boolean, or arrays of these; got ${describe(value)}`);
  }
  return Shape.array(typeOfValue(inner), dimensions);
}

/* ---- Layouts ---- */

/** Copies all elements of an array to places with other strides. */
function copyStrided({ dimensions, elementType }, fromStrides, from, toStrides, to) {
  const { lanes } = ELEMENT_TYPES.get(elementType);
  const copy = (dim, source, target) => {
    if (dim === dimensions.length) {
      for (let lane = 0; lane < lanes; lane++) {
        to[target * lanes + lane] = from[source * lanes + lane];
      }
      return;
    }
    for (let i = 0; i < dimensions[dim]; i++) {
      copy(dim + 1, source + i * fromStrides[dim], target + i * toStrides[dim]);
    }
  };
  copy(0, 0, 0);
}

function fillPadding(shape, data) {
  if (!shape.layout?.paddedDimensions) return;
  const { limits, write } = ELEMENT_TYPES.get(shape.elementType);
  const { paddingValue } = shape.layout;
  if (paddingValue === 'ZERO_PAD' || paddingValue === 'UNKNOWN_PAD') return;
  if (!limits && paddingValue !== 'ONE_PAD') {
    throw invalidArgument('layout', `${shape.elementType} has no lowest and no highest value`);
  }
  const value = { ONE_PAD: 1, LOWEST_PAD: limits?.[0], HIGHEST_PAD: limits?.[1] }[paddingValue];
  for (let i = 0, size = shape.linearSize; i < size; i++) write(data, i, value);
}

/** Returns a literal with its elements in row-major order, as on the device. */
export function rowMajor(literal) {
  return literal.shape.layout ? literal.inLayout(null) : literal;
}

/**
 * Returns the row-major elements of Literal.from(value, shape), as on the device. The caller's array is not copied if it
 * has that form.
 */
export function rowMajorData(value, shape) {
  if (!shape.layout && shape.isArray && arrayKind(value)) {
    const type = ELEMENT_TYPES.get(shape.elementType);
    const isNatural = arrayKind(value) === type.Array.name;
    const isWhole = value.length === shape.elementCount * type.lanes;
    if (isNatural && !isNarrow(type) && isWhole && value.length) return value;
  }
  const literal = rowMajor(Literal.from(value, shape));
  return literal.data && checkRange(literal.shape, checkData(literal.shape, literal.data));
}

/** As rowMajorData(), with elements of few bits packed, as in a Buffer: see Literal.packed. */
export function packedData(value, shape) {
  const type = ELEMENT_TYPES.get(shape.elementType);
  if (!type || perByte(type) === 1) return rowMajorData(value, shape);
  const literal = rowMajor(Literal.from(value, shape));
  if (!hasPacked(literal)) checkRange(literal.shape, checkData(literal.shape, literal.data));
  return literal.packed;
}

/* ---- Text ---- */

function formatNested(value, shape, dim) {
  if (dim === shape.rank) return formatElement(value, shape.elementType);
  const items = value.map((item) => formatNested(item, shape, dim + 1));
  if (dim === shape.rank - 1) return `{${items.join(', ')}}`;
  const indent = '  '.repeat(dim + 1);
  return `{\n${items.map((item) => indent + item).join(',\n')}\n${'  '.repeat(dim)}}`;
}

const MAX_SHOWN = 100;

/** Returns a literal's text for a screen: the first elements of the first rows. */
export function shortText(shape, data) {
  if (shape.elementCount <= MAX_SHOWN) {
    return String(new Literal(shape, data.slice()));
  }
  const { read } = ELEMENT_TYPES.get(shape.elementType);
  const first = Array.from({ length: MAX_SHOWN }, (_, i) =>
    formatElement(read(data, i), shape.elementType));
  return `${shape} {${first.join(', ')}, ...}`;
}

/** Returns the shortest decimal that reads back as the value in its type, with XLA's spelling of inf and nan. */
function formatElement(value, elementType) {
  if (Array.isArray(value)) {
    const part = elementType === 'c64' ? 'f32' : 'f64';
    return `(${value.map((x) => formatElement(x, part)).join(', ')})`;
  }
  if (typeof value !== 'number') return String(value);
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  if (Object.is(value, -0)) return '-0';
  const type = ELEMENT_TYPES.get(elementType);
  if (type.kind !== 'float' || elementType === 'f64') return String(value);
  const cell = new type.Array(1);
  // Of 6 digits no two are one normal f32: a shorter name of it is the one of 6 without its zeros.
  const min = elementType === 'f32' && Math.abs(value) > 2e-38 ? 6 : 1;
  for (let digits = min; digits < 10; digits++) {
    const rounded = Number(value.toPrecision(digits));
    type.write(cell, 0, rounded);
    if (type.read(cell, 0) === value) return String(rounded);
  }
  return String(value);
}

atBoundary(Literal);
refuseOperators(Literal, 'write y.toArray() for its numbers', true);
