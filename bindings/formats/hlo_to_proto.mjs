/**
 * Converts HLO text, as the core prints it, to a serialized HloModuleProto, the inverse of
 * hlo_proto.mjs, so that real XLA can read a program in either form.
 */
import { API_VERSIONS, bytesOfText, unquoted, unquotedBytes } from '../base/attribute_text.mjs';
import { XlaError } from '../base/error.mjs';
import { Literal } from '../values/literal.mjs';
import { Shape } from '../values/shape.mjs';
import { ELEMENT_TYPES } from '../values/types.mjs';
import { closing, readLines, split } from './read_lines.mjs';
import { DOT_ALGORITHMS, HLO_MODULE, PRIMITIVE_TYPES } from './hlo_schema.mjs';
import { encode } from './protobuf.mjs';

const TYPE_NUMBERS = new Map(Object.entries(PRIMITIVE_TYPES).map(([number, name]) => [name, Number(number)]));

const internal = (problem) => new XlaError('INTERNAL', `toProto: ${problem}`);

/* ---- Text ---- */

const inside = (text) => text.slice(1, -1);
const list = (text) => split(inside(text)).map(Number);
const lists = (text) => split(inside(text)).map(list);
const bool = (text) => text === 'true';
const words = (...names) => (text) => names.indexOf(text.toLowerCase());

function attributesOf(parts) {
  return Object.fromEntries(parts.map((part) => {
    const at = part.indexOf('=');
    return [part.slice(0, at).trim(), part.slice(at + 1).trim()];
  }));
}

/* ---- Shapes and literals ---- */

function shapeMessage(shape) {
  const elementType = TYPE_NUMBERS.get(shape.elementType);
  if (shape.isTuple) return { elementType, tupleShapes: shape.tupleShapes.map(shapeMessage) };
  if (!shape.isArray) return { elementType };
  return {
    elementType,
    dimensions: shape.dimensions,
    isDynamicDimension: shape.dimensions.map((_, i) => shape.dynamicDimensions[i]),
    layout: { minorToMajor: shape.effectiveLayout.minorToMajor },
  };
}

const WORDS = { 8: BigUint64Array, 4: Uint32Array, 2: Uint16Array, 1: Uint8Array };

/** Reads "nan" or "-nan(0x1)": quiet, unless the payload states another kind. */
function writeNaN(data, i, text, elementType, part) {
  const [, sign, payload] = /^(-?)nan(?:\((0x[\da-f]+)\))?$/i.exec(text) ?? [];
  if (sign === undefined) return false;
  part.write(data, i, NaN);
  const size = data.BYTES_PER_ELEMENT;
  const words = new WORDS[size](data.buffer, data.byteOffset, data.length);
  const width = BigInt(8 * size);
  let value = BigInt(words[i]);
  const { isIeee, mantissaBits } = ELEMENT_TYPES.get(elementType);
  if (isIeee) {
    const mantissa = BigInt(mantissaBits);
    const exponent = ((1n << (width - mantissa - 1n)) - 1n) << mantissa;
    value = exponent | BigInt(payload ?? 1n << (mantissa - 1n));
  }
  if (sign) value |= 1n << (width - 1n);
  words[i] = size === 8 ? value : Number(value);
  return true;
}

const NUMBERS = /[-+]?(?:nan(?:\(0x[\da-f]+\))?|inf|true|false|[\d.]+(?:e[-+]?\d+)?)/gi;

function elements(text, shape) {
  const type = ELEMENT_TYPES.get(shape.elementType);
  const data = new type.Array(shape.elementCount * type.lanes);
  const part = type.lanes === 1 ? type : ELEMENT_TYPES.get(type.name === 'c64' ? 'f32' : 'f64');
  let i = 0;
  for (const [word] of text.matchAll(NUMBERS)) {
    if (i === data.length) throw internal('a literal with too many elements');
    if (!writeNaN(data, i, word, shape.elementType, part)) part.write(data, i, valueOf(word, part));
    i++;
  }
  if (i !== data.length) throw internal(`a literal of ${i} elements for ${shape}`);
  return data;
}

function valueOf(word, { kind, bits }) {
  if (word === 'true' || word === 'false') return word === 'true';
  if (/inf$/.test(word)) return word[0] === '-' ? -Infinity : Infinity;
  if (kind === 'pred') return word !== '0';
  return bits === 64 && kind !== 'float' ? BigInt(word) : Number(word);
}

/** Types whose elements are kept as bytes in a literal. */
const isBytes = ({ bits, kind }) => bits < 32 && kind !== 'pred';

/** The elements at an address of the core's memory, in the natural typed array. */
function elementsAt(bytes, shape) {
  const { Array: Natural } = ELEMENT_TYPES.get(shape.elementType);
  return new Natural(bytes.buffer, bytes.byteOffset, bytes.length / Natural.BYTES_PER_ELEMENT);
}

/** @param {(address: number, size: number) => Uint8Array} memory see protoOfHloText */
function literalMessage(text, shape, memory) {
  if (shape.isTuple) {
    const parts = split(inside(text.trim()));
    return {
      shape: shapeMessage(shape), tuple: parts.map((part, i) => literalMessage(part, shape.tupleShapes[i], memory)),
    };
  }
  const [, address] = /^data\.(\d+)$/.exec(text) ?? [];
  const found = address === undefined
    ? elements(text, shape)
    : elementsAt(memory(Number(address), shape.elementCount * ELEMENT_TYPES.get(shape.elementType).bytes), shape);
  // In the order of the shape's layout; the text is in that of its dimensions.
  const { data } = new Literal(shape.withLayout(null), found).inLayout(shape.layout);
  const value = isBytes(ELEMENT_TYPES.get(shape.elementType))
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : data;
  return { shape: shapeMessage(shape), [shape.elementType]: value };
}

/* ---- Attributes ---- */

function windowMessage(text) {
  const parts = Object.fromEntries(inside(text).trim().split(/\s+/).map((part) => part.split('=')));
  const column = (name) => parts[name]?.split('x');
  const [sizes, strides, pads] = [column('size'), column('stride'), column('pad')];
  const [lhs, rhs, reversal] = [column('lhs_dilate'), column('rhs_dilate'), column('rhs_reversal')];
  return {
    dimensions: sizes.map((size, i) => {
      const [low, high] = pads?.[i].split('_').map(Number) ?? [0, 0];
      return {
        size: Number(size), stride: Number(strides?.[i] ?? 1), low, high,
        windowDilation: Number(rhs?.[i] ?? 1), baseDilation: Number(lhs?.[i] ?? 1),
        reversal: reversal?.[i] === '1',
      };
    }),
  };
}

function convolutionMessage(text) {
  const [input, kernel, output] = text.split(/_|->/);
  const at = (side, label) => side.indexOf(label);
  const spatial = (side) => Array.from({ length: side.length - 2 }, (_, i) => side.indexOf(String(i)));
  return {
    inputBatchDimension: at(input, 'b'), inputFeatureDimension: at(input, 'f'),
    inputSpatialDimensions: spatial(input),
    kernelInputFeatureDimension: at(kernel, 'i'), kernelOutputFeatureDimension: at(kernel, 'o'),
    kernelSpatialDimensions: spatial(kernel),
    outputBatchDimension: at(output, 'b'), outputFeatureDimension: at(output, 'f'),
    outputSpatialDimensions: spatial(output),
  };
}

const padding = (text) => ({
  dimensions: text.split('x').map((part) => {
    const [low, high, interior = 0] = part.split('_').map(Number);
    return { low, high, interior };
  }),
});

const slices = (text) => split(inside(text)).map((part) => {
  const [start, limit, stride = 1] = inside(part).split(':').map(Number);
  return { start, limit, stride };
});

/** {{0,1},{2,3}}, or [2,2]<=[4] and [2,2]<=[2,2]T(1,0) */
function groups(text) {
  if (text.startsWith('{')) return { replicaGroups: lists(text).map((ids) => ({ ids })) };
  const [, size, reshape, transpose] = /^\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?$/.exec(text) ?? [];
  if (!size) throw internal(`replica_groups=${text}`);
  const numbers = (part) => part.split(',').map(Number);
  const shape = numbers(reshape);
  return {
    deviceList: {
      iota: {
        groups: numbers(size)[0], size: numbers(size)[1], reshape: shape,
        transpose: transpose ? numbers(transpose) : shape.map((_, i) => i),
      },
    },
  };
}

const aliases = (text) => split(inside(text).replace(/:\s*\(/g, ':(')).map((part) => {
  const [output, rest] = part.split(/:(.*)/s);
  const [operand, operandIndex] = split(inside(rest.trim()));
  return { output: list(output.trim()), operand: Number(operand), operandIndex: list(operandIndex) };
});

const entries = (text) => ({
  entries: split(inside(text)).map((part) => {
    const [, key, value] = /^([^=]+)=([^]*)$/.exec(part);
    return { key, value: value.startsWith('"') ? unquoted(value) : value };
  }),
});

const into = (field, convert = Number) => (text) => ({ [field]: convert(text) });
/** Returns the part of a message that several attributes fill in. */
const part = (field, inner, convert = list) => (text, message) => ({
  [field]: { ...message[field], [inner]: convert(text) },
});

const isIndexed = (opcode) => (opcode === 'scatter' ? 'scatterDimensions' : 'gatherDimensions');
const dotField = (inner) => (text, message, opcode) => {
  if (opcode !== 'ragged-dot') return part('dotDimensions', inner)(text, message);
  const { raggedDotDimensions: ragged } = message;
  return { raggedDotDimensions: { ...ragged, dot: { ...ragged?.dot, [inner]: list(text) } } };
};
const solveField = (inner, convert) => (text, message, opcode) =>
  part(opcode === 'cholesky' ? 'cholesky' : 'triangularSolve', inner, convert)(text, message);

/** @type {Record<string, (text: string, message: any, opcode: string) => any>} */
const ATTRIBUTES = {
  'dimensions': into('dimensions', list),
  'iota_dimension': into('dimensions', (text) => [Number(text)]),
  'index': into('tupleIndex'),
  'direction': into('direction', String),
  'type': into('comparisonType', String),
  'slice': into('slice', slices),
  'dynamic_slice_sizes': into('dynamicSliceSizes', list),
  'padding': into('padding', padding),
  'window': into('window', windowMessage),
  'is_composite': into('isComposite', bool),
  'num_carries': into('numCarries'),
  'is_reverse': into('isReverse', bool),
  'is_associative': into('isAssociative', (text) => (bool(text) ? 1 : 2)),
  'lhs_batch_dims': dotField('lhs_batch_dims'),
  'lhs_contracting_dims': dotField('lhs_contracting_dims'),
  'rhs_batch_dims': dotField('rhs_batch_dims'),
  'rhs_contracting_dims': dotField('rhs_contracting_dims'),
  'lhs_ragged_dims': part('raggedDotDimensions', 'lhs_ragged_dims'),
  'rhs_group_dims': part('raggedDotDimensions', 'rhs_group_dims'),
  'operand_precision': part('precision', 'operands', (text) =>
    split(inside(text)).map(words('default', 'high', 'highest'))),
  'algorithm': (text, message, opcode) => (opcode === 'rng-bit-generator'
    ? { rngAlgorithm: words('rng_default', 'rng_three_fry', 'rng_philox')(text) }
    : part('precision', 'algorithm', () => DOT_ALGORITHMS.indexOf(text))(text, message)),
  'dim_labels': into('convolutionDimensions', convolutionMessage),
  'feature_group_count': into('featureGroupCount'),
  'batch_group_count': into('batchGroupCount'),
  'slice_sizes': into('gatherSliceSizes', list),
  'indices_are_sorted': into('indicesAreSorted', bool),
  'unique_indices': into('uniqueIndices', bool),
  'is_stable': into('isStable', bool),
  'k': into('k'),
  'largest': into('largest', bool),
  'fft_type': into('fftType', words('fft', 'ifft', 'rfft', 'irfft')),
  'fft_length': into('fftLength', list),
  'lower': solveField('lower', bool),
  'left_side': solveField('left_side', bool),
  'unit_diagonal': solveField('unit_diagonal', bool),
  'transpose_a': solveField('transpose_a', words('transpose_invalid', 'no_transpose', 'transpose', 'adjoint')),
  'distribution': into('distribution', words('rng_invalid', 'rng_uniform', 'rng_normal')),
  'delta': into('delta'),
  'exponent_bits': into('exponentBits'),
  'mantissa_bits': into('mantissaBits'),
  'epsilon': into('epsilon'),
  'feature_index': into('featureIndex'),
  'channel_id': into('channelId'),
  'replica_groups': groups,
  'use_global_device_ids': into('useGlobalDeviceIds', bool),
  'constrain_layout': into('constrainLayout', bool),
  'source_target_pairs': into('sourceTargetPairs', (text) =>
    lists(text).map(([source, target]) => ({ source, target }))),
  'is_host_transfer': into('isHostTransfer', bool),
  'infeed_config': into('infeedConfig', unquotedBytes),
  'outfeed_config': into('outfeedConfig', unquotedBytes),
  'outfeed_shape': into('outfeedShape', (text) => shapeMessage(Shape.parse(text))),
  'async_execution_thread': into('asyncExecutionThread', unquoted),
  'custom_call_target': into('customCallTarget', unquoted),
  'operand_layout_constraints': (text) => ({
    constrainLayout: true, operandShapes: split(inside(text)).map((s) => shapeMessage(Shape.parse(s))),
  }),
  'custom_call_has_side_effect': into('hasSideEffect', bool),
  'output_to_operand_aliasing': into('operandAliases', aliases),
  'api_version': into('apiVersion', (text) => API_VERSIONS.indexOf(text)),
  'kind': into('fusionKind', String),
  'frontend_attributes': into('frontendAttributes', entries),
  'backend_config': into('backendConfig', (text) => (text.startsWith('"') ? unquotedBytes : bytesOfText)(text)),
  'metadata': (text) => {
    const [, name] = /op_name=("(?:[^"\\]|\\.)*")/.exec(text) ?? [];
    return name ? { metadata: { op_name: unquoted(name) } } : {};
  },
};
for (const name of ['offset_dims', 'collapsed_slice_dims', 'start_index_map', 'operand_batching_dims',
  'start_indices_batching_dims', 'update_window_dims', 'inserted_window_dims',
  'scatter_dims_to_operand_dims', 'input_batching_dims', 'scatter_indices_batching_dims']) {
  ATTRIBUTES[name] = (text, message, opcode) => part(isIndexed(opcode), name)(text, message);
}
ATTRIBUTES.index_vector_dim = (text, message, opcode) =>
  part(isIndexed(opcode), 'index_vector_dim', Number)(text, message);

/** Attributes that name computations, in the order of XLA's called computations. */
const CALLED = [
  'to_apply', 'calls', 'body', 'condition', 'select', 'scatter', 'true_computation',
  'false_computation', 'branch_computations', 'called_computations',
];

/** Attributes that do not change a program's results, or that the proto's readers here do not know. */
const DROPPED = new Set(['sharding', 'origin', 'statistics', 'parameter_replication', 'result_accuracy']);

/* ---- Instructions, computations, the module ---- */

/** OpSharding's types. */
const [TUPLE, MANUAL] = [2, 4];

/** {manual} for each array; none for loops, because XLA removes elements of their states. */
function manualSharding(opcode, shape) {
  const leaves = (part) => (part.isTuple ? part.tupleShapes.flatMap(leaves) : [{ type: MANUAL }]);
  if (!shape.isTuple) return { type: MANUAL };
  return opcode === 'while' || !shape.tupleShapes.length ? undefined : { type: TUPLE, tuple: leaves(shape) };
}

const WINDOWED = new Set(['convolution', 'reduce-window', 'select-and-scatter']);

class Builder {
  #computations = new Map(); // name -> id
  #id = 0;
  #names = new Set(); // of all instructions: XLA wants them unique in a module

  constructor(memory, { manual = false } = {}) {
    this.memory = memory;
    this.manual = manual;
  }

  #unique(name) {
    let unique = name;
    for (let n = this.#id; this.#names.has(unique); n++) unique = `${name}.${n}`;
    this.#names.add(unique);
    return unique;
  }

  instruction({ name, shape: shapeText, opcode, operands, inside: args, attributes }, known) {
    const shape = Shape.parse(shapeText);
    const id = ++this.#id;
    known.set(name, id);
    const message = { name: this.#unique(name), opcode, shape: shapeMessage(shape), id };
    if (this.manual) message.sharding = manualSharding(opcode, shape);
    if (opcode === 'parameter') message.parameterNumber = Number(args);
    else if (opcode === 'constant') message.literal = literalMessage(args, shape, this.memory);
    else message.operands = operands.map((operand) => this.#operand(operand, known));
    return this.#attributed(message, opcode, attributesOf(attributes), known);
  }

  #operand(name, known) {
    const id = known.get(name);
    if (id === undefined) throw internal(`operand ${name}`);
    return id;
  }

  #attributed(message, opcode, attributes, known) {
    if (WINDOWED.has(opcode)) message.window = {}; // XLA wants one even where there is nothing to say
    for (const [name, text] of Object.entries(attributes)) {
      if (CALLED.includes(name) || DROPPED.has(name)) continue;
      if (name === 'control-predecessors') {
        message.controlPredecessors = split(inside(text)).map((operand) => this.#operand(operand, known));
        continue;
      }
      const row = ATTRIBUTES[name];
      if (!row) throw new XlaError('UNIMPLEMENTED', `toProto: ${opcode} with the attribute ${name}`);
      Object.assign(message, row(text, message, opcode));
    }
    const called = CALLED.filter((name) => attributes[name]).flatMap((name) =>
      (attributes[name].startsWith('{') ? split(inside(attributes[name])) : [attributes[name]]));
    if (called.length) message.computations = called.map((name) => this.#computations.get(name.replace('%', '')));
    return message;
  }

  computation({ name, isEntry, instructions: lines, root }) {
    const id = this.#computations.size + 1;
    this.#computations.set(name, id);
    const known = new Map();
    const instructions = lines.map((line) => this.instruction(line, known));
    const result = instructions[lines.findIndex((line) => line.name === root)] ?? instructions.at(-1);
    const parameters = instructions.filter(({ opcode }) => opcode === 'parameter')
      .sort((a, b) => a.parameterNumber - b.parameterNumber);
    const programShape = {
      parameters: parameters.map(({ shape }) => shape), result: result.shape,
      parameterNames: parameters.map((parameter) => parameter.name),
    };
    return { isEntry, message: { name, id, instructions, rootId: result.id, programShape } };
  }
}

/** {(f32[2]{0}, s32[])->f32[2]{0}} */
function layoutOf(text) {
  const close = closing(text, 1);
  return {
    parameters: split(text.slice(2, close)).map((shape) => shapeMessage(Shape.parse(shape))),
    result: shapeMessage(Shape.parse(text.slice(close + 3, -1))),
  };
}

function aliasMessage(text) {
  return {
    entries: split(inside(text)).map((entry) => {
      const [output, rest] = entry.split(/:(.*)/s);
      const [parameter, index, kind] = split(inside(rest.trim()));
      return {
        output: list(output.trim()), parameter: Number(parameter), parameterIndex: list(index),
        kind: kind === 'must-alias' ? 2 : 1,
      };
    }),
  };
}

/**
 * @param {string} text as HloModule's toString() gives it, or with large constants as constant(data.ADDRESS)
 * @param {(address: number, size: number) => Uint8Array} memory a view of the bytes at an address,
 *   valid until the next call of the core
 * @param {object} [options] as in protoOf in module.mjs
 * @returns {Uint8Array} a serialized HloModuleProto
 */
export function protoOfHloText(text, memory, options) {
  const { header, computations: read } = readLines(text);
  const attributes = attributesOf(header.slice(1));
  const builder = new Builder(memory, options);
  const computations = read.map((lines) => builder.computation(lines));
  const entry = computations.find(({ isEntry }) => isEntry);
  if (!entry) throw internal('no entry computation');
  const layout = attributes.entry_computation_layout;
  return encode({
    name: header[0].replace('HloModule ', ''),
    entryName: entry.message.name,
    computations: computations.map(({ message }) => message),
    programShape: {
      ...(layout ? layoutOf(layout) : entry.message.programShape),
      parameterNames: entry.message.programShape.parameterNames,
    },
    id: 1,
    entryId: entry.message.id,
    aliases: attributes.input_output_alias && aliasMessage(attributes.input_output_alias),
    frontendAttributes: attributes.frontend_attributes && entries(attributes.frontend_attributes),
  }, HLO_MODULE);
}
