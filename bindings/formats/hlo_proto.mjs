/**
 * Converts HLO protos to HLO text: HloModuleProto as `as_serialized_hlo_module_proto()` returns it,
 * HloProto and HloSnapshot as XLA dumps them to files. The core reads only text, so a proto becomes the text that XLA
 * prints for it.
 */
import {
  apiVersionText, cleanName, configText, convolutionLabels, paddingText, quote, textOfBytes,
} from '../base/attribute_text.mjs';
import { about, describe, invalidArgument } from '../base/error.mjs';
import { comparisonOf } from '../values/types.mjs';
import { largeElements, literalText, shapeText } from './hlo_proto_literal.mjs';
import { iotaText, shardingText } from './hlo_proto_sharding.mjs';
import { DOT_ALGORITHMS, HLO_MODULE, WRAPPER } from './hlo_schema.mjs';
import { decode } from './protobuf.mjs';

const list = (values = []) => `{${values.join(',')}}`;
const enumeration = (...names) => (value = 0) => names[value];
const flag = (value) => (value ? 'true' : undefined);

function quoted(bytes) {
  return bytes?.length ? quote(textOfBytes(bytes)) : undefined;
}

/* ---- Attributes ---- */

function windowText({ dimensions = [] } = {}) {
  if (!dimensions.length) return undefined;
  const part = (name, value) => `${name}=${dimensions.map(value).join('x')}`;
  return `{${[
    part('size', (d) => d.size ?? 0),
    part('stride', (d) => d.stride ?? 1),
    part('pad', (d) => `${d.low ?? 0}_${d.high ?? 0}`),
    part('lhs_dilate', (d) => d.baseDilation ?? 1),
    part('rhs_dilate', (d) => d.windowDilation ?? 1),
    part('rhs_reversal', (d) => Number(d.reversal ?? false)),
  ].join(' ')}}`;
}

function dimLabels(numbers) {
  if (!numbers) return undefined;
  const absent = {
    kernelInputFeatureDimension: 0, kernelOutputFeatureDimension: 0, kernelSpatialDimensions: [],
    inputBatchDimension: 0, inputFeatureDimension: 0, inputSpatialDimensions: [],
    outputBatchDimension: 0, outputFeatureDimension: 0, outputSpatialDimensions: [],
  };
  return convolutionLabels('convolution', { ...absent, ...numbers });
}

function padding({ dimensions = [] } = {}) {
  const all = dimensions.map(({ low = 0, high = 0, interior = 0 }) => ({ low, high, interior }));
  return paddingText(all);
}

const slice = (dimensions = []) =>
  `{${dimensions.map(({ start = 0, limit = 0, stride = 1 }) => `[${start}:${limit}:${stride}]`)
    .join(', ')}}`;

function replicaGroups({ deviceList, replicaGroups: groups }) {
  const { iota } = deviceList ?? {};
  if (iota) return iotaText([iota.groups, iota.size], iota.reshape, iota.transpose);
  return `{${(deviceList?.groups ?? groups ?? []).map(({ ids }) => list(ids)).join(',')}}`;
}

function precision({ precision: config }) {
  const names = ['default', 'high', 'highest'];
  const some = config?.operands?.some((value) => value);
  return some ? list(config.operands.map((value) => names[value])) : undefined;
}

function metadata(fields = {}) {
  const parts = Object.entries(fields).map(([name, value]) =>
    `${name}=${typeof value === 'string' ? quote(value) : value}`);
  return parts.length ? `{${parts.join(' ')}}` : undefined;
}

function dictionary(attributes) {
  const entries = attributes?.entries ?? [];
  if (!entries.length) return undefined;
  const sorted = [...entries].sort((a, b) => (a.key < b.key ? -1 : 1));
  return `{${sorted.map(({ key, value = '' }) => `${key}=${configText(value)}`).join(',')}}`;
}

function operandAliases(aliases) {
  if (!aliases?.length) return undefined;
  return `{${aliases.map(({ output, operand = 0, operandIndex }) =>
    `${list(output)}: (${operand}, ${list(operandIndex)})`).join(', ')}}`;
}

function operandLayouts({ constrainLayout, operandShapes = [] }) {
  return constrainLayout ? `{${operandShapes.map(shapeText).join(', ')}}` : undefined;
}

/** Lists of a message: those that are not empty. */
const lists = (numbers = {}) =>
  Object.fromEntries(Object.entries(numbers).map(([name, value]) =>
    [name, Array.isArray(value) ? list(value) : value]));

const dotNumbers = ({ dotDimensions }) => lists(dotDimensions);
const raggedNumbers = ({ raggedDotDimensions: { dot, ...rest } = {} }) =>
  ({ ...lists(dot), ...lists(rest) });

function indexNumbers(numbers, always) {
  const absent = Object.fromEntries(always.map((name) => [name, '{}']));
  return { ...absent, index_vector_dim: 0, ...lists(numbers) };
}

/** All operations with called computations, by the attribute that names these. */
const CALLS = {
  'while': ['body', 'condition'],
  'select-and-scatter': ['select', 'scatter'],
  'fusion': ['calls'],
  'async-start': ['calls'],
};

function calledComputations(i, operandShapes, nameOf) {
  const names = (i.computations ?? []).map(nameOf);
  if (!names.length) return {};
  if (i.opcode === 'conditional') {
    const predicated = names.length === 2 && operandShapes[0]?.elementType === 1;
    return predicated
      ? { true_computation: names[0], false_computation: names[1] }
      : { branch_computations: `{${names.join(', ')}}` };
  }
  if (i.opcode === 'custom-call') return { called_computations: `{${names.join(', ')}}` };
  const attributes = CALLS[i.opcode] ?? ['to_apply'];
  return Object.fromEntries(attributes.map((attribute, k) => [attribute, names[k]]));
}

const dimensions = (i) => ({ dimensions: list(i.dimensions) });
const channel = (i) => ({ channel_id: i.channelId || undefined });
const collective = (i) => ({
  ...channel(i),
  replica_groups: replicaGroups(i),
  use_global_device_ids: flag(i.useGlobalDeviceIds),
  constrain_layout: flag(i.constrainLayout),
});
const gathering = (i) => ({ ...collective(i), ...dimensions(i) });
const permuting = (i) => ({
  ...channel(i),
  source_target_pairs:
    `{${(i.sourceTargetPairs ?? []).map(({ source = 0, target = 0 }) => list([source, target]))}}`,
});
const transfer = (i) => ({ ...channel(i), is_host_transfer: flag(i.isHostTransfer) });
const batchNorm = (i) => ({ epsilon: i.epsilon ?? 0, feature_index: i.featureIndex ?? 0 });
const asynchronous = (i) => ({
  async_execution_thread:
    i.asyncExecutionThread && i.asyncExecutionThread !== 'main'
      ? quote(i.asyncExecutionThread) : undefined,
});

const dot = (i) => ({
  ...dotNumbers(i),
  operand_precision: precision(i),
  algorithm: DOT_ALGORITHMS[i.precision?.algorithm ?? 0],
});

/** An operation's attributes in text, by opcode; undefined: none. */
const ATTRIBUTES = {
  'all-gather': gathering,
  'all-gather-start': gathering,
  'all-reduce': collective,
  'all-reduce-start': collective,
  'all-to-all': (i) => ({ ...collective(i), ...(i.dimensions && dimensions(i)) }),
  'async-done': asynchronous,
  'async-start': asynchronous,
  'async-update': asynchronous,
  'batch-norm-grad': batchNorm,
  'batch-norm-inference': batchNorm,
  'batch-norm-training': batchNorm,
  'broadcast': dimensions,
  'call': (i) => ({ is_composite: flag(i.isComposite) }),
  'cholesky': (i) => ({ lower: flag(i.cholesky?.lower) }),
  'collective-broadcast': (i) => ({ ...channel(i), replica_groups: replicaGroups(i) }),
  'collective-permute': permuting,
  'collective-permute-start': permuting,
  'compare': (i, [operand]) => ({
    direction: i.direction,
    type: comparisonOf(i.comparisonType, operand && /^\w+/.exec(shapeText(operand.shape))?.[0]),
  }),
  'concatenate': dimensions,
  'convolution': (i) => ({
    window: windowText(i.window),
    dim_labels: dimLabels(i.convolutionDimensions),
    feature_group_count: i.featureGroupCount > 1 ? i.featureGroupCount : undefined,
    batch_group_count: i.batchGroupCount > 1 ? i.batchGroupCount : undefined,
    operand_precision: precision(i),
  }),
  'custom-call': (i) => ({
    custom_call_target: quote(i.customCallTarget ?? ''),
    operand_layout_constraints: operandLayouts(i),
    custom_call_has_side_effect: flag(i.hasSideEffect),
    output_to_operand_aliasing: operandAliases(i.operandAliases),
    api_version: apiVersionText(i.apiVersion),
    window: windowText(i.window),
    dim_labels: dimLabels(i.convolutionDimensions),
    literal: i.literal && `${shapeText(i.literal.shape)} ${literalText(i.literal)}`,
  }),
  'domain': (i) => ({
    domain:
      `{kind="sharding", entry=${shardingText(i.domainEntry)}, exit=${shardingText(i.domainExit)}}`,
  }),
  'dot': dot,
  'dynamic-slice': (i) => ({ dynamic_slice_sizes: list(i.dynamicSliceSizes) }),
  'fft': (i) => ({
    fft_type: enumeration('FFT', 'IFFT', 'RFFT', 'IRFFT')(i.fftType),
    fft_length: list(i.fftLength),
  }),
  'fusion': (i) => ({
    kind: i.fusionKind, output_to_operand_aliasing: operandAliases(i.operandAliases),
  }),
  'gather': (i) => ({
    ...indexNumbers(
      i.gatherDimensions, ['offset_dims', 'collapsed_slice_dims', 'start_index_map']),
    slice_sizes: list(i.gatherSliceSizes),
    indices_are_sorted: flag(i.indicesAreSorted),
  }),
  'get-dimension-size': dimensions,
  'get-tuple-element': (i) => ({ index: i.tupleIndex ?? 0 }),
  'infeed': (i) => ({ infeed_config: quoted(i.infeedConfig) }),
  'iota': (i) => ({ iota_dimension: i.dimensions?.[0] ?? 0 }),
  'map': dimensions,
  'outfeed': (i) => ({
    outfeed_shape: shapeText(i.outfeedShape), outfeed_config: quoted(i.outfeedConfig),
  }),
  'pad': (i) => ({ padding: padding(i.padding) }),
  'ragged-all-to-all': collective,
  'ragged-dot': (i) => ({ ...raggedNumbers(i), operand_precision: precision(i) }),
  'recv': transfer,
  'recv-done': transfer,
  'reduce': dimensions,
  'reduce-precision': (i) => ({
    exponent_bits: i.exponentBits ?? 0, mantissa_bits: i.mantissaBits ?? 0,
  }),
  'reduce-scatter': gathering,
  'reduce-window': (i) => ({ window: windowText(i.window) }),
  'reverse': dimensions,
  'rng': (i) => ({
    distribution: enumeration('rng_invalid', 'rng_uniform', 'rng_normal')(i.distribution),
  }),
  'rng-bit-generator': (i) => ({
    algorithm: enumeration('rng_default', 'rng_three_fry', 'rng_philox')(i.rngAlgorithm),
  }),
  'rng-get-and-update-state': (i) => ({ delta: i.delta ?? 0 }),
  'scaled-dot': dot,
  'scan': (i) => ({
    ...dimensions(i),
    num_carries: i.numCarries ?? 0,
    is_reverse: flag(i.isReverse),
    is_associative: flag(i.isAssociative === 1),
  }),
  'scatter': (i) => ({
    ...indexNumbers(
      i.scatterDimensions,
      ['update_window_dims', 'inserted_window_dims', 'scatter_dims_to_operand_dims']),
    indices_are_sorted: flag(i.indicesAreSorted),
    unique_indices: flag(i.uniqueIndices),
  }),
  'select-and-scatter': (i) => ({ window: windowText(i.window) }),
  'send': transfer,
  'send-done': transfer,
  'set-dimension-size': dimensions,
  'slice': (i) => ({ slice: slice(i.slice) }),
  'sort': (i) => ({ ...dimensions(i), is_stable: flag(i.isStable) }),
  'topk': (i) => ({ k: i.k ?? 0, largest: String(i.largest ?? false) }),
  'transpose': dimensions,
  'triangular-solve': (i) => ({
    left_side: flag(i.triangularSolve?.left_side),
    lower: flag(i.triangularSolve?.lower),
    unit_diagonal: flag(i.triangularSolve?.unit_diagonal),
    transpose_a: enumeration('TRANSPOSE_INVALID', 'NO_TRANSPOSE', 'TRANSPOSE', 'ADJOINT')(
      i.triangularSolve?.transpose_a),
  }),
};

/* ---- Instructions, computations, the module ---- */

/** Makes the names of instructions or computations valid and unique. */
function rename(things, kind) {
  const taken = new Set();
  for (const thing of things) {
    const cleaned = cleanName(thing.name || kind);
    let name = cleaned;
    for (let n = 1; taken.has(name); n++) name = `${cleaned}.clone.${n}`;
    taken.add(name);
    thing.name = name;
  }
}

class Writer {
  #computations = new Map(); // id -> name
  /** Elements of large constants, which come beside the text: constant(data.0). @type {any[]} */
  data = [];

  module(module) {
    const computations = module.computations ?? [];
    rename(computations, 'computation');
    for (const { id = 0, name } of computations) this.#computations.set(id, name);
    const entry = computations.find(({ id = 0 }) => id === (module.entryId ?? 0));
    if (!entry) throw invalidArgument('parseHloProto', 'the module has no entry computation');
    const header = Object.entries({
      ...aliasHeader(module),
      entry_computation_layout: layoutHeader(module),
      frontend_attributes: dictionary(module.frontendAttributes),
    }).filter(([, value]) => value).map(([name, value]) => `, ${name}=${value}`);
    return `HloModule ${cleanName(module.name || 'module')}${header.join('')}\n\n${
      computations.map((computation) => this.computation(computation, entry)).join('\n')}`;
  }

  computation(computation, entry) {
    const { name, instructions = [], rootId = 0 } = computation;
    rename(instructions, 'instruction');
    const known = new Map(instructions.map((i) => [i.id ?? 0, i]));
    const lines = instructions.map((i) => {
      const root = (i.id ?? 0) === rootId ? 'ROOT ' : '';
      return `  ${root}${this.instruction(i, known)}\n`;
    });
    const thread = computation.executionThread;
    const suffix = thread && thread !== 'main' ? `, execution_thread=${quote(thread)}` : '';
    return `${computation === entry ? 'ENTRY ' : ''}%${name} {\n${lines.join('')}}${suffix}\n`;
  }

  instruction(i, known) {
    if (!/^[a-z0-9-]+$/.test(i.opcode)) {
      throw invalidArgument('parseHloProto', `${i.name} has the opcode ${describe(i.opcode)}`);
    }
    const operand = (id) => {
      if (known.has(id)) return known.get(id);
      throw invalidArgument('parseHloProto', `${i.name} has an operand ${id} that is not there`);
    };
    const operands = (i.operands ?? []).map(operand);
    const attributes = {
      ...calledComputations(i, operands.map(({ shape }) => shape), (id) => this.#name(id, i)),
      ...ATTRIBUTES[i.opcode]?.(i, operands),
      'sharding': shardingText(i.sharding),
      'frontend_attributes': dictionary(i.frontendAttributes),
      'control-predecessors': i.controlPredecessors &&
        `{${i.controlPredecessors.map((id) => `%${operand(id).name}`).join(', ')}}`,
      'metadata': metadata(i.metadata),
      'backend_config': i.backendConfig?.length ? configText(textOfBytes(i.backendConfig)) : undefined,
    };
    const tail = Object.entries(attributes).filter(([, value]) => value !== undefined)
      .map(([name, value]) => `, ${name}=${value}`);
    return `%${i.name} = ${shapeText(i.shape)} ${i.opcode}(${this.#inside(i, operands)})${tail.join('')}`;
  }

  #inside(i, operands) {
    if (i.opcode === 'parameter') return i.parameterNumber ?? 0;
    if (i.opcode !== 'constant') return operands.map(({ name }) => `%${name}`).join(', ');
    const elements = largeElements(i.literal ?? {});
    return elements ? `data.${this.data.push(elements) - 1}` : literalText(i.literal ?? {});
  }

  #name(id, { name }) {
    if (this.#computations.has(id)) return `%${this.#computations.get(id)}`;
    throw invalidArgument('parseHloProto', `${name} calls a computation ${id} that is not there`);
  }
}

function aliasHeader({ aliases, donors }) {
  const alias = ({ output, parameter = 0, parameterIndex, kind }) =>
    `${list(output)}: (${parameter}, ${list(parameterIndex)}, ` +
    `${kind === 2 ? 'must-alias' : 'may-alias'})`;
  const donor = ({ parameter = 0, parameterIndex }) => `(${parameter}, ${list(parameterIndex)})`;
  const braces = (items) => (items?.length ? `{ ${items.join(', ')} }` : undefined);
  return {
    input_output_alias: braces(aliases?.entries?.map(alias)),
    buffer_donor: braces(donors?.entries?.map(donor)),
  };
}

function layoutHeader({ programShape }) {
  if (!programShape?.result) return undefined;
  const parameters = (programShape.parameters ?? []).map(shapeText);
  return `{(${parameters.join(', ')})->${shapeText(programShape.result)}}`;
}

/** An HloProto or an HloSnapshot has the module in its field 1, where a module has its name. */
function unwrapped(bytes) {
  for (let inner = bytes; ;) {
    try {
      const module = decode(inner, HLO_MODULE);
      if (module.computations?.some(({ instructions }) => instructions)) return module;
    } catch (error) {
      if (inner === bytes && !isWrapper(bytes)) throw error;
    }
    inner = decode(inner, WRAPPER).inner;
    if (!inner) throw about(invalidArgument('parseHloProto', 'the bytes are no HloModuleProto'), { isNoProto: true });
  }
}

function isWrapper(bytes) {
  try {
    return Boolean(decode(decode(bytes, WRAPPER).inner, WRAPPER).inner);
  } catch {
    return false;
  }
}

/**
 * @param {Uint8Array} bytes of an HloModuleProto, HloProto or HloSnapshot
 * @returns {{ text: string, data: any[] }} HLO text, and the elements of its large constants, in
 *   typed arrays
 */
export function hloTextOfProto(bytes) {
  // Not a Node Buffer, whose slice() is no copy.
  const plain = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const writer = new Writer();
  const text = writer.module(unwrapped(plain));
  return { text, data: writer.data };
}
