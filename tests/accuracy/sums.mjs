/**
 * Measures the errors of long sums, on each path that adds, in units of roundoff: of the result's difference from the
 * exact sum, relative to the sum of the terms' absolute values.
 *
 *   node tests/accuracy/sums.mjs [PATHS]   prints README.md's table; PATHS is a regular expression
 *   node tests/accuracy/sums.mjs --xla     asks real XLA:CPU (sums.py) and writes its errors to sums.json
 */
import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';

import { Client, Literal } from '../../bindings/index.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';

/* ---- The numbers: term i of sum k, of n terms ---- */

const EQUAL = [0.1, 1 / 3, 0.7, 1.1, 0.3, 0.9, 1.7, 0.6];

function hash(i, k) {
  let x = Math.imul(i + 1, 0x9e3779b1) ^ Math.imul(k + 1, 0x85ebca77);
  x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d);
  return ((x ^ (x >>> 13)) >>> 0) / 2 ** 32;
}

export const NUMBERS = {
  equal: (i, k) => EQUAL[k % EQUAL.length],
  random: hash,
  alternating: (i, k) => (i % 2 ? -1 : 1) * (1000 + hash(i, k)),
  growing: (i, k, n) => ((i + 1) / n) * (0.37 + 0.01 * k),
};

/* ---- Exact sums: of two doubles ---- */

class Exact {
  constructor(count) {
    this.high = new Float64Array(count);
    this.low = new Float64Array(count);
    this.size = new Float64Array(count);
  }

  add(k, x) {
    const high = this.high[k], sum = high + x, part = sum - high;
    this.low[k] += high - (sum - part) + (x - part);
    this.high[k] = sum;
    this.size[k] += Math.abs(x);
  }

  value(k) {
    return this.high[k] + this.low[k];
  }
}

/* ---- Programs ---- */

const zero = (type) => (type[0] === 'c' ? '(0, 0)' : '0');
const list = (items) => items.join(',');
const product = (dims) => dims.reduce((a, b) => a * b, 1);

const program = (type, lines) => `HloModule sums
add { a = ${type}[] parameter(0)
  b = ${type}[] parameter(1)
  ROOT r = ${type}[] add(a, b) }
${lines.replaceAll('@', type).replaceAll('zero', `constant(${zero(type)})`)}`;

const sameOf = (x) => x, half = (x) => x / 2, square = (x) => x * x;

/**
 * A path whose results are finish(sum of f(x)) over dimensions of q, which `before` makes of p; by `after`, where a
 * sum is s.
 */
function reduction(shape, over, options = {}) {
  const {
    before = 'q = @[S] copy(p)', after = 'ROOT r = @[K] copy(s)', f = sameOf, finish = sameOf, input = shape, from = over,
  } = options;
  return (type, n) => {
    const dims = shape(n), kept = dims.filter((_, d) => !over.includes(d));
    const lines = `ENTRY e { p = @[${list(input(n))}] parameter(0)
  z = @[] zero
  ${before}
  s = @[K] reduce(q, z), dimensions={${over}}, to_apply=add
  ${after} }`;
    const text = program(type, lines.replaceAll('[S]', `[${list(dims)}]`).replaceAll('[K]', `[${list(kept)}]`));
    return { text: text.replaceAll('N2', `${2 * n}`), dims: input(n), over: from, f, finish, terms: n };
  };
}

/** Windows of `size(n)` elements. */
const windows = (shape, size) => (type, n) => {
  const dims = shape(n), window = size(n);
  const places = dims.map((length, d) => length - window[d] + 1);
  return {
    dims, terms: n, window, places,
    text: program(type, `ENTRY e { p = @[${list(dims)}] parameter(0)
  z = @[] zero
  ROOT r = @[${list(places)}] reduce-window(p, z), window={size=${window.join('x')}}, to_apply=add }`),
  };
};

const cumulative = (shape, along, backwards = false) => (type, n) => {
  const dims = shape(n), ones = dims.map((_, d) => (d === along ? n : 1));
  const pad = dims.map((_, d) => (d !== along ? '0_0' : backwards ? `0_${n - 1}` : `${n - 1}_0`));
  return {
    dims, terms: n, along, backwards,
    text: program(type, `ENTRY e { p = @[${list(dims)}] parameter(0)
  z = @[] zero
  ROOT r = @[${list(dims)}] reduce-window(p, z), window={size=${ones.join('x')} pad=${pad.join('x')}}, to_apply=add }`),
  };
};

const scatter = (width) => (type, n) => ({
  dims: [n, width], over: [0], f: sameOf, finish: sameOf, terms: n,
  text: program(type, `ENTRY e { p = @[${n},${width}] parameter(0)
  z = @[] zero
  t = @[4,${width}] broadcast(z), dimensions={}
  one = s32[] constant(1)
  at = s32[${n},1] broadcast(one), dimensions={}
  s = @[4,${width}] scatter(t, at, p), to_apply=add, update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1
  ROOT r = @[1,${width}] slice(s), slice={[1:2], [0:${width}]} }`),
});

/** In a loop that runs three times; a turn's sums begin from the last turn's first one, times 0. */
const inLoop = (shape, over) => (type, n) => {
  const dims = shape(n), kept = list(dims.filter((_, d) => !over.includes(d)));
  const state = `(s32[], @[${kept}], @[${list(dims)}])`;
  return {
    dims, over, f: sameOf, finish: sameOf, terms: n,
    text: program(type, `cond { s = ${state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT r = pred[] compare(i, n), direction=LT }
body { s = ${state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  y = @[${kept}] get-tuple-element(s), index=1
  p = @[${list(dims)}] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  e = @[1] slice(y), slice={[0:1]}
  k = @[] zero
  c = @[] reshape(e)
  z = @[] multiply(c, k)
  t = @[${kept}] reduce(p, z), dimensions={${over}}, to_apply=add
  ROOT r = ${state} tuple(j, t, p) }
ENTRY e { p = @[${list(dims)}] parameter(0)
  z = @[] zero
  y = @[${kept}] broadcast(z), dimensions={}
  i = s32[] constant(0)
  t = ${state} tuple(i, y, p)
  w = ${state} while(t), condition=cond, body=body
  ROOT r = @[${kept}] get-tuple-element(w), index=1 }`),
  };
};

/** A sum and a sum of squares of the same numbers; `result` says which one is measured. */
const siblings = (shape, over, result) => (type, n) => {
  const dims = shape(n), kept = list(dims.filter((_, d) => !over.includes(d)));
  return {
    dims, over, result, f: result ? square : sameOf, finish: sameOf, terms: n,
    text: program(type, `ENTRY e { p = @[${list(dims)}] parameter(0)
  z = @[] zero
  q = @[${list(dims)}] multiply(p, p)
  a = @[${kept}] reduce(p, z), dimensions={${over}}, to_apply=add
  b = @[${kept}] reduce(q, z), dimensions={${over}}, to_apply=add
  ROOT r = (@[${kept}], @[${kept}]) tuple(a, b) }`),
  };
};

/** Batch norm of six features: result 1 of training has their means, result 2 of the gradients those of the offsets. */
const batchNorm = (operation, result, finish) => (type, n) => {
  const dims = [n / 64, 8, 8, 6], all = `@[${list(dims)}]`;
  const operands = { training: 'p, one, nought', grad: 'p, one, nought, one, p' };
  return {
    dims, over: [0, 1, 2], result, f: sameOf, finish, terms: n,
    text: program(type, `ENTRY e { p = ${all} parameter(0)
  z = @[] zero
  o = @[] constant(1)
  nought = @[6] broadcast(z), dimensions={}
  one = @[6] broadcast(o), dimensions={}
  ROOT r = (${all}, @[6], @[6]) batch-norm-${operation}(${operands[operation]}), epsilon=0.001, feature_index=3 }`),
  };
};

/** A product 1 x n x k. */
const product1 = (columns) => (type, n) => ({
  dims: [n, columns], over: [0], f: sameOf, finish: sameOf, terms: n,
  text: program(type, `ENTRY e { p = @[${n},${columns}] parameter(0)
  o = @[] constant(${type[0] === 'c' ? '(1, 0)' : '1'})
  ones = @[1,${n}] broadcast(o), dimensions={}
  ROOT r = @[1,${columns}] dot(ones, p), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`),
});

/** A softmax of rows, whose quotients show the error of the sums. */
const softmax = (rows) => (type, n) => ({
  dims: [rows, n], softmax: true, terms: n,
  text: program(type, `max { a = @[] parameter(0)
  b = @[] parameter(1)
  ROOT r = @[] maximum(a, b) }
ENTRY e { p = @[${rows},${n}] parameter(0)
  z = @[] zero
  i = @[] constant(-inf)
  m = @[${rows}] reduce(p, i), dimensions={1}, to_apply=max
  mb = @[${rows},${n}] broadcast(m), dimensions={0}
  d = @[${rows},${n}] subtract(p, mb)
  x = @[${rows},${n}] exponential(d)
  s = @[${rows}] reduce(x, z), dimensions={1}, to_apply=add
  sb = @[${rows},${n}] broadcast(s), dimensions={0}
  ROOT y = @[${rows},${n}] divide(x, sb) }`),
});

const ALL_TYPES = ['f32', 'f64', 'c64', 'c128', 'bf16', 'f16'];
const WIDE_TYPES = ['f32', 'f64', 'c64', 'c128'];

const SQUARES = 'q = @[S] multiply(p, p)';
const EVERY_OTHER = {
  before: 'q = @[S] slice(p), slice={[0:N2:2]}', input: (n) => [2 * n], f: (x, at) => (at % 2 ? 0 : x),
};
const TRANSPOSE = { before: 'q = @[S] transpose(p), dimensions={1,0}', input: (n) => [n, 6], from: [0] };
const HALVES = {
  before: 'h = @[] constant(0.5)\n  hb = @[S] broadcast(h), dimensions={}\n  q = @[S] multiply(p, hb)', f: half,
};
const NORM = { before: SQUARES, after: 'ROOT r = @[K] sqrt(s)', f: square, finish: Math.sqrt };

/** name: the program; its types (f32 alone by default); the largest number of terms as a power of 2, in the table. */
export const PATHS = {
  'all of a vector': { make: reduction((n) => [n], [0]), types: ALL_TYPES, most: 26 },
  'rows': { make: reduction((n) => [6, n], [1]), types: ALL_TYPES, most: 20 },
  'columns, 16': { make: reduction((n) => [n, 16], [0]), types: ALL_TYPES, most: 20 },
  'columns, 3': { make: reduction((n) => [n, 3], [0]), most: 20 },
  'columns, 200': { make: reduction((n) => [n, 200], [0]), most: 16 },
  'the middle': { make: reduction((n) => [3, n, 8], [1]), types: ALL_TYPES, most: 20 },
  '0, 1, 2 of 4': { make: reduction((n) => [n / 64, 8, 8, 24], [0, 1, 2]), types: ALL_TYPES, most: 20 },
  '0, 2, 3 of 4': { make: reduction((n) => [n / 64, 6, 8, 8], [0, 2, 3]), most: 20 },
  'outer long, inner short': { make: reduction((n) => [n / 8, 6, 8], [0, 2]), types: WIDE_TYPES, most: 20 },
  'outer short, inner long': { make: reduction((n) => [8, 6, n / 8], [0, 2]), most: 20 },
  'every other': { make: reduction((n) => [n], [0], EVERY_OTHER), most: 20 },
  'of a transpose': { make: reduction((n) => [6, n], [1], TRANSPOSE), most: 20 },
  'fused: halves': { make: reduction((n) => [n, 16], [0], HALVES), most: 20 },
  'fused: squares': { make: reduction((n) => [6, n], [1], { before: SQUARES, f: square }), most: 20 },
  'norms': { make: reduction((n) => [n, 8], [0], NORM), most: 20 },
  'sums beside squares': { make: siblings((n) => [n, 16], [0], 0), most: 20 },
  'squares beside sums': { make: siblings((n) => [n, 16], [0], 1), most: 20 },
  'squares of rows beside sums': { make: siblings((n) => [6, n], [1], 1), most: 20 },
  'in a loop, columns': { make: inLoop((n) => [n, 8], [0]), most: 20 },
  'in a loop, rows': { make: inLoop((n) => [6, n], [1]), most: 20 },
  'softmax': { make: softmax(64), most: 16, numbers: ['equal', 'random', 'growing'] },
  'batch norm: means': { make: batchNorm('training', 1, (x, n) => x / n), most: 20 },
  'batch norm: gradients of offsets': { make: batchNorm('grad', 2, sameOf), most: 20 },
  'windows': { make: windows((n) => [n + 7], (n) => [n]), types: WIDE_TYPES, most: 20 },
  'windows across': { make: windows((n) => [n + 3, 8], (n) => [n, 1]), most: 20 },
  'windows of two dimensions': { make: windows((n) => [n / 16 + 2, 19], (n) => [n / 16, 16]), most: 20 },
  'cumulative': { make: cumulative((n) => [n], 0), types: WIDE_TYPES, most: 26 },
  'cumulative, backwards': { make: cumulative((n) => [n], 0, true), most: 20 },
  'cumulative, across': { make: cumulative((n) => [n, 24], 0), types: WIDE_TYPES, most: 20 },
  'cumulative, along': { make: cumulative((n) => [20, n], 1), most: 20 },
  'cumulative, three lines': { make: cumulative((n) => [3, n], 1), most: 20 },
  'scatter into one': { make: scatter(1), types: ['f32', 'f64'], most: 20 },
  'scatter rows into one': { make: scatter(8), most: 20 },
  'dot 1 x n x 1': { make: product1(1), types: WIDE_TYPES, most: 20 },
  'dot 1 x n x 8': { make: product1(8), most: 20 },
};

/* ---- Operands and errors ---- */

const stridesOf = (dims) => dims.map((_, d) => product(dims.slice(d + 1)));

/** Calls visit(flat, i, k) for all elements, where `over` dimensions count i and the others k. */
function walk(dims, over, visit) {
  const isOver = dims.map((_, d) => over.includes(d));
  const steps = dims.map((_, d) => product(dims.filter((__, j) => j > d && isOver[j] === isOver[d])));
  const index = dims.map(() => 0);
  const count = product(dims);
  let i = 0, k = 0;
  for (let flat = 0; flat < count; flat++) {
    visit(flat, i, k);
    for (let d = dims.length - 1; d >= 0; d--) {
      if (isOver[d]) i += steps[d]; else k += steps[d];
      if (++index[d] < dims[d]) break;
      if (isOver[d]) i -= steps[d] * dims[d]; else k -= steps[d] * dims[d];
      index[d] = 0;
    }
  }
}

/** Which dimensions count the terms, of those of the operand. */
function termDims(made) {
  if (made.softmax) return [1];
  if (made.along !== undefined) return [made.along];
  if (made.window) return made.window.map((size, d) => (size > 1 ? d : -1)).filter((d) => d >= 0);
  return made.over;
}

export function makeCase(path, type, numbers, n) {
  return { ...PATHS[path].make(type, n), path, type, numbers, n };
}

/** The operand, and its values as doubles. */
export function operandOf(one) {
  const { Array: Typed, lanes, write, read, kind } = ELEMENT_TYPES.get(one.type);
  const count = product(one.dims), data = new Typed(count * lanes), values = [];
  const number = NUMBERS[one.numbers], over = termDims(one);
  const part = new Float64Array(count), other = lanes === 2 ? new Float64Array(count) : null;
  walk(one.dims, over, (flat, i, k) => {
    const x = number(i, k, one.terms);
    if (lanes === 2) {
      data[2 * flat] = x;
      data[2 * flat + 1] = number(i, k + 1, one.terms);
      part[flat] = data[2 * flat];
      other[flat] = data[2 * flat + 1];
    } else {
      write(data, flat, x);
      part[flat] = kind === 'float' && Typed !== Float32Array && Typed !== Float64Array ? read(data, flat) : data[flat];
    }
  });
  values.push(part);
  if (other) values.push(other);
  return { data, values };
}

/** Exact results with the sizes they are measured by: of one part. */
function exactOf(one, x) {
  const { dims } = one, strides = stridesOf(dims);
  if (one.softmax) {
    const want = new Float64Array(x.length), [rows, n] = dims;
    for (let r = 0; r < rows; r++) {
      const row = x.subarray(r * n, r * n + n), most = row.reduce((a, b) => Math.max(a, b)), sum = new Exact(1);
      for (const value of row) sum.add(0, Math.exp(value - most));
      row.forEach((value, i) => { want[r * n + i] = Math.exp(value - most) / sum.value(0); });
    }
    return { want, size: want };
  }
  if (one.along !== undefined) {
    const want = new Float64Array(x.length), size = new Float64Array(x.length);
    const length = dims[one.along], stride = strides[one.along];
    for (let first = 0; first < x.length; first++) {
      if (Math.floor(first / stride) % length) continue;
      const sum = new Exact(1);
      for (let i = 0; i < length; i++) {
        const at = first + stride * (one.backwards ? length - 1 - i : i);
        sum.add(0, x[at]);
        [want[at], size[at]] = [sum.value(0), sum.size[0]];
      }
    }
    return { want, size };
  }
  if (one.window) {
    const sum = new Exact(product(one.places));
    const offset = (number, sizes) => sizes.reduce((at, size, d) => (
      at + (Math.floor(number / product(sizes.slice(d + 1))) % size) * strides[d]), 0);
    const within = Array.from({ length: product(one.window) }, (_, i) => offset(i, one.window));
    sum.high.forEach((_, k) => {
      const first = offset(k, one.places);
      for (const at of within) sum.add(k, x[first + at]);
    });
    return resultsOf(sum, one);
  }
  const kept = product(dims.filter((_, d) => !one.over.includes(d))), sum = new Exact(kept);
  walk(dims, one.over, (flat, i, k) => sum.add(k, one.f(x[flat], flat)));
  return resultsOf(sum, one);
}

function resultsOf(sum, { finish = sameOf, terms }) {
  return {
    want: sum.high.map((_, k) => finish(sum.value(k), terms)),
    size: sum.size.map((size) => finish(size, terms)),
  };
}

/** Root mean square of the results' errors, in units of roundoff. */
export function errorOf(one, values, result) {
  const { lanes, mantissaBits, read } = ELEMENT_TYPES.get(one.type), unit = 2 ** -(mantissaBits + 1);
  let sum = 0, count = 0;
  values.forEach((x, part) => {
    const { want, size } = exactOf(one, x);
    want.forEach((exact, k) => {
      const got = lanes === 2 ? result[2 * k + part] : read(result, k);
      sum += (Math.abs(got - exact) / size[k] / unit) ** 2;
      count++;
    });
  });
  return Math.sqrt(sum / count);
}

/** Our error. */
export async function measure(client, one, options) {
  const { data, values } = operandOf(one);
  const module = client.parseHlo(one.text), executable = await client.compile(module, options);
  const results = await executable.execute([new Literal(executable.parameters[0].shape, data)]);
  const literal = results.flat(9)[one.result ?? 0];
  const error = errorOf(one, values, literal.data);
  executable.dispose();
  module.dispose();
  return error;
}

const POWERS = [10, 13, 16, 20, 26];
const MOST = { table: 2 ** 22, test: 2 ** 17 }; // elements; beyond 2^20 terms, any number

/** All cases of the table; or those of the test: each path's longest sums. */
export function* cases(paths, kind = 'table') {
  for (const [path, { types = ['f32'], most, numbers = Object.keys(NUMBERS), make }] of Object.entries(paths)) {
    for (const type of types) {
      const limit = Math.min(most, type === 'f16' ? 13 : type === 'f32' ? 26 : 16);
      const powers = POWERS.filter((power) => power <= limit &&
        ((power > 20 && kind === 'table') || product(make(type, 2 ** power).dims) <= MOST[kind]));
      const [which, what] = kind === 'table' ? [powers, numbers] : [powers.slice(-1), type === 'f32' ? numbers : ['equal', 'growing']];
      for (const power of which) {
        for (const name of what) yield { path, type, numbers: name, n: 2 ** power };
      }
    }
  }
}

export const keyOf = ({ path, type, numbers, n }) => `${path} ${type} ${numbers} ${Math.log2(n)}`;
export const readTable = async () => JSON.parse(await readFile(new URL('sums.json', import.meta.url), 'utf8'));

/** What an error may be: XLA's, of which the table has three digits, or that of a sum by blocks of blocks. */
export const allowed = (table, one) => Math.max((table[keyOf(one)] ?? 0) * 1.005, Math.log2(one.n));

/* ---- Scripts ---- */

/** Runs a case on real XLA:CPU: sums.py answers each line with one. */
function xla(root) {
  const python = spawn(`${root}build/venv/bin/python`, [`${root}tests/accuracy/sums.py`], { stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = createInterface({ input: python.stdout })[Symbol.asyncIterator]();
  return {
    async run(request) {
      python.stdin.write(`${JSON.stringify(request)}\n`);
      const { value, done } = await answers.next();
      if (done || value !== 'done') throw new Error(`sums.py: ${value}`);
    },
    end: () => python.stdin.end(),
  };
}

async function askXla() {
  const root = new URL('../../', import.meta.url).pathname, folder = `${root}build/sums`;
  const file = new URL('sums.json', import.meta.url), table = {}, { run, end } = xla(root);
  await mkdir(folder, { recursive: true });
  for (const which of cases(PATHS)) {
    const { path, type, numbers, n } = which, one = makeCase(path, type, numbers, n);
    const { data, values } = operandOf(one), { Array: Typed } = ELEMENT_TYPES.get(type);
    await writeFile(`${folder}/operand`, new Uint8Array(data.buffer));
    await run({ folder, type, text: one.text, dims: one.dims, result: one.result ?? 0 });
    const result = new Typed(new Uint8Array(await readFile(`${folder}/result`)).buffer);
    table[keyOf(which)] = Number(errorOf(one, values, result).toPrecision(3));
    console.log(keyOf(which), table[keyOf(which)]);
    const rows = Object.entries(table).map(([key, error]) => `  ${JSON.stringify(key)}: ${error}`);
    await writeFile(file, `{\n${rows.join(',\n')}\n}\n`);
  }
  end();
}

/** Prints, for each path and type, the worst error over all numbers: ours, and XLA's. */
async function printTable(only) {
  const client = await Client.create({ threads: 0 }), table = await readTable();
  const powers = [10, 16, 20, 26];
  console.log(`| path | type | ${powers.map((power) => `2^${power}`).join(' | ')} |`);
  console.log(`| --- | --- |${' --: |'.repeat(powers.length)}`);
  for (const [path, row] of Object.entries(PATHS).filter(([name]) => only.test(name))) {
    for (const type of row.types ?? ['f32']) {
      const worst = {};
      for (const which of cases({ [path]: { ...row, types: [type] } })) {
        const power = Math.log2(which.n);
        if (!powers.includes(power)) continue;
        const one = makeCase(path, type, which.numbers, which.n), ours = await measure(client, one);
        const [most, theirs] = worst[power] ?? [0, 0];
        worst[power] = [Math.max(most, ours), Math.max(theirs, table[keyOf(which)] ?? NaN)];
      }
      const cells = powers.map((power) => worst[power]?.map((error) => error.toPrecision(2)).join(' / ') ?? '');
      console.log(`| ${path} | ${type} | ${cells.join(' | ')} |`);
    }
  }
  client.dispose();
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  await (process.argv[2] === '--xla' ? askXla() : printTable(new RegExp(process.argv[2] ?? '.')));
}
