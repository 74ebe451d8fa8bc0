/**
 * Puts steps of a program into control flow: a call, a branch of a conditional, the body of a loop, its condition. So
 * each operation that a rule can write also occurs inside each of these, and, as steps are enclosed again, at any
 * depth. The results stay the same: a loop computes them in each iteration from operands that it does not change.
 */
import { Literal } from '../../bindings/values/literal.mjs';
import { binaryComputation, identity } from './scalars.mjs';
import { numbersTo } from './values.mjs';

const number = (b, x) => b.constantR0(x, 's32');
const isPlain = ({ shape }) => shape.isArray && !shape.isDynamic;
const zerosOf = (b, { shape }) =>
  b.broadcast(b.constantLiteral(Literal.zeros(`${shape.elementType}[]`)), shape.dimensions);

/**
 * A computation of one tuple, or of several parameters.
 * @param {(inner: object, values: object[]) => object} root
 */
function computationOf(b, name, operands, isTuple, root) {
  const inner = b.createSubBuilder(name);
  if (!isTuple) return inner.build(root(inner, operands.map(({ shape }, i) => inner.parameter(i, shape))));
  const parameter = inner.parameter(0, b.tuple(operands).shape);
  return inner.build(root(inner, operands.map((_, i) => inner.getTupleElement(parameter, i))));
}

/* A construct is `(b, operands, results, body) => tuple of the results`: `body(b, operands)` gives a list of them. */

const call = () => (b, operands, _results, body) =>
  b.call(computationOf(b, 'called', operands, false, (inner, own) => inner.tuple(body(inner, own))), operands);

/** A conditional: one branch computes the steps; each other one computes them too, or gives zeros. */
function conditional(random) {
  const count = random.between(1, 3), taken = random.between(0, count - 1);
  const same = numbersTo(count).map((k) => k === taken || random.chance(0.4));
  const byPredicate = count === 2 && random.chance(0.5);
  return (b, operands, results, body) => {
    const tuple = b.tuple(operands), isZeros = (k) => !same[k] && results.every(isPlain);
    const branches = numbersTo(count).map((k) => computationOf(b, `branch_${k}`, operands, true, (inner, own) =>
      inner.tuple(isZeros(k) ? results.map((result) => zerosOf(inner, result)) : body(inner, own))));
    // The index is data, as far as the compiler knows: an element of an operand decides nothing.
    const index = b.optimizationBarrier(byPredicate ? b.constantR0(taken === 0, 'pred') : number(b, taken));
    return byPredicate ? b.conditional(index, tuple, branches[0], tuple, branches[1])
      : b.conditional(index, branches, branches.map(() => tuple));
  };
}

function whether(b, x, y) {
  const differ = b.ne(x, y);
  return differ.shape.rank ? b.reduce(differ, b.constantLiteral(identity('pred', 'or')),
    binaryComputation(b, 'pred', 'or'), numbersTo(differ.shape.rank)) : differ;
}

/**
 * A loop of one to three iterations. With `inCondition` its condition computes the steps, too: it goes on while the
 * results differ from those of the body, where devices need not agree (`isAlone`).
 *
 * Its state has elements that programs of people have: a bound that does not change, a copy of a result that is
 * computed twice, and a number that nothing reads.
 */
function loop(random, inCondition, isAlone) {
  const times = random.between(1, 3), isBarred = random.chance(0.5);
  const [isDoubled, isDead] = [random.chance(0.3), random.chance(0.3)];
  const isSecond = isDoubled && random.chance(0.5);
  const barred = (b, x) => b.optimizationBarrier(x);
  return (b, operands, results, body) => {
    const bound = isBarred ? barred(b, number(b, times)) : number(b, times);
    const zeros = () => results.map((result) => zerosOf(b, result));
    const state = [number(b, 0), bound, ...operands, ...zeros(), ...(isDoubled ? zeros() : []), ...(isDead ? [number(b, 7)] : [])];
    const [own, made] = [2, 2 + operands.length];
    const again = computationOf(b, 'again', state, true, (inner, values) => {
      const [i, end] = values;
      if (!inCondition) return inner.lt(i, end);
      const differs = whether(inner, body(inner, values.slice(own, made))[0], values[made]);
      const more = isAlone ? differs : inner.or(differs, barred(inner, inner.constantR0(true, 'pred')));
      return inner.or(inner.lt(i, number(inner, 1)), inner.and(inner.lt(i, end), more));
    });
    const next = computationOf(b, 'body', state, true, (inner, values) => {
      const given = values.slice(own, made), computed = body(inner, given);
      return inner.tuple([
        inner.add(values[0], number(inner, 1)), values[1], ...given, ...computed,
        ...(isDoubled ? body(inner, given) : []),
        ...(isDead ? [inner.mul(values.at(-1), inner.add(values[0], number(inner, 3)))] : []),
      ]);
    });
    const end = b.while(again, next, b.tuple(state));
    return b.tuple(results.map((_, k) => b.getTupleElement(end, made + (isSecond ? results.length : 0) + k)));
  };
}

const CONSTRUCTS = {
  call, conditional, 'while body': (random) => loop(random, false, true), 'while condition': (random, isAlone) => loop(random, true, isAlone),
};

/** Puts members into a construct, one of `wanted`, if these are legal. @returns {boolean} whether it could */
function encloseIn(program, random, members, wanted) {
  const { steps } = program, inside = new Set(members);
  const operands = [...new Set(members.flatMap((step) => step.operands))].filter((step) => !inside.has(step));
  const users = (step) => steps.filter((other) => other.operands.includes(step));
  const results = members.filter((step) => !users(step).length || users(step).some((user) => !inside.has(user)));
  const isLooped = results.every(isPlain) && operands.every(({ shape }) => shape.isArray);
  const names = wanted.filter((name) => isLooped || name === 'call' || name === 'conditional');
  if (!names.length) return false;
  return program.enclose(members, operands, results, CONSTRUCTS[random.pick(names)](random, program.replicas === 1));
}

/**
 * Encloses a random range of a program's steps.
 * @param {import('./program.mjs').Program} program
 * @param {import('./random.mjs').Random} random
 * @returns {boolean} whether it could
 */
export function enclose(program, random) {
  const { steps } = program;
  const first = random.between(0, steps.length - 1), last = Math.min(steps.length - 1, first + random.between(0, 6));
  const members = steps.slice(first, last + 1).filter(({ literals }) => !literals);
  return members.length > 0 && encloseIn(program, random, members, [...Object.keys(CONSTRUCTS), 'while condition']);
}

/** A step and those that make arrays of its result: elements of its tuple, the end of what it starts. */
function withEnds(steps, step) {
  const members = [step];
  for (const member of members) {
    if (member.shape.isArray) continue;
    members.push(...steps.filter((user) => user.operands.includes(member) && !members.includes(user)));
  }
  return members.sort((a, b) => steps.indexOf(a) - steps.indexOf(b));
}

const MAX_REPEATED = 5;

/**
 * Adds copies of some of a program's steps in every construct, each step by itself. So an operation of a type that is rare
 * occurs in all of them soon after it occurs at all.
 */
export function encloseEach(program, random) {
  const steps = [...program.steps], own = steps.filter(({ literals, name }) => !literals && name !== 'get-tuple-element');
  for (const step of random.shuffle(own).slice(0, MAX_REPEATED)) {
    for (const construct of Object.keys(CONSTRUCTS)) encloseIn(program, random, withSizes(program, program.copy(withEnds(steps, step))), [construct]);
  }
}

/**
 * Adds a copy of all steps of a program in a construct; if that is not legal, of those that are, each by itself.
 * @param {string} construct one of CONSTRUCTS, or 'entry': in none
 */
export function encloseAll(program, random, construct) {
  const steps = program.steps.filter(({ literals }) => !literals);
  const put = (own) => {
    const members = withSizes(program, program.copy(own));
    return construct === 'entry' || encloseIn(program, random, members, [construct]);
  };
  if (!put(steps)) steps.filter(({ name }) => name !== 'get-tuple-element').forEach((step) => put(withEnds(steps, step)));
  program.rules.push('encloseAll');
}

/** Loops carry no dynamic arrays: instead of such a result they carry its sizes, and its elements with zeros as padding. */
function withSizes(program, members) {
  const used = new Set(members.flatMap(({ operands }) => operands));
  const dynamic = members.filter((step) => !used.has(step) && step.shape.isArray && step.shape.isDynamic);
  return [...members, ...dynamic.flatMap((step) => [...program.sizesOf(step), program.withZeros(step)])];
}
