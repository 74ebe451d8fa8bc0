/**
 * Reads VHLO as text, which MLIR's tools print for a portable artifact. Its types and attributes wrap
 * StableHLO's and name a version; they become the same objects as VHLO's bytecode.
 * The reader has read the name up to `kind`, and for attributes the '<'.
 */
import { Dictionary, Struct } from './ir.mjs';
import { COMPLEX, elementTypeOf, FOREIGN, scalarType } from './types.mjs';

/** "tensor" of "vhlo.tensor_v1"; undefined if it is another dialect's. */
export const vhloKind = (name) => /^vhlo\.(\w+)_v\d+$/.exec(name)?.[1];

/** Reads by `read` between '<' and '>'. */
const within = (read) => (reader) => {
  reader.expect('<');
  const value = read(reader);
  reader.expect('>');
  return value;
};

function complex(reader) {
  const start = reader.at, part = reader.elementType();
  if (COMPLEX[part]) return scalarType(COMPLEX[part]);
  throw reader.fail(`complex numbers are of f32 or f64, not ${part}`, start);
}

const TYPES = {
  tensor: (reader) => reader.tensorType(),
  unranked_tensor: within((reader) => ({
    kind: 'tensor', dimensions: null, elementType: reader.elementType(), bounds: null,
  })),
  complex: within(complex),
  func: within((reader) => reader.functionType()),
  token: () => ({ kind: 'token' }),
  none: () => ({ kind: 'none' }),
  tuple: (reader) => {
    reader.expect('<');
    return { kind: 'tuple', types: reader.list('>', () => reader.type()) };
  },
};

/** @returns {object | undefined} undefined if there is no such type here */
export function vhloType(reader, kind) {
  if (Object.hasOwn(TYPES, kind)) return TYPES[kind](reader);
  if (FOREIGN.has(kind)) return { kind: 'opaque', text: kind };
  const elementType = kind === 'bool' ? 'pred' : elementTypeOf(kind);
  return elementType && scalarType(elementType);
}

/** { #vhlo.string_v1<"key"> = value, ... } */
function dictionary(reader) {
  const entries = Object.create(null);
  reader.expect('{');
  reader.list('}', () => {
    const key = reader.attribute();
    reader.expect('=');
    entries[String(key)] = reader.attribute();
  });
  return new Dictionary(entries);
}

const WRAPPED = new Set(['array', 'bool', 'float', 'integer', 'string', 'tensor', 'type']);

/** outputTupleIndices -> output_tuple_indices */
const snakeCase = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Reads the text up to '>', and the '>'. */
export function vhloAttribute(reader, kind) {
  if (WRAPPED.has(kind) || kind === 'dict') {
    const value = kind === 'dict' ? dictionary(reader) : reader.attribute();
    reader.expect('>');
    return value;
  }
  const value = reader.struct(kind);
  if (!(value instanceof Struct)) return value;
  const fields = Object.entries(value.fields).map(([name, field]) => [snakeCase(name), field]);
  return new Struct(kind, Object.fromEntries(fields), value.list);
}
