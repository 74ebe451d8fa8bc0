/** The rows of collectives, and of transfers to the host and to other programs. */
import { quote } from '../base/attribute_text.mjs';
import { invalidArgument } from '../base/error.mjs';
import { Shape } from '../values/shape.mjs';
import {
  boolean, integer, integerLists, op, ops, optional, pairs, row, shape, string,
} from './arguments.mjs';
import { combiner, scalarsOf } from './computations.mjs';

/* ---- Collectives ---- */

const reducer = combiner(({ operand }) => scalarsOf([operand, operand]));

const group = {
  replicaGroups: optional(integerLists, []),
  channelId: optional(integer),
};
const deviceGroup = { ...group, useGlobalDeviceIds: optional(boolean) };

const groupAttributes = ({ replicaGroups, channelId, useGlobalDeviceIds }) => ({
  channel_id: channelId,
  replica_groups: replicaGroups,
  use_global_device_ids: useGlobalDeviceIds,
});

/**
 * Communicates a tuple element by element: `emit(operands)` gets the elements, and the result is a tuple again.
 */
function elementwise(b, operand, emit) {
  if (!operand.shape.isTuple) return emit([operand]);
  const elements = operand.shape.tupleShapes.map((_, i) => b.getTupleElement(operand, i));
  const result = emit(elements);
  return elements.length === 1 ? b.tuple([result]) : result;
}

/** The operands' shapes with one dimension resized, which the operands alone do not determine. */
function resized(operands, dimension, resize) {
  const shapes = operands.map(({ shape }) => {
    const dimensions = [...shape.dimensions];
    if (dimensions[dimension] === undefined) return null;
    dimensions[dimension] = resize(dimensions[dimension], shape);
    return Shape.array(shape.elementType, dimensions);
  });
  if (shapes.includes(null)) return undefined; // the core reports the error
  return shapes.length === 1 ? shapes[0] : Shape.tuple(shapes);
}

function split(opcode, size, count, shape) {
  if (count > 0 && size % count === 0) return size / count;
  throw invalidArgument(
    opcode,
    `a dimension of ${size} of operand ${shape} cannot be split into ${count}; ` +
      'the count must divide the size',
  );
}

function allGather(emit, { operand, allGatherDim, shardCount, ...rest }, b) {
  return elementwise(b, operand, (operands) =>
    emit(
      operands,
      { ...groupAttributes(rest), dimensions: [allGatherDim] },
      resized(operands, allGatherDim, (size) => size * shardCount),
    ));
}

function reduceScatter(emit, { operand, computation, scatterDimension, shardCount, ...rest }, b) {
  return elementwise(b, operand, (operands) =>
    emit(
      operands,
      { ...groupAttributes(rest), dimensions: [scatterDimension], to_apply: computation },
      resized(operands, scatterDimension, (size, shape) =>
        split('reduce-scatter', size, shardCount, shape)),
    ));
}

/** HLO splits and concatenates along one dimension. If they differ, the parts are transposed afterwards. */
function allToAll(emit, bound, b) {
  const { operand, splitDimension, concatDimension, splitCount } = bound;
  const { dimensions } = operand.shape;
  const size = dimensions[splitDimension];
  for (const dimension of [splitDimension, concatDimension]) {
    if (dimensions[dimension] !== undefined) continue;
    throw invalidArgument('all-to-all', `operand ${operand.shape} has no dimension ${dimension}`);
  }
  const part = split('all-to-all', size, splitCount, operand.shape);
  const exchanged = emit([operand], { ...groupAttributes(bound), dimensions: [splitDimension] });
  if (splitDimension === concatDimension) return exchanged;
  const parts = dimensions.flatMap((n, i) => (i === splitDimension ? [splitCount, part] : [n]));
  // Dimension splitDimension of `parts` is now the number of the replica that a part came from.
  const permutation = dimensions.flatMap((_, i) => {
    const moved = i >= splitDimension ? i + 1 : i;
    return i === concatDimension ? [splitDimension, moved] : [moved];
  });
  const result = dimensions.map((n, i) =>
    i === splitDimension ? part : i === concatDimension ? n * splitCount : n);
  return b.reshape(b.transpose(b.reshape(exchanged, parts), permutation), result);
}

function crossReplicaSum(_emit, { operand, replicaGroups }, b) {
  const { shape } = operand;
  const { elementType } = shape.isTuple ? (shape.leaves()[0] ?? shape) : shape;
  return b.allReduce(operand, elementType === 'pred' ? 'or' : 'add', replicaGroups);
}

/* ---- Infeed, outfeed, send and receive ---- */

/*
 * Infeeds without an explicit token are ordered as they were added to the builder; so are outfeeds.
 */
const lastTokens = new WeakMap(); // builder -> { infeed, outfeed }

function ordered(b, kind, add) {
  if (!lastTokens.has(b)) lastTokens.set(b, {});
  const tokens = lastTokens.get(b);
  const { token, result } = add(tokens[kind] ?? b.createToken());
  tokens[kind] = token;
  return result;
}

const withToken = (data) => Shape.tuple([data, Shape.token()]);
const inTransfer = (data) => Shape.tuple([data, 'u32[]', Shape.token()]);

const configOf = (config) => (config === undefined ? undefined : quote(config));

const transfer = (isHostTransfer) => ({
  send: row(
    'send',
    { operand: op, token: op, channelHandle: integer },
    (emit, { operand, token, channelHandle }) => {
      const attributes = { channel_id: channelHandle, is_host_transfer: isHostTransfer };
      return emit.other('send-done', [emit([operand, token], attributes)], attributes);
    },
  ),
  receive: row(
    'recv',
    { token: op, shape, channelHandle: integer },
    (emit, { token, shape, channelHandle }) => {
      const attributes = { channel_id: channelHandle, is_host_transfer: isHostTransfer };
      const started = emit([token], attributes, inTransfer(shape));
      return emit.other('recv-done', [started], attributes, withToken(shape));
    },
  ),
});
const [betweenDevices, withHost] = [transfer(undefined), transfer(true)];

export const collectives = {
  allGather: row(
    'all-gather',
    { operand: op, allGatherDim: integer, shardCount: integer, ...deviceGroup },
    allGather,
  ),
  allReduce: row(
    'all-reduce',
    { operand: op, computation: reducer, ...deviceGroup },
    (emit, { operand, computation, ...rest }, b) =>
      elementwise(b, operand, (operands) =>
        emit(operands, { ...groupAttributes(rest), to_apply: computation })),
  ),
  allToAll: row(
    'all-to-all',
    {
      operand: op, splitDimension: integer, concatDimension: integer, splitCount: integer,
      ...group,
    },
    allToAll,
  ),
  // Operand i goes to the i-th replica of the group.
  allToAllTuple: row(
    'all-to-all',
    { operands: ops, ...group },
    (emit, { operands, ...rest }) => emit(operands, groupAttributes(rest)),
  ),
  collectiveBroadcast: row(
    'collective-broadcast',
    { operand: op, ...group },
    (emit, { operand, ...rest }) => emit([operand], groupAttributes(rest)),
  ),
  collectivePermute: row(
    'collective-permute',
    { operand: op, sourceTargetPairs: pairs, channelId: optional(integer) },
    (emit, { operand, sourceTargetPairs, channelId }) =>
      emit([operand], { channel_id: channelId, source_target_pairs: sourceTargetPairs }),
  ),
  crossReplicaSum: row(
    'all-reduce',
    { operand: op, replicaGroups: optional(integerLists, []) },
    crossReplicaSum,
  ),
  partitionId: row('partition-id', {}, (emit) => emit([])),
  raggedAllToAll: row(
    'ragged-all-to-all',
    {
      input: op, inputOffsets: op, sendSizes: op,
      output: op, outputOffsets: op, recvSizes: op,
      ...group,
    },
    (emit, { input, inputOffsets, sendSizes, output, outputOffsets, recvSizes, ...rest }) =>
      emit(
        [input, output, inputOffsets, sendSizes, outputOffsets, recvSizes],
        groupAttributes(rest),
      ),
  ),
  reduceScatter: row(
    'reduce-scatter',
    {
      operand: op, computation: reducer, scatterDimension: integer, shardCount: integer,
      ...deviceGroup,
    },
    reduceScatter,
  ),
  replicaId: row('replica-id', {}, (emit) => emit([])),

  infeed: row('infeed', { shape, config: optional(string) }, (_emit, { shape, config }, b) =>
    ordered(b, 'infeed', (token) => {
      const pair = b.infeedWithToken(token, shape, config);
      return { token: b.getTupleElement(pair, 1), result: b.getTupleElement(pair, 0) };
    })),
  infeedWithToken: row(
    'infeed',
    { token: op, shape, config: optional(string) },
    (emit, { token, shape, config }) =>
      emit([token], { infeed_config: configOf(config) }, withToken(shape)),
  ),
  outfeed: row(
    'outfeed',
    { operand: op, shapeWithLayout: optional(shape), outfeedConfig: optional(string) },
    (_emit, { operand, shapeWithLayout, outfeedConfig }, b) =>
      ordered(b, 'outfeed', (previous) => {
        const token = b.outfeedWithToken(operand, previous, shapeWithLayout, outfeedConfig);
        return { token, result: token };
      }),
  ),
  outfeedWithToken: row(
    'outfeed',
    { operand: op, token: op, shapeWithLayout: optional(shape), outfeedConfig: optional(string) },
    (emit, { operand, token, shapeWithLayout, outfeedConfig }) =>
      emit([operand, token], {
        outfeed_shape: String(shapeWithLayout ?? operand.shape),
        outfeed_config: configOf(outfeedConfig),
      }),
  ),
  send: row(
    'send',
    { operand: op, channelHandle: integer },
    (_emit, { operand, channelHandle }, b) =>
      b.sendWithToken(operand, b.createToken(), channelHandle),
  ),
  sendWithToken: betweenDevices.send,
  sendToHost: withHost.send,
  recv: row('recv', { shape, channelHandle: integer }, (_emit, { shape, channelHandle }, b) =>
    b.getTupleElement(b.recvWithToken(b.createToken(), shape, channelHandle), 0)),
  recvWithToken: betweenDevices.receive,
  recvFromHost: withHost.receive,
};
