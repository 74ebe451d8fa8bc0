/** Rules that add control flow and calls. */
import { BYTES, COMPLEX, DECIDED, FLOATS, union } from './domain.mjs';
import { moved } from './program.mjs';
import { computed } from './rules_elementwise.mjs';
import { takeElements } from './rules_movement.mjs';
import { randomChange } from './scalars.mjs';

const TYPES = ['pred', ...BYTES, ...FLOATS, 'f32', ...COMPLEX];

/** An array and another like it, and a random change that keeps the domain of both. */
function pairWithChange(p, random) {
  const x = p.decided(TYPES);
  if (!x) return null;
  const y = p.like(x);
  const type = x.shape.elementType;
  return {
    x, y, change: randomChange(random, type), result: computed(union(type, [x.domain, y.domain])),
  };
}

function call(p, random) {
  const pair = pairWithChange(p, random);
  if (!pair) return null;
  const { x, y, change, result } = pair;
  return p.add('call', [x, y], result, (b, operands) => {
    const inner = b.createSubBuilder('called');
    const [l, r] = operands.map(({ shape }, i) => inner.parameter(i, shape));
    return b.call(inner.build(inner.copy(change(inner, l, r))), operands);
  });
}

function conditional(p, random) {
  const pair = pairWithChange(p, random);
  if (!pair) return null;
  const { x, y, change, result } = pair;
  const others = [change, randomChange(random, x.shape.elementType), (inner, l) => inner.copy(l)];
  const branches = random.shuffle(others).slice(0, random.between(1, 3));
  const predicated = branches.length === 2 && random.chance(0.5);
  const index = predicated ? p.fresh('pred', []) : p.indices('s32', [], -2, 4);
  return p.add('conditional', [index, x, y], result, (b, [i, l, r]) => {
    const both = b.tuple([l, r]);
    const computations = branches.map((branch, k) => {
      const inner = b.createSubBuilder(`branch_${k}`);
      const parameter = inner.parameter(0, both.shape);
      const [first, second] = [0, 1].map((n) => inner.getTupleElement(parameter, n));
      return inner.build(inner.copy(branch(inner, first, second)));
    });
    return predicated
      ? b.conditional(i, both, computations[0], both, computations[1])
      : b.conditional(i, computations, branches.map(() => both));
  });
}

/** A loop whose bound is data and that changes an array in each iteration. */
function whileLoop(p, random) {
  const pair = pairWithChange(p, random);
  if (!pair) return null;
  const { x, y, change, result } = pair;
  const times = p.indices('s32', [], 0, 6);
  const rolled = x.shape.rank > 0 && x.shape.dimensions[0] > 0 && random.chance(0.4);
  const domains = [DECIDED, DECIDED, result, y.domain];
  const step = p.add('while', [times, x, y], domains, (b, [n, l, r]) => {
    const state = b.tuple([b.constantR0(0, 's32'), n, l, r]);
    const make = (name, root) => {
      const inner = b.createSubBuilder(name);
      const parameter = inner.parameter(0, state.shape);
      const element = (i) => inner.getTupleElement(parameter, i);
      return inner.build(root(inner, ...[0, 1, 2, 3].map(element)));
    };
    const condition = make('again', (inner, i, end) => inner.lt(i, end));
    const body = make('body', (inner, i, end, v, w) => {
      let next = change(inner, v, w);
      if (rolled) next = withSlice(inner, next, w, i);
      return inner.tuple([inner.add(i, inner.constantR0(1, 's32')), end, next, w]);
    });
    return b.while(condition, body, state);
  });
  const elements = [2, 3].map((i) =>
    p.add('get-tuple-element', [step], step.domain[i], (b, [s]) => b.getTupleElement(s, i)));
  return elements[0];
}

/** Writes row i of `from` into `into`, as a scan does. */
function withSlice(b, into, from, i) {
  const { dimensions } = from.shape;
  const zeros = dimensions.slice(1).map(() => b.constantR0(0, 's32'));
  const row = b.dynamicSlice(from, [i, ...zeros], [1, ...dimensions.slice(1)]);
  return b.dynamicUpdateSlice(into, row, [i, ...zeros]);
}

function tuple(p) {
  const [x, y] = [p.any(), p.any()];
  if (!x || !y) return null;
  const step = p.add('tuple', [x, y], [moved(x), moved(y)], (b, ops) =>
    b.optimizationBarrier(b.tuple(ops)));
  return takeElements(p, step);
}

export const controlRules = { call, conditional, whileLoop, tuple };
