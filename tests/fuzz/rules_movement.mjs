/** Rules that add operations which only move elements, by place or by index. */
import { Shape } from '../../bindings/shape.mjs';
import { COMPLEX, DECIDED, isInexact, sumOf, union } from './domain.mjs';
import { moved } from './program.mjs';
import { binaryComputation } from './scalars.mjs';
import {
  count, flavourDomain, randomDimensions, randomFlavour, randomLiteral, randomType,
} from './values.mjs';

const MOST_ELEMENTS = 6000;
const fits = (dimensions) => count(dimensions) <= MOST_ELEMENTS;
const numbersTo = (n) => Array.from({ length: n }, (_, i) => i);

/** A parameter of one element, to pad with. */
function filler(p, x) {
  const { elementType } = x.shape;
  return p.fresh(elementType, [], x.domain.special || x.domain.tolerance ? undefined : 'whole');
}

function broadcast(p, random) {
  const x = p.any();
  if (!x || x.shape.rank > 3) return null;
  const sizes = randomDimensions(random, random.between(0, 2)).map((n) => Math.min(n, 5));
  return fits([...sizes, ...x.shape.dimensions]) &&
    p.add('broadcast', [x], moved(x), (b, [a]) => b.broadcast(a, sizes));
}

function broadcastInDim(p, random) {
  const x = p.any();
  if (!x || x.shape.rank > 3) return null;
  const { dimensions } = x.shape;
  const out = [];
  const places = dimensions.map((size) => {
    while (random.chance(0.3)) out.push(random.between(0, 4));
    out.push(size === 1 && random.chance(0.6) ? random.between(1, 5) : size);
    return out.length - 1;
  });
  if (random.chance(0.3)) out.push(random.between(1, 4));
  return fits(out) && out.length < 7 &&
    p.add('broadcast', [x], moved(x), (b, [a]) => b.broadcastInDim(a, out, places));
}

function reshape(p, random) {
  const x = p.any();
  if (!x) return null;
  let rest = count(x.shape.dimensions);
  const sizes = [];
  while (rest > 1 && sizes.length < 4 && random.chance(0.8)) {
    const divisors = numbersTo(Math.min(rest, 64) + 1).filter((n) => n > 0 && rest % n === 0);
    const size = random.pick(divisors);
    sizes.push(size);
    rest /= size;
  }
  if (rest !== 1 || random.chance(0.2)) sizes.push(rest);
  const order = random.shuffle(sizes);
  if (count(order) !== count(x.shape.dimensions)) return null;
  return p.add('reshape', [x], moved(x), (b, [a]) => b.reshape(a, order));
}

function transpose(p, random) {
  const x = p.any();
  const permutation = x && random.shuffle(numbersTo(x.shape.rank));
  return x && p.add('transpose', [x], moved(x), (b, [a]) => b.transpose(a, permutation));
}

function slice(p, random) {
  const x = p.any();
  if (!x) return null;
  const { dimensions } = x.shape;
  const starts = dimensions.map((n) => random.between(0, random.chance(0.5) ? 0 : n));
  const limits = dimensions.map((n, i) => (random.chance(0.4) ? n : random.between(starts[i], n)));
  const strides = dimensions.map(() => (random.chance(0.6) ? 1 : random.between(1, 4)));
  return p.add('slice', [x], moved(x), (b, [a]) => b.slice(a, starts, limits, strides));
}

function pad(p, random) {
  const x = p.any();
  if (!x || !x.shape.rank) return null; // XLA cannot read its own text of a scalar's padding
  const value = filler(p, x);
  const result = union(x.shape.elementType, [x.domain, value.domain]);
  const config = x.shape.dimensions.map((n) => {
    const interior = random.chance(0.3) ? random.between(1, 3) : 0;
    const inner = n > 0 ? n + (n - 1) * interior : 0;
    const low = random.between(random.chance(0.3) ? -Math.min(inner, 4) : 0, 3);
    const high = random.between(random.chance(0.3) ? Math.max(-4, -inner) : 0, 3);
    return inner + low + high < 0 ? [0, 0, interior] : [low, high, interior];
  });
  const size = x.shape.dimensions.map((n, i) =>
    n + config[i][0] + config[i][1] + Math.max(n - 1, 0) * config[i][2]);
  return result && fits(size) && size.every((n) => n >= 0) &&
    p.add('pad', [x, value], result, (b, [a, v]) => b.pad(a, v, config));
}

function concatenate(p, random) {
  const x = p.any(({ shape }) => shape.rank > 0);
  if (!x) return null;
  const { elementType, dimensions, rank } = x.shape;
  const dimension = random.between(0, rank - 1);
  const parts = [x];
  while (parts.length < 4 && random.chance(0.6)) {
    const sizes = dimensions.map((n, i) => (i === dimension ? random.between(0, 6) : n));
    parts.push(random.chance(0.3) && !x.domain.tolerance ? p.like(x) : p.fresh(elementType, sizes));
  }
  const operands = random.shuffle(parts);
  const result = union(elementType, operands.map((part) => part.domain));
  return result &&
    p.add('concatenate', operands, result, (b, ops) => b.concatInDim(ops, dimension));
}

function reverse(p, random) {
  const x = p.any();
  if (!x) return null;
  const dimensions = random.some(numbersTo(x.shape.rank));
  return p.add('reverse', [x], moved(x), (b, [a]) => b.rev(a, dimensions));
}

function iota(p, random) {
  const type = random.pick(
    ['s32', 'u8', 's8', 's64', 'f32', 'f64', 'bf16', 'f16', 'u32', 's16', 'c64']);
  const dimensions = randomDimensions(random, random.between(1, 3));
  const dimension = random.between(0, dimensions.length - 1);
  const d = isInexact(type) ? { lowest: 0, highest: 7, special: 0 } : DECIDED;
  return p.add('iota', [], d, (b) => b.iota(Shape.array(type, dimensions), dimension));
}

function constant(p, random) {
  const [type, any] = [randomType(random), randomFlavour(random)];
  // XLA reads (nan, 1) as (nan, nan).
  const flavour = COMPLEX.includes(type) && any === 'edges' ? 'normal' : any;
  const dimensions = randomDimensions(random, random.between(0, 2));
  const literal = randomLiteral(random, type, dimensions, flavour);
  return p.add('constant', [], flavourDomain(type, flavour), (b) => b.constantLiteral(literal));
}

/* ---- Starts that are data ---- */

const INDEX_TYPES = ['s32', 's32', 's64', 'u32', 's8', 'u8', 's16', 'u64'];

/** XLA compares with the bounds in the type of the indices: it must hold them. */
const indexType = (random, dimensions) =>
  random.pick(dimensions.every((n) => n < 120) ? INDEX_TYPES : ['s32', 's64', 'u32', 'u64']);

/** Starts of windows of these sizes; outside the bounds too if they may be clamped. */
function starts(p, random, dimensions, sizes, clamps) {
  const type = indexType(random, dimensions);
  return dimensions.map((n, i) =>
    clamps ? p.indices(type, [], -3, 8) : p.indices(type, [], 0, n - sizes[i]));
}

function dynamicSlice(p, random) {
  const x = p.any();
  if (!x || x.shape.rank === 0) return null;
  const { dimensions } = x.shape;
  const sizes = dimensions.map((n) => random.between(0, n) || Math.min(n, 1));
  const clamps = random.chance(0.4);
  const operands = [x, ...starts(p, random, dimensions, sizes, clamps)];
  return p.add('dynamic-slice', operands, moved(x), (b, [a, ...i]) =>
    b.dynamicSlice(a, i, sizes));
}

function dynamicUpdateSlice(p, random) {
  const x = p.any();
  if (!x || x.shape.rank === 0) return null;
  const sizes = x.shape.dimensions.map((n) => random.between(0, n) || Math.min(n, 1));
  const update = p.fresh(x.shape.elementType, sizes);
  const result = union(x.shape.elementType, [x.domain, update.domain]);
  const operands = [x, update, ...starts(p, random, x.shape.dimensions, sizes, true)];
  return result && p.add('dynamic-update-slice', operands, result, (b, [a, u, ...i]) =>
    b.dynamicUpdateSlice(a, u, i));
}

/* ---- Gather and scatter ---- */

/**
 * Random dimension numbers, in the words of gather. An index vector addresses the dimensions
 * `mapped`; a window has the sizes `sliceSizes`, of which those of `collapsed` are 1 and left out.
 */
function indexing(random, dimensions) {
  const all = numbersTo(dimensions.length);
  const mapped = random.shuffle(random.some(all, 0.6));
  if (!mapped.length) mapped.push(random.pick(all)); // XLA:CPU has nonsense for empty vectors
  const sliceSizes = dimensions.map((n) => (n ? random.between(1, Math.min(n, 4)) : 0));
  const collapsed = all.filter((i) => sliceSizes[i] > 0 && random.chance(0.5));
  collapsed.forEach((i) => { sliceSizes[i] = 1; });
  const batch = randomDimensions(random, random.between(0, 2)).map((n) => Math.min(n, 5));
  const vectorDim = mapped.length === 1 && random.chance(0.3)
    ? batch.length : random.between(0, batch.length);
  const implicit = mapped.length === 1 && vectorDim === batch.length && random.chance(0.5);
  const indexDimensions = [...batch];
  if (!implicit) indexDimensions.splice(vectorDim, 0, mapped.length);
  const window = all.filter((i) => !collapsed.includes(i));
  const rank = batch.length + window.length;
  const offsetDims = random.shuffle(numbersTo(rank)).slice(0, window.length).sort((a, b) => a - b);
  const result = numbersTo(rank);
  const [batchLeft, windowLeft] = [[...batch], window.map((i) => sliceSizes[i])];
  result.forEach((i) => {
    result[i] = offsetDims.includes(i) ? windowLeft.shift() : batchLeft.shift();
  });
  const largest = Math.max(0, ...mapped.map((i) => dimensions[i]));
  const room = Math.min(...mapped.map((i) => dimensions[i] - sliceSizes[i]));
  return {
    mapped, sliceSizes, collapsed, vectorDim, indexDimensions, offsetDims, result, largest, room,
  };
}

function indicesFor(p, random, { indexDimensions, largest, room }, clamps) {
  const [low, high] = clamps ? [-2, largest + 1] : [0, room];
  return p.indices(indexType(random, [largest]), indexDimensions, low, high);
}

function gather(p, random) {
  const x = p.any((step) => step.shape.rank > 0);
  if (!x) return null;
  const clamps = random.chance(0.6);
  const n = indexing(random, x.shape.dimensions);
  if (!fits(n.result)) return null;
  const dimensionNumbers = {
    offsetDims: n.offsetDims,
    collapsedSliceDims: n.collapsed,
    startIndexMap: n.mapped,
    indexVectorDim: n.vectorDim,
  };
  const operands = [x, indicesFor(p, random, n, clamps)];
  return p.add('gather', operands, moved(x), (b, [a, i]) =>
    b.gather(a, i, dimensionNumbers, n.sliceSizes));
}

function scatter(p, random) {
  const x = p.decided();
  if (!x || !x.shape.rank) return null;
  const n = indexing(random, x.shape.dimensions);
  if (!fits(n.result)) return null;
  const { elementType: type } = x.shape;
  const updates = p.fresh(type, n.result, x.domain.special ? undefined : 'whole');
  const both = union(type, [x.domain, updates.domain]);
  const sum = sumOf(type, both, count(n.result) + 1);
  const methods = type === 'pred' ? ['and', 'or', 'xor']
    : ['add', 'mul', 'max', 'min', 'and', 'xor'];
  const method = random.chance(0.4) ? 'replace'
    : isInexact(type) ? sum && 'add' : random.pick(methods);
  if (!method) return null;
  const dimensionNumbers = {
    updateWindowDims: n.offsetDims,
    insertedWindowDims: n.collapsed,
    scatterDimsToOperandDims: n.mapped,
    indexVectorDim: n.vectorDim,
  };
  const indices = indicesFor(p, random, n, true);
  return p.add('scatter', [x, indices, updates], method === 'add' ? sum : both, (b, [a, i, u]) =>
    b.scatter(a, i, u, combiner(b, type, method), dimensionNumbers));
}

function combiner(b, type, method) {
  if (method !== 'replace') return binaryComputation(b, type, method);
  const inner = b.createSubBuilder('replace');
  inner.parameter(0, `${type}[]`);
  return inner.build(inner.parameter(1, `${type}[]`));
}

/* ---- Sorting ---- */

function sort(p, random) {
  const x = p.decided();
  if (!x || !x.shape.rank || x.shape.elementType[0] === 'c') return null;
  const { elementType: type, rank } = x.shape;
  const operands = [x];
  while (operands.length < 3 && random.chance(0.4)) {
    operands.push(p.like(x, random.pick(['s32', 'f32', 'u8', type])));
  }
  const dimension = random.between(0, rank - 1);
  const method = random.pick(['lt', 'gt']) +
    (isInexact(type) && x.domain.special < 2 ? 'TotalOrder' : '');
  if (isInexact(type) && x.domain.special === 2) return null;
  const types = operands.map((step) => step.shape.elementType);
  const step = p.add('sort', operands, operands.map(moved), (b, ops) => {
    const inner = b.createSubBuilder('before');
    const parameters = types.flatMap((t, i) =>
      [2 * i, 2 * i + 1].map((number) => inner.parameter(number, `${t}[]`)));
    const before = inner.build(inner[method](parameters[0], parameters[1]));
    return b.sort(ops, before, dimension, true);
  });
  return takeElements(p, step);
}

/** The elements of a step that is a tuple, as steps. */
export function takeElements(p, step) {
  if (!step.shape.isTuple) {
    if (Array.isArray(step.domain)) [step.domain] = step.domain;
    return step;
  }
  const elements = step.domain.map((d, i) =>
    p.add('get-tuple-element', [step], d, (b, [tuple]) => b.getTupleElement(tuple, i)));
  return elements[0];
}

function topK(p, random) {
  const x = p.decided(['s32', 'f32', 'u8', 'f64', 's64', 'bf16', 'f16']);
  if (!x || !x.shape.rank || x.domain.special === 2) return null;
  const k = random.between(0, x.shape.dimensions.at(-1));
  if (!k) return null;
  const step = p.add('topk', [x], [moved(x), DECIDED], (b, [a]) => b.topK(a, k, true));
  return takeElements(p, step);
}

export const movementRules = {
  broadcast, broadcastInDim, reshape, transpose, slice, pad, concatenate, reverse, iota, constant,
  dynamicSlice, dynamicUpdateSlice, gather, scatter, sort, topK,
};
