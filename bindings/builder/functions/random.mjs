/**
 * Random numbers with the bits of jax.random, of its default generator (threefry2x32, partitionable). A key is u32[2].
 * Source: J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011), and JAX's use of it.
 */
import { invalidArgument } from '../../base/error.mjs';
import { Shape } from '../../values/shape.mjs';
import { ELEMENT_TYPES } from '../../values/types.mjs';
import { either, integer, number, op, optional, row } from '../arguments.mjs';
import { needFloats } from './axes.mjs';
import { erfInv } from './erf_inv.mjs';
import { Maths } from './maths.mjs';

const ROTATIONS = [[13, 15, 26, 6], [17, 29, 16, 24]];
const PARITY = 0x1bd11bda;
const GROUPS = 5; // of four rounds each

/** The two words that a key makes of a counter's words x0 and x1. */
function threefry(b, [k0, k1], x0, x1) {
  const keys = [k0, k1, b.xor(b.xor(k0, k1), PARITY)];
  const rotated = (x, by) => b.or(b.shiftLeft(x, by), b.shiftRightLogical(x, 32 - by));
  let [u, v] = [b.add(x0, k0), b.add(x1, k1)];
  for (let group = 1; group <= GROUPS; group++) {
    for (const by of ROTATIONS[(group - 1) % 2]) {
      u = b.add(u, v);
      v = b.xor(rotated(v, by), u);
    }
    u = b.add(u, keys[group % 3]);
    v = b.add(v, b.add(keys[(group + 1) % 3], group));
  }
  return [u, v];
}

/** The words of a key. */
function wordsOf(operation, b, key) {
  if (String(key.shape.withLayout(null)) !== 'u32[2]') throw invalidArgument(operation, `key is ${key.shape}; it must be u32[2], as key(seed) makes it`);
  return [0, 1].map((i) => b.reshape(b.slice(key, [i], [i + 1]), []));
}

/** Both words for each element, whose counter is its number in row-major order. */
function wordsFor(operation, b, key, dimensions) {
  const count = dimensions.reduce((product, size) => product * size, 1);
  const low = b.iota(Shape.array('u64', [count]), 0);
  const words = [b.shiftRightLogical(low, 32), low].map((word) => b.convertElementType(b.reshape(word, dimensions), 'u32'));
  return threefry(b, wordsOf(operation, b, key), ...words);
}

/** Random bits, as unsigned integers of 8, 16, 32 or 64 bits. */
function randomBits(operation, b, key, bits, dimensions) {
  const [high, low] = wordsFor(operation, b, key, dimensions);
  if (bits < 64) return bits === 32 ? b.xor(high, low) : b.convertElementType(b.xor(high, low), `u${bits}`);
  const [wideHigh, wideLow] = [high, low].map((word) => b.convertElementType(word, 'u64'));
  return b.or(b.shiftLeft(wideHigh, 32), wideLow);
}

const ONE = { f64: 0x3ffn << 52n, f32: 0x3f800000, f16: 0x3c00, bf16: 0x3f80 };

/** Numbers in [low, high): random bits are the mantissa of a number in [1, 2). */
function uniform(operation, b, key, shape, low, high) {
  const { elementType: type, dimensions } = shape;
  const { bits, mantissaBits } = ELEMENT_TYPES.get(type);
  const drawn = mantissaBits < 8 ? 8 : bits;
  const random = b.shiftRightLogical(randomBits(operation, b, key, drawn, [...dimensions]), drawn - mantissaBits);
  const mantissa = drawn === bits ? random : b.convertElementType(random, `u${bits}`);
  const from1 = b.bitcastConvertType(b.or(mantissa, ONE[type]), type);
  const from0 = b.sub(from1, 1);
  return b.max(b.add(b.mul(from0, b.sub(high, low)), low), low);
}

/** The number after -1, towards 0. */
const afterMinus1 = (type) => -1 + 2 ** -(ELEMENT_TYPES.get(type).mantissaBits + 1);

function normal(b, key, shape) {
  const { elementType: type } = shape;
  const [low, high] = [afterMinus1(type), 1].map((value) => b.constantR0(value, type));
  const u = uniform('normal', b, key, shape, low, high);
  const wide = type === 'f64' ? 'f64' : 'f32';
  const inverse = erfInv(new Maths(b, wide), type === wide ? u : b.convertElementType(u, wide));
  return b.mul(type === wide ? inverse : b.convertElementType(inverse, type), Math.SQRT2);
}

const shapeKind = Object.assign((value) => {
  const shape = Shape.of(value);
  return shape.isArray && shape.elementType in ONE ? shape : undefined;
}, { wants: 'the shape of an array of f16, bf16, f32 or f64', type: 'ShapeLike' });

const seedKey = row('key', { seed: integer }, (_emit, { seed }, b) => {
  const word = BigInt.asUintN(64, BigInt(seed));
  const isWide = seed > 0xffffffff || seed < -(2 ** 31);
  return b.constant([isWide ? Number(word >> 32n) : 0, Number(word & 0xffffffffn)], 'u32[2]');
});

/** Keys, one for each element of a shape, that are independent of each other and of the key. */
const splitKey = row('splitKey', { key: op, count: optional(integer, 2) }, (_emit, { key, count }, b) =>
  b.concatInDim(wordsFor('splitKey', b, key, [count]).map((word) => b.reshape(word, [count, 1])), 1));

const foldIn = row('foldIn', { key: op, data: either(op, integer) }, (_emit, { key, data }, b) => {
  const isOp = typeof data !== 'number';
  if (isOp && (data.shape.rank || !['s32', 'u32'].includes(data.shape.elementType))) {
    throw invalidArgument('foldIn', `data is ${data.shape}; it must be s32[] or u32[]`);
  }
  const word = isOp ? b.convertElementType(data, 'u32') : b.constantR0(data >>> 0, 'u32');
  const words = threefry(b, wordsOf('foldIn', b, key), b.constantR0(0, 'u32'), word);
  return b.concatInDim(words.map((one) => b.reshape(one, [1])), 0);
});

/** Keeps each element with probability 1 - rate, and divides it by that; the others become 0. */
const dropout = row('dropout', { operand: op, key: op, rate: number }, (_emit, { operand: x, key, rate }, b) => {
  needFloats('dropout', 'operand', x);
  if (rate < 0 || rate > 1) throw invalidArgument('dropout', `rate is ${rate}; it must be from 0 to 1`);
  if (rate === 0) return x;
  if (rate === 1) return b.mul(x, 0);
  const zero = b.constantR0(0, 'f32');
  const u = uniform('dropout', b, key, x.shape.withElementType('f32'), zero, b.constantR0(1, 'f32'));
  return b.select(b.lt(u, 1 - rate), b.div(x, 1 - rate), 0);
});

export const random = {
  key: seedKey,
  splitKey,
  foldIn,
  uniform: row('uniform', { key: op, shape: shapeKind, low: optional(number, 0), high: optional(number, 1) },
    (_emit, { key, shape, low, high }, b) =>
      uniform('uniform', b, key, shape, ...[low, high].map((value) => b.constantR0(value, shape.elementType)))),
  normal: row('normal', { key: op, shape: shapeKind }, (_emit, { key, shape }, b) => normal(b, key, shape)),
  dropout,
};
