/** Shapes and literals of HLO protos as HLO text. */
import { invalidArgument } from '../base/error.mjs';
import { Literal, rowMajor } from '../values/literal.mjs';
import { Shape } from '../values/shape.mjs';
import { ELEMENT_TYPES, narrowOfBytes, perByte, unpackElements } from '../values/types.mjs';
import { PRIMITIVE_TYPES } from './hlo_schema.mjs';

/** @returns {Shape} */
function shapeOf({ elementType = 0, dimensions = [], isDynamicDimension, tupleShapes, layout }) {
  const type = PRIMITIVE_TYPES[elementType];
  if (type === 'tuple') return Shape.tuple((tupleShapes ?? []).map(shapeOf));
  if (type === 'token') return Shape.token();
  if (!ELEMENT_TYPES.has(type)) {
    throw invalidArgument('parseHloProto', `${type ?? elementType} is no element type of arrays`);
  }
  const dynamicDimensions = isDynamicDimension?.length ? isDynamicDimension : undefined;
  return Shape.array(type, dimensions, { dynamicDimensions, layout: layout?.minorToMajor });
}

export const shapeText = (shape = {}) => String(shapeOf(shape));

/** Elements of less than a byte: a byte each, or (older XLA) packed, the first in the low bits. */
function unpack(bytes, type, count) {
  const isPacked = bytes.length < count && bytes.length >= Math.ceil(count / perByte(type));
  return isPacked ? unpackElements(type, bytes, count) : narrowOfBytes(bytes, type.name);
}

/** Returns the elements in the proto's form: the natural typed array, or their bytes. */
function stored(proto, { elementType, elementCount }) {
  const type = ELEMENT_TYPES.get(elementType);
  const found = proto[elementType] ?? [];
  return perByte(type) > 1 ? unpack(found, type, elementCount) : found;
}

function dataOf(proto, shape) {
  const { Array: Natural } = ELEMENT_TYPES.get(shape.elementType);
  const found = stored(proto, shape);
  if (found instanceof Natural) return found;
  if (!(found instanceof Uint8Array)) return Natural.from(found);
  return new Natural(found.slice().buffer, 0, Math.floor(found.length / Natural.BYTES_PER_ELEMENT));
}

/** A NaN's sign, and its payload where its type has one. */
function nanBits(data, i, elementType) {
  const { isIeee, mantissaBits } = ELEMENT_TYPES.get(elementType);
  const width = BigInt(8 * data.BYTES_PER_ELEMENT);
  const Words = { 8: BigUint64Array, 4: Uint32Array }[data.BYTES_PER_ELEMENT];
  const words = Words ? new Words(data.buffer, data.byteOffset, data.length) : data;
  const bits = BigInt(words[i]);
  return {
    negative: bits >> (width - 1n),
    payload: isIeee ? bits & ((1n << BigInt(mantissaBits)) - 1n) : 0n,
  };
}

function numberText(data, i, value, elementType) {
  if (typeof value !== 'number' || Number.isFinite(value)) {
    return Object.is(value, -0) ? '-0' : String(value);
  }
  if (!Number.isNaN(value)) return value < 0 ? '-inf' : 'inf';
  const { negative, payload } = nanBits(data, i, elementType);
  return `${negative ? '-' : ''}nan${payload ? `(0x${payload.toString(16)})` : ''}`;
}

function elementText(literal, index) {
  const { data, shape } = literal;
  const { read, lanes } = ELEMENT_TYPES.get(shape.elementType);
  const value = read(data, index);
  if (lanes === 1) return numberText(data, index, value, shape.elementType);
  const parts = value.map((x, lane) =>
    numberText(data, 2 * index + lane, x, shape.elementType));
  return `(${parts.join(', ')})`;
}

function nested(literal, dimension, at) {
  const { dimensions } = literal.shape;
  if (dimension === dimensions.length) return elementText(literal, at.index++);
  const items = Array.from({ length: dimensions[dimension] }, () =>
    nested(literal, dimension + 1, at));
  return `{${items.join(',')}}`;
}

const LARGE = 4096; // bytes of a constant

const isRowMajor = (shape) => shape.effectiveLayout.equals(shape.withoutLayout().effectiveLayout);

/** The elements of a large array, row-major; undefined: it is small, or no array. */
export function largeElements(proto) {
  const shape = shapeOf(proto.shape ?? {});
  if (!shape.isArray || shape.byteSize < LARGE) return undefined;
  const found = stored(proto, shape);
  // As bytes they need not be copied, if they are in order.
  const bytes = shape.elementCount * ELEMENT_TYPES.get(shape.elementType).bytes;
  if (found instanceof Uint8Array && found.length === bytes && isRowMajor(shape)) return found;
  return rowMajor(new Literal(shape, dataOf(proto, shape))).data;
}

/** Returns the text in the parentheses of `constant(...)`. */
export function literalText(proto) {
  const shape = shapeOf(proto.shape ?? {});
  if (shape.isTuple) return `(${(proto.tuple ?? []).map(literalText).join(', ')})`;
  if (!shape.isArray) return '';
  const literal = new Literal(shape, dataOf(proto, shape)).inLayout(null);
  return nested(literal, 0, { index: 0 });
}
