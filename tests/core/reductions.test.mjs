/**
 * Reductions of many elements to few results, which are cut into pieces, and those whose computations
 * have loops in them, which become loops.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client, Literal } from '../../bindings/index.mjs';
import { sample } from '../support/sample.mjs';

let clients;
before(async () => {
  clients = [await Client.create({ threads: 0 }), await Client.create({ threads: 2 })];
});
after(() => clients.forEach((client) => client.dispose()));

/** The results, which are the same on any number of threads. */
async function run(text, args) {
  const all = [];
  let literals;
  for (const client of clients) {
    const module = client.parseHlo(text), executable = await client.compile(module);
    literals ??= module.parameters.map(({ shape }, i) => {
      const literal = Literal.zeros(shape), numbers = literal.data, given = args[i];
      for (let k = 0; k < given.length; k++) numbers[k] = given[k];
      return literal;
    });
    all.push((await executable.execute(literals)).flat(9));
    executable.dispose();
    module.dispose();
  }
  all[0].forEach((literal, i) => assert.deepEqual(literal.data, all[1][i].data));
  return all[0].map((literal) => Array.from(literal.data));
}

async function thunksOf(text) {
  const module = clients[0].parseHlo(text), executable = await clients[0].compile(module);
  const thunks = executable.thunks();
  executable.dispose();
  module.dispose();
  return thunks;
}

const binary = (name, type) => `f { a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT r = ${type}[] ${name}(a, b) }`;
const whole = (count, most = 1000) => Array.from({ length: count }, (_, i) => (i * 7919) % most);

/** The sums of `x` over the reduced dimensions. */
function sums(x, dims, reduced, init) {
  const strides = dims.map((_, d) => dims.slice(d + 1).reduce((a, b) => a * b, 1));
  const kept = dims.map((_, d) => d).filter((d) => !reduced.includes(d));
  const result = new Array(kept.reduce((n, d) => n * dims[d], 1)).fill(init);
  x.forEach((value, i) => {
    const at = kept.reduce((n, d) => n * dims[d] + (Math.floor(i / strides[d]) % dims[d]), 0);
    result[at] += value;
  });
  return result;
}

for (const [dims, reduced] of [
  [[300007], [0]], [[2, 150001], [1]], [[150001, 2], [0]], [[3, 50021, 5], [0, 1]], [[3, 50021, 5], [0, 1, 2]],
  [[5, 50021, 3], [1, 2]], [[400, 1, 500], [0, 2]], [[131073], [0]], [[262144], [0]], [[3, 2, 70001], [0, 2]],
]) {
  test(`sums of [${dims}] over {${reduced}}`, async () => {
    const x = whole(dims.reduce((a, b) => a * b, 1));
    const to = dims.filter((_, d) => !reduced.includes(d));
    const [y] = await run(`HloModule m\n${binary('add', 's32')}\nENTRY e {\n x = s32[${dims}] parameter(0)
      z = s32[] constant(7)\n ROOT r = s32[${to}] reduce(x, z), dimensions={${reduced}}, to_apply=f\n}`, [x]);
    assert.deepEqual(y, sums(x, dims, reduced, 7));
  });
}

/* Whole numbers, which no order of adding rounds: a sum that a block loses or adds twice is wrong. */
test('sums of floats that begin and end within blocks of 32 steps', async () => {
  for (const type of ['f32', 'f64']) {
    for (const [dims, reduced] of [
      [[65, 20], [0]], [[2049, 37], [0]], [[33 * 32 + 1, 3], [0]], [[70, 3, 25], [0, 2]], [[5, 33, 40], [0, 2]],
      [[300, 3, 2], [0, 2]], [[9, 11, 13, 6], [0, 1, 2]], [[2, 4099], [1]], [[3, 8 * 4 * 33 + 5], [1]], [[67, 2, 131], [0, 2]],
    ]) {
      const x = whole(dims.reduce((a, b) => a * b, 1)), squares = x.map((v) => v * v % 1000);
      const to = `${type}[${dims.filter((_, d) => !reduced.includes(d))}]`, shape = `${type}[${dims}]`;
      const results = await run(`HloModule m\n${binary('add', type)}\nENTRY e {\n x = ${shape} parameter(0)
        y = ${shape} parameter(1)\n z = ${type}[] constant(7)\n d = ${shape} subtract(y, x)
        a = ${to} reduce(x, z), dimensions={${reduced}}, to_apply=f
        b = ${to} reduce(d, z), dimensions={${reduced}}, to_apply=f
        ROOT r = (${to}, ${to}, ${shape}) tuple(a, b, d)\n}`, [x, squares]);
      const difference = squares.map((v, i) => v - x[i]);
      assert.deepEqual(results.slice(0, 2), [sums(x, dims, reduced, 7), sums(difference, dims, reduced, 7)], `${shape} ${reduced}`);
    }
  }
});

test('an initial value counts once, whatever is neutral', async () => {
  const x = whole(200003, 3);
  for (const [type, name, init, expected] of [
    ['f64', 'add', 0.5, x.reduce((a, b) => a + b, 0.5)], ['f32', 'maximum', 1.5, 2], ['f32', 'minimum', 3, 0],
    ['u8', 'or', 4, 7], ['s8', 'and', -1, 0], ['s16', 'xor', 1, x.reduce((a, b) => a ^ b, 1)],
  ]) {
    const [y] = await run(`HloModule m\n${binary(name, type)}\nENTRY e {\n x = ${type}[200003] parameter(0)
      z = ${type}[] constant(${init})\n ROOT r = ${type}[] reduce(x, z), dimensions={0}, to_apply=f\n}`, [x]);
    assert.deepEqual(y, [expected], name);
  }
});

test('sums of narrow floats are rounded once', async () => {
  const [y] = await run(`HloModule m\n${binary('add', 'bf16')}\nENTRY e {\n o = bf16[] constant(1)
    x = bf16[301001] broadcast(o), dimensions={}\n z = bf16[] constant(0)
    ROOT r = bf16[] reduce(x, z), dimensions={0}, to_apply=f\n}`, []);
  assert.deepEqual(y, [0x4893]); // 301,056, the nearest of 301,001
});

test('producers of a reduction are computed for its tail, too', async () => {
  const n = 200003, x = whole(n, 17);
  const [y] = await run(`HloModule m\n${binary('add', 'f64')}\nENTRY e {\n x = f64[${n}] parameter(0)
    c = f64[] constant(3)\n b = f64[${n}] broadcast(c), dimensions={}\n s = f64[${n}] multiply(x, b)
    q = pred[${n}] compare(x, b), direction=GT\n t = f64[${n}] select(q, s, x)\n z = f64[] constant(0)
    ROOT r = f64[] reduce(t, z), dimensions={0}, to_apply=f\n}`, [x]);
  assert.deepEqual(y, [x.reduce((a, v) => a + (v > 3 ? 3 * v : v), 0)]);
});

/* The first of two that are as large; and, which commutes with nothing, the last. */
test('maxima and minima of rows: a NaN anywhere, zeros of both signs', async () => {
  for (const columns of [9, 32, 67, 150]) {
    const rows = 3 * columns, x = new Float32Array(rows * columns);
    for (let row = 0; row < rows; row++) {
      const at = row % columns, kind = Math.floor(row / columns);
      for (let i = 0; i < columns; i++) {
        const other = [i - 70, 0, -0][kind];
        x[row * columns + i] = i === at ? [NaN, -0, 0][kind] : other;
      }
    }
    const expected = (most) => Array.from({ length: rows }, (_, row) => {
      const line = x.subarray(row * columns, (row + 1) * columns);
      return most(...line);
    });
    for (const [name, init, most] of [['maximum', '-inf', Math.max], ['minimum', 'inf', Math.min]]) {
      const [got] = await run(`HloModule m\n${binary(name, 'f32')}\nENTRY e {
        x = f32[${rows},${columns}] parameter(0)
        z = f32[] constant(${init})
        ROOT r = f32[${rows}] reduce(x, z), dimensions={1}, to_apply=f }`, [x]);
      assert.deepEqual(got, expected(most), `${name} of ${columns}`);
    }
  }
});

test('several operands: ties go by index, order matters', async () => {
  const n = 300007, x = whole(n, 1009);
  const pair = (choice) => `f { a = f32[] parameter(0)\n i = s32[] parameter(1)\n b = f32[] parameter(2)\n j = s32[] parameter(3)
    ${choice}\n v = f32[] select(t, a, b)\n k = s32[] select(t, i, j)\n ROOT r = (f32[], s32[]) tuple(v, k) }`;
  const entry = `ENTRY e {\n x = f32[${n}] parameter(0)\n i = s32[${n}] iota(), iota_dimension=0
    n = f32[] constant(-1)\n z = s32[] constant(-1)
    ROOT r = (f32[], s32[]) reduce(x, i, n, z), dimensions={0}, to_apply=f\n}`;
  const first = await run(`HloModule m\n${pair('t = pred[] compare(a, b), direction=GE')}\n${entry}`, [x]);
  assert.deepEqual(first, [[1008], [x.indexOf(1008)]]);
  const last = await run(`HloModule m\n${pair('c = s32[] constant(0)\n t = pred[] compare(j, c), direction=LT')}\n${entry}`, [x]);
  assert.deepEqual(last, [[x[n - 1]], [n - 1]]);
});

/* ---- Computations with loops and branches ---- */

const LOOPS = `
going { p = (f32[], s32[]) parameter(0)\n i = s32[] get-tuple-element(p), index=1\n n = s32[] constant(3)\n ROOT c = pred[] compare(i, n), direction=LT }
turn { p = (f32[], s32[]) parameter(0)\n v = f32[] get-tuple-element(p), index=0\n i = s32[] get-tuple-element(p), index=1
  o = s32[] constant(1)\n s = f32[] add(v, v)\n k = s32[] add(i, o)\n ROOT t = (f32[], s32[]) tuple(s, k) }
eight { a = f32[] parameter(0)\n z = s32[] constant(0)\n t = (f32[], s32[]) tuple(a, z)
  w = (f32[], s32[]) while(t), condition=going, body=turn\n ROOT r = f32[] get-tuple-element(w), index=0 }
same { a = f32[] parameter(0)\n ROOT r = f32[] copy(a) }
f { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] call(b), to_apply=eight\n ROOT r = f32[] add(a, c) }
g { a = f32[] parameter(0)\n i = s32[] parameter(1)\n b = f32[] parameter(2)\n j = s32[] parameter(3)
  o = f32[] constant(4)\n q = pred[] compare(b, o), direction=GT
  m = f32[] conditional(q, b, b), true_computation=eight, false_computation=same
  s = f32[] add(a, m)\n k = s32[] add(i, j)\n ROOT r = (f32[], s32[]) tuple(s, k) }`;

test('maps and reductions by computations with loops, branches and calls', async () => {
  const x = whole(24, 11), eights = (list) => list.map((v) => 8 * v);
  const entry = (lines) => `HloModule m\n${LOOPS}\nENTRY e {\n x = f32[2,3,4] parameter(0)\n z = f32[] constant(0)\n ${lines}\n}`;
  const [mapped] = await run(entry('ROOT r = f32[2,3,4] map(x, x), dimensions={0,1,2}, to_apply=f'), [x]);
  assert.deepEqual(mapped, x.map((v) => 9 * v));
  for (const [to, reduced] of [['', [0, 1, 2]], ['2,4', [1]], ['3', [0, 2]]]) {
    const [y] = await run(entry(`ROOT r = f32[${to}] reduce(x, z), dimensions={${reduced}}, to_apply=f`), [x]);
    assert.deepEqual(y, sums(eights(x), [2, 3, 4], reduced, 0));
  }
  const [v, k] = await run(entry(`i = s32[2,3,4] iota(), iota_dimension=2\n n = s32[] constant(0)
    ROOT r = (f32[2,3], s32[2,3]) reduce(x, i, z, n), dimensions={2}, to_apply=g`), [x]);
  assert.deepEqual(v, sums(x.map((a) => (a > 4 ? 8 * a : a)), [2, 3, 4], [2], 0));
  assert.deepEqual(k, new Array(6).fill(6));
});

/* ---- Cumulative ---- */

/** Accumulates along dimension `along`, or backwards from its end. */
function cumulative(x, dims, along, backwards, f) {
  const stride = dims.slice(along + 1).reduce((a, b) => a * b, 1), n = dims[along];
  const result = new Array(x.length);
  for (let i = 0; i < x.length; i++) {
    const at = Math.floor(i / stride) % n, step = backwards ? stride : -stride;
    const k = backwards ? x.length - 1 - i : i, place = Math.floor(k / stride) % n;
    const first = backwards ? place === n - 1 : at === 0;
    result[k] = first ? x[k] : f(result[k + step], x[k]);
  }
  return result;
}

const windows = (dims, along, backwards) => {
  const each = (f) => dims.map((_, d) => f(d)).join('x');
  const pad = `${dims[along] - 1}`;
  return `{size=${each((d) => (d === along ? dims[along] : 1))} pad=${each((d) => (d !== along ? '0_0' : backwards ? `0_${pad}` : `${pad}_0`))}}`;
};
const greatest = (a, b) => (Number.isNaN(a) || Number.isNaN(b) ? NaN : Math.max(a, b));
const least = (a, b) => (Number.isNaN(a) || Number.isNaN(b) ? NaN : Math.min(a, b));

for (const [dims, along] of [[[200003], 0], [[3, 70001], 1], [[70001, 3], 0], [[2, 40001, 5], 1], [[30011, 17], 0]]) {
  for (const backwards of [false, true]) {
    test(`cumulative, [${dims}] along ${along}${backwards ? ', backwards' : ''}`, async () => {
      const count = dims.reduce((a, b) => a * b, 1);
      const signed = whole(count, 1013).map((v) => v - 506);
      const cumulate = async (type, name, init, x) => (await run(`HloModule m\n${binary(name, type)}\nENTRY e {
        x = ${type}[${dims}] parameter(0)\n z = ${type}[] constant(${init})
        ROOT r = ${type}[${dims}] reduce-window(x, z), window=${windows(dims, along, backwards)}, to_apply=f\n}`, [x]))[0];
      const of = (x, f) => cumulative(x, dims, along, backwards, f);
      assert.deepEqual(await cumulate('s32', 'add', 0, signed), of(signed, (a, b) => a + b));
      assert.deepEqual(await cumulate('f64', 'add', 0, signed), of(signed, (a, b) => a + b));
      assert.deepEqual(await cumulate('s8', 'maximum', -128, signed.map((v) => (v % 100) | 0)),
        of(signed.map((v) => (v % 100) | 0), Math.max));
      for (const rare of [-0, NaN]) { // from one place on there is one, and zeros of both signs before
        const x = signed.map((v, i) => (i > count / 2 && i % 1009 === 0 ? rare : i < 3000 ? [0, -0, -1][i % 3] : v / 8));
        assert.deepEqual(await cumulate('f32', 'maximum', '-inf', x), of(x, greatest));
        assert.deepEqual(await cumulate('f32', 'minimum', 'inf', x), of(x, least));
      }
    });
  }
}

test('cumulative sums of several operands, long ones', async () => {
  const n = 150001, x = whole(n, 7);
  const results = await run(`HloModule m
f { a = f32[] parameter(0)\n i = s32[] parameter(1)\n b = f32[] parameter(2)\n j = s32[] parameter(3)
  s = f32[] add(a, b)\n m = s32[] maximum(i, j)\n ROOT t = (f32[], s32[]) tuple(s, m) }
ENTRY e {\n x = f32[${n}] parameter(0)\n i = s32[${n}] iota(), iota_dimension=0\n z = f32[] constant(0)
  k = s32[] constant(0)\n ROOT r = (f32[${n}], s32[${n}]) reduce-window(x, i, z, k),
  window=${windows([n], 0, false)}, to_apply=f\n}`, [x]);
  assert.deepEqual(results[0], cumulative(x, [n], 0, false, (a, b) => Math.fround(a + b)));
  assert.deepEqual(results[1], x.map((_, i) => i));
});

/* ---- Windows that reach beyond their operand ---- */

const PAIR = `f { a = s32[] parameter(0)\n i = s32[] parameter(1)\n b = s32[] parameter(2)\n j = s32[] parameter(3)
  t = pred[] compare(a, b), direction=GE\n v = s32[] select(t, a, b)\n k = s32[] select(t, i, j)\n ROOT r = (s32[], s32[]) tuple(v, k) }`;

/** [name, computation, f of (accumulator, element)] */
const COMBINED = [
  ['sums from any value', binary('add', 's32'), (a, b) => a + b],
  ['products from any value', binary('multiply', 's32'), (a, b) => Math.imul(a, b)],
  ['differences, which have no neutral value', binary('subtract', 's32'), (a, b) => a - b],
  ['a computation of two operations', `f { a = s32[] parameter(0)\n b = s32[] parameter(1)\n c = s32[] constant(3)
    m = s32[] multiply(a, c)\n ROOT r = s32[] subtract(m, b) }`, (a, b) => Math.imul(3, a) - b],
];

/** Windows of 3 x 2, the first dimension padded by 2 and 1, the second with a hole between its elements. */
function windowsOf(x, rows, columns, start, f) {
  const result = [];
  for (let r = -2; r + 3 <= rows + 1; r++) {
    for (let c = 0; c + 2 <= 2 * columns - 1; c++) {
      let all = start;
      for (let i = r; i < r + 3; i++) {
        for (let j = c; j < c + 2; j++) {
          if (i >= 0 && i < rows && j % 2 === 0) all = f(all, x[i * columns + j / 2], i * columns + j / 2);
        }
      }
      result.push(all);
    }
  }
  return result;
}

const PADDED = 'window={size=3x2 pad=2_1x0_0 lhs_dilate=1x2}';
const withoutHoles = (text) => text.replaceAll('[7,8]', '[7,6]').replace(PADDED, 'window={size=3x2 pad=2_1x1_1}');
for (const [what, computation, f] of COMBINED) {
  test(`padded windows: ${what}`, async () => {
    const x = whole(30, 11), text = `HloModule m\n${computation}\nENTRY e {\n x = s32[6,5] parameter(0)
      z = s32[] parameter(1)\n ROOT r = s32[7,8] reduce-window(x, z), ${PADDED}, to_apply=f\n}`;
    const [y] = await run(text, [x, [7]]);
    assert.deepEqual(y, windowsOf(x, 6, 5, 7, f));
    // Holes between elements are padded, if there is a neutral value for them.
    assert.equal(/eval/.test(await thunksOf(text)), !/from any value/.test(what));
    assert.doesNotMatch(await thunksOf(withoutHoles(text)), /eval/);
  });
}

test('padded windows: two operands', async () => {
  const x = whole(30, 11), text = `HloModule m\n${PAIR}\nENTRY e {\n x = s32[6,5] parameter(0)\n z = s32[] parameter(1)
    i = s32[30] iota(), iota_dimension=0\n j = s32[6,5] reshape(i)\n n = s32[] constant(-1)
    ROOT r = (s32[7,8], s32[7,8]) reduce-window(x, j, z, n), ${PADDED}, to_apply=f\n}`;
  const pairs = windowsOf(x, 6, 5, [4, -1], (a, b, at) => (a[0] >= b ? a : [b, at]));
  assert.deepEqual(await run(text, [x, [4]]), [0, 1].map((k) => pairs.map((pair) => pair[k])));
  assert.doesNotMatch(await thunksOf(withoutHoles(text)), /eval/);
});

/* ---- Windows that are reversed, or all of the array ---- */

/** One dimension: [length, size, stride, low, high, base dilation, window dilation]. */
const LINES = [
  [5, 2, 1, 0, 0, 1, 1], [6, 3, 2, 1, 1, 1, 1], [7, 3, 3, 2, 0, 1, 2], [4, 3, 2, 1, 2, 2, 1], [5, 3, 4, -1, 3, 2, 2],
  [5, 5, 1, 0, 0, 1, 1], [5, 8, 1, 1, 2, 1, 1], [4, 12, 1, 2, 3, 2, 1],
];

/** Folds each window in order: 3 accumulator + element (of s32, which wraps). */
function folded(x, [length, size, stride, low, high, base, dilation], reversed, init) {
  const reach = (size - 1) * dilation + 1, places = Math.floor(((length - 1) * base + 1 + low + high - reach) / stride) + 1;
  return Array.from({ length: places }, (_, place) => {
    let soFar = init;
    for (let w = 0; w < size; w++) {
      const at = place * stride + (reversed ? size - 1 - w : w) * dilation - low;
      if (at >= 0 && at % base === 0 && at / base < length) soFar = (Math.imul(soFar, 3) + x[at / base]) | 0;
    }
    return soFar;
  });
}

test('windows take their elements in order, reversed ones the other way round; also those of all there is', async () => {
  for (const line of LINES) {
    for (const reversed of [0, 1]) {
      const [length, size, stride, low, high, base, dilation] = line;
      const x = Array.from({ length }, (_, i) => 7 * i + 1), want = folded(x, line, reversed, 2);
      const text = `HloModule m\nf { a = s32[] parameter(0)\n b = s32[] parameter(1)\n c = s32[] constant(3)
  d = s32[] multiply(a, c)\n ROOT r = s32[] add(d, b) }\nENTRY e { x = s32[${length}] parameter(0)\n z = s32[] constant(2)
  ROOT r = s32[${want.length}] reduce-window(x, z), window={size=${size} stride=${stride} pad=${low}_${high
} lhs_dilate=${base} rhs_dilate=${dilation} rhs_reversal=${reversed}}, to_apply=f }`;
      const [got] = await run(text, [x]);
      if (base === 1) assert.doesNotMatch(await thunksOf(text), /eval/);
      assert.deepEqual(Array.from(got), want, `${line}, ${reversed ? '' : 'not '}reversed`);
    }
  }
});

test('a reversed window of select-and-scatter asks from the other end: of equals the last one wins', async () => {
  for (const [reversed, want] of [[0, [1, 0, 0, 2, 0, 0]], [1, [0, 0, 1, 0, 0, 2]]]) {
    const [got] = await run(`HloModule m\nge { a = f32[] parameter(0)\n b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=GE }\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }\nENTRY e { x = f32[6] parameter(0)\n y = f32[2] parameter(1)\n z = f32[] constant(0)
  ROOT r = f32[6] select-and-scatter(x, y, z), window={size=3 stride=3 rhs_reversal=${reversed}}, select=ge, scatter=add }`,
    [[5, 5, 5, 4, 4, 4], [1, 2]]);
    assert.deepEqual(Array.from(got), want);
  }
});

test('a reduction over no dimension combines every element with its initial value, in that order', async () => {
  const [v, k] = await run(`HloModule m\nf { a = s32[] parameter(0)\n i = s32[] parameter(1)\n b = s32[] parameter(2)
  j = s32[] parameter(3)\n s = s32[] subtract(a, b)\n t = s32[] multiply(i, j)\n ROOT r = (s32[], s32[]) tuple(s, t) }
ENTRY e { x = s32[3] parameter(0)\n y = s32[3] parameter(1)\n z = s32[] constant(10)\n n = s32[] constant(-2)
  ROOT r = (s32[3], s32[3]) reduce(x, y, z, n), dimensions={}, to_apply=f }`, [[1, 2, 3], [4, 5, 6]]);
  assert.deepEqual([Array.from(v), Array.from(k)], [[9, 8, 7], [-8, -10, -12]]);
});

describe('more elements than memory has bytes', () => {
  const sum = (type, dims, to, over) => `HloModule m\n${binary('add', type)}\nENTRY e {\n x = ${type}[${dims[0]}] parameter(0)
    a = ${type}[${dims}] broadcast(x), dimensions={0}\n m = ${type}[${dims}] multiply(a, a)\n z = ${type}[] constant(0)
    ROOT r = ${type}[${to}] reduce(m, z), dimensions={${over}}, to_apply=f\n}`;
  for (const [type, dims, to, over, wanted] of [
    ['s32', [1, 2 ** 30 - 1], [1], [1], (9 * (2 ** 30 - 1)) | 0], ['f32', [1, 2 ** 30], [1], [1], 9 * 2 ** 30],
      ['s32', [2, 2 ** 30 + 1], [], [0, 1], (18 * (2 ** 30 + 1)) | 0],
    ['s32', [1, 2 ** 31 - 1], [], [0, 1], (9 * (2 ** 31 - 1)) | 0], ['s32', [1, 2 ** 31], [], [0, 1], (9 * 2 ** 31) | 0],
      ['s32', [3, 2 ** 30], [3], [1], (9 * 2 ** 30) | 0],
  ]) {
    test(`sums of ${type}[${dims}] over {${over}} take little`, async () => {
      const text = sum(type, dims, to, over), module = clients[0].parseHlo(text), executable = await clients[0].compile(module);
      assert.ok(executable.memory.temporaries < 2 ** 20, `${executable.memory.temporaries}`);
      assert.doesNotMatch(executable.thunks(), /^ *eval /m);
      const [result] = await executable.execute([Float64Array.from({ length: dims[0] }, () => 3)].map((x) => Literal.from(x, `${type}[${dims[0]}]`)));
      assert.deepEqual(Array.from(result.data), new Array(to[0] ?? 1).fill(wanted));
      executable.dispose();
      module.dispose();
    });
  }

  test('a part of a fusion larger than any array', async () => {
    const text = `HloModule m\nENTRY e { x = s32[] parameter(0)\n b = s32[1048576,1048576] broadcast(x), dimensions={}
      n = s32[1048576,1048576] add(b, b)\n ROOT s = s32[2,1] slice(n), slice={[7:9],[1048575:1048576]} }`;
    assert.deepEqual(await run(text, [[3]]), [[6, 6]]);
  });

  const SIZES = [2 ** 31 - 1, 2 ** 31, 2 ** 31 + 1, 65537 ** 2];
  const COUNTS = {
    s64: BigInt, u64: BigInt, f64: Number, f32: Math.fround, u32: (i) => i >>> 0, s32: (i) => i | 0, s16: (i) => (i << 16) >> 16, u8: (i) => i & 255,
    c64: (i) => [Math.fround(i), 0],
  };
  for (const [type, value] of Object.entries(COUNTS)) {
    test(`parts of an iota of ${type} with more elements than 31 bits count`, async () => {
      for (const size of SIZES) {
        const first = size - 31, last = size - 4;
        const text = `HloModule m\nENTRY e { i = s64[] parameter(0)\n n = ${type}[${size}] iota(), iota_dimension=0
          a = ${type}[4] slice(n), slice={[${first}:${size}:9]}\n b = ${type}[3] dynamic-slice(n, i), dynamic_slice_sizes={3}
          ROOT t = (${type}[4], ${type}[3]) tuple(a, b) }`;
        const executable = await clients[0].compile(clients[0].parseHlo(text));
        assert.ok(executable.memory.temporaries < 2 ** 20, `${executable.memory.temporaries}`);
        const [a, b] = await executable.execute([BigInt(last)]);
        assert.deepEqual(a.toArray(), [0, 9, 18, 27].map((k) => value(first + k)), `of ${size}`);
        assert.deepEqual(b.toArray(), [0, 1, 2].map((k) => value(Math.min(last, size - 3) + k)), `of ${size}, by a start`);
        executable.dispose();
      }
    });
  }

  test('the sum of a long iota', async () => {
    for (const [k, size] of SIZES.entries()) { // each takes seconds
      const sum = (BigInt(size) * BigInt(size - 1)) / 2n;
      for (const [type, wanted] of sample([['s64', BigInt.asIntN(64, sum)], ['s32', Number(BigInt.asIntN(32, sum))]], 2, k % 2)) {
        const text = `HloModule m\n${binary('add', type)}\nENTRY e { n = ${type}[${size}] iota(), iota_dimension=0\n z = ${type}[] constant(0)
          ROOT r = ${type}[] reduce(n, z), dimensions={0}, to_apply=f }`;
        assert.deepEqual(await run(text, []), [[wanted]], `${type}[${size}]`);
      }
    }
  });

  test('programs whose arrays exceed the address space compile, and fail when they run', async () => {
    const less = 'less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT l = pred[] compare(a, b), direction=LT }';
    const head = `HloModule m\n${less}\n${binary('add', 'f32')}\nENTRY e { x = f32[] parameter(0)\n z = f32[] constant(0)\n`;
    for (const body of [
      'b = f32[65537,65537] broadcast(x), dimensions={}\n s = f32[65537,65537] sort(b), dimensions={1}, to_apply=less\n ROOT r = f32[65537] reduce(s, z), dimensions={1}, to_apply=f }',
      'b = f32[4295098369] broadcast(x), dimensions={}\n s = f32[4295098369] sort(b), dimensions={0}, to_apply=less\n ROOT r = f32[] reduce(s, z), dimensions={0}, to_apply=f }',
      'y = f32[4295098369] parameter(1)\n ROOT r = f32[] reduce(y, x), dimensions={0}, to_apply=f }',
      'ROOT b = f32[65537,65537] broadcast(x), dimensions={} }',
    ]) {
      const executable = await clients[0].compile(clients[0].parseHlo(head + body));
      if (!body.includes('parameter(1)')) await assert.rejects(executable.execute([1]), { code: 'RESOURCE_EXHAUSTED' });
      executable.dispose();
    }
  });
});
