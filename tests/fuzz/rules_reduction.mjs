/** Rules that add reductions, windows, contractions and library operations. */
import { Literal } from '../../bindings/values/literal.mjs';
import { Shape } from '../../bindings/values/shape.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import {
  BYTES, companionTypes, DECIDED, FLOATS, INTEGERS, isExact, isInexact, productOf, roundedSum, sumOf,
  union, withOpenZeros,
} from './domain.mjs';
import { computed } from './rules_elementwise.mjs';
import { takeElements } from './rules_movement.mjs';
import {
  binaryComputation, coupledComputation, identity, lawsComputation, randomLaw, reducer,
} from './scalars.mjs';
import { count, numbersTo, randomDimensions } from './values.mjs';

const NUMBERS = ['pred', ...INTEGERS, ...FLOATS, 'f32', 'f32', 'c64', 'c128'];
const sizes = (random, low, high, rank) => numbersTo(rank).map(() => random.between(low, high));

/* ---- Reductions ----
 *
 * Each reduces at least one dimension. StableHLO, by which XLA gets the programs, removes a reduction of no dimension.
 * The initial value is then not added, which shows in the sign of zero: -0 stays -0, but 0 + -0 is 0.
 */

function reduce(p, random) {
  const x = p.decided(NUMBERS);
  if (!x) return null;
  const { elementType: type, dimensions } = x.shape;
  const reduced = random.shuffle(random.some(numbersTo(x.shape.rank), 0.6));
  if (!reduced.length) return null;
  const total = count(reduced.map((i) => dimensions[i]));
  const how = reducer(random, type, x.domain, total);
  if (!how) return null;
  const init = identity(type, how.method);
  return p.add('reduce', [x], computed(how.domain), (b, [a]) =>
    b.reduce(
      a, b.constantLiteral(init), binaryComputation(b, type, how.method), reduced));
}

/** The maximum and its first index (arg max), which no order of the reduction changes. */
function argMax(p, random) {
  const x = p.decided([...BYTES, 'f32', 'f64']);
  if (!x || !x.shape.rank || x.domain.special) return null;
  const { elementType: type, dimensions } = x.shape;
  const reduced = random.some(numbersTo(x.shape.rank), 0.7);
  if (!reduced.length) return null;
  const step = p.add('reduce', [x], [x.domain, DECIDED], (b, [a]) => {
    const inner = b.createSubBuilder('larger');
    const [v0, i0, v1, i1] = [type, 's32', type, 's32'].map((t, i) => inner.parameter(i, `${t}[]`));
    const first = inner.or(inner.gt(v0, v1), inner.and(inner.eq(v0, v1), inner.lt(i0, i1)));
    const larger = inner.build(inner.tuple(
      [inner.select(first, v0, v1), inner.select(first, i0, i1)]));
    const places = b.iota(Shape.array('s32', dimensions), reduced[0]);
    const inits = [b.constantLiteral(identity(type, 'max')), b.constantR0(0x7fffffff, 's32')];
    return b.reduce([a, places], inits, larger, reduced);
  });
  return takeElements(p, step);
}

/** A reduction of several arrays, by functions whose result does not depend on the order. */
function reduceByLaws(p, random) {
  const operands = companions(p, random);
  if (!operands) return null;
  const { dimensions, rank } = operands[0].shape;
  const reduced = random.shuffle(random.some(numbersTo(rank), 0.6));
  if (!reduced.length) return null;
  const how = lawsOf(random, operands, count(reduced.map((i) => dimensions[i])));
  return how && addReduction(p, 'reduce', operands, how, (b, ops, inits, computation) =>
    b.reduce(ops, inits, computation, reduced));
}

/** An array, and up to two others of the same dimensions. */
function companions(p, random) {
  const x = p.decided(NUMBERS);
  if (!x) return null;
  const operands = [x];
  while (operands.length < 3 && random.chance(0.5)) {
    operands.push(p.like(x, random.pick(companionTypes(x.shape.elementType))));
  }
  return operands;
}

/** The functions that reduce `count` elements of each operand. They are coupled if the first operand has an order. */
function lawsOf(random, operands, count) {
  const laws = operands.map(({ shape, domain }) =>
    randomLaw(random, shape.elementType, domain, count));
  if (laws.includes(null)) return null;
  const [{ shape: { elementType: type }, domain }] = operands;
  const coupled = operands.length > 1 && random.chance(0.4) &&
    BYTES.includes(type);
  if (coupled) laws[0] = { identity: identity(type, 'max'), domain };
  return { laws, computation: coupled ? coupledComputation : lawsComputation };
}

function addReduction(p, name, operands, { laws, computation }, build) {
  const types = operands.map(({ shape }) => shape.elementType);
  const step = p.add(name, operands, laws.map(({ domain }) => computed(domain)), (b, ops) => {
    const inits = laws.map((law) => b.constantLiteral(law.identity));
    return build(b, ops, inits, computation(b, types, laws));
  });
  return takeElements(p, step);
}

/** A window over dimensions, and how many positions it has along each; `bare` ones unpadded. */
export function randomWindow(random, dimensions, { dilations = true, bare = [] } = {}) {
  const rank = dimensions.length;
  const window = dimensions.map((n) => random.between(1, Math.max(1, Math.min(n, 4))));
  const strides = sizes(random, 1, random.pick([1, 3]), rank);
  const padded = random.chance(0.5);
  const padding = window.map(() =>
    padded ? [random.between(0, 2), random.between(0, 2)] : [0, 0]);
  const some = () => sizes(random, 1, dilations && random.chance(0.3) ? 3 : 1, rank);
  const [base, holes] = [some(), some()];
  bare.forEach((flag, i) => { if (flag) [padding[i], base[i]] = [[0, 0], 1]; });
  const positions = dimensions.map((n, i) => {
    const size = (n ? (n - 1) * base[i] + 1 : 0) + padding[i][0] + padding[i][1];
    const span = (window[i] - 1) * holes[i] + 1;
    return size < span ? 0 : Math.floor((size - span) / strides[i]) + 1;
  });
  return { window, strides, padding, base, holes, positions };
}

function reduceWindow(p, random) {
  const x = p.decided(NUMBERS);
  if (!x || !x.shape.rank) return null;
  const { elementType: type, dimensions } = x.shape;
  const w = randomWindow(random, dimensions);
  if (count(w.positions) > 3000) return null;
  const how = reducer(random, type, x.domain, count(w.window));
  if (!how) return null;
  const init = identity(type, how.method);
  return p.add('reduce-window', [x], computed(how.domain), (b, [a]) =>
    b.reduceWindowWithGeneralPadding(
      a, b.constantLiteral(init), binaryComputation(b, type, how.method), w.window, w.strides,
      w.base, w.holes, w.padding));
}

function reduceWindowByLaws(p, random) {
  const operands = companions(p, random);
  if (!operands || !operands[0].shape.rank) return null;
  const w = randomWindow(random, operands[0].shape.dimensions);
  if (count(w.positions) > 2000) return null;
  const how = lawsOf(random, operands, count(w.window));
  return how && addReduction(p, 'reduce-window', operands, how, (b, ops, inits, computation) =>
    b.reduceWindowWithGeneralPadding(
      ops, inits, computation, w.window, w.strides, w.base, w.holes, w.padding));
}

/** Cumulative sums as JAX writes them: a window over all earlier elements. */
function cumulative(p, random) {
  const x = p.decided(NUMBERS);
  if (!x || !x.shape.rank) return null;
  const { elementType: type, dimensions, rank } = x.shape;
  const along = random.between(0, rank - 1);
  if (!dimensions[along]) return null;
  const how = reducer(random, type, x.domain, dimensions[along]);
  if (!how || !['add', 'or', 'xor'].includes(how.method)) return null;
  const window = dimensions.map((n, i) => (i === along ? n : 1));
  const padding = dimensions.map((n, i) => (i === along ? [n - 1, 0] : [0, 0]));
  const ones = dimensions.map(() => 1);
  return p.add('reduce-window', [x], how.domain, (b, [a]) =>
    b.reduceWindowWithGeneralPadding(
      a, b.constantLiteral(Literal.zeros(`${type}[]`)), binaryComputation(b, type, how.method),
      window, ones, ones, ones, padding));
}

/** All elements differ: among equal ones, XLA:CPU takes the first one in a layout of its choice. */
function selectAndScatter(p, random) {
  const type = random.pick(['s32', 's64', 'u32', 's16', 'f32', 'f64']);
  const dimensions = randomDimensions(random, random.between(1, 4)).map((n) => n || 1);
  const w = randomWindow(random, dimensions, { dilations: false });
  if (w.positions.includes(0)) return null;
  const x = distinct(p, random, type, dimensions);
  const source = p.fresh(type, w.positions, 'whole');
  const init = p.fresh(type, [], 'whole');
  const both = union(type, [source.domain, init.domain]);
  const law = randomLaw(random, type, both, count(w.positions) + 1);
  const method = random.pick(['ge', 'le', 'gt']);
  return law && p.add('select-and-scatter', [x, source, init], law.domain, (b, [a, s, i]) =>
    b.selectAndScatterWithGeneralPadding(
      a, binaryComputation(b, type, method), w.window, w.strides, w.padding, s, i,
      lawsComputation(b, [type], [law])));
}

/** A parameter whose elements all differ. */
function distinct(p, random, type, dimensions) {
  const { Array: TypedArray, bits, kind } = ELEMENT_TYPES.get(type);
  const d = isInexact(type) ? { lowest: 0, highest: 12, special: 0 } : DECIDED;
  return p.parameter(d, () => {
    const values = random.shuffle(numbersTo(count(dimensions)));
    const wide = bits === 64 && kind !== 'float';
    const data = TypedArray.from(values, (value) => (wide ? BigInt(value) : value));
    return new Literal(Shape.array(type, dimensions), data);
  });
}

/* ---- Contractions ---- */

/** Sums of products: exact if they fit, else with a bound on the error. */
export function contraction(type, a, b, terms) {
  if (!isInexact(type)) return DECIDED;
  const product = productOf(type, a, b);
  if (!product || a.special || b.special) return null;
  if (isExact(type, product.lowest, product.highest)) {
    const sum = sumOf(type, product, terms);
    if (sum) return a.nonzero && b.nonzero ? sum : withOpenZeros(sum);
  }
  return product.highest < 12 ? roundedSum(type, product, terms) : null;
}

const DOT_TYPES = [
  's32', 's32', 'u32', 's8', 'u8', 's16', 's64', 'u64', ...FLOATS, 'f32', 'f32', 'c64',
];

function dot(p, random) {
  const x = p.decided(DOT_TYPES);
  if (!x) return null;
  const { elementType: type, dimensions, rank } = x.shape;
  const roles = numbersTo(rank).map(() => random.pick(['batch', 'contracting', 'free', 'free']));
  const withRole = (role) => random.shuffle(numbersTo(rank).filter((i) => roles[i] === role));
  const lhsBatchDimensions = withRole('batch');
  const lhsContractingDimensions = withRole('contracting');
  const shared = [...lhsBatchDimensions, ...lhsContractingDimensions];
  const free = randomDimensions(random, random.between(0, 2)).map((n) => Math.min(n, 9));
  const all = [...shared.map((i) => dimensions[i]), ...free];
  const order = random.shuffle(all.map((n, i) => [n, i]));
  const place = (i) => order.findIndex(([, original]) => original === i);
  const rhsBatchDimensions = lhsBatchDimensions.map((_, i) => place(i));
  const rhsContractingDimensions =
    lhsContractingDimensions.map((_, i) => place(lhsBatchDimensions.length + i));
  const lhsFree = dimensions.filter((_, i) => !lhsContractingDimensions.includes(i));
  if (count(lhsFree) * count(free) > 4000) return null;
  const flavour = random.pick(['whole', 'nonzero', 'quarters', 'normal']);
  const y = p.fresh(type, order.map(([n]) => n), flavour);
  const wider = { s8: 's32', u8: 'u32', bf16: 'f32', f16: 'f32', f32: 'f64', s16: 's32' }[type];
  const preferredElementType = wider && random.chance(0.3) ? wider : undefined;
  const terms = count(lhsContractingDimensions.map((i) => dimensions[i]));
  if (terms === 0) return null; // XLA:CPU leaves what its memory held before, instead of zeros.
  const result = contraction(preferredElementType ?? type, x.domain, y.domain, terms);
  const numbers = {
    lhsBatchDimensions, lhsContractingDimensions, rhsBatchDimensions, rhsContractingDimensions,
  };
  return result && p.add('dot', [x, y], result, (b, [l, r]) =>
    b.dotGeneral(l, r, numbers, { preferredElementType }));
}

/** A product of matrices that are larger than a block of the kernels. */
function bigDot(p, random) {
  const type = random.pick(['f32', 'f32', 'f32', 'f64', 's32']);
  const [m, k, n] = [random.between(1, 70), random.between(1, 70), random.between(1, 70)];
  const [left, right] = [random.chance(0.5), random.chance(0.5)];
  const flavour = random.pick(['nonzero', 'normal']);
  const x = p.fresh(type, left ? [m, k] : [k, m], flavour);
  const y = p.fresh(type, right ? [k, n] : [n, k], flavour);
  const numbers = {
    lhsContractingDimensions: [left ? 1 : 0], rhsContractingDimensions: [right ? 0 : 1],
  };
  const result = contraction(type, x.domain, y.domain, k);
  return result && p.add('dot', [x, y], result, (b, [l, r]) => b.dotGeneral(l, r, numbers));
}

function convolution(p, random) {
  const type = random.pick(['s32', 'f32', 'f32', 'f64', 'f16', 'bf16', 's8', 'c64']);
  const spatial = random.between(0, 3);
  const groups = random.pick([1, 1, 1, 2, 3]);
  const batchGroups = groups === 1 ? random.pick([1, 1, 1, 2]) : 1;
  const inputSizes = sizes(random, 1, spatial > 1 ? 6 : 12, spatial);
  const kernelSizes = inputSizes.map(() => random.between(1, 3));
  const [batch, features, outputs] = sizes(random, 1, 3, 3);
  const lhs = { b: batch * batchGroups, f: features * groups };
  const rhs = { i: features, o: outputs * groups * batchGroups };
  const labels = (letters) => random.shuffle([...letters, ...numbersTo(spatial).map(String)]);
  const [l, r, o] = [labels(['b', 'f']), labels(['i', 'o']), labels(['b', 'f'])];
  const x = p.fresh(type, l.map((c) => lhs[c] ?? inputSizes[c]), 'whole'); // and padding is zeros
  const flavour = random.pick(['whole', 'quarters']);
  const y = p.fresh(type, r.map((c) => rhs[c] ?? kernelSizes[c]), flavour);
  const maybe = (make, none) => inputSizes.map(() => (random.chance(0.3) ? make() : none));
  const strides = maybe(() => random.between(1, 3), 1);
  // The library that XLA:CPU gives these types to reads negative padding wrongly.
  const least = ['f32', 'f16', 'bf16'].includes(type) ? 0 : -1;
  const padding = inputSizes.map((n) =>
    [random.between(n > 2 ? least : 0, 2), random.between(0, 2)]);
  const [lhsDilation, rhsDilation] = [maybe(() => 2, 1), maybe(() => 2, 1)];
  const windowReversal = maybe(() => true, false);
  const result = contraction(type, x.domain, y.domain, count(kernelSizes) * features + 1);
  return result && p.add('convolution', [x, y], result, (b, [a, k]) =>
    b.convGeneralDilated(
      a, k, strides, padding, lhsDilation, rhsDilation,
      `${l.join('')}_${r.join('')}->${o.join('')}`,
      {
        featureGroupCount: groups,
        batchGroupCount: batchGroups,
        windowReversal: windowReversal.includes(true) ? windowReversal : undefined,
      }));
}

export const reductionRules = {
  reduce, argMax, reduceByLaws, reduceWindow, reduceWindowByLaws, cumulative, selectAndScatter, dot, bigDot, convolution,
};
