/**
 * Rules that nest control flow: loops, branches and calls in each other, which carry their arrays
 * in tuples of tuples.
 */
import { BYTES, COMPLEX, DECIDED, FLOATS, union } from './domain.mjs';
import { computed } from './rules_elementwise.mjs';
import { takeElements } from './rules_movement.mjs';
import { randomChange } from './scalars.mjs';
import { numbersTo } from './values.mjs';

const TYPES = ['pred', ...BYTES, ...FLOATS, 'f32', ...COMPLEX];
const DEEPEST = 3;
const MAX_TIMES = 3;

/* ---- Tuples of tuples ---- */

/** A random tree whose leaves are the numbers below `count`, as lists of lists. */
function randomTree(random, count) {
  const split = (list, depth) => {
    if (depth > 2 || random.chance(0.4)) return list;
    const at = random.between(0, list.length);
    const [left, right] = [list.slice(0, at), list.slice(at)];
    return random.chance(0.5)
      ? [split(left, depth + 1), ...right] : [...left, split(right, depth + 1)];
  };
  return split(random.shuffle(numbersTo(count)), 0);
}

const pack = (b, tree, values) => (typeof tree === 'number'
  ? values[tree] : b.tuple(tree.map((branch) => pack(b, branch, values))));

function unpack(b, tree, op, values = []) {
  if (typeof tree === 'number') values[tree] = op;
  else tree.forEach((branch, i) => unpack(b, branch, b.getTupleElement(op, i), values));
  return values;
}

/* ---- Plans: what happens to the arrays ---- */

/** The state: arrays of one type and shape, which a plan may exchange and combine, then a counter. */
function randomPlan(random, type, alike, depth) {
  const kinds = ['change', 'change', 'exchange', 'count'];
  if (depth < DEEPEST) kinds.push('while', 'conditional', 'call', 'sequence', 'sequence');
  return planOf(depth ? random.pick(kinds) : random.pick(['while', 'conditional', 'call']));

  function inner() {
    return randomPlan(random, type, alike, depth + 1);
  }
  function planOf(kind) {
    const [target, other] = [random.between(0, alike - 1), random.between(0, alike - 1)];
    const tree = randomTree(random, alike + 3);
    switch (kind) {
      case 'change': return { kind, target, other, change: randomChange(random, type) };
      case 'exchange': return { kind, target, other };
      case 'count': return { kind, by: random.between(1, 5) };
      case 'sequence': return { kind, plans: numbersTo(random.between(2, 3)).map(inner) };
      case 'while': return { kind, tree, body: inner(), stops: random.chance(0.3) };
      case 'call': return { kind, body: inner() };
      default: return { kind, tree, branches: numbersTo(random.between(1, 3)).map(inner) };
    }
  }
}

/**
 * Adds a plan's operations to a builder. `values` are the arrays and the counter; `round` is the
 * number of the loop that it is in.
 */
function follow(b, plan, values, round) {
  const last = values.length - 1;
  const number = (x) => b.constantR0(x, 's32');
  switch (plan.kind) {
    case 'change': {
      const result = plan.change(b, values[plan.target], values[plan.other]);
      return values.with(plan.target, result);
    }
    case 'exchange': {
      const { target, other } = plan;
      return values.with(target, values[other]).with(other, values[target]);
    }
    case 'count':
      return values.with(last, b.xor(b.add(values[last], number(plan.by)), round));
    case 'sequence':
      return plan.plans.reduce((each, next) => follow(b, next, each, round), values);
    case 'call': {
      const inner = b.createSubBuilder('called');
      const parameters = [...values, round].map(({ shape }, i) => inner.parameter(i, shape));
      const results = follow(inner, plan.body, parameters.slice(0, -1), parameters.at(-1));
      const called = b.call(inner.build(inner.tuple(results)), [...values, round]);
      return values.map((_, i) => b.getTupleElement(called, i));
    }
    case 'conditional': return branch(b, plan, values, round);
    default: return loop(b, plan, values);
  }
}

function branch(b, { tree, branches }, values, round) {
  const state = pack(b, tree, [...values, round, b.constantR0(0, 's32')]);
  const computations = branches.map((plan, k) => {
    const inner = b.createSubBuilder(`branch_${k}`);
    const [own, now, zero] = parts(unpack(inner, tree, inner.parameter(0, state.shape)));
    return inner.build(pack(inner, tree, [...follow(inner, plan, own, now), now, zero]));
  });
  const index = b.rem(b.add(values.at(-1), round), b.constantR0(branches.length + 1, 's32'));
  const result = b.conditional(index, computations, branches.map(() => state));
  return parts(unpack(b, tree, result))[0];
}

/** A loop whose number of iterations is the counter's last bits, or that ends at a value of the counter. */
function loop(b, { tree, body, stops }, values) {
  const times = b.and(values.at(-1), b.constantR0(MAX_TIMES, 's32'));
  const state = pack(b, tree, [...values, b.constantR0(0, 's32'), times]);
  const make = (name, root) => {
    const inner = b.createSubBuilder(name);
    return inner.build(root(inner, ...parts(unpack(inner, tree, inner.parameter(0, state.shape)))));
  };
  const condition = make('again', (inner, own, i, end) => {
    const more = inner.lt(i, end);
    return stops ? inner.and(more, inner.ne(own.at(-1), inner.constantR0(5, 's32'))) : more;
  });
  const next = make('body', (inner, own, i, end) => pack(inner, tree, [
    ...follow(inner, body, own, i), inner.add(i, inner.constantR0(1, 's32')), end,
  ]));
  return parts(unpack(b, tree, b.while(condition, next, state)))[0];
}

const parts = (values) => [values.slice(0, -2), ...values.slice(-2)];

function nest(p, random) {
  const x = p.decided(TYPES);
  if (!x) return null;
  const type = x.shape.elementType;
  const arrays = [x, ...numbersTo(random.between(0, 2)).map(() => p.like(x))];
  const counter = p.indices('s32', [], 0, 9);
  const result = computed(union(type, arrays.map(({ domain }) => domain)));
  const plan = randomPlan(random, type, arrays.length, 0);
  const domains = [...arrays.map(() => result), DECIDED];
  const step = p.add(plan.kind, [...arrays, counter], domains, (b, ops) =>
    b.tuple(follow(b, plan, ops, b.constantR0(0, 's32'))));
  return takeElements(p, step);
}

export const nestingRules = { nest };
