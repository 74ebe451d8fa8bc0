/** Makes arguments: zeros, ones, 0 1 2 ..., random numbers. */
import { Literal, Shape } from '../../bindings/index.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { randomNumbers } from './random.mjs';

/** The ways to fill an input. */
export const FILLS = ['random', 'iota', 'zeros', 'ones'];

/* Random integers are small, because most of them are indices or are read by people. */
const MAX_INTEGER = 10;

/** Converts a number to an element of a type. */
function fitting(type, value) {
  switch (type.kind) {
    case 'pred': return Boolean(Math.round(Math.abs(value)) % 2);
    case 'complex': return [value, 0];
    case 'float': return value;
    default: {
      const [min, max] = type.limits;
      const range = Number(max) - Number(min) + 1;
      const whole = Math.trunc(value) % range;
      const fit = Number.isSafeInteger(range) && whole > Number(max) ? whole - range : whole;
      return type.bits === 64 ? BigInt(fit) : fit;
    }
  }
}

function randomElement(type, random) {
  switch (type.kind) {
    case 'pred': return random() < 0.5;
    case 'complex': return [random() * 2 - 1, random() * 2 - 1];
    case 'float': return random() * 2 - 1;
    default: {
      const whole = Math.floor(random() * Math.min(MAX_INTEGER, Number(type.limits[1]) + 1));
      return type.bits === 64 ? BigInt(whole) : whole;
    }
  }
}

function arrayOf(shape, fill, random) {
  const literal = Literal.zeros(shape.withoutLayout());
  if (fill === 'zeros') return literal;
  const type = ELEMENT_TYPES.get(shape.elementType);
  const [, max] = type.limits ?? [];
  for (let i = 0; i < shape.elementCount; i++) {
    let value;
    if (fill === 'random') value = randomElement(type, random);
    else value = fitting(type, fill === 'iota' ? i : 1);
    /* A narrow float cannot hold every number. Larger numbers become its largest one. */
    const stores = type.lanes === 1 ? type.write(literal.data, i, value) : complex(literal.data, i, value);
    if (!stores && max !== undefined) type.write(literal.data, i, max);
  }
  return literal;
}

function complex(data, i, [re, im]) {
  data[2 * i] = re;
  data[2 * i + 1] = im;
  return true;
}

/**
 * An argument for a shape: a Literal, or an array of such for a tuple; null for a token.
 * @param {Shape | string} shape
 * @param {{ fill?: string, seed?: number }} [how] random numbers are uniform: floats in [-1, 1),
 *   integers in 0..9
 */
export function makeArgument(shape, { fill = 'random', seed = 0 } = {}) {
  const random = randomNumbers(seed * 7919 + 1);
  const make = (of) => {
    if (of.isTuple) return of.tupleShapes.map(make);
    return of.isArray ? arrayOf(of, fill, random) : null;
  };
  return make(Shape.of(shape));
}
