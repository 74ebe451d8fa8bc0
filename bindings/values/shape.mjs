/** Shapes: element types, dimensions, layouts and tuples of them. */
import { atBoundary, guarded, notConstructed, PRIVATE } from '../base/boundary.mjs';
import { MAX_NESTING, MAX_RANK } from '../base/constants.mjs';
import { describe, invalidArgument } from '../base/error.mjs';
import { INSPECT } from '../base/inspect.mjs';
import { checkOptions, copyList, kind } from '../base/options.mjs';
import { ELEMENT_TYPES, typeByOtherName, perByte } from './types.mjs';

/** The values that fill a layout's padding, by XLA's names. */
const PADDING_VALUES = ['ZERO_PAD', 'ONE_PAD', 'LOWEST_PAD', 'HIGHEST_PAD', 'UNKNOWN_PAD'];

/** How an array lies in linear memory: XLA's Layout. Immutable. */
export class Layout {
  /**
   * @param {object} fields
   * @param {readonly number[]} fields.minorToMajor the dimension numbers, fastest varying first
   * @param {readonly number[]} [fields.paddedDimensions] the widths to which dimensions are padded
   * @param {string} [fields.paddingValue] 'ZERO_PAD' (the default), 'ONE_PAD', 'LOWEST_PAD',
   *   'HIGHEST_PAD' or 'UNKNOWN_PAD' (which leaves zeros)
   */
  constructor(fields) {
    const { minorToMajor, paddedDimensions, paddingValue } = checkLayout(fields);
    this.minorToMajor = Object.freeze(minorToMajor);
    this.paddedDimensions = paddedDimensions && Object.freeze(paddedDimensions);
    this.paddingValue = paddingValue;
    Object.freeze(this);
  }

  /** The default layout of a rank, dimension 0 most major: {rank-1, ..., 0}. */
  static rowMajor(rank) {
    if (!Number.isInteger(rank) || rank < 0 || rank > MAX_RANK) {
      throw invalidArgument('layout', `rank must be an integer from 0 to ${MAX_RANK}; got ${describe(rank)}`);
    }
    return new Layout({ minorToMajor: Array.from({ length: rank }, (_, i) => rank - 1 - i) });
  }

  get isDefault() {
    const last = this.minorToMajor.length - 1;
    return !this.paddedDimensions && this.minorToMajor.every((dim, i) => dim === last - i);
  }

  equals(other) {
    return (
      other instanceof Layout &&
      sameNumbers(this.minorToMajor, other.minorToMajor) &&
      sameNumbers(this.paddedDimensions ?? [], other.paddedDimensions ?? []) &&
      (!this.paddedDimensions || this.paddingValue === other.paddingValue)
    );
  }

  [INSPECT]() {
    return `Layout { ${this} }`;
  }

  /** '{0,1}'. Padding has no place in HLO text. */
  toString() {
    return `{${this.minorToMajor.join(',')}}`;
  }
}

/**
 * Whether a value is a Shape that this class made.
 * @type {(value: unknown) => value is Shape}
 */
export let isShape;

/** Shapes by their text: a program has few, and names each for many instructions. */
const parsed = new Map();
const MAX_PARSED = 1000, MAX_KEPT = 100; // shapes; characters of one

/**
 * XLA's Shape: element type, dimensions and layout of an array; a tuple of shapes; or a token.
 * Immutable.
 */
export class Shape {
  #genuine = true;

  static {
    isShape = (value) => typeof value === 'object' && value !== null && #genuine in value;
  }

  /** Not for callers: see parse, array, tuple, token. */
  constructor(fields, key) {
    if (key !== PRIVATE) throw notConstructed('Shape', 'Shape.parse(), array(), tuple() or token()');
    const { elementType, dimensions = [], dynamicDimensions, layout, tupleShapes = null } = fields;
    this.elementType = elementType;
    this.dimensions = Object.freeze([...dimensions]);
    this.dynamicDimensions = Object.freeze(
      dynamicDimensions ? [...dynamicDimensions] : dimensions.map(() => false),
    );
    this.layout = layout && !layout.isDefault ? layout : null;
    this.tupleShapes = tupleShapes && Object.freeze([...tupleShapes]);
    Object.freeze(this);
  }

  /**
   * @param {string} elementType
   * @param {readonly number[]} [dimensions]
   * @param {object} [options]
   * @param {Layout | readonly number[]} [options.layout] a Layout, or its minorToMajor
   * @param {readonly boolean[]} [options.dynamicDimensions] which sizes are upper bounds
   */
  static array(elementType, dimensions = [], options = {}) {
    if (!ELEMENT_TYPES.has(elementType)) {
      throw invalidArgument('shape',
        noType(`elementType must be one of arrays, such as "f32"; got ${describe(elementType)}`, elementType));
    }
    const sizes = checkSizes('shape', 'dimensions', dimensions);
    const { layout, dynamicDimensions } = checkOptions('shape', options, ARRAY_OPTIONS);
    if (dynamicDimensions && dynamicDimensions.length !== sizes.length) {
      throw invalidArgument('shape', `dynamicDimensions must have an entry for each of ${
        sizes.length} dimensions; got ${dynamicDimensions.length}`);
    }
    const shape = new Shape({ elementType, dimensions: sizes, dynamicDimensions }, PRIVATE);
    return layout ? shape.withLayout(layout) : shape;
  }

  /** @param {readonly (Shape | string)[]} shapes */
  static tuple(shapes) {
    if (!Array.isArray(shapes)) {
      throw invalidArgument('shape', `shapes must be an array of shapes; got ${describe(shapes)}`);
    }
    return new Shape({ elementType: 'tuple', tupleShapes: copyList(shapes).map((s) => Shape.of(s)) }, PRIVATE);
  }

  static token() {
    return new Shape({ elementType: 'token' }, PRIVATE);
  }

  /** Returns a Shape unchanged; parses a string. */
  static of(shape) {
    return shapeOf(shape, 'shape');
  }

  /**
   * Parses a shape in HLO's syntax: 'f32[2,3]', 'f32[2,3]{0,1}', 'f32[<=5]', '(f32[2], s32[])', 'token[]'. Of a
   * layout, minor_to_major is kept; tiling and memory space are dropped.
   * @param {string} text
   */
  static parse(text) {
    if (typeof text !== 'string') {
      throw invalidArgument('shape', `text must be a string such as "f32[2,3]"; got ${describe(text)}`);
    }
    const known = parsed.get(text);
    if (known) return known;
    const parser = { text, at: 0, depth: 0 };
    const shape = parseShape(parser);
    skipSpace(parser);
    if (parser.at < text.length) fail(parser, 'does not belong there');
    if (parsed.size >= MAX_PARSED) parsed.clear();
    if (text.length <= MAX_KEPT) parsed.set(text, shape);
    return shape;
  }

  get isTuple() {
    return this.elementType === 'tuple';
  }
  get isToken() {
    return this.elementType === 'token';
  }
  get isArray() {
    return ELEMENT_TYPES.has(this.elementType);
  }
  get isScalar() {
    return this.isArray && this.dimensions.length === 0;
  }
  /** Number of dimensions. */
  get rank() {
    return this.dimensions.length;
  }
  /** Number of elements of an array, without padding. */
  get elementCount() {
    return this.isArray ? product(this.dimensions) : 0;
  }
  /** Bytes of an array in the core's memory: dense, and elements of a few bits packed; of a tuple, of all its leaves. */
  get byteSize() {
    if (this.isTuple) return this.tupleShapes.reduce((sum, s) => sum + s.byteSize, 0);
    if (!this.isArray) return 0;
    const type = ELEMENT_TYPES.get(this.elementType);
    return Math.ceil(this.elementCount * type.bytes / perByte(type));
  }
  get isDynamic() {
    if (this.isTuple) return this.tupleShapes.some((s) => s.isDynamic);
    return this.dynamicDimensions.includes(true);
  }
  /** The layout of an array; the default one if none is stated. */
  get effectiveLayout() {
    return this.layout ?? Layout.rowMajor(this.rank);
  }

  /** The arrays and tokens in it, depth first. */
  leaves() {
    return this.isTuple ? this.tupleShapes.flatMap((s) => s.leaves()) : [this];
  }

  /** Returns this shape with another element type. */
  withElementType(elementType) {
    const { dimensions, dynamicDimensions, layout } = this;
    return Shape.array(elementType, dimensions, { dynamicDimensions, layout: layout ?? undefined });
  }

  /** Returns this array shape in another layout: a Layout, its minorToMajor, or null for the default one. */
  withLayout(layout) {
    if (!this.isArray) throw invalidArgument('shape', `${this} is no array: it has no layout`);
    const made = Array.isArray(layout) ? new Layout({ minorToMajor: layout }) : (layout ?? null);
    if (made && !(made instanceof Layout)) {
      throw invalidArgument(
        'shape',
        `layout must be a Layout, an array of dimension numbers or null; got ${describe(layout)}`,
      );
    }
    if (made && made.minorToMajor.length !== this.rank) {
      throw invalidArgument(
        'shape',
        `layout ${made} has ${made.minorToMajor.length} dimensions; ${this} has ${this.rank}`,
      );
    }
    made?.paddedDimensions?.forEach((padded, i) => {
      if (padded >= this.dimensions[i]) return;
      throw invalidArgument(
        'shape',
        `padded dimension ${i} of layout is ${padded}, less than the ${this.dimensions[i]} ` +
          `elements of ${this}`,
      );
    });
    return new Shape({ ...this, layout: made }, PRIVATE);
  }

  /** Returns this shape with default layouts, also in tuples. */
  withoutLayout() {
    if (this.isTuple) return Shape.tuple(this.tupleShapes.map((s) => s.withoutLayout()));
    return this.layout ? new Shape({ ...this, layout: null }, PRIVATE) : this;
  }

  /** Whether shapes are equal, apart from layouts and dynamic dimensions. */
  compatible(other) {
    other = shapeOf(other, 'other');
    if (this.elementType !== other.elementType) return false;
    if (!this.isTuple) return sameNumbers(this.dimensions, other.dimensions);
    const [a, b] = [this.tupleShapes, other.tupleShapes];
    return a.length === b.length && a.every((shape, i) => shape.compatible(b[i]));
  }

  /**
   * Whether an array of another shape can be an argument for a parameter of this shape. Dynamic dimensions may be
   * shorter than their bounds, and layouts may differ.
   */
  accepts(other) {
    other = shapeOf(other, 'other');
    if (!this.isArray || !other.isArray) return this.compatible(other);
    const fits = (size, i) =>
      size === this.dimensions[i] || (this.dynamicDimensions[i] && size < this.dimensions[i]);
    return (
      this.elementType === other.elementType &&
      this.rank === other.rank &&
      other.dimensions.every(fits)
    );
  }

  /** Whether shapes are equal, with layouts and dynamic dimensions. */
  equals(other) {
    other = shapeOf(other, 'other');
    if (!this.compatible(other)) return false;
    if (this.isTuple) return this.tupleShapes.every((s, i) => s.equals(other.tupleShapes[i]));
    if (!this.isArray) return true;
    return (
      this.dynamicDimensions.every((flag, i) => flag === other.dynamicDimensions[i]) &&
      this.effectiveLayout.equals(other.effectiveLayout)
    );
  }

  /**
   * Returns an element's index in linear memory, in the shape's layout and with its padding (XLA's IndexUtil).
   * @param {readonly number[]} multiIndex one index per dimension
   */
  linearIndex(multiIndex) {
    if (!Array.isArray(multiIndex) || multiIndex.length !== this.rank) {
      throw invalidArgument(
        'shape',
        `multiIndex must be an array of ${this.rank} indices into ${this}; got ${describe(multiIndex)}`,
      );
    }
    const strides = this.strides();
    return multiIndex.reduce((sum, index, dim) => {
      if (Number.isInteger(index) && index >= 0 && index < this.dimensions[dim]) {
        return sum + index * strides[dim];
      }
      throw invalidArgument(
        'shape',
        `multiIndex[${dim}] must be an integer from 0 to ${this.dimensions[dim] - 1}, in dimension ${dim} of ${
          this}; got ${describe(index)}`,
      );
    }, 0);
  }

  /** Returns the multi-dimensional index of an index in linear memory: the inverse of linearIndex(). */
  multiIndex(linearIndex) {
    if (!Number.isInteger(linearIndex) || linearIndex < 0 || linearIndex >= this.linearSize) {
      throw invalidArgument('shape',
        `linearIndex must be an integer from 0 to ${this.linearSize - 1}, inside ${this}; got ${describe(linearIndex)}`);
    }
    const widths = this.effectiveLayout.paddedDimensions ?? this.dimensions;
    const index = new Array(this.rank).fill(0);
    let rest = linearIndex;
    for (const dim of this.effectiveLayout.minorToMajor) {
      index[dim] = rest % widths[dim];
      rest = Math.floor(rest / widths[dim]);
    }
    return index;
  }

  /** Elements that the array takes in memory, padding included. */
  get linearSize() {
    return product(this.layout?.paddedDimensions ?? this.dimensions);
  }

  /** Returns the stride of each dimension in elements, in the shape's layout. */
  strides() {
    const layout = this.effectiveLayout;
    const widths = layout.paddedDimensions ?? this.dimensions;
    const strides = new Array(this.rank);
    let stride = 1;
    for (const dim of layout.minorToMajor) {
      strides[dim] = stride;
      stride *= widths[dim];
    }
    return strides;
  }

  /** Prints HLO's syntax, with a layout unless it is the default one. */
  toString() {
    if (this.isTuple) return `(${this.tupleShapes.join(', ')})`;
    const sizes = this.dimensions.map((n, i) => (this.dynamicDimensions[i] ? `<=${n}` : `${n}`));
    return `${this.elementType}[${sizes.join(',')}]${this.layout ?? ''}`;
  }

  [INSPECT]() {
    return `Shape { ${this} }`;
  }

  toJSON() {
    return this.toString();
  }
}

const product = (numbers) => numbers.reduce((a, b) => a * b, 1);

/** Whether an array, or some part of a tuple, holds floating-point or complex numbers. */
export const isFloat = (shape) => (shape.isTuple ? shape.tupleShapes.some(isFloat) : /^(b?f|c)\d/.test(shape.elementType));

function sameNumbers(a, b) {
  return a.length === b.length && a.every((n, i) => n === b[i]);
}

/** Returns a Shape unchanged; parses a string. `name`: of the argument, for errors */
function shapeOf(shape, name) {
  if (isShape(shape)) return shape;
  if (typeof shape === 'string') return Shape.parse(shape);
  throw invalidArgument('shape', `${name} must be a Shape or a string such as "f32[2,3]"; got ${describe(shape)}${
    sizesOf(shape) ? `; did you mean "f32[${shape}]"?` : ''}`);
}

const noType = (problem, name) => {
  const meant = typeByOtherName(name);
  return meant ? `${problem}; did you mean ${meant}?` : problem;
};

const LAYOUT_FIELDS = {
  minorToMajor: kind('an array that names each dimension once', (value) => {
    const sizes = sizesOf(value);
    return sizes?.every((_, i) => sizes.includes(i)) ? sizes : undefined;
  }),
  paddedDimensions: kind('an array of non-negative integers', sizesOf),
  paddingValue: kind(`one of ${PADDING_VALUES.join(', ')}`, (value) =>
    PADDING_VALUES.includes(value) ? value : undefined),
};
const ARRAY_OPTIONS = {
  layout: kind('a Layout or an array of dimension numbers', (value) =>
    value instanceof Layout || Array.isArray(value) ? value : undefined),
  dynamicDimensions: kind('an array of booleans', (value) =>
    Array.isArray(value) && value.length <= MAX_RANK ? copyList(value).map(Boolean) : undefined),
};

const checkLayout = guarded(function layout(fields) {
  const options = checkOptions('layout', fields, LAYOUT_FIELDS);
  const { minorToMajor, paddedDimensions = null, paddingValue = 'ZERO_PAD' } = options;
  if (!minorToMajor) {
    throw invalidArgument('layout', 'minorToMajor must name each dimension once; it is missing');
  }
  if (paddedDimensions && paddedDimensions.length !== minorToMajor.length) {
    throw invalidArgument(
      'layout',
      `paddedDimensions has ${paddedDimensions.length} entries for ` +
        `${minorToMajor.length} dimensions; it needs one for each`,
    );
  }
  return { minorToMajor, paddedDimensions, paddingValue };
});

/** Copies the sizes, so that the caller cannot change them; undefined if these are no sizes of dimensions. */
function sizesOf(value) {
  if (!Array.isArray(value) || value.length > MAX_RANK) return undefined;
  const copy = copyList(value);
  return copy.every((n) => Number.isSafeInteger(n) && n >= 0) ? copy : undefined;
}

function checkSizes(operation, what, sizes) {
  const copy = sizesOf(sizes);
  if (copy) return copy;
  if (Array.isArray(sizes) && sizes.length > MAX_RANK) {
    throw invalidArgument(operation, `rank ${sizes.length} is more than ${MAX_RANK}`);
  }
  throw invalidArgument(
    operation,
    `${what} must be an array of non-negative integers; got ${describe(sizes)}${
      Array.isArray(sizes) && sizes.includes(-1) ? '; no size is inferred: give the number instead of -1' : ''}`,
  );
}

/*
 * ---- The parser: shape = '(' shapes ')' | type '[' sizes ']' [ '{' layout '}' ] ----
 *
 * The only parser of shapes in JavaScript. The core's is not used, since shapes can be made before a client has loaded
 * the core.
 */

function fail({ text, at }, problem) {
  const rest = text.slice(at, at + 20);
  const where = rest ? describe(rest) : 'the end';
  const meant = shapeByOtherName(text);
  throw invalidArgument('shape', `${describe(text)}: ${where} ${problem}${meant ? `; did you mean ${meant}?` : ''}`);
}

/** Returns the shape that a text in another syntax states: float32[2], tensor<2x3xf32>, f32(2,3), f32, (2, 3). */
function shapeByOtherName(text) {
  const [, sizes, name] = /^(?:tensor<)?((?:\d+x)*)([a-z]\w*)>?$/i.exec(text) ??
    /^()([a-z]\w*)\s*[[(][\d, ]*[\])]$/i.exec(text) ?? (/^\([\d, ]+\)$/.test(text) ? [text, '', 'f32'] : []);
  const type = ELEMENT_TYPES.has(name) ? name : typeByOtherName(name);
  const numbers = (sizes || text.replace(name, '')).match(/\d+/g) ?? [];
  return type && text.length < 60 ? `${type}[${numbers}]` : undefined;
}

function skipSpace(parser) {
  while (/\s/.test(parser.text[parser.at] ?? '')) parser.at++;
}

function accept(parser, string) {
  skipSpace(parser);
  if (!parser.text.startsWith(string, parser.at)) return false;
  parser.at += string.length;
  return true;
}

function expect(parser, string) {
  if (!accept(parser, string)) fail(parser, `should be "${string}"`);
}

function match(parser, regularExpression, what) {
  skipSpace(parser);
  const sticky = new RegExp(regularExpression.source, 'y');
  sticky.lastIndex = parser.at;
  const found = sticky.exec(parser.text);
  if (!found) fail(parser, `should be ${what}`);
  parser.at = sticky.lastIndex;
  return found[0];
}

/** Reads item, item, ... and `close`. */
function parseList(parser, close, parseItem) {
  const items = [];
  while (!accept(parser, close)) {
    if (items.length && !accept(parser, ',')) fail(parser, `should be "," or "${close}"`);
    items.push(parseItem(parser));
  }
  return items;
}

const parseNumber = (parser) => Number(match(parser, /\d+/, 'a number'));

function parseShape(parser) {
  if (accept(parser, '(')) return parseTuple(parser);
  const start = parser.at;
  const elementType = match(parser, /[A-Za-z]\w*/, 'an element type');
  const isArray = ELEMENT_TYPES.has(elementType);
  if (!isArray && elementType !== 'token' && elementType !== 'opaque') {
    parser.at = start;
    fail(parser, 'is no element type');
  }
  expect(parser, '[');
  const dynamicDimensions = [];
  const dimensions = parseList(parser, ']', () => {
    dynamicDimensions.push(accept(parser, '<='));
    return parseNumber(parser);
  });
  if (!isArray) {
    if (!dimensions.length) return new Shape({ elementType }, PRIVATE);
    throw invalidArgument('shape', `${describe(parser.text)}: ${elementType} has no dimensions`);
  }
  return Shape.array(elementType, dimensions, { dynamicDimensions, layout: parseLayout(parser) });
}

function parseTuple(parser) {
  if (parser.depth === MAX_NESTING) fail(parser, `is nested deeper than ${MAX_NESTING} levels`);
  parser.depth++;
  const shapes = parseList(parser, ')', parseShape);
  parser.depth--;
  return Shape.tuple(shapes);
}

/** Parses '{1,0}' or '{1,0:T(8,128)S(1)}'; '{}' and '{:...}' state no order. */
function parseLayout(parser) {
  if (!accept(parser, '{')) return undefined;
  const minorToMajor = [];
  while (!accept(parser, '}')) {
    if (accept(parser, ':')) {
      match(parser, /[^}]*/, 'the rest of a layout');
      continue;
    }
    if (minorToMajor.length) expect(parser, ',');
    minorToMajor.push(parseNumber(parser));
  }
  return minorToMajor.length ? new Layout({ minorToMajor }) : undefined;
}

atBoundary(Layout);
atBoundary(Shape);
