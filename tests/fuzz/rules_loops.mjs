/**
 * Rules that add loops as people write them: until a condition of several steps holds, around kernels, calls of
 * the host, collectives and other control flow, with state that is dead, constant, swapped or the same in each
 * iteration.
 */
import { Literal } from '../../bindings/values/literal.mjs';
import { BYTES, COMPLEX, DECIDED, FLOATS, isInexact, union } from './domain.mjs';
import { moved } from './program.mjs';
import { computed } from './rules_elementwise.mjs';
import { takeElements } from './rules_movement.mjs';
import { binaryComputation, identity, randomChange } from './scalars.mjs';
import { count, numbersTo, randomLiteral } from './values.mjs';

const TYPES = ['pred', ...BYTES, ...FLOATS, 'f32', 'f32', ...COMPLEX];
const MAX_ITERATIONS = 5;
const DEEPEST = 2;

/** The custom call that the host answers: it reverses the elements of any shape. */
export const HOST_TARGET = 'fuzz.reverse';

/* ---- Values: of one type and shape, with a count, a flag and an array that no step changes ---- */

const number = (b, x) => b.constantR0(x, 's32');
const truth = (b, x) => b.constantR0(x, 'pred');
const reduceAll = (b, x, method, type) =>
  b.reduce(x, b.constantLiteral(identity(type, method)), binaryComputation(b, type, method),
    numbersTo(x.shape.rank));

/** A scalar predicate of each kind of value: of arrays by a comparison and a reduction. */
function anyOf(b, x, y) {
  const differ = b.ne(x, y);
  return differ.shape.rank ? reduceAll(b, differ, 'or', 'pred') : differ;
}

/** The maximum norm. */
const largest = (b, x, type) => (x.shape.rank ? reduceAll(b, b.abs(x), 'max', type) : b.abs(x));

/* ---- Steps ----
 *
 * A step is chosen when the program is made, as `(b, state) => state`; `state` is { values, same, flag, i }.
 */

const onValue = (random, size, change) => {
  const [target, other] = [random.between(0, size - 1), random.between(0, size - 1)];
  return (b, s) => ({
    ...s, values: s.values.with(target, change(b, s.values[target], s.values[other], s)),
  });
};

/** Reverses all elements, by the host where the program runs here. */
function reversedByHost(b, x, { isAsked, asReshaped }) {
  const flat = b.reshape(x, [count(x.shape.dimensions)]);
  if (isAsked) return b.reshape(b.rev(flat, [0]), x.shape.dimensions);
  const given = asReshaped ? flat : x;
  return b.reshape(b.customCall(HOST_TARGET, [given], given.shape, '', true), x.shape.dimensions);
}

const isSorted = (type) => !isInexact(type) && type !== 'pred';

/** Kernels that keep the type, the shape and the domain. */
function kernels(random, type, dimensions) {
  const rank = dimensions.length;
  if (!rank) return [];
  const d = random.between(0, rank - 1);
  const n = dimensions[d];
  const list = [(b, x) => b.rev(x, [d])];
  if (n > 0) {
    const places = random.shuffle(numbersTo(n));
    list.push((b, x) => b.gather(x, b.constantLiteral(Literal.from(places, `s32[${n}]`)), {
      offsetDims: numbersTo(rank).filter((i) => i !== d), collapsedSliceDims: [d], startIndexMap: [d],
      indexVectorDim: 1,
    }, dimensions.map((size, i) => (i === d ? 1 : size))));
    list.push((b, x, y, { i }) => {
      const zeros = numbersTo(rank).map(() => number(b, 0));
      const sizes = dimensions.map((size, k) => (k === d ? 1 : size));
      const row = b.dynamicSlice(y, zeros.with(d, i), sizes);
      return b.dynamicUpdateSlice(x, row, zeros.with(d, b.sub(number(b, n - 1), i)));
    });
  }
  if (isSorted(type)) {
    list.push((b, x) => b.sort([x], binaryComputation(b, type, 'lt'), d));
    list.push((b, x) => b.reduceWindow(x, b.constantLiteral(identity(type, 'max')),
      binaryComputation(b, type, 'max'), dimensions.map((size, i) => (i === d ? Math.min(size, 3) || 1 : 1)),
      dimensions.map(() => 1), 'SAME'));
  }
  if (isSorted(type) && rank === 2) {
    list.push((b, x, y) => b.dotGeneral(x, b.dotGeneral(y, x, { lhsContractingDimensions: [0], rhsContractingDimensions: [0] }),
      { lhsContractingDimensions: [1], rhsContractingDimensions: [0] }));
  }
  return list;
}

function collective(p, random, type) {
  const method = type === 'pred' ? 'and' : 'max';
  if (COMPLEX.includes(type)) {
    const pairs = numbersTo(p.replicas).map((i) => [i, (i + 1) % p.replicas]);
    return (b, x) => b.collectivePermute(x, pairs);
  }
  return (b, x) => b.allReduce(x, binaryComputation(b, type, method), { replicaGroups: [] });
}

/** Returns a loop-invariant scalar, made from an array that no step changes. */
const withInvariant = (b, x, y, { same }) => {
  const most = reduceAll(b, b.tanh(same), 'max', 'f32');
  const isMore = b.gt(most, b.constantR0(0.5, 'f32'));
  return b.select(b.broadcast(isMore, x.shape.dimensions), x, y);
};

function randomStep(p, random, type, dimensions, size, depth) {
  const change = () => onValue(random, size, randomChange(random, type));
  const kernel = () => {
    const list = kernels(random, type, dimensions);
    return list.length ? onValue(random, size, random.pick(list)) : change();
  };
  const inner = () => randomStep(p, random, type, dimensions, size, depth + 1);
  const kinds = {
    change,
    kernel,
    more: kernel,
    exchange: () => {
      const [k, l] = [random.between(0, size - 1), random.between(0, size - 1)];
      return (b, s) => ({ ...s, values: s.values.with(k, s.values[l]).with(l, s.values[k]) });
    },
    host: () => {
      const asReshaped = random.chance(0.5);
      return onValue(random, size, (b, x, y, s) => reversedByHost(b, x, { ...s, asReshaped }));
    },
    invariant: () => onValue(random, size, withInvariant),
    flag: () => (b, s) => ({ ...s, flag: anyOf(b, s.values[0], s.values.at(-1)) }),
    branch: () => {
      const [yes, no] = [inner(), inner()];
      return (b, s) => branchOn(b, s, p.replicas > 1 ? b.lt(s.i, number(b, 1)) : s.flag, yes, no);
    },
    ...(p.replicas > 1 && { collective: () => onValue(random, size, collective(p, random, type)) }),
    ...(depth < DEEPEST && { until: () => randomUntil(p, random, type, dimensions, size, depth + 1) }),
  };
  return kinds[random.pick(Object.keys(kinds))]();
}

const packed = (b, { values, same, flag, i }) => b.tuple([i, flag, same, ...values]);
function unpacked(b, tuple, isAsked) {
  const size = tuple.shape.tupleShapes.length;
  const [i, flag, same, ...values] = numbersTo(size).map((k) => b.getTupleElement(tuple, k));
  return { values, same, flag, i, isAsked };
}

/** A computation from the packed state to the result of `root`. */
function ofState(b, name, state, root) {
  const inner = b.createSubBuilder(name);
  return inner.build(root(inner, unpacked(inner, inner.parameter(0, packed(b, state).shape), state.isAsked)));
}

function branchOn(b, state, predicate, yes, no) {
  const operand = packed(b, state);
  const [onTrue, onFalse] = [yes, no].map((step, k) =>
    ofState(b, `branch_${k}`, state, (inner, s) => packed(inner, step(inner, s))));
  return unpacked(b, b.conditional(predicate, operand, onTrue, operand, onFalse), state.isAsked);
}

/* ---- Conditions ---- */

/** `(b, state) => pred[]`: the loop's condition. Where replicas meet in the loop it compares the count alone, so that they agree. */
function randomTerm(p, random, type, dimensions) {
  const limit = random.between(0, MAX_ITERATIONS);
  const byCount = (b, { i }) => b.lt(i, number(b, limit));
  if (p.replicas > 1) return byCount;
  const kernel = random.pick([...kernels(random, type, dimensions), (b, x) => x]);
  return random.pick([
    byCount,
    (b, { values }) => anyOf(b, values[0], values.at(-1)),
    (b, { values }) => b.not(anyOf(b, values[0], values.at(-1))),
    ...(FLOATS.includes(type) ? [(b, { values: [x] }) => b.gt(largest(b, x, type), b.constantR0(limit / 2, type))] : []),
    (b, s) => anyOf(b, kernel(b, s.values[0], s.values.at(-1), s), s.values.at(-1)),
    (b, { flag }) => flag,
    (b, { i, flag }) => {
      const inner = b.createSubBuilder('called');
      const [n, f] = [inner.parameter(0, 's32[]'), inner.parameter(1, 'pred[]')];
      return b.call(inner.build(inner.or(f, inner.lt(n, number(inner, limit)))), [i, flag]);
    },
    (b, s) => {
      const operand = packed(b, s);
      const [yes, no] = [0, 1].map((k) => ofState(b, `term_${k}`, s, (inner, own) =>
        (k ? own.flag : anyOf(inner, own.values[0], own.values.at(-1)))));
      return b.conditional(b.lt(s.i, number(b, limit)), operand, yes, operand, no);
    },
    (b, s) => {
      const init = b.tuple([number(b, 0), s.flag]);
      const make = (name, root) => {
        const inner = b.createSubBuilder(name);
        const own = inner.parameter(0, init.shape);
        return inner.build(root(inner, inner.getTupleElement(own, 0), inner.getTupleElement(own, 1)));
      };
      const again = make('again', (inner, k) => inner.lt(k, number(inner, limit)));
      const next = make('next', (inner, k, f) => inner.tuple([inner.add(k, number(inner, 1)), inner.not(f)]));
      return b.getTupleElement(b.while(again, next, init), 1);
    },
  ]);
}

function randomCondition(p, random, type, dimensions) {
  const terms = numbersTo(random.between(0, 3)).map(() => randomTerm(p, random, type, dimensions));
  const methods = terms.map(() => random.pick(['and', 'or', 'and', 'xor']));
  const first = random.chance(0.5);
  return (b, state) => {
    const bound = b.lt(state.i, number(b, MAX_ITERATIONS));
    if (!terms.length) return bound;
    const all = terms.reduce((value, term, k) => b[methods[k]](value, term(b, state)), truth(b, true));
    return first ? b.and(bound, all) : b.and(all, bound);
  };
}

function randomUntil(p, random, type, dimensions, size, depth) {
  const condition = randomCondition(p, random, type, dimensions);
  const steps = numbersTo(random.between(1, 3)).map(() =>
    randomStep(p, random, type, dimensions, size, depth));
  return (b, state) => {
    const again = ofState(b, 'again', state, condition);
    const body = ofState(b, 'body', state, (inner, s) => {
      const next = steps.reduce((value, step) => step(inner, value), s);
      return packed(inner, { ...next, i: inner.add(s.i, number(inner, 1)) });
    });
    const init = packed(b, { ...state, i: number(b, 0) });
    const result = unpacked(b, b.while(again, body, init), state.isAsked);
    return depth ? { ...result, i: state.i } : result;
  };
}

/* ---- The rules ---- */

function until(p, random) {
  const x = p.decided(TYPES);
  if (!x) return null;
  const { elementType: type, dimensions } = x.shape;
  const arrays = [x, ...numbersTo(random.between(0, 2)).map(() => p.like(x))];
  const result = computed(union(type, arrays.map(({ domain }) => domain)));
  const loop = randomUntil(p, random, type, dimensions, arrays.length, 0);
  const side = random.pick([1, 8, 40]);
  const same = randomLiteral(random, 'f32', [side, side], 'whole');
  const build = (isAsked) => (b, values) => {
    const state = {
      values, same: b.constantLiteral(same), flag: truth(b, true), i: number(b, 0), isAsked,
    };
    const end = loop(b, state);
    return b.tuple([...end.values, end.i, end.flag]);
  };
  const step = p.add('while', arrays, [...arrays.map(() => result), DECIDED, DECIDED], build(false), build(true));
  return takeElements(p, step);
}

/** Adds 1 to 20 reductions of one array, and operations that read them and the array. */
function siblings(p, random) {
  const x = p.decided([...BYTES, 'f32', 'f64', 'bf16', 'f16']);
  if (!x || !x.shape.rank || x.domain.special) return null;
  const { elementType: type, dimensions } = x.shape;
  const reduced = random.some(numbersTo(x.shape.rank), 0.6);
  if (!reduced.length) return null;
  const kept = numbersTo(x.shape.rank).filter((d) => !reduced.includes(d));
  const plans = numbersTo(random.between(1, 20)).map(() => ({
    change: randomChange(random, type), method: random.pick(['max', 'min']), isBeside: random.chance(0.2),
  }));
  const step = p.add('reduce', [x], plans.map(() => computed(x.domain)), (b, [a]) =>
    b.tuple(plans.map(({ change, method, isBeside }) => {
      const init = b.constantLiteral(identity(type, method));
      const own = change(b, a, a);
      const row = b.reduce(own, init, binaryComputation(b, type, method), reduced);
      return isBeside ? b.max(a, b.broadcastInDim(row, dimensions, kept)) : row;
    })));
  return takeElements(p, step);
}

/** Arrays that are scanned together along their first dimension, and a carried row. */
function scanned(p, random) {
  const x = p.decided(TYPES);
  if (!x || !x.shape.rank || !x.shape.dimensions[0]) return null;
  const { elementType: type, dimensions: [size, ...row] } = x.shape;
  const arrays = [x, ...numbersTo(random.between(0, 2)).map(() => p.like(x))];
  const [carried, ...made] = [x, ...arrays].map(() => randomChange(random, type));
  return {
    arrays, type, size, row, carried, made, isReverse: random.chance(0.4),
    result: computed(union(type, arrays.map(({ domain }) => domain))),
  };
}

/** A scan as JAX writes it: a counted loop that reads a row of each array, and writes a row of each result. */
function scanLoop(p, random) {
  const plan = scanned(p, random);
  if (!plan) return null;
  const { arrays, size, row, carried, made, isReverse, result } = plan;
  const step = p.add('while', arrays, [...arrays, null].map(() => result), (b, ops) => {
    const zeros = row.map(() => 0);
    const first = (builder, x) => builder.reshape(builder.slice(x, [0, ...zeros], [1, ...row], [1, ...zeros.map(() => 1)]), row);
    const state = b.tuple([number(b, 0), first(b, ops[0]), ...ops, ...ops]);
    const make = (name, root) => {
      const inner = b.createSubBuilder(name);
      const own = inner.parameter(0, state.shape);
      return inner.build(root(inner, ...numbersTo(2 + 2 * ops.length).map((i) => inner.getTupleElement(own, i))));
    };
    const again = make('again', (inner, i) => inner.lt(i, number(inner, size)));
    const body = make('body', (inner, i, carry, ...rest) => {
      const at = [isReverse ? inner.sub(number(inner, size - 1), i) : i, ...zeros.map(() => number(inner, 0))];
      const [xs, ys] = [rest.slice(0, ops.length), rest.slice(ops.length)];
      const rows = xs.map((x) => inner.reshape(inner.dynamicSlice(x, at, [1, ...row]), row));
      const next = carried(inner, carry, rows[0]);
      const results = ys.map((y, k) =>
        inner.dynamicUpdateSlice(y, inner.reshape(made[k](inner, rows[k], next), [1, ...row]), at));
      return inner.tuple([inner.add(i, number(inner, 1)), next, ...xs, ...results]);
    });
    const end = b.while(again, body, state);
    return b.tuple([...ops.map((_, k) => b.getTupleElement(end, 2 + ops.length + k)), b.getTupleElement(end, 1)]);
  });
  return takeElements(p, step);
}

/** The same as one `scan` operation. */
function scan(p, random) {
  const plan = scanned(p, random);
  if (!plan) return null;
  const { arrays, type, row, carried, made, isReverse, result } = plan;
  const step = p.add('scan', arrays, [...arrays, null].map(() => result), (b, ops) => {
    const inner = b.createSubBuilder('step');
    const rows = ops.map((_, k) => inner.parameter(k, `${type}[${row}]`));
    const next = carried(inner, inner.parameter(ops.length, `${type}[${row}]`), rows[0]);
    const computation = inner.build(inner.tuple([...rows.map((own, k) => made[k](inner, own, next)), next]));
    const init = b.reshape(b.slice(ops[0], row.map(() => 0).concat(0), [1, ...row], row.map(() => 1).concat(1)), row);
    return b.scan(ops, [init], computation, 0, { isReverse });
  });
  return takeElements(p, step);
}

/** A single call of the host. */
function hostCall(p, random) {
  const x = p.any(), asReshaped = random.chance(0.5);
  return x && p.add('custom-call', [x], moved(x), (b, [a]) => reversedByHost(b, a, { asReshaped }),
    (b, [a]) => reversedByHost(b, a, { isAsked: true }));
}

export const loopRules = { until, siblings, scanLoop, scan, hostCall };

/** The host's answer to the custom call. */
export function reverseElements({ operands: [x] }) {
  const { data, shape } = x;
  const lanes = shape.elementCount ? data.length / shape.elementCount : 1;
  const reversed = data.slice();
  for (let i = 0; i < shape.elementCount; i++) {
    for (let lane = 0; lane < lanes; lane++) {
      reversed[i * lanes + lane] = data[(shape.elementCount - 1 - i) * lanes + lane];
    }
  }
  return new Literal(shape, reversed);
}
