/** Functions that choose, join and multiply arrays, with the names and definitions of jax.numpy. */
import { invalidArgument } from '../../base/error.mjs';
import { boolean, either, integer, integers, op, operandLike, ops, oneOf, optional, row } from '../arguments.mjs';
import { axisOf, isFloating, isInteger, lowest, broadcastTogether } from './axes.mjs';
import { einsum } from './einsum.mjs';

const where = row('where', { pred: op, onTrue: operandLike('onFalse'), onFalse: operandLike('onTrue') },
  (_emit, { pred, onTrue, onFalse }, b) => b.select(...broadcastTogether('where', b, [pred, onTrue, onFalse])));

/** The elements of an axis at these indices: their dimensions take the axis' place. */
const take = row(
  'take',
  { operand: op, indices: op, axis: optional(integer), mode: optional(oneOf('fill', 'clip', 'wrap'), 'fill') },
  (_emit, { operand, indices, axis, mode }, b) => {
    if (!isInteger(indices)) throw invalidArgument('take', `indices are ${indices.shape}; they must be integers`);
    const x = axis === undefined ? b.reshape(operand, [operand.shape.elementCount]) : operand;
    const { rank, dimensions } = x.shape;
    const dimension = axis === undefined ? 0 : axisOf('take', axis, rank);
    const size = dimensions[dimension];
    if (size === 0 && indices.shape.elementCount) throw invalidArgument('take', `axis ${dimension} of ${x.shape} has no elements to take`);
    const place = placed(b, b.convertElementType(indices, 's64'), size, mode);
    const inner = indices.shape.rank;
    const gathered = b.gather(x, b.reshape(place, [...indices.shape.dimensions, 1]), {
      offsetDims: dimensions.map((_, i) => i).filter((i) => i !== dimension).map((i) => (i < dimension ? i : i + inner - 1)),
      collapsedSliceDims: [dimension],
      startIndexMap: [dimension],
      indexVectorDim: inner,
    }, dimensions.map((all, i) => (i === dimension ? 1 : all)));
    if (mode !== 'fill') return gathered;
    const isIn = b.and(b.ge(place, 0), b.lt(place, size));
    const spread = b.broadcastInDim(isIn, [...gathered.shape.dimensions], isIn.shape.dimensions.map((_, i) => i + dimension));
    return b.select(spread, gathered, filling(b, x.shape.elementType));
  },
);

/** Indices by mode: `clip` clamps, `wrap` takes the remainder, `fill` counts negative ones from the end. */
function placed(b, indices, size, mode) {
  if (mode === 'clip') return b.clamp(0, indices, size - 1);
  if (mode === 'fill') return b.select(b.lt(indices, 0), b.add(indices, size), indices);
  const rest = b.rem(indices, size);
  return b.select(b.lt(rest, 0), b.add(rest, size), rest);
}

/** NaN; of integers the lowest, of unsigned ones the highest; true. */
function filling(b, type) {
  if (type === 'pred') return b.constantR0(true, type);
  if (type.startsWith('u')) return b.not(b.constantR0(0, type));
  if (!/^c/.test(type)) return b.constantR0(/^s/.test(type) ? lowest(type) : NaN, type);
  const part = b.constantR0(NaN, type === 'c64' ? 'f32' : 'f64');
  return b.complex(part, b.constantR0(0, part.shape.elementType));
}

const stack = row('stack', { arrays: ops, axis: optional(integer, 0) }, (_emit, { arrays, axis }, b) => {
  if (!arrays.length) throw invalidArgument('stack', 'arrays is empty');
  const { rank, dimensions } = arrays[0].shape;
  const other = arrays.find(({ shape }) => String(shape.dimensions) !== String(dimensions));
  if (other) throw invalidArgument('stack', `arrays are ${arrays[0].shape} and ${other.shape}; they must have one shape`);
  const dimension = axisOf('stack', axis, rank + 1);
  const sizes = [...dimensions.slice(0, dimension), 1, ...dimensions.slice(dimension)];
  return b.concatInDim(arrays.map((x) => b.reshape(x, sizes)), dimension);
});

/** Equal parts, or the parts between these indices, as a tuple. */
const split = row('split', { operand: op, parts: either(integer, integers), axis: optional(integer, 0) },
  (_emit, { operand, parts, axis }, b) => {
    const dimension = axisOf('split', axis, operand.shape.rank);
    const size = operand.shape.dimensions[dimension];
    if (!Array.isArray(parts) && (parts < 1 || size % parts)) {
      throw invalidArgument('split', `axis ${axis} of ${operand.shape} does not divide into ${parts} equal parts`);
    }
    if (parts.length > size + 1) throw invalidArgument('split', `parts has ${parts.length} indices for an axis of size ${size}`);
    const inner = Array.isArray(parts) ? parts : Array.from({ length: parts - 1 }, (_, i) => ((i + 1) * size) / parts);
    const clamped = inner.map((at) => Math.min(Math.max(at < 0 ? at + size : at, 0), size));
    const ends = [...clamped, size];
    return b.tuple([0, ...clamped].map((start, i) => b.sliceInDim(operand, Math.min(start, ends[i]), ends[i], 1, dimension)));
  });

/** `count` values from start to stop; without `endpoint`, stop itself is left out. */
const linspace = row(
  'linspace',
  {
    start: operandLike('stop'), stop: operandLike('start'), count: integer,
    endpoint: optional(boolean, true),
  },
  (_emit, { start, stop, count, endpoint }, b) => {
    for (const [name, x] of [['start', start], ['stop', stop]]) {
      if (!isFloating(x) || x.shape.rank) throw invalidArgument('linspace', `${name} is ${x.shape}; it must be a scalar of floats`);
    }
    const type = start.shape.elementType;
    const steps = endpoint ? count - 1 : count;
    const i = b.iota(type, count);
    if (count <= 1) return b.add(b.mul(i, 0), start);
    const at = b.div(i, steps);
    const between = b.add(b.mul(start, b.sub(b.constantR0(1, type), at)), b.mul(stop, at));
    return endpoint ? b.select(b.eq(i, steps), b.broadcast(stop, [count]), between) : between;
  },
);

/** NumPy's product: vectors are rows or columns, and dimensions before the last two are batches, which broadcast. */
const matmul = row('matmul', { lhs: op, rhs: op }, (_emit, { lhs, rhs }, b) => {
  const [ranks, shapes] = [[lhs.shape.rank, rhs.shape.rank], `lhs ${lhs.shape}, rhs ${rhs.shape}`];
  if (ranks.includes(0)) throw invalidArgument('matmul', `${shapes}; neither may be a scalar: use mul`);
  const [left, right] = [ranks[0] === 1 ? 'k' : '...mk', ranks[1] === 1 ? 'k' : '...kn'];
  const result = `...${ranks[0] > 1 ? 'm' : ''}${ranks[1] > 1 ? 'n' : ''}`;
  return einsum('matmul', b, `${left},${right}->${result}`, [lhs, rhs]);
});

export const arrays = { where, take, stack, split, linspace, matmul };
