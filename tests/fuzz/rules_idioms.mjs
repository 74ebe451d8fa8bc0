/**
 * Rules for groups of operations that people write often, and that rewrites look for: products of transposes, parts of
 * products, masked products, softmaxes, logistic functions, sorts by computed keys, long sums, convolutions of many features.
 */
import { Shape } from '../../bindings/values/shape.mjs';
import { DECIDED, isInexact, roundedSum } from './domain.mjs';
import { moved } from './program.mjs';
import { takeElements } from './rules_movement.mjs';
import { contraction } from './rules_reduction.mjs';
import { binaryComputation, identity, randomChange } from './scalars.mjs';
import { numbersTo } from './values.mjs';

/** The tolerance of chains of functions that both sides approximate, for numbers up to 16. */
const approximate = (type) => ({
  lowest: -1000, highest: 1000, special: 2, tolerance: type === 'f64' ? 'abs 1e-9 rel 1e-9' : 'abs 2e-5 rel 2e-5',
});
const scalar = (b, type, value) => b.constantR0(value, type);

/** A product of one or two transposed operands; a slice or a reduction of it may be all that is used. */
function transposedProduct(p, random) {
  const type = random.pick(['f32', 'f64', 's32', 'pred', 'pred']), batch = random.chance(0.4) ? [random.between(1, 5)] : [];
  const [m, k, n] = [random.between(1, 40), random.between(1, 40), random.between(1, 40)], rank = batch.length;
  const flips = [random.chance(0.6), random.chance(0.6)];
  const x = p.fresh(type, [...batch, ...(flips[0] ? [k, m] : [m, k])], 'whole');
  const y = p.fresh(type, [...batch, ...(flips[1] ? [n, k] : [k, n])], 'whole');
  const result = type === 'pred' ? DECIDED : contraction(type, x.domain, y.domain, k);
  if (!result) return null;
  const part = random.chance(0.5) ? [...batch, random.between(1, m), random.between(1, n)] : null;
  const outputs = random.chance(0.3) ? [...numbersTo(rank), rank + 1, rank] : null;
  return p.add('dot', [x, y], result, (b, operands) => {
    const [l, r] = operands.map((operand, i) => (flips[i] ? b.transpose(operand, [...numbersTo(rank), rank + 1, rank]) : operand));
    let dot = b.dotGeneral(l, r, {
      lhsContractingDimensions: [rank + 1], rhsContractingDimensions: [rank],
      lhsBatchDimensions: numbersTo(rank), rhsBatchDimensions: numbersTo(rank),
    });
    if (outputs) dot = b.transpose(dot, outputs);
    if (part) dot = b.slice(dot, part.map(() => 0), outputs ? [...batch, part.at(-1), part.at(-2)] : part, part.map(() => 1));
    return dot;
  });
}

/** Vectors times a matrix that is dequantised: by a scale, a zero, or both, of blocks, in either order; and transposed. */
function quantisedProduct(p, random) {
  const type = random.pick(['s8', 'u8', 's4', 'u4', 'bf16', 'f16', 'f8e4m3fn', 'f8e5m2']), turned = random.chance(0.5);
  const block = random.pick([1, 8, 16, 24, 32, 48]), [k, n, m] = [block * random.between(1, 4), random.between(40, 90), random.between(1, 24)];
  const x = p.fresh('f32', [m, k], 'whole'), w = p.fresh(type, turned ? [n, k] : [k, n], 'whole');
  const scale = p.fresh('f32', turned ? [n, k / block] : [k / block, n], 'whole');
  const [hasScale, hasZero, early] = [0.8, 0.3, 0.3].map((chance) => random.chance(chance));
  // Numbers less 2 are from -6 to 6: at most three doublings of a product.
  const result = contraction('f32', x.domain, scale.domain, 64 * k);
  return result && p.add('dot', [x, w, scale], result, (b, [a, numbers, scales]) => {
    const dims = turned ? [n, k] : [k, n], order = [1, 0], flips = early !== turned;
    let matrix = b.convertElementType(numbers, 'f32');
    if (hasZero) matrix = b.sub(matrix, b.broadcast(scalar(b, 'f32', 2), dims));
    if (hasScale) {
      const parts = turned ? [n, k / block, block] : [k / block, block, n];
      const spread = b.broadcastInDim(scales, parts, turned ? [0, 1] : [0, 2]);
      matrix = b.reshape(b.mul(b.reshape(matrix, parts), spread), dims);
    }
    if (flips) matrix = b.transpose(matrix, order);
    return b.dotGeneral(a, matrix, {
      lhsContractingDimensions: [1], rhsContractingDimensions: [turned !== flips ? 1 : 0], lhsBatchDimensions: [], rhsBatchDimensions: [],
    });
  });
}

/** Products with heads that several others share: an array is repeated along a dimension of batches, the depth or columns. */
function sharedProduct(p, random) {
  const type = random.pick(['f32', 'f32', 'bf16', 'f16']), [b, t, h, d] = [random.between(1, 2), random.between(20, 70), random.between(1, 4), 32];
  const times = random.between(2, 4), isFirst = random.chance(0.5), flips = random.chance(0.3), m = random.between(1, 9);
  const inner = random.chance(0.8), alongDepth = random.chance(0.5), heads = h * times;
  const k = p.fresh(type, isFirst ? [b, h, t, d] : [b, t, h, d], 'whole');
  const x = p.fresh('f32', [b, heads, m, alongDepth ? d : t], 'whole');
  const result = contraction('f32', x.domain, k.domain, alongDepth ? d : t);
  return result && p.add('dot', [x, k], result, (builder, [a, cache]) => {
    const at = isFirst ? 1 : 2, parts = isFirst ? [b, h, times, t, d] : [b, t, h, times, d];
    const own = inner ? parts : isFirst ? [b, times, h, t, d] : [b, t, times, h, d];
    const over = numbersTo(5).filter((i) => i !== (inner ? at + 1 : at));
    const wide = builder.reshape(builder.broadcastInDim(builder.convertElementType(cache, 'f32'), own, over), isFirst
      ? [b, heads, t, d] : [b, t, heads, d]);
    const depth = alongDepth ? 3 : isFirst ? 2 : 1;
    return flips
      ? builder.dotGeneral(wide, a, { lhsContractingDimensions: [depth], rhsContractingDimensions: [3], lhsBatchDimensions: [0, at],
        rhsBatchDimensions: [0, 1] })
      : builder.dotGeneral(a, wide, { lhsContractingDimensions: [3], rhsContractingDimensions: [depth], lhsBatchDimensions: [0, 1],
        rhsBatchDimensions: [0, at] });
  });
}

/** Masked scores of attention: causal, below a scalar, or both; then often their product with values. */
function maskedProduct(p, random) {
  const [type, h] = [random.pick(['f32', 'f32', 'bf16']), random.between(1, 2)],
    [m, n, d] = [random.between(1, 70), random.between(90, 180), random.between(24, 50)];
  const x = p.fresh('f32', [h, m, d], 'whole'), k = p.fresh(type, [h, n, d], 'whole'), v = p.fresh(type, [h, n, d], 'whole'),
    place = p.fresh('s32', [], 'whole');
  const scores = contraction('f32', x.domain, k.domain, d), hasValues = random.chance(0.6);
  const result = hasValues && scores ? contraction('f32', scores, v.domain, n) : scores;
  const [form, near, inverted, both] = [random.pick(['add', 'sub', 'number', 'scalar']), random.chance(0.8), random.chance(0.3), random.chance(0.3)];
  const method = random.pick(['lt', 'le', 'gt', 'ge']), number = random.between(-20, 60);
  return result && p.add('dot', [x, k, v, place], result, (b, [a, keys, values, at]) => {
    const f32 = (y) => b.convertElementType(y, 'f32'), batches = { lhsBatchDimensions: [0], rhsBatchDimensions: [0] };
    const [row, column] = [0, 1].map((i) => b.iota(Shape.array('s32', [m, n]), i)), spread = (y) => b.broadcast(y, [m, n]);
    const small = spread(near ? b.rem(at, scalar(b, 's32', 64)) : at), constant = spread(scalar(b, 's32', number));
    const sides = { add: [column, b.add(row, small)], sub: [b.sub(column, row), small], number: [b.add(column, constant), row],
      scalar: [column, small] }[form];
    let mask = b[method](...sides);
    if (both) mask = b.and(mask, b.ge(b.add(row, constant), column));
    if (inverted) mask = b.not(mask);
    const all = b.dotGeneral(a, f32(keys), { lhsContractingDimensions: [2], rhsContractingDimensions: [2], ...batches });
    const kept = b.select(b.broadcastInDim(mask, [h, m, n], [1, 2]), all, b.broadcast(scalar(b, 'f32', 0), [h, m, n]));
    return hasValues ? b.dotGeneral(kept, f32(values), { lhsContractingDimensions: [2], rhsContractingDimensions: [1], ...batches }) : kept;
  });
}

/** Convolutions of images of many features: depthwise or in groups, in both orders of dimensions. */
function features(p, random) {
  const type = random.pick(['f32', 'f32', 'f64', 's32', 'bf16']), isDepthwise = random.chance(0.5);
  const inputs = random.pick([3, 4, 5, 8, 15, 16, 17, 24]), outputs = isDepthwise ? inputs : random.pick([4, 8, 16, 17]);
  const [height, width, window] = [random.between(3, 12), random.between(3, 24), random.pick([1, 2, 3, 3])];
  const isFirst = random.chance(0.4), groups = isDepthwise ? inputs : 1;
  const x = p.fresh(type, isFirst ? [1, inputs, height, width] : [1, height, width, inputs], 'whole');
  const y = p.fresh(type, isFirst ? [outputs, inputs / groups, window, window] : [window, window, inputs / groups, outputs], 'whole');
  const terms = window * window * (inputs / groups) + 1;
  const exact = contraction(type, x.domain, y.domain, terms);
  // Kernels may multiply sums by fractions: the bits of floats are open.
  const result = isInexact(type) ? roundedSum(type, { lowest: -8, highest: 5 }, terms * 8) : exact;
  return result && p.add('convolution', [x, y], result, (b, [a, k]) => b.convGeneralDilated(
    a, k, [1, 1], [[window >> 1, window >> 1], [window >> 1, window >> 1]], [1, 1], [1, 1],
    isFirst ? 'bf01_oi01->bf01' : 'b01f_01io->b01f', { featureGroupCount: groups }));
}

/** A softmax along the last dimension, with or without subtracting the maximum, which may be clamped. */
function softmax(p, random) {
  const type = random.pick(['f32', 'f32', 'f64']), dimensions = [random.between(1, 40), random.between(1, 40)];
  const x = p.fresh(type, dimensions, 'normal'), [withMaximum, clamped, isLog] = [0.7, 0.3, 0.2].map((c) => random.chance(c));
  return p.add('divide', [x], approximate(type), (b, [a]) => {
    const along = (y, method) => b.reduce(y, b.constantLiteral(identity(type, method)), binaryComputation(b, type, method), [1]);
    const spread = (row) => b.broadcastInDim(row, dimensions, [0]);
    let largest = along(a, 'max');
    if (clamped) largest = b.max(largest, b.broadcast(scalar(b, type, -1000), [dimensions[0]]));
    const shifted = withMaximum ? b.sub(a, spread(largest)) : a;
    const e = b.exp(b.min(shifted, b.broadcast(scalar(b, type, 4), dimensions))), sum = along(e, 'add');
    return isLog ? b.sub(shifted, spread(b.log(sum))) : b.div(e, spread(sum));
  });
}

/** The logistic function by its formula, and x times it. */
function sigmoid(p, random) {
  const type = random.pick(['f32', 'f64']), way = random.between(0, 3);
  const x = p.fresh(type, [random.between(1, 70)], 'normal');
  return p.add('divide', [x], approximate(type), (b, [a]) => {
    const one = b.broadcast(scalar(b, type, 1), a.shape.dimensions);
    const logistic = way === 1 ? b.div(b.exp(a), b.add(b.exp(a), one)) : b.div(one, b.add(one, b.exp(b.neg(a))));
    return way === 2 ? b.mul(a, logistic) : way === 3 ? b.sub(one, logistic) : logistic;
  });
}

/** A sort whose comparator compares functions of the elements. */
function sortByComputed(p, random) {
  const type = random.pick(['s32', 'u8', 's64', 'u16']), x = p.fresh(type, [random.between(1, 4), random.between(1, 90)]);
  const payload = p.like(x, random.pick(['f32', 's32', 'u8'])), change = randomChange(random, type), method = random.pick(['lt', 'gt', 'le']);
  if (method === 'le') return null; // no strict order
  const step = p.add('sort', [x, payload], [moved(x), moved(payload)], (b, operands) => {
    const inner = b.createSubBuilder('before');
    const [l, r] = operands.flatMap(({ shape }, i) => [2 * i, 2 * i + 1].map((n) => inner.parameter(n, `${shape.elementType}[]`)));
    return b.sort(operands, inner.build(inner[method](change(inner, l, l), change(inner, r, r))), 1, true);
  });
  return takeElements(p, step);
}

/** A top-k of lines of 70 to 700 elements. */
function largeTopK(p, random) {
  const type = random.pick(['s32', 'f32', 'u8']), n = random.between(70, 700), k = random.between(1, n);
  const x = p.fresh(type, [random.between(1, 3), n], 'whole');
  return takeElements(p, p.add('topk', [x], [moved(x), DECIDED], (b, [a]) => b.topK(a, k, true)));
}

/** A sum of 100,000 numbers and more, or of long columns. */
function longSum(p, random) {
  if (random.chance(0.8)) return null; // it takes as long as a hundred others
  const type = random.pick(['s32', 'u8', 's64']), isHigh = random.chance(0.4);
  const dimensions = isHigh ? [random.between(2000, 5000), random.between(60, 140)] : [random.between(100_000, 300_000)];
  const x = p.fresh(type, isHigh ? [1, dimensions[1]] : [1]), method = random.pick(['add', 'max', 'xor']);
  return p.add('reduce', [x], DECIDED, (b, [a]) => {
    const places = b.iota(Shape.array(type, dimensions), 0), flat = b.reshape(a, a.shape.dimensions.slice(1));
    const all = b.xor(places, b.broadcastInDim(flat, dimensions, isHigh ? [1] : []));
    return b.reduce(all, b.constantLiteral(identity(type, method)), binaryComputation(b, type, method), [0]);
  });
}

/** A counted loop that asks where its counter is, and clamps it, as scans with bounds do. */
function countedLoop(p, random) {
  const type = random.pick(['s32', 'f32', 'u8']), size = random.between(1, 9), row = random.between(1, 12);
  const x = p.fresh(type, [size, row], 'whole'), turns = random.between(1, size + 2), change = randomChange(random, type);
  return p.add('while', [x], moved(x), (b, [a]) => {
    const number = (builder, value) => builder.constantR0(value, 's32');
    const state = b.tuple([number(b, 0), a, b.reshape(b.slice(a, [0, 0], [1, row], [1, 1]), [row])]);
    const make = (name, root) => {
      const inner = b.createSubBuilder(name), own = inner.parameter(0, state.shape);
      return inner.build(root(inner, ...numbersTo(3).map((i) => inner.getTupleElement(own, i))));
    };
    const again = make('again', (inner, i) => inner.lt(i, number(inner, turns)));
    const body = make('body', (inner, i, all, sum) => {
      const wrapped = inner.select(inner.lt(i, number(inner, 0)), inner.add(i, number(inner, size)), i);
      const at = inner.clamp(number(inner, 0), wrapped, number(inner, size - 1));
      const own = inner.reshape(inner.dynamicSlice(all, [at, number(inner, 0)], [1, row]), [row]);
      const isFirst = inner.broadcast(inner.lt(i, number(inner, turns + 3)), [row]);
      return inner.tuple([inner.add(i, number(inner, 1)), all, inner.select(isFirst, change(inner, sum, own), sum)]);
    });
    return b.getTupleElement(b.while(again, body, state), 2);
  });
}

export const idiomRules = {
  transposedProduct, quantisedProduct, sharedProduct, maskedProduct, features, softmax, sigmoid, sortByComputed, largeTopK, longSum, countedLoop,
};
