/**
 * Tests products that compute only a part of their results or terms.
 *
 * - limit-products: if results are masked by iota < n, the product reads only the first n columns.
 * - Zeros at the ends of vectors: the rows of the matrix that they multiply are not read, if these rows are finite.
 *
 * Results are compared with those without the rewrite, and with JavaScript's. Masked columns may hold NaNs.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { Literal } from '../../bindings/index.mjs';
import { afterPass, client } from '../support/passes.mjs';


const HEADS = 3, LENGTH = 80, DEPTH = 32;

/** Scores of one query, or several, masked. The mask is computed in its own dimensions. */
function program({
  mask = (compare) => compare('i', 'n', 'LT'), n = 's32[]', type = 'f32', queries = 1, select = 'select(p, f, c)',
  cache = `${HEADS},${LENGTH},${DEPTH}`, rhs = 'rhs_batch_dims={0}, rhs_contracting_dims={2}', between = 'f = f32[D] multiply(s, h)', also = '',
} = {}) {
  const dims = `${HEADS},${queries},${LENGTH}`;
  const compare = (a, b, direction) => `q = pred[${LENGTH}] compare(${a}, ${b}), direction=${direction}`;
  const integer = /^\w+/.exec(n)[0];
  return `HloModule m
ENTRY e { x = f32[${HEADS},${queries},${DEPTH}] parameter(0)
  k = ${type}[${cache}] parameter(1)
  v = ${n} parameter(2)
  scalar = ${integer}[] reshape(v)
  n = ${integer}[${LENGTH}] broadcast(scalar), dimensions={}
  i = ${integer}[${LENGTH}] iota(), iota_dimension=0
  ${mask(compare)}
  p = pred[D] broadcast(q), dimensions={2}
  kf = f32[${cache}] convert(k)
  s = f32[D] dot(x, kf), lhs_batch_dims={0}, lhs_contracting_dims={2}, ${rhs}
  half = f32[] constant(0.5)
  h = f32[D] broadcast(half), dimensions={}
  ${between}
  low = f32[] constant(-1e30)
  c = f32[D] broadcast(low), dimensions={}
  ${also ? `r = f32[D] ${select}` : `ROOT r = f32[D] ${select}`}
  ${also} }`.replaceAll('[D]', `[${dims}]`);
}

/** Whether products are limited by a comparison of positions; by what a mask holds. */
const limits = (text) => /limited_/.test(afterPass(text, 'limit-products') ?? '') && !looks(text);
const looks = (text) => / s32\[\d*\]\S* reduce\(select/.test(afterPass(text, 'limit-products') ?? '');

async function results(text, args, options) {
  const executable = await client.compile(client.parseHlo(text), options);
  const got = await executable.execute(args);
  executable.dispose();
  return got.map((literal) => Array.from(literal.data));
}

function whole(count, seed) {
  const numbers = new Float32Array(count);
  for (let i = 0, n = (seed * 104729) % 65537; i < count; i++, n = (n + 7919) % 65537) numbers[i] = n % 7 - 3;
  return numbers;
}

/** A cache whose positions before `from` and from `valid` on are NaN, and scores by definition. */
function data(queries, valid, layout, from) {
  const x = whole(HEADS * queries * DEPTH, 1), k = whole(HEADS * LENGTH * DEPTH, 2);
  const at = (h, t, d) => layout === 'thd' ? (t * HEADS + h) * DEPTH + d : (h * LENGTH + t) * DEPTH + d;
  const want = [];
  for (let h = 0; h < HEADS; h++) {
    const keeps = (t) => t >= from && t < valid;
    for (let t = 0; t < LENGTH; t++) for (let d = 0; d < DEPTH; d++) if (!keeps(t)) k[at(h, t, d)] = NaN;
    for (let i = 0; i < queries; i++) {
      for (let t = 0; t < LENGTH; t++) {
        let sum = 0;
        for (let d = 0; d < DEPTH; d++) sum += x[(h * queries + i) * DEPTH + d] * k[at(h, t, d)];
        want.push(keeps(t) ? sum / 2 : Math.fround(-1e30));
      }
    }
  }
  return { x, k, want };
}

/** The mask n - width <= iota < n. */
const windowed = (compare, width) => `${compare('i', 'n', 'LT').replace('q =', 'o =')}
  width = s32[] constant(${width})
  widths = s32[${LENGTH}] broadcast(width), dimensions={}
  first = s32[${LENGTH}] subtract(n, widths)
  ${compare('i', 'first', 'GE').replace('q =', 'b =')}
  q = pred[${LENGTH}] and(o, b)`;

/** The positions and n as floats, and a float that is added to n. */
const floats = (value) => `fi = f32[${LENGTH}] iota(), iota_dimension=0
  one = s32[1] reshape(scalar)
  fn = f32[1] convert(one)
  zero = f32[1] iota(), iota_dimension=0
  fz = f32[1] add(zero, fn)
  value = f32[1] constant({${value}})
  sum = f32[1] add(fz, value)
  sums = f32[1,${LENGTH}] broadcast(sum), dimensions={0}
  fm = f32[${LENGTH}] reshape(sums)`;

/** The mask `compare` as numbers, which are compared with another number; as MaxText writes it. */
const again = (compare, { type = 'f32', kept, dropped, number, direction, turned = false }) => `${compare.replace('q =', 'o =')}
  kept = ${type}[] constant(${kept})
  dropped = ${type}[] constant(${dropped})
  number = ${type}[] constant(${number})
  ks = ${type}[${LENGTH}] broadcast(kept), dimensions={}
  ds = ${type}[${LENGTH}] broadcast(dropped), dimensions={}
  both = ${type}[${LENGTH}] select(o, ks, ds)
  one = ${type}[1,${LENGTH}] reshape(both)
  numbers = ${type}[1,${LENGTH}] broadcast(number), dimensions={}
  m = pred[1,${LENGTH}] compare(${turned ? 'numbers, one' : 'one, numbers'}), direction=${direction}
  q = pred[${LENGTH}] reshape(m)`;

const FORMS = {
  'iota < n': { valid: (n) => n },
  'iota <= n': { mask: (c) => c('i', 'n', 'LE'), valid: (n) => n + 1 },
  'n > iota': { mask: (c) => c('n', 'i', 'GT'), valid: (n) => n },
  'iota >= n, the other branch': { mask: (c) => c('i', 'n', 'GE'), select: 'select(p, c, f)', valid: (n) => n },
  'not iota > n': { mask: (c) => `${c('i', 'n', 'GT').replace('q =', 'o =')}\n q = pred[${LENGTH}] not(o)`, valid: (n) => n + 1 },
  'with another mask': {
    mask: (c) => `${c('i', 'n', 'LT').replace('q =', 'o =')}\n t = pred[] constant(true)\n a = pred[${LENGTH}] broadcast(t), dimensions={}\n q = pred[${LENGTH}] and(a, o)`,
    valid: (n) => n,
  },
  'a window': { mask: (c) => windowed(c, 20), valid: (n) => n, from: (n) => (n - 20) | 0 },
  'a window of 30 queries': { mask: (c) => windowed(c, 33), queries: 30, valid: (n) => n, from: (n) => (n - 33) | 0 },
  'numbers of a mask, compared': {
    mask: (c) => again(c('i', 'n', 'LT'), { kept: 0, dropped: -2e38, number: -1e38, direction: 'GE' }), valid: (n) => n,
  },
  'numbers of a mask, compared on the right with a number that is unequal where it holds': {
    mask: (c) => again(c('i', 'n', 'GT'), { type: 's32', kept: 1, dropped: 0, number: 1, direction: 'NE', turned: true }), valid: (n) => n + 1,
  },
  's64[1]': { n: 's64[1]', valid: (n) => n },
  'floats: iota <= n - 1': { mask: (c) => `${floats(-1)}\n ${c('fi', 'fm', 'LE')}`, valid: (n) => n },
  'floats: n + 3 > iota': { mask: (c) => `${floats(3)}\n ${c('fm', 'fi', 'GT')}`, valid: (n) => n + 3 },
  'bf16, positions before heads, 40 queries': {
    type: 'bf16', queries: 40, cache: `${LENGTH},${HEADS},${DEPTH}`, rhs: 'rhs_batch_dims={1}, rhs_contracting_dims={2}', layout: 'thd',
      valid: (n) => n,
  },
};

describe('limit-products', () => {
  for (const [name, form] of Object.entries(FORMS)) {
    test(name, async () => {
      const text = program(form), queries = form.queries ?? 1, type = form.type ?? 'f32';
      assert.ok(/float|numbers of a mask/.test(name) ? looks(text) : limits(text));
      for (const n of [-5, 0, 1, 15, 16, 17, LENGTH - 1, LENGTH, LENGTH + 1, 2147483647]) {
        const { x, k, want } = data(queries, Math.min(form.valid(n), LENGTH), form.layout, form.from?.(n) ?? 0);
        const cache = form.cache ?? `${HEADS},${LENGTH},${DEPTH}`;
        const count = form.n ? new Literal('s64[1]', BigInt64Array.of(BigInt(n))) : new Literal('s32[]', Int32Array.of(n));
        const args = [new Literal(`f32[${HEADS},${queries},${DEPTH}]`, x), new Literal(`f32[${cache}]`, k).convert(type), count];
        const [got] = await results(text, args), [plain] = await results(text, args, { disable: ['limit-products'] });
        assert.deepEqual(got, want, `n = ${n}`);
        assert.deepEqual(plain, want, `n = ${n}, without`);
      }
    });
  }

  test('a limit is a fact, which text does not show: the compiled program is valid', async () => {
    const executable = await client.compile(client.parseHlo(program(FORMS['iota < n'])));
    const text = executable.toString();
    executable.dispose();
    assert.match(text, /limited_/);
    assert.doesNotThrow(() => client.parseHlo(text).dispose());
  });

  test('a length for each batch, and both ends of its window', async () => {
    const text = (lower) => `HloModule m
ENTRY e { x = f32[3,2,32] parameter(0)
  k = f32[3,${LENGTH},32] parameter(1)
  v = s32[3] parameter(2)
  s = f32[3,2,${LENGTH}] dot(x, k), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}
  i = s32[3,${LENGTH}] iota(), iota_dimension=1
  five = s32[] constant(5)
  fives = s32[3] broadcast(five), dimensions={}
  more = s32[3] add(v, fives)
  n = s32[3,${LENGTH}] broadcast(more), dimensions={0}
  b = s32[3,${LENGTH}] broadcast(v), dimensions={0}
  o = pred[3,${LENGTH}] compare(i, n), direction=LT
  w = pred[3,${LENGTH}] compare(i, b), direction=GE
  q = pred[3,${LENGTH}] ${lower ? 'and(o, w)' : 'copy(o)'}
  p = pred[3,2,${LENGTH}] broadcast(q), dimensions={0,2}
  low = f32[] constant(-7)
  c = f32[3,2,${LENGTH}] broadcast(low), dimensions={}
  ROOT r = f32[3,2,${LENGTH}] select(p, s, c) }`;
    for (const lower of [false, true]) {
      assert.ok(looks(text(lower)));
      for (const lengths of [[1, 20, 40], [70, 3, 3], [-9, -2147483648, 2147483647], [0, 0, 0], [2147483645, 30, 31], [80, 79, 75]]) {
        const k = whole(3 * LENGTH * 32, 1), longest = Math.max(...lengths.map((n) => (n + 5) | 0));
        for (let i = 0; i < k.length; i++) if (Math.floor(i / 32) % LENGTH >= longest) k[i] = NaN;
        const args = [new Literal('f32[3,2,32]', whole(192, 2)), new Literal(`f32[3,${LENGTH},32]`, k), new Literal('s32[3]', Int32Array.from(lengths))];
        const [got] = await results(text(lower), args), [plain] = await results(text(lower), args, { disable: ['limit-products'] });
        assert.deepEqual(got, plain, `lengths ${lengths}`);
      }
    }
  });

  test('the cache on the left, of heads that several queries share', async () => {
    const text = `HloModule m
ENTRY e { k = f32[2,${LENGTH},64] parameter(0)
  x = f32[2,4,64] parameter(1)
  v = s32[] parameter(2)
  s = f32[2,${LENGTH},4] dot(k, x), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}
  t = f32[2,4,${LENGTH}] transpose(s), dimensions={0,2,1}
  i = s32[${LENGTH}] iota(), iota_dimension=0
  n = s32[${LENGTH}] broadcast(v), dimensions={}
  q = pred[${LENGTH}] compare(i, n), direction=LT
  p = pred[2,4,${LENGTH}] broadcast(q), dimensions={2}
  low = f32[] constant(-inf)
  c = f32[2,4,${LENGTH}] broadcast(low), dimensions={}
  ROOT r = f32[2,4,${LENGTH}] select(p, t, c) }`;
    assert.ok(limits(text));
    for (const n of [0, 17, LENGTH]) {
      const k = whole(2 * LENGTH * 64, 1), x = whole(2 * 4 * 64, 2);
      const args = [new Literal(`f32[2,${LENGTH},64]`, k), new Literal('f32[2,4,64]', x), new Literal('s32[]', Int32Array.of(n))];
      const [got] = await results(text, args), [plain] = await results(text, args, { disable: ['limit-products'] });
      assert.deepEqual(got, plain, `n = ${n}`);
    }
  });

  test('integers with scales, positions last: the order of terms does not depend on n', async () => {
    for (const dims of [[0, 2], [0]]) {
      const scales = dims.map((d) => [2, 32, LENGTH][d]), scale = `f32[${scales}]`;
      const text = `HloModule m
ENTRY e { x = f32[2,1,32] parameter(0)
  k = s8[2,32,${LENGTH}] parameter(1)
  v = s32[] parameter(2)
  a = ${scale} parameter(3)
  kf = f32[2,32,${LENGTH}] convert(k)
  b = f32[2,32,${LENGTH}] broadcast(a), dimensions={${dims}}
  y = f32[2,32,${LENGTH}] multiply(kf, b)
  s = f32[2,1,${LENGTH}] dot(x, y), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}
  i = s32[${LENGTH}] iota(), iota_dimension=0
  n = s32[${LENGTH}] broadcast(v), dimensions={}
  q = pred[${LENGTH}] compare(i, n), direction=LT
  p = pred[2,1,${LENGTH}] broadcast(q), dimensions={2}
  low = f32[] constant(-inf)
  c = f32[2,1,${LENGTH}] broadcast(low), dimensions={}
  ROOT r = f32[2,1,${LENGTH}] select(p, s, c) }`;
      assert.ok(limits(text));
      const sines = (count, phase) => Float32Array.from({ length: count }, (_, i) => Math.sin(i * i + phase));
      const k = Int8Array.from(sines(64 * LENGTH, 1), (a) => 127 * a), a = sines(scales.reduce((m, n) => m * n, 1), 2);
      for (const n of [5, 42, LENGTH - 1]) {
        const args = [new Literal('f32[2,1,32]', sines(64, 0)), new Literal(`s8[2,32,${LENGTH}]`, k), new Literal('s32[]', Int32Array.of(n)), new Literal(scale, a)];
        const [got] = await results(text, args), [plain] = await results(text, args, { disable: ['limit-products'] });
        assert.deepEqual(got, plain, `n = ${n}`);
      }
    }
  });

  const NOT = {
    'scores that are also a result': { also: `ROOT t = (f32[D], f32[D]) tuple(r, s)`.replaceAll('D', `${HEADS},1,${LENGTH}`) },
    'a mask that is added': { select: 'add(f, c)' },
    'n for each position': { n: `s32[${LENGTH}]` },
    ...Object.fromEntries([
      ['is always true', { kept: 0, dropped: -1, number: -1, direction: 'GE' }],
      ['is always false', { kept: 0, dropped: -1, number: 'nan', direction: 'GE' }],
      ['drops what is below n', { kept: 0, dropped: -1, number: 0, direction: 'LT' }],
      ['has a NaN', { kept: 0, dropped: 'nan', number: 0, direction: 'GE' }],
    ].map(([name, numbers]) => [`a comparison with a number ${name}`, { mask: (c) => again(c('i', 'n', 'LT'), numbers) }])),
    'floats: a fraction': { mask: (c) => `${floats(0.5)}\n ${c('fi', 'fm', 'LE')}` },
    'floats: a large number': { mask: (c) => `${floats(131072)}\n ${c('fi', 'fm', 'LE')}` },
    'floats: n is computed of floats': {
      mask: (c) => `${floats(1).replace('sum = f32[1] add(', 'sum = f32[1] multiply(')}\n root = f32[${LENGTH}] sqrt(fm)\n ${c('fi', 'root', 'LE')}`,
    },
    'bf16, which does not hold all positions': {
      mask: (c) => `bi = bf16[${LENGTH}] iota(), iota_dimension=0\n bn = bf16[${LENGTH}] convert(n)\n ${c('bi', 'bn', 'LE')}`,
    },
    'a maximum over positions before the mask': {
      between: `zero = f32[] constant(0)\n m = f32[${HEADS},1] reduce(s, zero), dimensions={2}, to_apply=most\n f = f32[D] broadcast(m), dimensions={0,1}`,
    },
  };
  for (const [name, form] of Object.entries(NOT)) {
    test(`no limit by a comparison: ${name}`, async () => {
      let text = program(form);
      if (form.n) text = text.replace('scalar = s32[] reshape(v)', '').replace(/n = .*broadcast\(scalar\).*/, 'n = s32[80] copy(v)');
      text = text.replace('ENTRY', 'most { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] maximum(a, b) }\nENTRY');
      assert.ok(!limits(text));
      const isRead = !form.between && !form.also && !form.select;
      assert.equal(looks(text), isRead); // the mask
      if (!isRead) return;
      const list = Int32Array.from({ length: LENGTH }, (_, i) => i % 5 === 3 && i > 20 && i < 50 ? i + 1 : 0);
      const counts = form.n ? [list] : [0, 3, 16, 79].map((n) => Int32Array.of(n));
      for (const count of counts) {
        const { x, k } = data(1, LENGTH, form.layout, 0), type = form.type ?? 'f32';
        const args = [new Literal(`f32[${HEADS},1,${DEPTH}]`, x), new Literal(`f32[${HEADS},${LENGTH},${DEPTH}]`, k).convert(type), new Literal(form.n ?? 's32[]', count)];
        assert.deepEqual(await results(text, args), await results(text, args, { disable: ['limit-products'] }));
      }
    });
  }

  /** The mask is an argument, of each query or of all. */
  for (const [queries, own] of [[1, false], [3, true], [3, false]]) {
    for (const [name, select] of [['kept', 'select(p, s, c)'], ['dropped', 'select(p, c, s)']]) {
      test(`a mask that is an argument: ${queries} queries, ${own ? 'each' : 'all'}, ${name}`, async () => {
        const mask = own ? `${queries},${LENGTH}` : `${LENGTH}`;
        const text = `HloModule m
ENTRY e { x = f32[${HEADS},${queries},${DEPTH}] parameter(0)
  k = f32[${HEADS},${LENGTH},${DEPTH}] parameter(1)
  m = pred[${mask}] parameter(2)
  p = pred[D] broadcast(m), dimensions={${own ? '1,2' : '2'}}
  s = f32[D] dot(x, k), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}
  low = f32[] constant(-1e30)
  c = f32[D] broadcast(low), dimensions={}
  ROOT r = f32[D] ${select} }`.replaceAll('[D]', `[${HEADS},${queries},${LENGTH}]`);
        assert.ok(looks(text));
        const executable = await client.compile(client.parseHlo(text));
        for (const [begin, end] of [[0, 0], [0, 1], [0, LENGTH], [5, 17], [16, 48], [LENGTH - 1, LENGTH], [33, 34]]) {
          const { x, k } = data(queries, LENGTH, undefined, 0), keeps = Uint8Array.from({ length: mask.split(',').reduce((a, n) => a * n, 1) }, (_, i) => {
            const t = i % LENGTH, row = Math.floor(i / LENGTH);
            return Number((t >= begin && t < end && (t + row) % 3 < 2) === (name === 'kept'));
          });
          for (let i = 0; i < k.length; i++) if (Math.floor(i / DEPTH) % LENGTH < begin || Math.floor(i / DEPTH) % LENGTH >= end) k[i] = NaN;
          const args = [new Literal(`f32[${HEADS},${queries},${DEPTH}]`, x), new Literal(`f32[${HEADS},${LENGTH},${DEPTH}]`, k), new Literal(`pred[${mask}]`, keeps)];
          const [got] = await executable.execute(args), [plain] = await results(text, args, { disable: ['limit-products'] });
          assert.deepEqual(Array.from(got.data), plain, `${begin} to ${end}`);
        }
        executable.dispose();
      });
    }
  }

  test('two products that are added to each other: at most one is limited by the other', async () => {
    const text = `HloModule m
larger { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b) }
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
ENTRY e { x = f32[2,64] parameter(0)
  k = f32[64,64] parameter(1)
  y = f32[2,64] parameter(2)
  l = f32[64,64] parameter(3)
  m = f32[64] parameter(4)
  s = f32[2,64] dot(x, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  t = f32[2,64] dot(y, l), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  a = f32[2,64] add(s, t)
  n = f32[] constant(-1e9)
  o = f32[64] broadcast(n), dimensions={}
  p = f32[64] multiply(m, o)
  w = f32[2,64] broadcast(p), dimensions={1}
  b = f32[2,64] add(a, w)
  z = f32[] constant(0)
  i = f32[] constant(-inf)
  c = f32[2] reduce(b, i), dimensions={1}, to_apply=larger
  d = f32[2,64] broadcast(c), dimensions={0}
  e = f32[2,64] subtract(b, d)
  f = f32[2,64] exponential(e)
  g = f32[2] reduce(f, z), dimensions={1}, to_apply=sum
  h = f32[2,64] broadcast(g), dimensions={0}
  ROOT r = f32[2,64] divide(f, h) }`;
    assert.ok(looks(text));
    const args = [[2, 64], [64, 64], [2, 64], [64, 64]].map((dims, i) => new Literal(`f32[${dims}]`, whole(dims[0] * dims[1], i + 2)));
    args.push(new Literal('f32[64]', Float32Array.from({ length: 64 }, (_, i) => Number(i > 20))));
    assert.deepEqual(await results(text, args), await results(text, args, { disable: ['limit-products'] }));
  });

  test('masks of each score are looked at beside a deep product', () => {
    for (const [shape, m, depth, isLooked] of [['80,300', '80,300', 40, false], ['80,300', '80,300', 80, true], ['80,300', '300', 40, true], ['1,300', '1,300', 20, true]]) {
      const [rows, columns] = shape.split(',');
      assert.equal(looks(`HloModule m
ENTRY e { x = f32[${rows},${depth}] parameter(0)
  k = f32[${columns},${depth}] parameter(1)
  m = pred[${m}] parameter(2)
  p = pred[${shape}] broadcast(m), dimensions={${m === shape ? '0,1' : '1'}}
  s = f32[${shape}] dot(x, k), lhs_contracting_dims={1}, rhs_contracting_dims={1}
  z = f32[] constant(0)
  c = f32[${shape}] broadcast(z), dimensions={}
  ROOT r = f32[${shape}] select(p, s, c) }`), isLooked, `${m} of depth ${depth}`);
    }
  });

  test('a mask that is made before a loop', async () => {
    for (const [mask, direction] of [['c', 'LT'], ['c', 'GE'], ['r', 'LE']]) {
      const text = `HloModule m
body { s = (s32[], f32[4,90,24], f32[4,90,24], pred[90,90]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[4,90,24] get-tuple-element(s), index=1
  k = f32[4,90,24] get-tuple-element(s), index=2
  m = pred[90,90] get-tuple-element(s), index=3
  d = f32[4,90,90] dot(x, k), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={2}
  p = pred[4,90,90] broadcast(m), dimensions={1,2}
  z = f32[] constant(0)
  zs = f32[4,90,90] broadcast(z), dimensions={}
  w = f32[4,90,90] select(p, d, zs)
  a = f32[4,90,90] tanh(w)
  y = f32[4,90,24] dot(a, k), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[4,90,24], f32[4,90,24], pred[90,90]) tuple(j, y, k, m) }
cond { s = (s32[], f32[4,90,24], f32[4,90,24], pred[90,90]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(12)
  ROOT c = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[4,90,24] parameter(0)
  k = f32[4,90,24] parameter(1)
  n = s32[] parameter(2)
  ns = s32[90,90] broadcast(n), dimensions={}
  r = s32[90,90] iota(), iota_dimension=0
  c = s32[90,90] iota(), iota_dimension=1
  o = s32[90,90] add(${mask === 'c' ? 'ns, ns' : 'c, ns'})
  m = pred[90,90] compare(${mask}, o), direction=${direction}
  z = s32[] constant(0)
  t = (s32[], f32[4,90,24], f32[4,90,24], pred[90,90]) tuple(z, x, k, m)
  w = (s32[], f32[4,90,24], f32[4,90,24], pred[90,90]) while(t), condition=cond, body=body
  ROOT r2 = f32[4,90,24] get-tuple-element(w), index=1 }`;
      assert.ok(looks(text), `${mask} ${direction}`);
      for (const n of [0, 3, 20, -7, 90]) {
        const args = [new Literal('f32[4,90,24]', whole(4 * 90 * 24, 1)), new Literal('f32[4,90,24]', whole(4 * 90 * 24, 2)), new Literal('s32[]', Int32Array.of(n))];
        assert.deepEqual(await results(text, args), await results(text, args, { disable: ['limit-products'] }));
      }
    }
  });
});

describe('causal masks', () => {
  /** Masks of rows r and columns c, which are iotas, and a scalar n; and whether they keep a score, in integers that wrap. */
  const MASKS = {
    'c <= r': { lines: 'q = pred[M] compare(c, r), direction=LE', keeps: (i, t) => t <= i },
    'c >= r': { lines: 'q = pred[M] compare(c, r), direction=GE', keeps: (i, t) => t >= i },
    'r > c': { lines: 'q = pred[M] compare(r, c), direction=GT', keeps: (i, t) => i > t },
    'c < r + n': { lines: 'a = s32[M] add(r, n)\n q = pred[M] compare(c, a), direction=LT', keeps: (i, t, n) => t < ((i + n) | 0) },
    'n + r - 5 >= c': {
      lines: 'a = s32[M] add(n, r)\n five = s32[] constant(5)\n f5 = s32[M] broadcast(five), dimensions={}\n b = s32[M] subtract(a, f5)\n q = pred[M] compare(b, c), direction=GE',
      keeps: (i, t, n) => ((i + n - 5) | 0) >= t,
    },
    'r - c >= 0': {
      lines: 'a = s32[M] subtract(r, c)\n zero = s32[] constant(0)\n z = s32[M] broadcast(zero), dimensions={}\n q = pred[M] compare(a, z), direction=GE',
      keeps: (i, t) => i >= t,
    },
    'c - r <= n': { lines: 'a = s32[M] subtract(c, r)\n q = pred[M] compare(a, n), direction=LE', keeps: (i, t, n) => t - i <= n },
    'c + 7 < r + n': {
      lines: 'seven = s32[] constant(7)\n s7 = s32[M] broadcast(seven), dimensions={}\n a = s32[M] add(c, s7)\n b = s32[M] add(r, n)\n q = pred[M] compare(a, b), direction=LT',
      keeps: (i, t, n) => t + 7 < ((i + n) | 0),
    },
    'not c > r': { lines: 'a = pred[M] compare(c, r), direction=GT\n q = pred[M] not(a)', keeps: (i, t) => t <= i },
    'c > r, the other branch': { lines: 'q = pred[M] compare(c, r), direction=GT', keeps: (i, t) => t <= i, select: 'select(p, c0, f)' },
    'a window': {
      lines: `a = pred[M] compare(c, r), direction=LE\n w = s32[] constant(40)\n w1 = s32[M] broadcast(w), dimensions={}\n low = s32[M] subtract(r, w1)
        b = pred[M] compare(c, low), direction=GT\n q = pred[M] and(b, a)`,
      keeps: (i, t) => t <= i && t > i - 40,
    },
    'a window behind n': {
      lines: `a = s32[M] add(r, n)\n b = pred[M] compare(c, a), direction=LE\n w = s32[] constant(25)\n w1 = s32[M] broadcast(w), dimensions={}
        low = s32[M] subtract(a, w1)\n d = pred[M] compare(low, c), direction=LT\n q = pred[M] and(b, d)`,
      keeps: (i, t, n) => t <= ((i + n) | 0) && t > ((i + n - 25) | 0),
    },
    'a window of differences': {
      lines: `a = s32[M] subtract(r, c)\n zero = s32[] constant(0)\n z = s32[M] broadcast(zero), dimensions={}\n b = pred[M] compare(a, z), direction=GE
        w = s32[] constant(50)\n w1 = s32[M] broadcast(w), dimensions={}\n d = pred[M] compare(a, w1), direction=LT\n q = pred[M] and(b, d)`,
      keeps: (i, t) => i >= t && i - t < 50,
    },
    'a triangle of a constant': {
      lines: `a = pred[M] compare(r, c), direction=GE\n yes = pred[] constant(true)\n y = pred[M] broadcast(yes), dimensions={}
        no = pred[] constant(false)\n o = pred[M] broadcast(no), dimensions={}\n q = pred[M] select(a, y, o)`,
      keeps: (i, t) => t <= i,
    },
  };
  const DEPTHS = 24;

  /** Scores [heads, queries, length], where `shared` queries of a group have the same keys; or with keys in front. */
  function causal({ lines, select = 'select(p, f, c0)' }, { queries, length, type, shared, turned }) {
    const dims = shared ? `2,${shared},${queries},${length}` : turned ? `2,${length},${queries}` : `2,${queries},${length}`;
    const [r, c] = turned ? [1, 0] : [0, 1];
    const mask = turned ? `${length},${queries}` : `${queries},${length}`, x = `2,${shared ? `${shared},` : ''}${queries},${DEPTHS}`;
    const batch = 'lhs_batch_dims={0}, rhs_batch_dims={0}';
    const dot = turned ? `dot(k, x), ${batch}, lhs_contracting_dims={2}, rhs_contracting_dims={2}`
      : `dot(x, k), ${batch}, lhs_contracting_dims={${shared ? 3 : 2}}, rhs_contracting_dims={2}`;
    return `HloModule m
ENTRY e { x = ${type}[${x}] parameter(0)
  k = ${type}[2,${length},${DEPTHS}] parameter(1)
  v = s32[] parameter(2)
  n = s32[${mask}] broadcast(v), dimensions={}
  r = s32[${mask}] iota(), iota_dimension=${r}
  c = s32[${mask}] iota(), iota_dimension=${c}
  ${lines.replaceAll('[M]', `[${mask}]`)}
  p = pred[${dims}] broadcast(q), dimensions={${shared ? '2,3' : '1,2'}}
  s = f32[${dims}] ${dot}
  two = f32[] constant(2)
  h = f32[${dims}] broadcast(two), dimensions={}
  f = f32[${dims}] multiply(s, h)
  least = f32[] constant(-inf)
  c0 = f32[${dims}] broadcast(least), dimensions={}
  ROOT masked = f32[${dims}] ${select} }`;
  }

  async function check(mask, form, isLimited = limits) {
    const { queries, length, type, shared = 1, turned } = form;
    const text = causal(mask, form);
    assert.ok(isLimited(text), JSON.stringify(form));
    const x = whole(2 * shared * queries * DEPTHS, 1), k = whole(2 * length * DEPTHS, 2);
    k[(length - 70) * DEPTHS + 3] = NaN; // rows that keep this column are NaN there
    k[(length + 30) * DEPTHS + 3] = Infinity; // of the second head
    for (const n of [-2147483648, -100, -1, 0, 9, 150, 2147483647]) {
      const want = [];
      for (let row = 0; row < 2 * shared * queries; row++) {
        const head = Math.floor(row / shared / queries);
        for (let t = 0; t < length; t++) {
          let sum = 0;
          for (let d = 0; d < DEPTHS; d++) sum += x[row * DEPTHS + d] * k[(head * length + t) * DEPTHS + d];
          const at = turned ? (head * length + t) * queries + (row % queries) : row * length + t;
          want[at] = mask.keeps(row % queries, t, n) ? 2 * sum : -Infinity;
        }
      }
      const args = [
        new Literal(`f32[2,${form.shared ? `${shared},` : ''}${queries},${DEPTHS}]`, x).convert(type),
        new Literal(`f32[2,${length},${DEPTHS}]`, k).convert(type), new Literal('s32[]', Int32Array.of(n))];
      assert.deepEqual((await results(text, args))[0], want, `${JSON.stringify(form)} n = ${n}`);
      if (!/\bn\b/.test(mask.lines)) break;
    }
  }

  for (const [name, mask] of Object.entries(MASKS)) {
    test(name, async () => {
      await check(mask, { queries: 150, length: 200, type: 'f32' });
      await check(mask, { queries: 130, length: 290, type: 'bf16', turned: true });
      await check(mask, { queries: 45, length: 170, type: 'f32', shared: 3 });
      await check(mask, { queries: 12, length: 200, type: 'f32' }); // streamed
    });
  }

  /** Masks that the program looks at: each row keeps other columns. */
  const LOOKED_AT = {
    'floats': {
      lines: `rf = f32[M] convert(r)\n cf = f32[M] convert(c)\n nf = f32[M] convert(n)\n a = f32[M] add(rf, nf)
        q = pred[M] compare(cf, a), direction=LE`,
      keeps: (i, t, n) => t <= Math.fround(i + Math.fround(n)),
    },
    'numbers that are compared': {
      lines: `a = pred[M] compare(c, r), direction=LE\n zero = f32[] constant(0)\n z = f32[M] broadcast(zero), dimensions={}
        low = f32[] constant(-2e38)\n l = f32[M] broadcast(low), dimensions={}\n b = f32[M] select(a, z, l)
        half = f32[] constant(-1e38)\n halves = f32[M] broadcast(half), dimensions={}\n q = pred[M] compare(b, halves), direction=GE`,
      keeps: (i, t) => t <= i,
    },
    'a part of each row': {
      lines: `a = pred[M] compare(c, r), direction=LE\n seven = s32[] constant(7)\n s7 = s32[M] broadcast(seven), dimensions={}
        rest = s32[M] remainder(c, s7)\n b = pred[M] compare(rest, n), direction=EQ\n q = pred[M] and(a, b)`,
      keeps: (i, t, n) => t <= i && t % 7 === n,
      isLimited: limits,
    },
    'three times as steep': {
      lines: `few = s32[] constant(3)\n twos = s32[M] broadcast(few), dimensions={}\n a = s32[M] multiply(r, twos)\n b = s32[M] add(a, n)
        q = pred[M] compare(c, b), direction=LT`,
      keeps: (i, t, n) => t < ((3 * i + n) | 0),
    },
    'against the diagonal': {
      lines: 'a = s32[M] add(r, c)\n q = pred[M] compare(a, n), direction=LT', keeps: (i, t, n) => ((i + t) | 0) < n,
    },
    'blocks beside the diagonal': {
      lines: `many = s32[] constant(40)\n m = s32[M] broadcast(many), dimensions={}\n rd = s32[M] divide(r, m)\n cd = s32[M] divide(c, m)
        q = pred[M] compare(cd, rd), direction=EQ`,
      keeps: (i, t) => Math.floor(i / 40) === Math.floor(t / 40),
    },
    'one column of every second row': {
      lines: `few = s32[] constant(2)\n twos = s32[M] broadcast(few), dimensions={}\n odd = s32[M] remainder(r, twos)\n z = s32[M] subtract(r, r)
        a = pred[M] compare(odd, z), direction=EQ\n b = pred[M] compare(c, n), direction=EQ\n q = pred[M] and(a, b)`,
      keeps: (i, t, n) => i % 2 === 0 && t === n,
    },
  };
  for (const [name, mask] of Object.entries(LOOKED_AT)) {
    test(`looked at: ${name}`, async () => {
      const isLimited = mask.isLimited ?? looks;
      await check(mask, { queries: 150, length: 200, type: 'f32', shared: 2 }, isLimited);
      await check(mask, { queries: 45, length: 170, type: 'bf16', shared: 3 }, isLimited);
      await check(mask, { queries: 3, length: 200, type: 'f32', shared: 2 }, isLimited);
    });
  }

  test('several tiles, and queries that repeat within a panel', async () => {
    await check(MASKS['c <= r'], { queries: 500, length: 400, type: 'f32' });
    await check(MASKS['c < r + n'], { queries: 3, length: 300, type: 'f32', shared: 30 });
    await check(MASKS['c < r + n'], { queries: 7, length: 300, type: 'bf16', shared: 11 });
  });

  const NOT = {
    'c <= 2 r': 'a = s32[M] add(r, r)\n q = pred[M] compare(c, a), direction=LE',
    'c <= -r': 'a = s32[M] subtract(n, r)\n q = pred[M] compare(c, a), direction=LE',
    'c + n <= r': 'a = s32[M] add(c, n)\n q = pred[M] compare(a, r), direction=LE',
    'c <= r - n': 'a = s32[M] subtract(r, n)\n q = pred[M] compare(c, a), direction=LE',
    'r - c >= n': 'a = s32[M] subtract(r, c)\n q = pred[M] compare(a, n), direction=GE',
    'either': 'a = pred[M] compare(c, r), direction=LE\n b = pred[M] compare(c, n), direction=EQ\n q = pred[M] or(a, b)',
  };
  for (const [name, lines] of Object.entries(NOT)) {
    test(`as it was: ${name}`, () => assert.ok(!limits(causal({ lines }, { queries: 150, length: 200, type: 'f32' }))));
  }
});

describe('zeros at the ends of vectors', () => {
  /** Weights of positions in [begin, end), other ones zeros of both signs; values of positions before heads. */
  async function check(type, { begin, end, special = 0, at = 0, queries, length, depth }) {
    const text = `HloModule m
ENTRY e { x = f32[${HEADS},${queries},${length}] parameter(0)
  v = ${type}[${length},${HEADS},${depth}] parameter(1)
  vf = f32[${length},${HEADS},${depth}] convert(v)
  ROOT r = f32[${HEADS},${queries},${depth}] dot(x, vf), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={1}, rhs_contracting_dims={0} }`;
    const x = whole(HEADS * queries * length, 1), v = whole(length * HEADS * depth, 2);
    x.forEach((_, i) => { if (i % length < begin || i % length >= end) x[i] = i % 3 ? 0 : -0; });
    if (special) v[(at * HEADS + 1) * depth + 5] = special;
    const want = Array.from({ length: HEADS * queries * depth }, (_, i) => {
      const head = Math.floor(i / depth / queries), row = Math.floor(i / depth) * length;
      let sum = 0;
      for (let t = 0; t < length; t++) sum += x[row + t] * v[(t * HEADS + head) * depth + (i % depth)];
      return sum;
    });
    const args = [new Literal(`f32[${HEADS},${queries},${length}]`, x), new Literal(`f32[${length},${HEADS},${depth}]`, v).convert(type)];
    assert.deepEqual((await results(text, args))[0], want, JSON.stringify({ type, begin, end, special, at, queries, length, depth }));
  }

  for (const type of ['f32', 'f64', 'bf16', 'f16', 's8', 'f8e5m2']) {
    test(type, async () => {
      const specials = type === 's8' ? [0] : [0, Infinity, -Infinity, NaN];
      for (const special of specials) {
        for (const [begin, end] of [[0, 40], [0, 0], [90, 91], [200, 333], [17, 300], [0, 333]]) {
          const where = special ? [0, 44, 89, 90, 320, 332] : [0];
          for (const at of where) {
            for (const queries of [1, 3, 4]) await check(type, { begin, end, special, at, queries, length: 333, depth: 32 });
          }
        }
        await check(type, { begin: 300, end: 600, special, at: 1000, queries: 2, length: 1029, depth: 24 }); // several blocks
        await check(type, { begin: 0, end: 16, special, at: 60, queries: 20, length: 64, depth: 19 });
      }
    });
  }
});

describe('operands that are repeated or moved are read in place', () => {
  /** The array k; y, which repeats or moves it; the other operand's and the result's dimensions; the dot's. */
  const FORMS = {
    'heads': ['2,64,3,32', 'y0 = f32[2,64,3,4,32] broadcast(k), dimensions={0,1,2,4}\n y = f32[2,64,12,32] reshape(y0)',
      '2,12,1,32', '2,12,1,64', 'lhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_batch_dims={0,2}, rhs_contracting_dims={3}'],
    'heads, several rows': ['2,64,3,32', 'y0 = f32[2,64,3,4,32] broadcast(k), dimensions={0,1,2,4}\n y = f32[2,64,12,32] reshape(y0)',
      '2,12,30,32', '2,12,30,64', 'lhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_batch_dims={0,2}, rhs_contracting_dims={3}'],
    'heads outside': ['3,64,32', 'y0 = f32[4,3,64,32] broadcast(k), dimensions={1,2,3}\n y = f32[12,64,32] reshape(y0)',
      '12,5,64', '12,5,32', 'lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}, rhs_contracting_dims={1}'],
    'a part of heads': ['2,64,6,32',
      'y1 = f32[2,64,3,32] slice(k), slice={[0:2],[0:64],[2:5],[0:32]}\n y0 = f32[2,64,3,4,32] broadcast(y1), dimensions={0,1,2,4}\n y = f32[2,64,12,32] reshape(y0)',
      '2,12,1,32', '2,12,1,64', 'lhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_batch_dims={0,2}, rhs_contracting_dims={3}'],
    'the depth': ['64,96', 'y0 = f32[64,3,96] broadcast(k), dimensions={0,2}\n y = f32[192,96] reshape(y0)',
      '2,192', '2,96', 'lhs_contracting_dims={1}, rhs_contracting_dims={0}'],
    'columns backwards': ['64,96',
      'y1 = f32[64,96] reverse(k), dimensions={1}\n y0 = f32[64,96,2] broadcast(y1), dimensions={0,1}\n y = f32[64,192] reshape(y0)',
      '2,64', '2,192', 'lhs_contracting_dims={1}, rhs_contracting_dims={0}'],
  };
  for (const [name, [given, lines, left, out, dims]] of Object.entries(FORMS)) {
    for (const type of ['f32', 'bf16']) {
      for (const first of [true, false]) {
        if (!first && name !== 'heads' && name !== 'heads, several rows') continue;
        test(`${name}, ${type}, ${first ? 'on the right' : 'on the left'}`, async () => {
          const turned = out.replace(/(\d+),(\d+)$/, '$2,$1');
          const swapped = dims.replace(/lhs/g, 'L').replace(/rhs/g, 'lhs').replace(/L/g, 'rhs');
          const text = `HloModule m
ENTRY e { x = f32[${left}] parameter(0)
  kn = ${type}[${given}] parameter(1)
  k = f32[${given}] convert(kn)
  ${lines}
  ROOT r = f32[${first ? out : turned}] dot(${first ? 'x, y' : 'y, x'}), ${first ? dims : swapped} }`;
          const count = (shape) => shape.split(',').reduce((a, b) => a * b, 1);
          const args = [new Literal(`f32[${left}]`, whole(count(left), 1)), new Literal(`f32[${given}]`, whole(count(given), 2)).convert(type)];
          const [got] = await results(text, args), [plain] = await results(text, args, { disable: ['fuse-operands', 'fuse-loops'] });
          assert.deepEqual(got, plain);
        });
      }
    }
  }
});
