/**
 * Rules about arrays of dynamic size: bounded dimensions whose sizes are data. Elements past a size
 * take no part in any operation; operands that belong together get their sizes from each other.
 */
import { BYTES, companionTypes, COMPLEX, DECIDED, FLOATS, isInexact, union } from './domain.mjs';
import { moved } from './program.mjs';
import { computed } from './rules_elementwise.mjs';
import { takeElements } from './rules_movement.mjs';
import { contraction, randomWindow } from './rules_reduction.mjs';
import {
  coupledComputation, identity, lawsComputation, randomChange, randomLaw,
} from './scalars.mjs';
import { count, numbersTo } from './values.mjs';

const MAX_ELEMENTS = 4000;
const TYPES = ['pred', ...BYTES, ...FLOATS, 'f32', ...COMPLEX];
const isDynamic = ({ shape }) => shape.isArray && shape.isDynamic;
/** Whether XLA keeps all dynamic sizes. It may forget the size of a dimension whose bound is 1, and refuses arrays without elements. */
const isSizable = ({ shape: { dimensions, dynamicDimensions } }) =>
  dynamicDimensions.every((dynamic, i) => dimensions[i] > (dynamic ? 1 : 0));

/* ---- Operands ---- */

/** Gives some dimensions of an array sizes that are data. */
function setSizes(p, random, types = TYPES) {
  const x = p.decided(types);
  const sizable = x && isSizable(x) &&
    numbersTo(x.shape.rank).filter((i) => x.shape.dimensions[i] > 1);
  if (!sizable?.length) return null;
  return random.shuffle(sizable).slice(0, random.pick([1, 1, 2])).reduce((step, dimension) => {
    const size = p.indices('s32', [], 0, x.shape.dimensions[dimension]);
    return setSize(p, step, size, dimension);
  }, x);
}

function setSize(p, x, size, dimension) {
  return p.add('set-dimension-size', [x, size], moved(x), (b, [a, n]) =>
    b.setDimensionSize(a, n, dimension));
}

const sizeOf = (p, x, dimension) =>
  p.add('get-dimension-size', [x], DECIDED, (b, [a]) => b.getDimensionSize(a, dimension));

/** Returns a dynamic array of the program, or a new one. */
function sized(p, random, types = TYPES, accepts = () => true) {
  const found = p.steps.filter((step) => isDynamic(step) && isSizable(step) &&
    !step.domain.tolerance && types.includes(step.shape.elementType) && accepts(step));
  if (found.length && random.chance(0.8)) return random.pick(found.slice(-5));
  const step = setSizes(p, random, types);
  return step && accepts(step) ? step : null;
}

/** A parameter with these dimensions, as long as `x` is where `same` says which of x's they are. */
function alike(p, x, type, dimensions = x.shape.dimensions, same = numbersTo(x.shape.rank)) {
  return dimensions.reduce((step, _, i) => {
    const from = same[i];
    if (from === undefined || !x.shape.dynamicDimensions[from]) return step;
    return setSize(p, step, sizeOf(p, x, from), i);
  }, p.fresh(type, dimensions, x.domain.special ? undefined : 'whole'));
}

/* ---- Element by element ---- */

function pairOf(p, random) {
  const x = sized(p, random);
  if (!x) return null;
  const type = x.shape.elementType;
  const y = alike(p, x, type);
  return { x, y, change: randomChange(random, type), result: union(type, [x.domain, y.domain]) };
}

function dynamicChain(p, random) {
  const pair = pairOf(p, random);
  return pair && p.add('chain', [pair.x, pair.y], computed(pair.result), (b, [l, r]) =>
    pair.change(b, l, r));
}

function dynamicMap(p, random) {
  const pair = pairOf(p, random);
  return pair && p.add('map', [pair.x, pair.y], computed(pair.result), (b, operands) => {
    const inner = b.createSubBuilder('mapped');
    const [l, r] = operands.map(({ shape }, i) => inner.parameter(i, `${shape.elementType}[]`));
    return b.map(operands, inner.build(pair.change(inner, l, inner.copy(r))));
  });
}

/** A binary operation with a scalar, or with a vector along one of the dimensions. */
function dynamicBroadcasting(p, random) {
  const x = sized(p, random, [...BYTES, 'f32', 'f64']);
  if (!x) return null;
  const { elementType: type, rank } = x.shape;
  const kept = random.chance(0.4) ? [] : [random.between(0, rank - 1)];
  const y = alike(p, x, type, kept.map((i) => x.shape.dimensions[i]), kept);
  const method = random.pick(isInexact(type) ? ['max', 'min'] : ['add', 'mul', 'max', 'sub']);
  const result = computed(union(type, [x.domain, y.domain]));
  return p.add(method, [x, y], result, (b, [l, r]) =>
    b[method](l, r, kept.length && rank > 1 ? kept : undefined));
}

function dynamicSelect(p, random) {
  const pair = pairOf(p, random);
  if (!pair) return null;
  const { x, y, result } = pair;
  const pred = random.chance(0.3) ? p.fresh('pred', []) : alike(p, x, 'pred');
  return p.add('select', [pred, x, y], result, (b, ops) => b.select(...ops));
}

/* ---- Data movement ---- */

/** StableHLO has no broadcasts and reshapes to more than one dynamic dimension. */
const hasOne = ({ shape }) => shape.dynamicDimensions.filter((dynamic) => dynamic).length === 1;

function dynamicBroadcast(p, random) {
  const x = sized(p, random, TYPES, hasOne);
  if (!x || x.shape.rank > 3) return null;
  const [low, high] = [0, 1].map(() => numbersTo(random.between(0, 1)).map(() =>
    random.between(1, 3)));
  const { dimensions, rank } = x.shape;
  if (count(dimensions) > 500) return null;
  return p.add('broadcast', [x], moved(x), (b, [a]) => b.broadcastInDim(
    a, [...low, ...dimensions, ...high], numbersTo(rank).map((i) => i + low.length)));
}

function dynamicTranspose(p, random) {
  const x = sized(p, random);
  const permutation = x && random.shuffle(numbersTo(x.shape.rank));
  return x && p.add('transpose', [x], moved(x), (b, [a]) => b.transpose(a, permutation));
}

function dynamicReverse(p, random) {
  const x = sized(p, random);
  const dimensions = x && random.some(numbersTo(x.shape.rank));
  return x && p.add('reverse', [x], moved(x), (b, [a]) => b.rev(a, dimensions));
}

/** A slice that takes dimensions of dynamic size whole, and parts of others. */
function dynamicParts(p, random) {
  const x = sized(p, random);
  if (!x) return null;
  const { dimensions, dynamicDimensions } = x.shape;
  const parts = dimensions.map((n, i) => {
    const start = dynamicDimensions[i] ? 0 : random.between(0, n - 1);
    return [start, dynamicDimensions[i] ? n : random.between(start + 1, n)];
  });
  const [starts, limits] = [0, 1].map((i) => parts.map((part) => part[i]));
  return p.add('slice', [x], moved(x), (b, [a]) => b.slice(a, starts, limits));
}

function dynamicPad(p, random) {
  const x = sized(p, random);
  if (!x) return null;
  const value = p.fresh(x.shape.elementType, [], x.domain.special ? undefined : 'whole');
  const config = x.shape.dimensions.map(() =>
    [random.between(0, 2), random.between(0, 2), random.pick([0, 0, 1])]);
  if (count(x.shape.dimensions.map((n) => 2 * n + 4)) > MAX_ELEMENTS) return null;
  const result = union(x.shape.elementType, [x.domain, value.domain]);
  return p.add('pad', [x, value], result, (b, [a, v]) => b.pad(a, v, config));
}

function dynamicConcatenate(p, random) {
  const x = sized(p, random);
  if (!x) return null;
  const { elementType: type, dimensions, rank } = x.shape;
  const along = random.between(0, rank - 1);
  const others = numbersTo(random.between(1, 2)).map(() => {
    const sizes = dimensions.map((n, i) => (i === along ? random.between(1, 5) : n));
    const same = numbersTo(rank).map((i) => (i === along ? undefined : i));
    const part = alike(p, x, type, sizes, same);
    const size = () => p.indices('s32', [], 0, sizes[along]);
    return random.chance(0.5) ? setSize(p, part, size(), along) : part;
  });
  const operands = random.shuffle([x, ...others]);
  const result = union(type, operands.map(({ domain }) => domain));
  return p.add('concatenate', operands, result, (b, ops) => b.concatInDim(ops, along));
}

/** A reshape: merges two dimensions, splits a static one, or adds one of size 1. */
function dynamicReshape(p, random) {
  const x = sized(p, random, TYPES, hasOne);
  if (!x) return null;
  const { dimensions, dynamicDimensions, rank } = x.shape;
  const at = random.between(0, rank - 1);
  const sizes = [...dimensions];
  if (at + 1 < rank && random.chance(0.5)) {
    sizes.splice(at, 2, sizes[at] * sizes[at + 1]);
  } else if (dynamicDimensions[at]) {
    sizes.splice(at + random.between(0, 1), 0, 1);
  } else {
    const divisors = numbersTo(sizes[at] + 1).filter((n) => n > 0 && sizes[at] % n === 0);
    const size = random.pick(divisors);
    sizes.splice(at, 1, size, sizes[at] / size);
  }
  return p.add('reshape', [x], moved(x), (b, [a]) => b.reshape(a, sizes));
}

/* ---- Indices ---- */

/** Gathers rows of a static array, one for each index. */
function dynamicGather(p, random) {
  const indices = sized(p, random, ['s32', 's64', 'u8'], ({ shape }) => shape.rank < 3);
  const x = p.decided();
  if (!indices || !x?.shape.rank || !x.shape.dimensions[0] || isDynamic(x)) return null;
  const { dimensions, rank } = x.shape;
  const row = dimensions.slice(1);
  const batch = indices.shape.rank;
  if (count([...indices.shape.dimensions, ...row]) > MAX_ELEMENTS) return null;
  const numbers = {
    offsetDims: row.map((_, i) => batch + i), collapsedSliceDims: [0], startIndexMap: [0],
    indexVectorDim: batch,
  };
  return rank && p.add('gather', [x, indices], moved(x), (b, [a, i]) =>
    b.gather(a, i, numbers, [1, ...row]));
}

/** Scatters rows into a static array by adding, one for each index. */
function dynamicScatter(p, random) {
  const type = random.pick(['s32', 'u8', 's64', 'u16']);
  const [rows, columns, most] = [random.between(1, 6), random.between(1, 4), random.between(1, 8)];
  const x = p.fresh(type, [rows, columns]);
  const indices = setSize(
    p, p.indices('s32', [most], -1, rows), p.indices('s32', [], 0, most), 0);
  const updates = alike(p, indices, type, [most, columns], [0]);
  const law = randomLaw(random, type, DECIDED, most);
  const numbers = {
    updateWindowDims: [1], insertedWindowDims: [0], scatterDimsToOperandDims: [0],
    indexVectorDim: 1,
  };
  return p.add('scatter', [x, indices, updates], DECIDED, (b, [a, i, u]) =>
    b.scatter(a, i, u, lawsComputation(b, [type], [law]), numbers));
}

/* ---- Reductions, sorting, contractions ---- */

function dynamicReduce(p, random) {
  const x = sized(p, random);
  if (!x) return null;
  const operands = [x];
  while (operands.length < 3 && random.chance(0.25)) {
    operands.push(alike(p, x, random.pick(companionTypes(x.shape.elementType))));
  }
  const types = operands.map(({ shape }) => shape.elementType);
  const reduced = random.some(numbersTo(x.shape.rank), 0.6);
  if (!reduced.length) return null; // as in rules_reduction.mjs
  const laws = operands.map(({ domain }, i) =>
    randomLaw(random, types[i], domain, count(x.shape.dimensions)));
  if (laws.includes(null)) return null;
  const coupled = operands.length > 1 && BYTES.includes(types[0]) && random.chance(0.4);
  if (coupled) laws[0] = { identity: identity(types[0], 'max'), domain: x.domain };
  const domains = laws.map(({ domain }) => computed(domain));
  const step = p.add('reduce', operands, domains, (b, ops) => {
    const inits = laws.map((law) => b.constantLiteral(law.identity));
    const computation = (coupled ? coupledComputation : lawsComputation)(b, types, laws);
    return b.reduce(ops, inits, computation, reduced);
  });
  return takeElements(p, step);
}

/**
 * XLA ignores padding and base dilation in the size of the result, and gives negative sizes where the
 * window is larger than the operand.
 */
function dynamicWindow(p, random) {
  const x = p.decided(TYPES);
  if (!x || !x.shape.rank) return null;
  const { elementType: type, dimensions } = x.shape;
  const sized = dimensions.map((n) => n > 1 && random.chance(0.5));
  const w = randomWindow(random, dimensions, { bare: sized });
  if (count(w.positions) > MAX_ELEMENTS || w.positions.includes(0)) return null;
  const law = randomLaw(random, type, x.domain, count(w.window));
  if (!law || !sized.includes(true)) return null;
  const step = dimensions.reduce((each, n, i) => {
    const span = (w.window[i] - 1) * w.holes[i] + 1;
    return sized[i] ? setSize(p, each, p.indices('s32', [], span, n), i) : each;
  }, x);
  return p.add('reduce-window', [step], computed(law.domain), (b, [a]) =>
    b.reduceWindowWithGeneralPadding(
      a, b.constantLiteral(law.identity), lawsComputation(b, [type], [law]), w.window, w.strides,
      w.base, w.holes, w.padding));
}

function dynamicSort(p, random) {
  const x = sized(p, random, ['s32', 'u8', 's64', 'f32', 'f64', 'u16', 'bf16']);
  if (!x || x.domain.special === 2) return null;
  const { elementType: type, rank } = x.shape;
  const operands = random.chance(0.5) ? [x] : [x, alike(p, x, random.pick(['s32', 'f32', 'pred']))];
  const dimension = random.between(0, rank - 1);
  const method = random.pick(['lt', 'gt']) + (isInexact(type) ? 'TotalOrder' : '');
  const types = operands.map(({ shape }) => shape.elementType);
  const step = p.add('sort', operands, operands.map(moved), (b, ops) => {
    const inner = b.createSubBuilder('before');
    const parameters = types.flatMap((t, i) =>
      [2 * i, 2 * i + 1].map((number) => inner.parameter(number, `${t}[]`)));
    return b.sort(ops, inner.build(inner[method](parameters[0], parameters[1])), dimension, true);
  });
  return takeElements(p, step);
}

/**
 * Any of its dimensions is contracted, with one of the same size; the others are free. XLA may
 * forget one size if the result has two.
 */
function dynamicDot(p, random) {
  const x = sized(p, random, ['s32', 'u32', 'f32', 'f64', 's64'], ({ domain }) =>
    domain.lowest >= 0 && domain.highest < 4 && !domain.special);
  if (!x) return null;
  const { elementType: type, dimensions, rank } = x.shape;
  const shared = random.some(numbersTo(rank), 0.5);
  const batch = random.some(shared, 0.3);
  const contracting = shared.filter((i) => !batch.includes(i));
  const free = numbersTo(random.between(0, 1)).map(() => random.between(1, 4));
  const same = [...batch, ...contracting];
  const kept = numbersTo(rank).filter((i) =>
    x.shape.dynamicDimensions[i] && !contracting.includes(i));
  if (kept.length > 1) return null;
  const y = alike(p, x, type, [...same.map((i) => dimensions[i]), ...free], same);
  if (count(dimensions) * count(free) > MAX_ELEMENTS) return null;
  const terms = contracting.map((i) => dimensions[i]);
  const result = contraction(type, x.domain, y.domain, count(terms));
  const numbers = {
    lhsBatchDimensions: batch, rhsBatchDimensions: batch.map((_, i) => i),
    lhsContractingDimensions: contracting,
    rhsContractingDimensions: contracting.map((_, i) => batch.length + i),
  };
  return result && p.add('dot', [x, y], result, (b, [l, r]) => b.dotGeneral(l, r, numbers));
}

/* ---- Control flow ---- */

/** A loop that changes elements, and may make a dimension shorter each time. */
function dynamicLoop(p, random) {
  const pair = pairOf(p, random);
  if (!pair) return null;
  const { x, y, change, result } = pair;
  const times = p.indices('s32', [], 0, 4);
  const shrunk = x.shape.dynamicDimensions.indexOf(true);
  const shrinks = random.chance(0.4);
  return p.add('while', [times, x, y], computed(result), (b, [n, l, r]) => {
    const state = b.tuple([b.constantR0(0, 's32'), n, l, r]);
    const make = (name, root) => {
      const inner = b.createSubBuilder(name);
      const parameter = inner.parameter(0, state.shape);
      return inner.build(root(inner, ...numbersTo(4).map((i) =>
        inner.getTupleElement(parameter, i))));
    };
    const condition = make('again', (inner, i, end) => inner.lt(i, end));
    const body = make('body', (inner, i, end, v, w) => {
      const one = inner.constantR0(1, 's32');
      const resized = (value) => {
        if (!shrinks) return value;
        const size = inner.sub(inner.getDimensionSize(v, shrunk), one);
        return inner.setDimensionSize(
          value, inner.max(size, inner.constantR0(0, 's32')), shrunk);
      };
      return inner.tuple([inner.add(i, one), end, resized(change(inner, v, w)), resized(w)]);
    });
    return b.getTupleElement(b.while(condition, body, state), 2);
  });
}

function dynamicConditional(p, random) {
  const pair = pairOf(p, random);
  if (!pair) return null;
  const { x, y, change, result } = pair;
  const index = p.indices('s32', [], -1, 3);
  return p.add('conditional', [index, x, y], computed(result), (b, [i, l, r]) => {
    const both = b.tuple([l, r]);
    const branches = [change, (inner, v) => inner.copy(v), (inner, v, w) => inner.copy(w)];
    const computations = branches.map((branch, k) => {
      const inner = b.createSubBuilder(`branch_${k}`);
      const parameter = inner.parameter(0, both.shape);
      return inner.build(
        branch(inner, ...[0, 1].map((n) => inner.getTupleElement(parameter, n))));
    });
    return b.conditional(i, computations, branches.map(() => both));
  });
}

export const dynamicRules = {
  setSizes, dynamicChain, dynamicMap, dynamicBroadcasting, dynamicSelect, dynamicBroadcast,
  dynamicTranspose, dynamicReverse, dynamicParts, dynamicPad, dynamicConcatenate, dynamicReshape,
  dynamicGather, dynamicScatter, dynamicReduce, dynamicWindow, dynamicSort,
  dynamicDot, dynamicLoop, dynamicConditional,
};
