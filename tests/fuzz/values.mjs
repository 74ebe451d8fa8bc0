/** Random element types, shapes and elements. */
import { Literal } from '../../bindings/values/literal.mjs';
import { Shape } from '../../bindings/values/shape.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import {
  COMPLEX, componentOf, DECIDED, FLOATS, FLOATS_8, INTEGERS, isInexact, mantissaOf, POWERS,
} from './domain.mjs';

const MAX_ELEMENTS = 3000;

export function randomType(random) {
  if (random.type && random.chance(0.9)) return random.type;
  const family = random.pick([
    INTEGERS, INTEGERS, INTEGERS, ['f32'], ['f32'], FLOATS, FLOATS, FLOATS, ['pred'], COMPLEX,
    FLOATS_8, ['s32', 'u32', 's64', POWERS],
  ]);
  return random.pick(family);
}

function randomSize(random) {
  const kind = random.fraction();
  if (kind < 0.03) return 0;
  if (kind < 0.2) return 1;
  if (kind < 0.75) return random.between(2, 5);
  if (kind < 0.92) return random.between(6, 12);
  return random.between(13, 70); // past the widths of SIMD kernels, and XLA's windows of 32
}

export function randomDimensions(random, rank = random.pick([0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5])) {
  if (rank > 1 && random.chance(0.03)) return manyDimensions(random);
  if (rank === 1 && random.chance(0.03)) return [random.between(1000, 40000)]; // more than one task
  if (rank === 2 && random.chance(0.03)) return [random.between(3, 200), random.between(3, 200)];
  const dimensions = Array.from({ length: rank }, () => randomSize(random));
  while (count(dimensions) > MAX_ELEMENTS) {
    const largest = dimensions.indexOf(Math.max(...dimensions));
    dimensions[largest] = random.between(1, 4);
  }
  return dimensions;
}

/** More dimensions than loops have: 6 to 12, most of them 1 or 2. */
function manyDimensions(random) {
  return Array.from({ length: random.between(6, 12) }, () => random.pick([1, 1, 2, 2, 3]));
}

export const numbersTo = (n) => Array.from({ length: n }, (_, i) => i);
export const count = (dimensions) => dimensions.reduce((product, size) => product * size, 1);

/** The range of a flavour's finite values: lowest, highest and special as in a domain. */
const FLAVOURS = {
  whole: () => [0, 3, 0],
  nonzero: () => [0, 3, 0],
  quarters: () => [-2, 3, 0],
  normal: (type) => [-3 - mantissaOf(type), 4, 0],
  edges: () => [-1, 5, 1],
};

/** Returns a random flavour: the distribution of a literal's floats. */
export function randomFlavour(random) {
  return random.pick(['whole', 'nonzero', 'quarters', 'normal', 'normal', 'edges']);
}

export function flavourDomain(type, flavour) {
  if (!isInexact(type)) return DECIDED;
  const [lowest, highest, special] = FLAVOURS[flavour](type);
  return { lowest, highest, special, nonzero: ['nonzero', 'normal'].includes(flavour) };
}

function randomFloat(random, type, flavour) {
  if (type === POWERS) return 2 ** random.between(-3, 3);
  const sign = random.chance(0.5) ? -1 : 1;
  if (flavour === 'whole') return random.between(-4, 4);
  if (flavour === 'nonzero') return sign * random.between(1, 4);
  if (flavour === 'quarters') return random.between(-16, 16) / 4;
  if (flavour === 'normal') {
    const units = 2 ** (mantissaOf(type) - 1);
    const mantissa = 1 + random.between(0, units - 1) / units;
    return sign * mantissa * 2 ** random.between(-3, 3);
  }
  return random.pick([0, -0, 1, -1, 0.5, -1.5, 2.5, 3, 7, -16, NaN, Infinity, -Infinity]);
}

function randomInteger(random, { bits, kind }) {
  const fit = (x) => (kind === 'signed' ? BigInt.asIntN(bits, x) : BigInt.asUintN(bits, x));
  const way = random.fraction();
  const top = 1n << BigInt(bits - 1);
  if (way < 0.4) return fit(BigInt(random.between(-5, 9)));
  if (way < 0.6) return fit(random.pick([0n, -1n, top, top - 1n, top + 1n]));
  return fit(random.bigBits() >> BigInt(random.between(0, 60)));
}

/** A literal of random elements: of the flavour if floating point. */
export function randomLiteral(random, type, dimensions, flavour) {
  const row = ELEMENT_TYPES.get(type);
  const data = new row.Array(count(dimensions) * row.lanes);
  const component = componentOf(type);
  for (let i = 0; i < data.length / row.lanes; i++) {
    let value;
    if (row.kind === 'pred') value = random.chance(0.5);
    else if (row.kind === 'float') value = randomFloat(random, component, flavour);
    else if (row.kind !== 'complex') value = randomInteger(random, row);
    else value = [randomFloat(random, component, flavour), randomFloat(random, component, flavour)];
    if (typeof value === 'bigint' && row.bits < 64) value = Number(value);
    if (!row.write(data, i, value)) throw new Error(`${type} has no ${value}`);
  }
  return new Literal(Shape.array(type, dimensions), data);
}

/** A literal of integers from low to high, cut to what the type holds. */
export function integersWithin(random, type, dimensions, low, high) {
  const row = ELEMENT_TYPES.get(type);
  const data = new row.Array(count(dimensions));
  const [least, most] = row.limits.map(Number);
  for (let i = 0; i < data.length; i++) {
    const value = Math.max(least, Math.min(most, random.between(low, high)));
    row.write(data, i, row.bits === 64 ? BigInt(value) : value);
  }
  return new Literal(Shape.array(type, dimensions), data);
}
