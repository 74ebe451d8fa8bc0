/**
 * Writes ONNX models of a few nodes, with the part of the protobuf format that they need.
 *
 *     model({
 *       inputs: { x: 'f32[2,3]' },
 *       weights: { w: { shape: [3, 4], data: new Float32Array(12) } },
 *       nodes: [{ op: 'MatMul', inputs: ['x', 'w'], outputs: ['y'], attributes: {} }],
 *       outputs: ['y'],
 *     })
 *
 * Integer attributes are numbers, floats are { float: 0.5 }, lists of integers are arrays. Nodes of other operator sets
 * have a `domain`.
 */

const IR_VERSION = 10;
const OPSET = 21;
const DATA_TYPES = { f32: 1, u8: 2, s32: 6, s64: 7 };
const MICROSOFT = { domain: 'com.microsoft', version: 1 };
const ATTRIBUTE_FLOAT = 1;
const ATTRIBUTE_INT = 2;
const ATTRIBUTE_STRING = 3;
const ATTRIBUTE_INTS = 7;

/** Encodes a field: its number and wire type, then its content. A message is a list of fields. */
const WIRE_VARINT = 0;
const WIRE_BYTES = 2;
const WIRE_F32 = 5;

function varint(value) {
  const bytes = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Uint8Array.from(bytes);
}

function concat(parts) {
  const bytes = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

const message = (...fields) => concat(fields.flat());
const integer = (field, value) => concat([varint((field << 3) | WIRE_VARINT), varint(value)]);
const bytes = (field, value) =>
  concat([varint((field << 3) | WIRE_BYTES), varint(value.length), value]);
const string = (field, value) => bytes(field, new TextEncoder().encode(value));
const f32 = (field, value) =>
  concat([varint((field << 3) | WIRE_F32), new Uint8Array(Float32Array.of(value).buffer)]);

function attribute(name, value) {
  const TYPE = 20;
  if (Array.isArray(value)) {
    return message(string(1, name), value.map((v) => integer(8, v)), integer(TYPE, ATTRIBUTE_INTS));
  }
  if (typeof value === 'string') {
    return message(string(1, name), string(4, value), integer(TYPE, ATTRIBUTE_STRING));
  }
  if (typeof value === 'object') {
    return message(string(1, name), f32(2, value.float), integer(TYPE, ATTRIBUTE_FLOAT));
  }
  return message(string(1, name), integer(3, value), integer(TYPE, ATTRIBUTE_INT));
}

function node({ op, inputs, outputs, attributes = {}, domain }) {
  return message(
    inputs.map((name) => string(1, name)),
    outputs.map((name) => string(2, name)),
    string(4, op),
    Object.entries(attributes).map(([name, value]) => bytes(5, attribute(name, value))),
    domain ? [string(7, domain)] : [],
  );
}

function tensor(name, { shape, data }) {
  const type = { BigInt64Array: 's64', Int32Array: 's32', Uint8Array: 'u8' }[data.constructor.name] ?? 'f32';
  return message(
    shape.map((size) => integer(1, size)),
    integer(2, DATA_TYPES[type]),
    string(8, name),
    bytes(9, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
  );
}

function valueInfo(name, shape) {
  const [, type, sizes] = shape.match(/^(\w+)\[(.*)\]$/);
  const dimensions = sizes ? sizes.split(',').map(Number) : [];
  const tensorShape = message(dimensions.map((size) => bytes(1, integer(1, size))));
  const tensorType = message(integer(1, DATA_TYPES[type]), bytes(2, tensorShape));
  return message(string(1, name), bytes(2, bytes(1, tensorType)));
}

/** @returns {Uint8Array} a ModelProto; the types of outputs are left to be inferred */
export function model({ inputs, weights = {}, nodes, outputs }) {
  const graph = message(
    nodes.map((description) => bytes(1, node(description))),
    string(2, 'bench'),
    Object.entries(weights).map(([name, value]) => bytes(5, tensor(name, value))),
    Object.entries(inputs).map(([name, shape]) => bytes(11, valueInfo(name, shape))),
    outputs.map((name) => bytes(12, string(1, name))),
  );
  return message(
    integer(1, IR_VERSION), bytes(7, graph), bytes(8, message(string(1, ''), integer(2, OPSET))),
    bytes(8, message(string(1, MICROSOFT.domain), integer(2, MICROSOFT.version))));
}
