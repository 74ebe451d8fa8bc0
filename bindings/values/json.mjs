/** Literals as JSON, for the command line. */
import { rowMajor } from './literal.mjs';
import { ELEMENT_TYPES } from './types.mjs';

/**
 * {"shape":"f32[2,3]","data":[flat, row-major]}; a tuple's data are its elements. What JSON numbers
 * cannot hold are strings: "nan", "inf", "-inf", and integers beyond 2^53 in decimal.
 */
export function jsonOfLiteral(literal) {
  const shape = JSON.stringify(String(literal.shape.withoutLayout()));
  return `{"shape":${shape},"data":[${dataOf(literal).join(',')}]}`;
}

function dataOf(literal) {
  if (literal.elements) return literal.elements.map(jsonOfLiteral);
  if (!literal.data) return [];
  const { read } = ELEMENT_TYPES.get(literal.shape.elementType);
  const { data } = rowMajor(literal);
  return Array.from({ length: literal.shape.elementCount }, (_, i) => jsonOfElement(read(data, i)));
}

function jsonOfElement(value) {
  if (typeof value === 'number') return jsonOfNumber(value);
  if (typeof value === 'bigint') {
    return Number.isSafeInteger(Number(value)) ? String(value) : `"${value}"`;
  }
  return Array.isArray(value) ? `[${value.map(jsonOfNumber).join(',')}]` : String(value);
}

function jsonOfNumber(value) {
  if (Number.isNaN(value)) return '"nan"';
  if (!Number.isFinite(value)) return value < 0 ? '"-inf"' : '"inf"';
  return Object.is(value, -0) ? '-0.0' : String(value);
}
