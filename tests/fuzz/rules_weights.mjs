/** Rules that add weights as language models store and dequantise them, and products that read these. */
import { Literal } from '../../bindings/values/literal.mjs';
import { Shape } from '../../bindings/values/shape.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { DECIDED, withOpenZeros } from './domain.mjs';
import { contraction } from './rules_reduction.mjs';
import { raggedByDots } from './rules_refused.mjs';
import { count, numbersTo, randomLiteral } from './values.mjs';

/* ---- Stored numbers ---- */

const INTEGER_TYPES = ['s8', 's8', 's4', 'u4', 'u8', 's2', 's16'], FLOAT_TYPES = ['bf16', 'f16', 'f8e4m3fn', 'f8e5m2', 'f32'];
/** Types of words, and the types of numbers that a bitcast makes of them. */
const WORDS = { u8: ['s8', 's4', 'u4', 'f8e4m3fn', 'f8e5m2'], u16: ['bf16', 'f16', 's8'], u32: ['s8', 's4', 'bf16'], s8: ['s4', 'u8'] };
const bitsOf = (type) => ELEMENT_TYPES.get(type).bits;
const isFloat = (type) => ELEMENT_TYPES.get(type).kind === 'float';

/** An array of words whose bits are small numbers of a type. */
function wordsOf(random, word, type, dims) {
  const per = bitsOf(word) / bitsOf(type), numbers = isFloat(type) && randomLiteral(random, type, [count(dims) * per], 'whole');
  const row = ELEMENT_TYPES.get(word), data = new row.Array(count(dims));
  const field = (i) => (numbers ? numbers.data[i] : random.between(0, 2 ** bitsOf(type) - 1));
  for (let i = 0; i < data.length; i++) {
    let bits = 0n;
    for (let j = 0; j < per; j++) bits |= BigInt(field(i * per + j)) << BigInt(j * bitsOf(type));
    row.write(data, i, Number(row.kind === 'signed' ? BigInt.asIntN(row.bits, bits) : bits));
  }
  return new Literal(Shape.array(word, dims), data);
}

/** Numbers of these dimensions: a parameter, or what a bitcast makes of one. `highest`: they are below 2^highest. */
function stored(p, random, dims, types = [...INTEGER_TYPES, ...FLOAT_TYPES]) {
  const word = random.chance(0.3) && random.pick(Object.keys(WORDS));
  const type = random.pick(word ? WORDS[word] : types), per = word ? bitsOf(word) / bitsOf(type) : 1, last = dims.at(-1);
  const highest = isFloat(type) ? 3 : bitsOf(type) === 16 ? 4 : bitsOf(type);
  if (!types.includes(type) || last % per) return null;
  if (!word) {
    if (type === 'f32' && random.chance(0.5)) { // numbers that bf16 rounds
      const data = () => Float32Array.from({ length: count(dims) }, () => random.between(-999, 999));
      const step = p.parameter({ lowest: 0, highest: 10, special: 0 }, () => new Literal(Shape.array('f32', dims), data()));
      return { step, type, highest: 10 };
    }
    const x = isFloat(type) ? p.fresh(type, dims, 'whole') : p.indices(type, dims, -(2 ** (highest - 1)), 2 ** highest - 1);
    return { step: x, type, highest };
  }
  const words = p.parameter(DECIDED, () => wordsOf(random, word, type, [...dims.slice(0, -1), last / per]));
  const domain = isFloat(type) ? { lowest: 0, highest, special: 0 } : DECIDED;
  const step = p.add('bitcast-convert', [words], domain, (b, [a]) => b.reshape(b.bitcastConvertType(a, type), dims));
  return { step, type, highest };
}

/* ---- Dequantised matrices ---- */

/** A matrix of these dimensions: stored numbers as floats, less a zero, times a scale along some of the dimensions, in any order. */
function matrix(p, random, dims) {
  const numbers = stored(p, random, dims);
  if (!numbers) return null;
  const own = random.chance(0.2) && (numbers.highest <= 4 || numbers.type === 'f32') ? 'bf16' : 'f32', kept = random.some(numbersTo(dims.length), 0.5);
  const scale = p.fresh(own, kept.map((i) => dims[i]), 'whole');
  const zero = random.pick([0, 0, 0, 1, 8]), way = random.pick(['none', 'scale', 'scale', 'scale', 'divide', 'sum']);
  const early = zero && !isFloat(numbers.type) && bitsOf(numbers.type) < 16 && random.chance(0.5);
  const highest = { none: 0, scale: 3, divide: 0, sum: 1 }[way] + Math.max(numbers.highest, zero ? 4 : 0) + (zero ? 1 : 0);
  const domain = { lowest: way === 'divide' ? -2 : 0, highest, special: 0 };
  return p.add('convert', [numbers.step, scale], withOpenZeros(domain), (b, [a, factors]) => {
    const all = (type, value) => b.broadcast(b.constantR0(value, type), dims);
    let y = early ? b.sub(b.convertElementType(a, 's32'), all('s32', zero)) : a;
    y = b.convertElementType(y, own);
    if (zero && !early) y = b.sub(y, all(own, zero));
    if (way === 'divide') return b.div(y, all(own, 4));
    if (way === 'none') return y;
    return b[way === 'sum' ? 'add' : 'mul'](y, b.broadcastInDim(factors, dims, kept));
  });
}

const exact = ({ lowest, highest, special }) => ({ lowest, highest, special });

/** A product that contracts some dimensions of `w`, wherever they are; of other, or no, rows. */
function product(p, random, w, { depth, batch = [] }) {
  const dims = w.shape.dimensions, own = w.shape.elementType, rows = random.pick([[], [1], [random.between(1, 24)], [2, 3]]);
  const parts = random.shuffle([...batch, ...depth].map((i) => ({ i, size: dims[i] })).concat(rows.map((size) => ({ size }))));
  const x = p.fresh(own, parts.map(({ size }) => size), 'whole'), place = (i) => parts.findIndex((part) => part.i === i);
  const result = contraction('f32', x.domain, exact(w.domain), count(depth.map((i) => dims[i])));
  return result && p.add('dot', [x, w], result, (b, [a, y]) => b.dotGeneral(a, y, {
    lhsContractingDimensions: depth.map(place), rhsContractingDimensions: depth,
    lhsBatchDimensions: batch.map(place), rhsBatchDimensions: batch,
  }, { preferredElementType: 'f32' }));
}

const sizesOf = (random, rank) => numbersTo(rank).map(() => random.pick([1, 2, 3, 8, 16, 24, 32, 48, 64]));

/** Products of one matrix: its depth is in any of its dimensions; of the whole, of a part of it, or of both. */
function weightProducts(p, random) {
  const dims = sizesOf(random, random.pick([2, 2, 3, 3, 4]));
  if (count(dims) > 12000) return null;
  const w = matrix(p, random, dims);
  if (!w) return null;
  const roles = dims.map(() => random.pick(['depth', 'depth', 'free', 'free', 'batch']));
  const of = (role) => numbersTo(dims.length).filter((i) => roles[i] === role);
  const numbers = { depth: random.shuffle(of('depth')), batch: of('batch') };
  if (!numbers.depth.length) return null;
  const steps = random.chance(0.7) ? [product(p, random, w, numbers)] : [];
  for (let i = random.between(steps.length ? 0 : 1, 2); i > 0; i--) {
    const at = dims.map((n) => (random.chance(0.4) ? random.between(0, n - 1) : 0));
    const to = dims.map((n, k) => random.pick([n, random.between(at[k] + 1, n)]));
    const part = p.add('slice', [w], w.domain, (b, [a]) => b.slice(a, at, to));
    steps.push(product(p, random, part, numbers));
  }
  return steps.at(-1);
}

/** A table that is looked up and multiplied by: a tied embedding, experts that are gathered. */
function tableProduct(p, random) {
  const dims = sizesOf(random, random.pick([2, 2, 3])), [height] = dims, rows = random.between(1, 6);
  if (count(dims) > 12000) return null;
  const w = matrix(p, random, dims);
  if (!w) return null;
  const places = p.indices('s32', [rows], random.pick([0, -2]), height + random.pick([-1, 1]));
  const all = numbersTo(dims.length), taken = [rows, ...dims.slice(1)];
  const looked = p.add('gather', [w, places], w.domain, (b, [a, at]) => b.gather(a, at, {
    offsetDims: all.slice(1), collapsedSliceDims: [0], startIndexMap: [0], indexVectorDim: 1,
  }, [1, ...dims.slice(1)]));
  if (random.chance(0.5)) return product(p, random, looked, { depth: [random.between(1, dims.length - 1)], batch: random.chance(0.5) ? [0] : [] });
  const other = p.fresh(w.shape.elementType, taken, 'whole'), { highest, lowest } = w.domain, depth = all.slice(1);
  const sum = { lowest, highest: Math.max(highest, 3) + 1, special: 0 }, result = contraction('f32', sum, exact(w.domain), count(dims.slice(1)));
  return result && p.add('dot', [looked, other, w], result, (b, [a, y, table]) => b.dotGeneral(b.add(a, y), table, {
    lhsContractingDimensions: depth, rhsContractingDimensions: depth, lhsBatchDimensions: [], rhsBatchDimensions: [],
  }, { preferredElementType: 'f32' }));
}

/** A product of narrow integers. Either operand may be converted to a wider integer or a float first. */
function widenedProduct(p, random) {
  const [m, k, n] = [random.pick([1, 2, 8, random.between(1, 70)]), random.pick([1, 8, 32, 64, 160]), random.pick([1, 4, 16, 33, 48])];
  const turned = random.chance(0.5), x = stored(p, random, [m, k], INTEGER_TYPES), w = stored(p, random, turned ? [n, k] : [k, n], INTEGER_TYPES);
  if (!x || !w) return null;
  const own = random.pick(['s32', 's32', 's32', 's16', 's64', 'u32', 's8', 'f32']), wide = [own, own, 's32', 's16', 's8'];
  const through = [random.pick(wide), random.pick(wide)], last = random.chance(0.3) ? 'f32' : own;
  const term = { lowest: 0, highest: 16, special: 0 };
  const domain = own === 'f32' ? contraction('f32', { ...term, highest: x.highest }, { ...term, highest: w.highest }, k) : DECIDED;
  if (own === 'f32' && through.some((type) => bitsOf(type) < 32)) return null;
  return domain && p.add('dot', [x.step, w.step], domain, (b, operands) => {
    const [a, y] = operands.map((operand, i) => {
      const first = b.convertElementType(operand, through[i]);
      return b.convertElementType(first, own);
    });
    const dot = b.dotGeneral(a, y, {
      lhsContractingDimensions: [1], rhsContractingDimensions: [turned ? 1 : 0], lhsBatchDimensions: [], rhsBatchDimensions: [],
    });
    return last === own || own === 's64' || own === 'u32' ? dot : b.convertElementType(dot, last);
  });
}

/** Rows in groups, each group times its own matrix. */
function raggedWeights(p, random) {
  const [groups, rows, depth, columns] = [random.between(1, 5), random.between(1, 24), random.pick([1, 16, 33, 64]), random.pick([1, 8, 24, 33])];
  const turned = random.chance(0.4), w = matrix(p, random, turned ? [groups, columns, depth] : [groups, depth, columns]);
  if (!w || w.shape.elementType !== 'f32') return null;
  const x = p.fresh('f32', [rows, depth], 'whole'), result = contraction('f32', x.domain, exact(w.domain), depth);
  const sizes = p.parameter(DECIDED, () => {
    let left = rows;
    return Literal.from(numbersTo(groups).map(() => { const part = random.between(0, left); left -= part; return part; }), `s32[${groups}]`);
  });
  const numbers = {
    dotDimensionNumbers: { lhsContractingDimensions: [1], rhsContractingDimensions: [turned ? 2 : 1] },
    lhsRaggedDimensions: [0], rhsGroupDimensions: [0],
  };
  return result && p.add('ragged-dot', [x, w, sizes], withOpenZeros(result), (b, [a, y, n]) => b.raggedDot(a, y, n, numbers),
    (b, [a, y, n]) => raggedByDots(b, [a, turned ? b.transpose(y, [0, 2, 1]) : y, n], true));
}

export const weightRules = { weightProducts, tableProduct, widenedProduct, raggedWeights };
