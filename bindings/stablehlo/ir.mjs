/**
 * The plain form of an MLIR program that both readers (text.mjs, bytecode.mjs) make and lower.mjs
 * reads.
 *
 * - Module: { name, attributes, operations }: functions, meshes and other operations at the top level.
 * - Operation: { name, operands: Value[], results: Value[], attributes, regions: Region[],
 *   location }. Names are those of the current dialects: "stablehlo.add", "func.call".
 * - Region: { arguments: Value[], operations: Operation[] }: one block, as StableHLO has them.
 * - Value: { type, owner: Operation | null, index }.
 * - Types: see types.mjs.
 * - Attributes, by name, in an object without a prototype: strings; booleans; UNIT;
 *   arrays; Integer, Float, Dense, Symbol, Dictionary, Struct, Opaque as below; a type is itself.
 *   A structured attribute such as #stablehlo.dot<...> of an operation is laid flat: its fields are
 *   attributes of the operation, as in VHLO.
 * - Location: a function that gives { line, column, name, file, fileLine } as far as they are known.
 */
import { XlaError } from '../base/error.mjs';
import { ELEMENT_TYPES } from '../values/types.mjs';
import { storageType } from './types.mjs';

/** The max nesting of types, attributes and regions. */
export const MAX_LEVELS = 200;

/** @param {string} problem @param {{ line?: number, column?: number }} [place] */
export function malformed(problem, { line, column } = {}) {
  return new XlaError('INVALID_ARGUMENT', problem, { line, column });
}

export class Value {
  constructor(type, owner = null, index = 0) {
    this.type = type;
    this.owner = owner;
    this.index = index;
  }
}

export class Integer {
  /** @param {number | bigint} value @param {object} type */
  constructor(value, type) {
    this.value = value;
    this.type = type;
  }
}

export class Float {
  constructor(value, type) {
    this.value = value;
    this.type = type;
  }
}

/** Elements of an array, row-major, in the natural typed array of their type; or one element that is repeated. */
export class Dense {
  /**
   * @param {object} type a tensor type
   * @param {ArrayLike<any>} data
   * @param {boolean} splat whether `data` has one element, which stands for all
   * @param {Uint8Array} [bytes] instead of `data`, where their alignment or format suits no typed array;
   *   they are copied only when they are read
   */
  constructor(type, data, splat, bytes = undefined) {
    this.type = type;
    this.own = data;
    this.splat = splat;
    this.bytes = bytes;
  }

  get data() {
    if (!this.own && this.bytes) {
      const { Array: Natural } = ELEMENT_TYPES.get(storageType(this.type));
      this.own = new Natural(new Uint8Array(this.bytes).buffer);
    }
    return this.own;
  }
}

/** array<i64: 1, 2> */
export class DenseArray extends Dense {}

export class SymbolName {
  constructor(name) {
    this.name = name;
  }
}

export class Dictionary {
  /** @param {Record<string, any>} entries */
  constructor(entries) {
    this.entries = entries;
  }
}

/** #dialect.name<key = value, ...>; or with values in order, <value, ...>, in `list`. */
export class Struct {
  constructor(name, fields, list = []) {
    this.name = name;
    this.fields = fields;
    this.list = list;
  }
}

/** An attribute that this package does not use, as text. */
export class Opaque {
  constructor(text) {
    this.text = text;
  }
}

/** An attribute that is its name alone. */
export const UNIT = Object.freeze(new Opaque('unit'));

const INLINED = new Set([
  'dot', 'gather', 'scatter', 'conv', 'dot_algorithm', 'ragged_dot', 'channel_handle',
]);

/** Lays structured attributes flat, and gives fields the names that VHLO has. */
export function flattened(attributes) {
  const flat = Object.create(null);
  for (const [name, value] of Object.entries(attributes)) {
    if (!(value instanceof Struct && INLINED.has(value.name))) flat[name] = value;
    else if (value.name === 'channel_handle') {
      flat.channel_id = value.fields.handle;
      flat.channel_type = value.fields.type;
    } else Object.assign(flat, value.fields);
  }
  return flat;
}

export const NO_BLOCKS = 'branches between blocks (cf) are not StableHLO: loops are stablehlo.while, branches ' +
  'stablehlo.if and stablehlo.case';

/** Operations of MHLO that StableHLO lacks; all others have equal names and semantics. */
const MHLO_ALONE = new Set([
  'acos', 'acosh', 'add_dependency', 'asin', 'asinh', 'atanh', 'bitcast', 'copy', 'cosh', 'erf', 'fusion', 'ragged_dot', 'scan', 'sinh', 'stochastic_convert',
  'topk',
]);

/** The name without the dialect's version: "stablehlo.add" of "vhlo.add_v1". */
export function currentName(name) {
  const [, bare] = /^vhlo\.(.+)_v\d+$/.exec(name) ?? [];
  if (name === 'sdy.constant' || name === 'arith.constant') return 'stablehlo.constant';
  const [, mhlo] = /^mhlo\.(\w.*)$/.exec(name) ?? [];
  if (mhlo && !MHLO_ALONE.has(mhlo)) return `stablehlo.${mhlo}`;
  if (!bare) return /^(func|sdy|mhlo|chlo)\.return$/.test(name) ? 'stablehlo.return' : name;
  return { func: 'func.func', call: 'func.call' }[bare] ?? `stablehlo.${bare}`;
}

/** A symbol's or a string's text. */
export function nameOf(attribute) {
  if (attribute instanceof SymbolName) return attribute.name;
  return typeof attribute === 'string' ? attribute : undefined;
}
