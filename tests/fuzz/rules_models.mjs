/**
 * Rules for parts of language models: products with weights that a program unpacks from bytes and words, and attention over a
 * cache with a mask of any arithmetic.
 */
import { Literal } from '../../bindings/values/literal.mjs';
import { Shape } from '../../bindings/values/shape.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { contraction } from './rules_reduction.mjs';
import { binaryComputation, identity } from './scalars.mjs';
import { count, numbersTo } from './values.mjs';

const scalar = (b, type, value) => b.constantR0(ELEMENT_TYPES.get(type).bits === 64 && type !== 'f64' ? BigInt(value) : value, type);
const filled = (b, type, value, dims) => b.broadcast(scalar(b, type, value), dims);

/* ---- Unpacked weights ---- */

/** The fields of words, side by side or one after the other: as numbers of `type`. */
function unpacked(b, words, { bits, order, halves, shiftsFirst, wide, extended }) {
  const type = wide ? 's32' : words.shape.elementType, dims = words.shape.dimensions, [rows, columns] = dims;
  const all = wide ? b.convertElementType(words, type) : words, width = ELEMENT_TYPES.get(words.shape.elementType).bits;
  const mask = (shift) => {
    const ones = (2n ** BigInt(bits) - 1n) << BigInt(shift);
    return Number(type === 's32' ? BigInt.asIntN(32, ones) : ones);
  };
  const fields = order.map((at) => {
    const shift = filled(b, type, at * bits, dims);
    const field = shiftsFirst ? b.and(b.shiftRightLogical(all, shift), filled(b, type, mask(0), dims))
      : b.shiftRightLogical(b.and(all, filled(b, type, mask(at * bits), dims)), shift);
    const half = filled(b, type, 2 ** (bits - 1), dims);
    return extended ? b.sub(b.xor(field, half), half) : field;
  });
  if (halves) return b.concatInDim(fields, 1);
  const apart = fields.map((field) => b.reshape(field, [rows, columns, 1]));
  return b.reshape(b.concatInDim(apart, 2), [rows, columns * (width / bits)]);
}

/** A product with numbers that are unpacked, less a zero, times a scale, plus an offset; of blocks of the depth or of columns. */
function unpackedProduct(p, random) {
  const word = random.pick(['u8', 'u8', 'u32', 's32', 'u16']), width = ELEMENT_TYPES.get(word).bits;
  const bits = random.pick([2, 4, 4, 8].filter((n) => n < width));
  const per = width / bits, block = random.pick([16, 32, 64]);
  const [k, n, m] = [block * random.between(1, 3), 16 * random.between(3, 6), random.between(1, 20)];
  const turned = random.chance(0.6), inDepth = random.chance(0.8) === turned; // along the dimension that is contiguous
  const [high, wide] = turned ? [n, k] : [k, n];
  const plan = {
    bits, order: random.chance(0.7) ? numbersTo(per) : random.shuffle(numbersTo(per)), halves: random.chance(0.3),
    shiftsFirst: random.chance(0.6), wide: width < 32 && random.chance(0.3), extended: false,
  };
  plan.extended = (word === 's32' || plan.wide) && random.chance(0.4);
  const across = inDepth !== turned; // the words lie along the other dimension
  const w = p.fresh(word, across ? [wide, high / per] : [high, wide / per]), x = p.fresh('f32', [m, k], 'whole');
  if ((across ? high : wide) % per) return null;
  const scaleDims = turned ? [n, k / block] : [k / block, n];
  const [scale, offset] = [p.fresh('f32', scaleDims, 'whole'), p.fresh('f32', scaleDims, 'whole')];
  const zero = random.pick([0, 0, 2 ** (bits - 1), 1]), early = random.chance(0.3), form = random.pick(['none', 'scale', 'affine', 'less', 'times']);
  const wraps = early && zero && word !== 's32' && !plan.wide; // unsigned numbers below the zero become large
  const result = contraction('f32', x.domain, { ...scale.domain, highest: scale.domain.highest + (wraps ? width : bits) + 2 }, k);
  return result && p.add('dot', [x, w, scale, offset], result, (b, [a, words, scales, offsets]) => {
    let numbers = unpacked(b, words, plan);
    const type = numbers.shape.elementType;
    if (early) numbers = b.sub(numbers, filled(b, type, zero, numbers.shape.dimensions));
    let matrix = b.convertElementType(numbers, 'f32');
    if (across) matrix = b.transpose(matrix, [1, 0]);
    if (!early && zero) matrix = b.sub(matrix, filled(b, 'f32', zero, [high, wide]));
    const parts = turned ? [n, k / block, block] : [k / block, block, n];
    const spread = (y) => b.broadcastInDim(y, parts, turned ? [0, 1] : [0, 2]);
    const apply = {
      none: (y) => y, scale: (y) => b.mul(y, spread(scales)), less: (y) => b.sub(spread(offsets), y),
      affine: (y) => b.add(b.mul(y, spread(scales)), spread(offsets)), times: (y) => b.mul(b.sub(y, spread(offsets)), spread(scales)),
    }[form];
    matrix = b.reshape(apply(b.reshape(matrix, parts)), [high, wide]);
    return b.dotGeneral(a, matrix, {
      lhsContractingDimensions: [1], rhsContractingDimensions: [turned ? 1 : 0], lhsBatchDimensions: [], rhsBatchDimensions: [],
    });
  });
}

/** A product with weights whose scales a list of groups takes, one for each place of the depth: in order, or not, or out of range. */
function listedProduct(p, random) {
  const block = random.pick([4, 8, 16, 32]), groups = random.pick([1, 2, 4, 5]), k = block * groups, n = random.pick([96, 128, 160, 260]);
  const turned = random.chance(0.4), first = random.chance(0.3), m = random.pick([1, 1, 2, 9, 24]), type = random.pick(['s8', 'u8', 's4', 'bf16']);
  const way = random.pick(['regular', 'regular', 'regular', 'one', 'any', 'outside']);
  const list = p.parameter({ lowest: 0, highest: 8, special: 0 }, () => {
    const places = Int32Array.from({ length: k }, (_, i) => (way === 'any' ? random.between(0, groups - 1) : Math.floor(i / block)));
    const odd = way === 'one' ? random.between(0, groups - 1) : random.pick([-1, groups, 1000]);
    if (way === 'one' || way === 'outside') places[random.between(0, k - 1)] = odd;
    return new Literal(Shape.array('s32', [k]), places);
  });
  const w = type === 'bf16' ? p.fresh(type, [k, n], 'whole') : p.indices(type, [k, n], 0, 7), x = p.fresh('f32', [m, k], 'whole');
  const dims = turned ? [n, groups] : [groups, n], [scale, offset] = [p.fresh('f32', dims, 'whole'), p.fresh('f32', dims, 'whole')];
  const result = contraction('f32', x.domain, { ...scale.domain, highest: scale.domain.highest + 6 }, k);
  return result && p.add('dot', [x, list, w, scale, offset], result, (b, [a, at, numbers, scales, offsets]) => {
    const take = (table) => b.gather(turned ? b.transpose(table, [1, 0]) : table, b.reshape(at, [k, 1]), {
      offsetDims: [1], collapsedSliceDims: [0], startIndexMap: [0], indexVectorDim: 1,
    }, [1, n]);
    const low = b.ge(at, filled(b, 's32', 0, [k])), high = b.lt(at, filled(b, 's32', groups, [k]));
    const inside = b.broadcastInDim(b.and(low, high), [k, n], [0]);
    const other = take(offsets), kept = first ? b.select(inside, other, filled(b, 'f32', 3, [k, n])) : other;
    const matrix = b.mul(b.sub(b.convertElementType(numbers, 'f32'), kept), take(scales));
    return b.dotGeneral(a, matrix, { lhsContractingDimensions: [1], rhsContractingDimensions: [0], lhsBatchDimensions: [], rhsBatchDimensions: [] });
  });
}

/* ---- Attention over a cache ---- */

/** Whole numbers times a power of two; some are infinite or NaN. */
function cache(p, random, type, dims, { power, special }) {
  const row = ELEMENT_TYPES.get(type);
  return p.parameter({ lowest: power, highest: power + 3, special: special ? 1 : 0 }, () => {
    const data = new row.Array(count(dims));
    for (let i = 0; i < data.length; i++) {
      const odd = special && random.chance(special);
      row.write(data, i, odd ? random.pick([NaN, Infinity, -Infinity]) : random.between(-4, 4) * 2 ** power);
    }
    return new Literal(Shape.array(type, dims), data);
  });
}

/** A comparison of columns, [..., 1, n], with a length: of all or of each batch, of a type, below or above it, with the row or without. */
function comparison(b, plan, length, dims) {
  const { type, method, turned, row, near } = plan, at = b.convertElementType(length, type);
  const column = b.iota(Shape.array(type, dims), 3);
  let limit = length.shape.rank ? b.broadcastInDim(at, dims, [0]) : b.broadcast(at, dims);
  if (row) limit = b.add(limit, b.iota(Shape.array(type, dims), 2));
  if (near) limit = b.add(limit, filled(b, type, near, dims));
  return turned ? b[method](limit, column) : b[method](column, limit);
}

/** What a mask's numbers may be multiplied by: they are truncated, wrap or overflow then, or in a type that is narrower. */
const FACTORS = {
  f32: [1, 0.5, 0.4, 1.6, -1, 200, 1e30], f64: [1, 0.4, -1, 1e300], bf16: [1, 0.5, 200, 1e30], f16: [1, 0.5, 0.001, 60000],
  s32: [1, -1, 3, 65536, 2147483647], s8: [1, -1, 2, 64, 127], u8: [1, 2, 16, 128, 200],
};
/** Numbers that hide scores, or whose exponential is 0, and others. */
const LARGE = [-1e30, -1e30, -1e37, -3.4028234663852886e38, -Infinity, 1e30, -1e9, -1e9, -1e10, -30000, -3000];

/** Random steps from a mask, or 1 less it, to the numbers that are added: products, sums and conversions; mostly times a large number. */
function maskSteps(random, own) {
  const types = ['f32', own, 'bf16', 'f16', 's32', 's8', 'u8'], steps = [{ op: 'to', type: random.pick(types) }];
  let { type } = steps[0];
  if (random.chance(0.8)) steps.push({ op: 'less', type, value: 1 });
  for (let i = random.between(0, 3); i > 0; i--) {
    const op = random.pick(['to', 'mul', 'mul', 'add', 'sub']);
    if (op === 'to') type = random.pick(types);
    steps.push({ op, type, value: random.pick(FACTORS[type]) });
  }
  const end = { op: random.pick(['mul', 'mul', 'mul', 'add']), type: own, value: random.pick(LARGE) };
  return random.chance(0.85) ? [...steps, { op: 'to', type: own }, end] : steps;
}

function maskNumbers(b, mask, steps) {
  let y = mask;
  for (const { op, type, value } of steps) {
    const other = filled(b, type, op === 'to' ? 0 : value, mask.shape.dimensions);
    y = { to: () => b.convertElementType(y, type), mul: () => b.mul(y, other), add: () => b.add(other, y), sub: () => b.sub(y, other),
      less: () => b.sub(other, y) }[op]();
  }
  return y;
}

/** Scores where the mask holds, and elsewhere a large number; the mask chooses, or is added. */
function masked(b, scores, mask, { way, steps, number }) {
  const dims = scores.shape.dimensions, own = scores.shape.elementType, large = filled(b, own, number, dims), none = filled(b, own, 0, dims);
  const numbers = () => b.convertElementType(maskNumbers(b, mask, steps), own);
  return {
    select: () => b.select(mask, scores, large),
    chosen: () => b.add(scores, b.select(mask, none, large)),
    add: () => b.add(numbers(), scores),
    sub: () => b.sub(scores, numbers()),
    scaled: () => b.add(b.mul(scores, b.convertElementType(mask, own)), numbers()),
    min: () => b.min(scores, b.select(mask, filled(b, own, 1000, dims), large)),
  }[way]();
}

/** Weights: a softmax of scores along the last dimension, or another function of each. */
function weightsOf(b, scores, mask, { kind, again }) {
  const type = scores.shape.elementType, dims = scores.shape.dimensions, all = (value) => filled(b, type, value, dims);
  const along = (y, method) => b.reduce(y, b.constantLiteral(identity(type, method)), binaryComputation(b, type, method), [3]);
  const spread = (y) => b.broadcastInDim(y, dims, [0, 1, 2]), drop = (y) => (again ? b.select(mask, y, all(0)) : y);
  if (kind === 'relu') return drop(b.min(b.max(scores, all(0)), all(64)));
  if (kind === 'sigmoid') return drop(b.logistic(scores));
  const shifted = kind === 'max' ? b.sub(scores, spread(along(scores, 'max'))) : b.min(scores, all(4));
  const e = drop(b.exp(shifted));
  return b.div(e, spread(along(e, 'add')));
}

/** Mostly columns below a limit. */
const SIDES = [
  { method: 'lt', turned: false }, { method: 'le', turned: false }, { method: 'gt', turned: true }, { method: 'ge', turned: true },
  { method: 'lt', turned: false }, { method: 'gt', turned: false }, { method: 'le', turned: true },
];

/** A mask as two numbers of a type that are compared with a third one: with one of the two, with their mean, or with none. */
function comparedAgain(b, mask, { type, numbers: [kept, dropped, number], method, turned, moved }) {
  const dims = mask.shape.dimensions, flat = [count(dims)], other = filled(b, type, number, moved ? flat : dims);
  let both = b.select(mask, filled(b, type, kept, dims), filled(b, type, dropped, dims));
  if (moved) both = b.reshape(both, flat);
  const result = turned ? b[method](other, both) : b[method](both, other);
  return moved ? b.reshape(result, dims) : result;
}

function comparedPlan(random) {
  const type = random.pick(['f32', 'f32', 's32', 'bf16', 's8', 'f16']);
  const floats = /f/.test(type) ? [[0, -Infinity, -1000], [0, 1, NaN]] : [];
  return {
    type, numbers: random.pick([[1, 0, 1], [0, 1, 0], [1, 0, 0], [0, -64, -32], [2, 2, 2], ...floats]),
    method: random.pick(['eq', 'ne', 'lt', 'le', 'gt', 'ge', 'ge', 'gt']), turned: random.chance(0.3), moved: random.chance(0.3),
  };
}

/** Chooses the types, the mask and the weights of an attention. */
function attentionPlan(random) {
  const type = random.pick(['f32', 'f32', 'f32', 'f32', 'bf16', 'f16', 'f64']), own = type === 'f64' ? 'f64' : 'f32';
  const compare = () => ({
    type: random.pick(['s32', 's32', 's32', 's32', 's64', 'u32', 'f32', 'u8']), ...random.pick(SIDES), row: random.chance(0.2),
    near: random.pick([0, 0, 1, 5]),
  });
  const most = type === 'f16' ? 1 : Infinity; // of the cache's numbers
  return {
    type, own,
    power: Math.min(random.pick([0, 0, 0, 10, 27, 40, 90]), most - 1), initial: Math.min(random.pick([0, 1, 2 ** 20, 2 ** 40, 2 ** 100]), most),
    written: random.pick(['no', 'there', 'constant']), alongDepth: random.chance(0.3),
    scaled: random.pick(['no', 'mul', 'div']), through: random.pick([null, null, null, null, null, 'bf16', 's32', 'f16', 'f8e5m2']),
    sides: [compare(), compare()], how: random.pick(['one', 'one', 'one', 'one', 'and', 'or', 'not']),
    compared: random.chance(0.3) ? comparedPlan(random) : null,
    mask: {
      way: random.pick(['select', 'chosen', 'add', 'add', 'add', 'sub', 'sub', 'scaled', 'min']), steps: maskSteps(random, own),
      number: random.pick(LARGE),
    },
    weights: { kind: random.pick(['max', 'max', 'max', 'max', 'plain', 'relu', 'sigmoid']), again: random.chance(0.3) },
  };
}

/** The cache of keys with new rows in it; or one that begins with a constant, with some of its rows in it. */
function writtenKeys(b, { written, type, initial }, k, row, from) {
  const zero = scalar(b, 's32', 0), at = [zero, zero, from, zero], [, , n] = k.shape.dimensions;
  if (written === 'no') return k;
  if (written === 'there') return b.dynamicUpdateSlice(k, row, at);
  return b.dynamicUpdateSlice(filled(b, type, initial, k.shape.dimensions), b.sliceInDim(k, 0, n >> 1, 1, 2), at);
}

/** Attention over a cache: a mask keeps some of the scores. Weights are computed from these, and multiplied by the values. */
function cachedAttention(p, random) {
  const plan = attentionPlan(random), { type, own } = plan, special = () => random.pick([0, 0, 0, 0.001]);
  const [batch, h, m, n, d] = [random.between(1, 2), random.between(1, 2), random.pick([1, 1, 2, 5, 40]), random.between(130, 260),
    random.pick([16, 32, 40, 80])];
  const q = p.fresh(type, [batch, h, m, d], 'whole'), row = p.fresh(type, [batch, h, 1, d], 'whole');
  const keys = cache(p, random, type, [batch, h, n, d], { power: plan.power, special: special() });
  const values = cache(p, random, type, plan.alongDepth ? [batch, h, d, n] : [batch, h, n, d], { power: 0, special: special() });
  const length = p.indices('s32', random.chance(0.3) ? [batch] : [], -3, random.pick([20, n + 9])), start = p.indices('s32', [], -2, n + 2);
  const result = { lowest: -1000, highest: 1000, special: 2, tolerance: type === 'f64' ? 'abs 1e-9 rel 1e-9' : 'abs 2e-3 rel 2e-5' };
  return p.add('dot', [q, keys, values, row, length, start], result, (b, [query, k, v, fresh, at, from]) => {
    const wide = (y) => b.convertElementType(y, own), batches = { lhsBatchDimensions: [0, 1], rhsBatchDimensions: [0, 1] };
    let scores = b.dotGeneral(wide(query), wide(writtenKeys(b, plan, k, fresh, from)), {
      lhsContractingDimensions: [3], rhsContractingDimensions: [3], ...batches,
    });
    const dims = scores.shape.dimensions;
    if (plan.scaled !== 'no') scores = b[plan.scaled](scores, filled(b, own, plan.scaled === 'mul' ? 0.25 : 4, dims));
    if (plan.through) scores = wide(b.convertElementType(scores, plan.through));
    const [one, other] = plan.sides.map((side) => comparison(b, side, at, dims));
    let keeps = { one: () => one, and: () => b.and(one, other), or: () => b.or(one, other), not: () => b.not(one) }[plan.how]();
    if (plan.compared) keeps = comparedAgain(b, keeps, plan.compared);
    const weights = weightsOf(b, masked(b, scores, keeps, plan.mask), keeps, plan.weights);
    return b.dotGeneral(weights, wide(v), { lhsContractingDimensions: [3], rhsContractingDimensions: [plan.alongDepth ? 3 : 2], ...batches });
  });
}

/* ---- Caches in parts ---- */

/** The part of x in a range of a dimension, perhaps in parts itself and updated, as one array again. */
function rebuilt(p, random, x, at, depth) {
  const dims = x.shape.dimensions, along = random.between(0, dims.length - 1), parts = [];
  for (let begin = 0, end; begin < dims[along]; begin = end) {
    end = random.pick([begin + 1, random.between(begin + 1, dims[along])]);
    const range = [begin, end], drops = end - begin === 1 && dims.length > 1 && random.chance(0.7);
    let part = p.add('slice', [x], x.domain, (b, [a]) => b.sliceInDim(a, ...range, 1, along));
    if (drops) part = p.add('reshape', [part], x.domain, (b, [a]) => b.reshape(a, dims.toSpliced(along, 1)));
    if (depth && random.chance(0.5)) part = rebuilt(p, random, part, at, depth - 1);
    for (let n = random.pick([0, 1, 1, 2]); n > 0; n--) part = updated(p, random, part, at);
    if (drops) {
      const all = part.shape.dimensions, kept = numbersTo(dims.length).filter((d) => d !== along);
      part = p.add('broadcast', [part], part.domain, (b, [a]) => b.broadcastInDim(a, all.toSpliced(along, 0, 1), kept));
    }
    parts.push(part);
  }
  return p.add('concatenate', random.chance(0.9) ? parts : random.shuffle(parts), parts[0].domain, (b, all) => b.concatInDim(all, along));
}

/** x with a few elements changed; sometimes it is read before it is changed again. */
function updated(p, random, x, at) {
  const sizes = x.shape.dimensions.map((n) => random.pick([n, n, random.between(1, n)]));
  const update = p.fresh(x.shape.elementType, sizes, 'whole');
  const places = sizes.map((n, d) => (n === x.shape.dimensions[d] ? random.pick(at) : random.pick(at.slice(0, 1 + d))));
  return p.add('dynamic-update-slice', [x, update, ...places], x.domain, (b, [a, u, ...i]) => b.dynamicUpdateSlice(a, u, i));
}

/** An array that is taken apart, updated and put together again, as libraries do with the caches of all layers. */
function updatedParts(p, random) {
  const type = random.pick(['f32', 'f32', 's32', 'bf16', 'u8', 'pred', 's4']);
  const x = p.fresh(type, numbersTo(random.between(1, 4)).map(() => random.between(1, 4)), 'whole');
  const places = random.pick(['s32', 's32', 's64', 'u32', 's8']);
  return rebuilt(p, random, x, numbersTo(4).map(() => p.indices(places, [], 0, 3)), random.between(0, 2));
}

export const modelRules = { unpackedProduct, listedProduct, cachedAttention, updatedParts };
