/**
 * Tests known ranges of values, which choose cheaper functions (rewrite/simplify/differences.c,
 * codegen/loops/function_emitter.c): a wrong range shows where e^x is out of range.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { ratioOfTimes } from '../support/ratio_of_times.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

const ADD = 'most { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] maximum(a, b) }';

async function run(body, x, shape = 'f32[8,8]') {
  const module = client.parseHlo(`HloModule m\n${ADD}\nENTRY e { x = ${shape} parameter(0)
  low = f32[] constant(-inf)\n${body} }`);
  const executable = await client.compile(module);
  const results = await executable.execute([client.buffer(x, shape)]);
  module.dispose();
  return results.map((result) => Array.from(result.data));
}

const X = Float32Array.from({ length: 64 }, (_, i) => (i * 37 % 64) * 5 - 100);
const close = (got, wanted) => got.forEach((value, i) => {
  const want = Math.fround(wanted[i]);
  const normal = Math.abs(want) >= 2 ** -126 ? want : 0;
  const near = Object.is(value, want) || Math.abs(value - normal) <= 1e-6 * Math.abs(normal);
  assert.ok(near, `${value} at ${i}, not ${want}`);
});
const exponentials = (differences) => Array.from(differences, (d) => Math.exp(d));
const largest = (along) => Array.from({ length: 8 }, (_, k) =>
  Math.max(...X.filter((_value, i) => (along === 1 ? Math.floor(i / 8) : i % 8) === k)));

/** The largest of rows or columns (1, 0), spread so that they are along rows or columns. */
for (const over of [0, 1]) {
  for (const along of [0, 1]) {
    for (const through of ['', 'reshape', 'maximum']) {
      test(`x less the largest over ${over}, along ${along} ${through}`, async () => {
        const steps = {
          '': `b = f32[8,8] broadcast(m), dimensions={${along}}`,
          reshape: `r = f32[1,8,1] reshape(m)\n c = f32[8] reshape(r)\n b = f32[8,8] broadcast(c), dimensions={${along}}`,
          maximum: `l = f32[8] broadcast(low), dimensions={}\n c = f32[8] maximum(l, m)\n b = f32[8,8] broadcast(c), dimensions={${along}}`,
        }[through];
        const [got] = await run(`m = f32[8] reduce(x, low), dimensions={${over}}, to_apply=most
  ${steps}\n d = f32[8,8] subtract(x, b)\n ROOT y = f32[8,8] exponential(d)`, X);
        const most = largest(over);
        close(got, exponentials(X.map((v, i) => v - most[along === 0 ? Math.floor(i / 8) : i % 8])));
      });
    }
  }
}

test('equal loops, one with a narrower range', async () => {
  const results = await run(`m = f32[8] reduce(x, low), dimensions={1}, to_apply=most
  n = f32[8] negate(m)
  b = f32[8,8] broadcast(m), dimensions={0}\n c = f32[8,8] broadcast(n), dimensions={0}
  d = f32[8,8] subtract(x, b)\n f = f32[8,8] subtract(x, c)
  g = f32[8,8] exponential(d)\n h = f32[8,8] exponential(f)
  u = f32[8] reduce(g, low), dimensions={0}, to_apply=most
  v = f32[8] reduce(h, low), dimensions={0}, to_apply=most
  ROOT t = (f32[8,8], f32[8,8], f32[8], f32[8]) tuple(g, h, u, v)`, X);
  const most = largest(1);
  for (const [k, sign] of [[0, -1], [1, 1]]) {
    const wanted = exponentials(X.map((v, i) => v + sign * most[Math.floor(i / 8)]));
    close(results[k], wanted);
    close(results[2 + k], wanted.slice(0, 8).map((_, i) => Math.max(...wanted.filter((_value, j) => j % 8 === i))));
  }
});

test('infinities and numbers that are none', async () => {
  const x = Float32Array.of(Infinity, 1, 2, NaN, 1, 2, -Infinity, -Infinity, -Infinity, -Infinity, 3, 2);
  const [got] = await run(`m = f32[4] reduce(x, low), dimensions={1}, to_apply=most
  b = f32[4,3] broadcast(m), dimensions={0}\n d = f32[4,3] subtract(x, b)\n ROOT y = f32[4,3] exponential(d)`, x, 'f32[4,3]');
  const { E } = Math;
  close(got, [NaN, 0, 0, NaN, NaN, NaN, NaN, NaN, NaN, 0, 1, 1 / E]);
});

/** Operands of exponentials: [body, function of x]. */
const OPERANDS = [
  ['a = f32[64] abs(x)\n d = f32[64] negate(a)', (x) => -Math.abs(x)],
  ['a = f32[64] abs(x)\n d = f32[64] copy(a)', (x) => Math.abs(x)],
  ['s = f32[64] multiply(x, x)\n d = f32[64] negate(s)', (x) => -x * x],
  ['s = f32[64] multiply(x, x)\n h = f32[] constant(-0.5)\n b = f32[64] broadcast(h), dimensions={}\n d = f32[64] multiply(s, b)', (x) => -x * x / 2],
  ['s = f32[64] multiply(x, x)\n h = f32[] constant(0.5)\n b = f32[64] broadcast(h), dimensions={}\n d = f32[64] multiply(s, b)', (x) => x * x / 2],
  ['a = f32[64] abs(x)\n n = f32[64] negate(a)\n d = f32[64] maximum(n, x)', (x) => Math.max(-Math.abs(x), x)],
  ['a = f32[64] abs(x)\n n = f32[64] negate(a)\n d = f32[64] minimum(a, n)', (x) => -Math.abs(x)],
  ['a = f32[64] abs(x)\n n = f32[64] negate(a)\n d = f32[64] add(a, n)', () => 0],
  ['a = f32[64] abs(x)\n n = f32[64] negate(x)\n d = f32[64] multiply(a, n)', (x) => -x * Math.abs(x)],
];
for (const [body, of] of OPERANDS) {
  test(`exponential of ${body.split('\n').at(-1).trim()}, ${body.split('\n')[0].trim()}`, async () => {
    const [got] = await run(`${body}\n ROOT y = f32[64] exponential(d)`, X, 'f32[64]');
    close(got, exponentials(X.map((x) => of(x))));
  });
}

/** Their squares are denormal and take an engine more than a hundred cycles each: 10 to 45 times as long in all. */
const SMALL = { f32: [1e-23, 1e-21, 1e-14, 1e-36], f64: [1e-158, 1e-105] };
const MAX_TIMES = 4;
const FUNCTIONS = ['exponential', 'exponential-minus-one', 'logistic', 'tanh', 'erf', 'asin', 'acos', 'sine', 'tan', 'sinh', 'asinh', 'atan2'];
for (const [type, sizes] of Object.entries(SMALL)) {
  test(`small numbers of ${type} take no longer than others`, async () => {
    const count = 4096, shape = `${type}[${count}]`;
    for (const name of FUNCTIONS) {
      const two = name === 'atan2' ? ', one' : '';
      const module = client.parseHlo(`HloModule m\nENTRY e { x = ${shape} parameter(0)\n c = ${type}[] constant(1.5)
  one = ${shape} broadcast(c), dimensions={}\n ROOT y = ${shape} ${name}(x${two}) }`);
      const executable = await client.compile(module);
      const operand = (size) => client.buffer(
        (type === 'f32' ? Float32Array : Float64Array).from({ length: count }, (_, i) => size * (1 + i % 7)), shape);
      const usual = operand(0.1);
      for (const size of sizes) {
        const ratio = await ratioOfTimes(executable, [operand(size)], [usual], MAX_TIMES);
        assert.ok(ratio < MAX_TIMES, `${name} of ${size}: ${ratio.toFixed(1)} times`);
      }
      module.dispose();
    }
  });
}
