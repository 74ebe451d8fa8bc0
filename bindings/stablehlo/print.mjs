/**
 * Prints attributes and types as MLIR's AsmPrinter does. XLA writes them in this form to the backend_config of a custom
 * call.
 */
import { bytesOfText } from '../base/attribute_text.mjs';
import { XlaError } from '../base/error.mjs';
import { ELEMENT_TYPES } from '../values/types.mjs';
import { Dense, DenseArray, Dictionary, Float, Integer, Opaque, SymbolName, UNIT } from './ir.mjs';
import { REAL, scalarType, storageType, typeText } from './types.mjs';

/** The max elements that are written as numbers; more are written as bytes in hexadecimal. */
const MAX_NUMBERS = 100;

/**
 * @param {any} value an attribute in the form of ir.mjs
 * @param {boolean} [isItem] in a list, where the types i64 and f64 are left out
 */
export function attributeText(value, isItem = false) {
  if (value === UNIT) return 'unit';
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => attributeText(item, true)).join(', ')}]`;
  if (value instanceof Integer) return typed(String(value.value), value.type, isItem && 'i64');
  if (value instanceof Float) {
    const elementType = storageType(value.type ?? F64);
    return typed(floatText(value.value, 0, elementType), value.type ?? F64, isItem && 'f64');
  }
  if (value instanceof Dictionary) return dictionaryText(value.entries);
  if (value instanceof Dense) return denseText(value);
  if (value instanceof SymbolName) return value.name.split('::').map(symbolText).join('::');
  if (value instanceof Opaque) return value.text;
  if (value?.kind && !/^type \d/.test(value.text)) return typeText(value);
  throw new XlaError('UNIMPLEMENTED', `a backend_config with ${value?.text ?? value?.name ?? 'a location'} in bytecode: ` +
    'print the program as text');
}

const F64 = scalarType('f64');

const elementTypeText = (type) => typeText({ ...type, container: '' });

/** In order of the names, as MLIR keeps them; a unit is its name alone. */
export function dictionaryText(entries) {
  const items = Object.keys(entries).sort().map((name) => {
    const key = /^[A-Za-z_][\w$.]*$/.test(name) ? name : quoted(name);
    return entries[name] === UNIT ? key : `${key} = ${attributeText(entries[name])}`;
  });
  return `{${items.join(', ')}}`;
}

const symbolText = (name) => (/^[A-Za-z_][\w$.]*$/.test(name) ? `@${name}` : `@${quoted(name)}`);

function typed(text, type, elided) {
  const name = type ? elementTypeText(type) : 'i64';
  return name === elided ? text : `${text} : ${name}`;
}

/** Bytes that are not printable ASCII are two hexadecimal digits. */
function quoted(text) {
  const parts = Array.from(bytesOfText(text), (byte) => {
    if (byte === 92) return '\\\\';
    return byte < 32 || byte > 126 || byte === 34 ? `\\${hex(byte)}` : String.fromCharCode(byte);
  });
  return `"${parts.join('')}"`;
}

const hex = (byte) => byte.toString(16).toUpperCase().padStart(2, '0');

/* ---- Arrays ---- */

function denseText(value) {
  const { type, data, splat } = value;
  const elementType = storageType(type);
  const { lanes, bits } = ELEMENT_TYPES.get(elementType);
  const count = data.length / lanes;
  const item = (i) => elementText(data, i, elementType);
  if (value instanceof DenseArray) {
    const items = Array.from({ length: count }, (_, i) => item(i)).join(', ');
    return `array<${elementTypeText(type)}${items && `: ${items}`}>`;
  }
  const isSplat = splat || (count > 0 && isConstant(data, lanes));
  if (isSplat) return `dense<${item(0)}> : ${typeText(type)}`;
  if (count > MAX_NUMBERS) return `dense<"0x${denseBytes(data, bits).map(hex).join('')}"> : ${typeText(type)}`;
  return `dense<${count ? nested(type.dimensions, item) : ''}> : ${typeText(type)}`;
}

/** Whether all elements have the same bits. */
function isConstant(data, lanes) {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const size = lanes * data.BYTES_PER_ELEMENT;
  return bytes.every((byte, i) => byte === bytes[i % size]);
}

/** Returns the elements' bytes in memory; elements below a byte are the low bits of one. */
function denseBytes(data, bits) {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return Array.from(bytes, (byte) => (bits < 8 ? byte & ((1 << bits) - 1) : byte));
}

function nested(dimensions, item) {
  let index = 0;
  const level = (d) => {
    if (d === dimensions.length) return item(index++);
    return `[${Array.from({ length: dimensions[d] }, () => level(d + 1)).join(', ')}]`;
  };
  return level(0);
}

function elementText(data, i, elementType) {
  const { kind } = ELEMENT_TYPES.get(elementType);
  if (kind === 'pred') return String(data[i] !== 0);
  if (kind === 'complex') {
    return `(${floatText(data, 2 * i, REAL[elementType])},${floatText(data, 2 * i + 1, REAL[elementType])})`;
  }
  return kind === 'float' ? floatText(data, i, elementType) : String(data[i]);
}

/* ---- Floats: as LLVM's APFloat writes them, whose last digit is not always the nearest ---- */

/**
 * Element i of `data`: six digits if they name the value, all digits if these have a point, and its
 * bits in hexadecimal otherwise.
 */
function floatText(data, i, elementType) {
  const { read, write, mantissaBits } = ELEMENT_TYPES.get(elementType);
  const value = read(data, i);
  if (Number.isFinite(value)) {
    const short = shortText(value);
    const cell = data.slice(i, i + 1);
    write(cell, 0, Number(short));
    if (Object.is(read(cell, 0), value)) return short;
    const long = longText(value, 2 + Math.floor((mantissaBits + 1) * 59 / 196));
    if (long.includes('.')) return long;
  }
  const bytes = new Uint8Array(data.buffer, data.byteOffset + i * data.BYTES_PER_ELEMENT, data.BYTES_PER_ELEMENT);
  return `0x${Array.from(bytes, hex).reverse().join('')}`;
}

/** 1.500000e+00 */
function shortText(value) {
  const { sign, digits, exponent } = decimalOf(value, 6);
  const power = String(Math.abs(exponent)).padStart(2, '0');
  return `${sign}${digits[0]}.${digits.slice(1).padEnd(6, '0')}e${exponent < 0 ? '-' : '+'}${power}`;
}

/** Without zeros at the end; with an exponent where more than three zeros would stand. */
function longText(value, precision) {
  const { sign, digits, exponent } = decimalOf(value, precision);
  const last = exponent - (digits.length - 1);
  const isLong = last >= 0 ? last > 3 || exponent + 1 > precision : exponent < -3;
  if (isLong) return `${sign}${digits[0]}.${digits.slice(1) || '0'}E${exponent < 0 ? '-' : '+'}${Math.abs(exponent)}`;
  if (last >= 0) return sign + digits.padEnd(exponent + 1, '0');
  if (exponent >= 0) return `${sign}${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
  return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
}

/** At most `precision` digits, none of them a zero at the end, and the exponent of the first. */
function decimalOf(value, precision) {
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  if (value === 0) return { sign, digits: '0', exponent: 0 };
  const [significand, scale] = decimalSignificand(value, precision);
  const all = String(significand);
  let digits = all.slice(0, precision);
  if (all[precision] >= '5') digits = String(BigInt(digits) + 1n);
  const carried = Math.max(digits.length - Math.min(precision, all.length), 0);
  return { sign, digits: digits.replace(/0+$/, ''), exponent: scale + all.length - 1 + carried };
}

/** [n, e] of |value| = n * 10^e; digits far beyond `precision` are cut off. */
function decimalSignificand(value, precision) {
  const [bits] = new BigUint64Array(Float64Array.of(value).buffer);
  const biased = Number((bits >> 52n) & 2047n);
  let significand = (bits & (2n ** 52n - 1n)) | (biased ? 2n ** 52n : 0n);
  let exponent = Math.max(biased, 1) - 1075;
  for (; significand % 2n === 0n; exponent++) significand /= 2n;
  if (exponent > 0) [significand, exponent] = [significand << BigInt(exponent), 0];
  else significand *= 5n ** BigInt(-exponent);
  const surplus = significand.toString(2).length - Math.floor((precision * 196 + 58) / 59);
  const cut = surplus > 0 ? Math.floor(surplus * 59 / 196) : 0;
  return [significand / 10n ** BigInt(cut), exponent + cut];
}
