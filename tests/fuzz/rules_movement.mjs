/** Rules that add operations which only move elements, by place or by index. */
import { Shape } from '../../bindings/values/shape.mjs';
import { COMPLEX, DECIDED, isInexact, union } from './domain.mjs';
import { moved } from './program.mjs';
import {
  count, flavourDomain, numbersTo, randomDimensions, randomFlavour, randomLiteral, randomType,
} from './values.mjs';

const MAX_ELEMENTS = 6000;
const fits = (dimensions) => count(dimensions) <= MAX_ELEMENTS;

/** A scalar parameter, the padding value. */
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

/* ---- Sorting ---- */

const SORTED = ['u8', 's8', 's32', 'f32', 's64', 'u32', 'f64', 'bf16', 'f16', 'u16'];

/** XLA:CPU loses elements of s2 and u2. */
function sort(p, random) {
  const x = p.decided();
  if (!x || !x.shape.rank || ['c64', 'c128', 's2', 'u2'].includes(x.shape.elementType)) return null;
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

/** A comparison by several keys, each in its own direction; elements that are equal in all keys may come in any order. */
function sortByKeys(p, random) {
  const x = p.decided(SORTED);
  if (!x || !x.shape.rank || x.domain.special === 2) return null;
  const operands = [x];
  const keys = random.between(2, 3);
  while (operands.length < keys || random.chance(0.3)) {
    const type = random.pick(['u8', 's8', 'pred', 's32', 'f32', 's64']);
    const key = operands.length < keys;
    const dimensions = x.shape.dimensions;
    operands.push(key && type !== 'pred' && type !== 'f32'
      ? p.indices(type, dimensions, 0, 2) // so that there are equals
      : p.fresh(type, dimensions, 'whole'));
  }
  const types = operands.map((step) => step.shape.elementType);
  const directions = numbersTo(keys).map(() => random.pick(['lt', 'gt']));
  const dimension = random.between(0, x.shape.rank - 1);
  const total = (i) => (isInexact(types[i]) ? 'TotalOrder' : '');
  const step = p.add('sort', operands, operands.map(moved), (b, ops) => {
    const inner = b.createSubBuilder('before');
    const parameters = types.flatMap((t, i) =>
      [2 * i, 2 * i + 1].map((number) => inner.parameter(number, `${t}[]`)));
    const before = numbersTo(keys).reduceRight((rest, i) => {
      const [l, r] = [parameters[2 * i], parameters[2 * i + 1]];
      const own = inner[directions[i] + total(i)](l, r);
      return rest ? inner.or(own, inner.and(inner[`eq${total(i)}`](l, r), rest)) : own;
    }, null);
    return b.sort(ops, inner.build(before), dimension, true);
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
  sort, sortByKeys, topK,
};
