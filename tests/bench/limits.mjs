/**
 * The least work of a row of the operations: vector instructions of 128 bits, vector divisions, and bytes. It is counted
 * in the row's HLO text. Transcendental functions count what XLA's own algorithms for f32 take, a fused multiply-add as
 * two. WebAssembly has neither wider registers nor, in Node 20, the fused form.
 */

const BYTES = { pred: 1, c64: 8, c128: 16, bf16: 2 };
const bytesOf = (type) => BYTES[type] ?? Math.ceil(Number(/\d+/.exec(type)) / 8);
const isComplex = (type) => type === 'c64' || type === 'c128';
const count = (dims) => dims.reduce((a, b) => a * b, 1);

/** Instructions for one vector; [instructions, divisions]. Others: one instruction. */
const COSTS = {
  exponential: [27], log: [32], 'log-plus-one': [36, 1], logistic: [29, 1], tanh: [24, 1], erf: [26, 1],
  divide: [0, 1], sqrt: [0, 1], rsqrt: [0, 2], clamp: [2], sign: [4], 'round-nearest-afz': [4], 'is-finite': [2],
};
/** Their work is elsewhere, or depends on data. */
const LOOPS = /^(while|custom-call|conditional|sort|fft)$/;
/** Longer than it is worth to count. */
const UNKNOWN = new Set(('scatter rng reduce-window expm1 exponential-minus-one power remainder sine cosine tan cbrt atan2 asinh ' +
  'acosh atanh sinh cosh asin acos topk map select-and-scatter triangular-solve cholesky population-count ' +
  'count-leading-zeros rng-bit-generator').split(' '));
/** Free: they compute nothing, or once. */
const FREE = /^(parameter|constant|broadcast|reshape|iota|tuple|get-tuple-element|transpose|slice|concatenate|pad|reverse|gather|copy|bitcast|bitcast-convert|dynamic-slice|dynamic-update-slice)$/;
/** Between a narrow float's bits and an f32. */
const NARROW = { bf16: { read: 1, round: 5 }, f16: { read: 7, round: 12 }, f8e5m2: { read: 7, round: 12 }, f8e4m3fn: { read: 7, round: 12 } };

/** Linear algebra of n x n, in multiplications and additions of n^3 (LAPACK's counts). Solves have n right sides; the
 * inverse is one of the identity. */
const FACTORS = { 'cholesky': 1 / 3, 'triangular solve': 1, 'solve': 8 / 3, 'inv': 8 / 3, 'det': 2 / 3, 'qr': 8 / 3,
  'hessenberg': 10 / 3, 'pivoted QR': 4 / 3 };

/* Of a tuple, the first shape stands for all. */
const INSTRUCTION = /^\s*(?:ROOT )?%?(\S+) = \(?(\w+)\[([\d,]*)\].*? ([\w-]+)\((.*?)\)(.*)$/;
const COMPUTATION = /^(?:ENTRY )?%?([\w.-]+) (?:\(.*)?\{$/;

function parse(text) {
  const computations = {};
  let entry, now;
  for (const line of text.split('\n')) {
    const start = COMPUTATION.exec(line), found = INSTRUCTION.exec(line);
    if (start) now = computations[start[1]] = [];
    if (start && line.startsWith('ENTRY')) entry = start[1];
    if (!found || !now) continue;
    const [, name, type, dims, opcode, operands, attributes] = found;
    now.push({ name, type, dims: dims.split(',').filter(Boolean).map(Number), opcode, attributes,
      operands: operands.split(',').map((x) => x.trim().replace(/^%/, '')) });
  }
  return { computations, entry };
}

/** The lanes of a vector in which a type is computed. */
const lanes = (type) => 16 / (type === 'pred' || type.includes('f') ? Math.max(bytesOf(type), 4) : bytesOf(type));

/** Multiplications of a product or a convolution. */
function multiplications({ opcode, dims, operands, attributes }, byName) {
  const [left, right] = operands.map((name) => byName[name]);
  if (opcode === 'dot') {
    const summed = /lhs_contracting_dims=\{([\d,]*)\}/.exec(attributes)[1].split(',').filter(Boolean);
    return count(dims) * count(summed.map((d) => left.dims[d]));
  }
  const features = /dim_labels=\w+_(\w+)->/.exec(attributes)[1].indexOf('o');
  return (count(dims) * count(right.dims)) / right.dims[features];
}

/** One instruction's [instructions, divisions]; undefined if it is not known. */
function cost(x, byName, computations) {
  const operand = byName[x.operands[0]], elements = count(x.dims);
  if (LOOPS.test(x.opcode)) return undefined;
  const called = /to_apply=%?([\w.-]+)/.exec(x.attributes);
  if (x.opcode === 'call') return total(computations[called[1]], computations);
  if (FREE.test(x.opcode) || elements === 1) return [0, 0];
  if (x.opcode === 'dot' || x.opcode === 'convolution') {
    const parts = isComplex(x.type) ? 4 : 1, width = isComplex(x.type) ? 32 / bytesOf(x.type) : lanes(x.type);
    return [(2 * parts * multiplications(x, byName)) / width, 0];
  }
  if (UNKNOWN.has(x.opcode) || isComplex(x.type) || (operand && isComplex(operand.type))) return undefined;
  if (x.opcode === 'reduce') return [count(operand.dims) / lanes(x.type), 0];
  if (x.opcode === 'convert') {
    const [from, to] = [NARROW[operand.type], NARROW[x.type]];
    return [((from?.read ?? 0) + (to?.round ?? 0) + (from || to ? 0 : 1)) * (elements / lanes(x.type)), 0];
  }
  const isFloat = x.type.includes('f');
  const constant = /^(constant|broadcast)$/.test(byName[x.operands[1]]?.opcode);
  if (/^(divide|multiply)$/.test(x.opcode) && /64$/.test(x.type) && !isFloat && !constant) return undefined;
  let [instructions, divisions = 0] = COSTS[x.opcode] ?? [1];
  if (x.opcode === 'divide' && !isFloat && !constant) return undefined;
  if (x.opcode === 'divide' && !isFloat) [instructions, divisions] = [bytesOf(x.type) === 8 ? 16 : 10, 0];
  if (/^shift/.test(x.opcode) && !constant) instructions = 12; // there are only shifts of all lanes alike
  if (x.type === 'f64' && instructions > 20) return undefined; // COSTS are of f32
  const narrow = NARROW[x.type];
  if (narrow) instructions += narrow.round + x.operands.length * narrow.read;
  const vectors = elements / lanes(x.type);
  return [instructions * vectors, divisions * vectors];
}

function total(instructions, computations) {
  const byName = Object.fromEntries(instructions.map((x) => [x.name, x])), sum = [0, 0];
  for (const x of instructions) {
    const costs = cost(x, byName, computations);
    if (!costs) return undefined;
    costs.forEach((much, i) => {
      sum[i] += much;
    });
  }
  return sum;
}

/** The products alone, in all computations. */
function products(computations) {
  const all = Object.values(computations).flatMap((instructions) => {
    const byName = Object.fromEntries(instructions.map((x) => [x.name, x]));
    return instructions.filter(({ opcode }) => opcode === 'dot').map((x) => cost(x, byName, computations)[0]);
  });
  return all.reduce((a, b) => a + b, 0);
}

/** Linear algebra, by the row's title ("qr 256 f64"), and the products that make its operand. */
function workOfFactors(title, computations) {
  const [, name, n, type = 'f32'] = /^(\D+?) (\d+)(?: (f32|f64|c64))?$/.exec(title) ?? [];
  if (!FACTORS[name]) return undefined;
  const parts = isComplex(type) ? 4 : 1, width = isComplex(type) ? 4 : lanes(type);
  return { instructions: (FACTORS[name] * parts * n ** 3) / width + products(computations), divisions: 0, bytes: 0 };
}

/**
 * @param {string} title of the row
 * @param {string} text its program
 * @returns {{ instructions: number, divisions: number, bytes: number } | undefined}
 */
export function workOf(title, text) {
  const { computations, entry } = parse(text);
  const sums = total(computations[entry], computations);
  if (!sums) return workOfFactors(title, computations);
  const arrays = computations[entry].filter(({ opcode }) => opcode === 'parameter');
  arrays.push(computations[entry].at(-1));
  const moves = computations[entry].some(({ opcode }) => /gather|slice/.test(opcode)); // reads a part
  const bytes = (moves ? arrays.slice(-1) : arrays).reduce((sum, { type, dims }) => sum + count(dims) * bytesOf(type), 0);
  return { instructions: sums[0], divisions: sums[1], bytes };
}
