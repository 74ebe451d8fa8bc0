/** Rules that add operations whose indices are data: slices, gather, scatter. */
import { companionTypes, isInexact, union } from './domain.mjs';
import { moved } from './program.mjs';
import { computed } from './rules_elementwise.mjs';
import { takeElements } from './rules_movement.mjs';
import { lawsComputation, randomLaw } from './scalars.mjs';
import { count, numbersTo, randomDimensions } from './values.mjs';

const MAX_ELEMENTS = 6000;
const fits = (dimensions) => count(dimensions) <= MAX_ELEMENTS;

/* ---- Starts that are data ---- */

const INDEX_TYPES = ['s32', 's32', 's64', 'u32', 's8', 'u8', 's16', 'u64'];

/** Types that hold all indices. XLA compares indices with the bounds in the indices' type. */
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

/** Mixes two lists of sizes at random. Returns the mixed list, and the places in it of the sizes of `own`. */
function mixed(random, own, others) {
  const order = random.shuffle([...own.map((size, i) => [size, i]), ...others.map((n) => [n, -1])]);
  const places = own.map((_, i) => order.findIndex(([, original]) => original === i));
  return [order.map(([size]) => size), places];
}

/**
 * Random dimension numbers, in the words of gather. An index vector addresses the dimensions
 * `mapped`. A window has the sizes `sliceSizes`; those of `collapsed` and `batching` are 1 and left
 * out. In `batching` dimensions its position is that of the index vector in `indexBatching`.
 */
function indexing(random, dimensions) {
  const all = numbersTo(dimensions.length);
  const shared = all.filter((i) => dimensions[i] > 0 && random.chance(0.25));
  const batching = shared.length < all.length ? shared : [];
  const own = all.filter((i) => !batching.includes(i));
  const mapped = random.shuffle(random.some(own, 0.6));
  if (!mapped.length) mapped.push(random.pick(own)); // XLA:CPU has nonsense for empty vectors
  const sliceSizes = dimensions.map((n) => (n ? random.between(1, Math.min(n, 4)) : 0));
  const collapsed = own.filter((i) => sliceSizes[i] > 0 && random.chance(0.5));
  [...collapsed, ...batching].forEach((i) => { sliceSizes[i] = 1; });
  const extra = randomDimensions(random, random.between(0, 2)).map((n) => Math.min(n, 5));
  const [batch, places] = mixed(random, batching.map((i) => dimensions[i]), extra);
  const vectorDim = mapped.length === 1 && random.chance(0.3)
    ? batch.length : random.between(0, batch.length);
  const implicit = mapped.length === 1 && vectorDim === batch.length && random.chance(0.5);
  const indexDimensions = [...batch];
  if (!implicit) indexDimensions.splice(vectorDim, 0, mapped.length);
  const indexBatching = places.map((i) => (i < vectorDim ? i : i + 1));
  const window = own.filter((i) => !collapsed.includes(i));
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
    mapped, sliceSizes, collapsed, batching, indexBatching, vectorDim, indexDimensions, offsetDims,
    result, largest, room,
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
    ...(n.batching.length && {
      operandBatchingDims: n.batching, startIndicesBatchingDims: n.indexBatching,
    }),
  };
  const operands = [x, indicesFor(p, random, n, clamps)];
  return p.add('gather', operands, moved(x), (b, [a, i]) =>
    b.gather(a, i, dimensionNumbers, n.sliceSizes));
}

/**
 * Scatters into one or more arrays at once, each with its own combiner, or by replacing elements. Arrays
 * of one type are separate parameters: if an array occurs twice, XLA:CPU gives both results the first
 * one's values, and it sees through operations that do not change an array (seed 312216).
 */
function scatter(p, random) {
  const x = p.decided();
  if (!x || !x.shape.rank) return null;
  const n = indexing(random, x.shape.dimensions);
  if (!fits(n.result)) return null;
  const operands = [x];
  while (operands.length < 3 && random.chance(0.25)) {
    const type = random.pick(companionTypes(x.shape.elementType));
    const isThere = operands.some(({ shape }) => shape.elementType === type);
    operands.push(isThere ? p.fresh(type, x.shape.dimensions) : p.like(x, type));
  }
  const types = operands.map(({ shape }) => shape.elementType);
  const updates = operands.map(({ domain }, i) =>
    p.fresh(types[i], n.result, domain.special ? undefined : 'whole'));
  const both = operands.map(({ domain }, i) => union(types[i], [domain, updates[i].domain]));
  const replaces = random.chance(0.4);
  const laws = both.map((d, i) =>
    (replaces ? { domain: d } : randomLaw(random, types[i], d, count(n.result))));
  if (laws.includes(null)) return null;
  const dimensionNumbers = {
    updateWindowDims: n.offsetDims,
    insertedWindowDims: n.collapsed,
    scatterDimsToOperandDims: n.mapped,
    indexVectorDim: n.vectorDim,
    ...(n.batching.length && {
      inputBatchingDims: n.batching, scatterIndicesBatchingDims: n.indexBatching,
    }),
  };
  const indices = indicesFor(p, random, n, true);
  const results = laws.map(({ domain }) => (replaces ? domain : computed(domain)));
  const step = p.add('scatter', [...operands, indices, ...updates], results, (b, ops) => {
    const combiner = replaces ? replacing(b, types) : lawsComputation(b, types, laws);
    const k = operands.length;
    return b.scatter(ops.slice(0, k), ops[k], ops.slice(k + 1), combiner, dimensionNumbers);
  });
  return takeElements(p, step);
}

function replacing(b, types) {
  const inner = b.createSubBuilder('replace');
  const all = [...types, ...types].map((type, i) => inner.parameter(i, `${type}[]`));
  const updates = all.slice(types.length);
  return inner.build(updates.length === 1 ? updates[0] : inner.tuple(updates));
}

/** A loop that writes one row in each iteration, at an index that is data, as a scan or a paged cache does. */
function updateLoop(p, random) {
  const x = p.any(({ shape }) => shape.rank > 0 && shape.dimensions[0] > 0);
  if (!x) return null;
  const { elementType: type, dimensions } = x.shape;
  const rows = dimensions.slice(1);
  const times = random.between(1, 5);
  const updates = p.fresh(type, [times, 1, ...rows]);
  const result = union(type, [x.domain, updates.domain]);
  if (!result) return null;
  const starts = p.indices('s32', [times], -1, dimensions[0]);
  const [backwards, adds] = [random.chance(0.3), random.chance(0.5) && !isInexact(type)];
  return p.add('while', [x, updates, starts], result, (b, [a, u, s]) => {
    const state = b.tuple([b.constantR0(0, 's32'), a, u, s]);
    const make = (name, root) => {
      const inner = b.createSubBuilder(name);
      const parameter = inner.parameter(0, state.shape);
      return inner.build(root(inner, ...numbersTo(4).map((i) =>
        inner.getTupleElement(parameter, i))));
    };
    const condition = make('more', (inner, i) => inner.lt(i, inner.constantR0(times, 's32')));
    const body = make('update', (inner, i, into, from, places) => {
      const zero = inner.constantR0(0, 's32');
      const k = backwards ? inner.sub(inner.constantR0(times - 1, 's32'), i) : i;
      const zeros = rows.map(() => zero);
      const slice = inner.reshape(
        inner.dynamicSlice(from, [k, zero, ...zeros], [1, 1, ...rows]), [1, ...rows]);
      const at = inner.reshape(inner.dynamicSlice(places, [k], [1]), []);
      const old = inner.dynamicSlice(into, [at, ...zeros], [1, ...rows]);
      const row = adds ? inner.xor(old, slice) : slice;
      return inner.tuple([
        inner.add(i, inner.constantR0(1, 's32')),
        inner.dynamicUpdateSlice(into, row, [at, ...zeros]), from, places,
      ]);
    });
    return b.getTupleElement(b.while(condition, body, state), 1);
  });
}

export const indexingRules = { dynamicSlice, dynamicUpdateSlice, gather, scatter, updateLoop };
