/**
 * Tests regions: small steps with their loops and branches as one function. The golden corpus checks
 * their results. Here the tests check that regions are made, can be left in the middle of any loop and
 * continued there, and can be cancelled.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';

import * as parser from 'wasmparser';

import { wasmText } from '../../bindings/cli/wasm_text.mjs';
import { Client } from '../../bindings/index.mjs';

const HEADER = 'HloModule m\n';

/** Three loops in each other, the second one in a branch; x = x * 1664525 + y in each innermost turn. */
const NESTED = `${HEADER}
inner_more {
  s = (s32[], u32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=2
  ROOT r = pred[] compare(i, n), direction=LT
}
inner {
  s = (s32[], u32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = u32[] get-tuple-element(s), index=1
  n = s32[] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  a = u32[] constant(1664525)
  m = u32[] multiply(x, a)
  c = u32[] convert(j)
  y = u32[] add(m, c)
  ROOT r = (s32[], u32[], s32[]) tuple(j, y, n)
}
loop {
  s = (u32[], s32[]) parameter(0)
  x = u32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  zero = s32[] constant(0)
  t = (s32[], u32[], s32[]) tuple(zero, x, n)
  w = (s32[], u32[], s32[]) while(t), condition=inner_more, body=inner
  ROOT r = u32[] get-tuple-element(w), index=1
}
flip {
  s = (u32[], s32[]) parameter(0)
  x = u32[] get-tuple-element(s), index=0
  ROOT r = u32[] not(x)
}
outer_more {
  s = (s32[], u32[], s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=2
  ROOT r = pred[] compare(i, n), direction=LT
}
outer {
  s = (s32[], u32[], s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = u32[] get-tuple-element(s), index=1
  n = s32[] get-tuple-element(s), index=2
  k = s32[] get-tuple-element(s), index=3
  one = s32[] constant(1)
  three = s32[] constant(3)
  j = s32[] add(i, one)
  b = s32[] remainder(i, three)
  t = (u32[], s32[]) tuple(x, k)
  y = u32[] conditional(b, t, t, t), branch_computations={loop, flip, loop}
  ROOT r = (s32[], u32[], s32[], s32[]) tuple(j, y, n, k)
}
ENTRY e {
  n = s32[] parameter(0)
  k = s32[] parameter(1)
  zero = s32[] constant(0)
  x = u32[] constant(1)
  t = (s32[], u32[], s32[], s32[]) tuple(zero, x, n, k)
  w = (s32[], u32[], s32[], s32[]) while(t), condition=outer_more, body=outer
  ROOT r = u32[] get-tuple-element(w), index=1
}`;

function nested(n, k) {
  let x = 1;
  for (let i = 0; i < n; i++) {
    if (i % 3 === 1) {
      x = ~x >>> 0;
      continue;
    }
    for (let j = 1; j <= k; j++) x = (Math.imul(x, 1664525) + j) >>> 0;
  }
  return x;
}

const FOREVER = `${HEADER}
more { s = (f32[]) parameter(0)  ROOT r = pred[] constant(true) }
body { s = (f32[]) parameter(0)  x = f32[] get-tuple-element(s), index=0
  y = f32[] cosine(x)  ROOT r = (f32[]) tuple(y) }
ENTRY e { x = f32[] parameter(0)  t = (f32[]) tuple(x)
  w = (f32[]) while(t), condition=more, body=body  ROOT r = f32[] get-tuple-element(w), index=0 }`;

/** Moves of every kind, with starts that must be clamped. */
const moves = (type) => `${HEADER}
ENTRY e {
  x = f32[4,5] parameter(0)
  i = ${type}[] parameter(1)
  j = ${type}[] parameter(2)
  z = f32[] constant(-1)
  s = f32[2,3] dynamic-slice(x, i, j), dynamic_slice_sizes={2,3}
  u = f32[4,5] dynamic-update-slice(x, s, j, i)
  p = f32[5,4] pad(s, z), padding=1_2x-1_2_0
  q = f32[6,8] pad(s, z), padding=0_3_1x2_1_1
  n = f32[4,3] slice(q), slice={[0:4], [1:4]}
  c = f32[4,8] concatenate(u, n), dimensions={1}
  ROOT r = (f32[2,3], f32[4,5], f32[4,8], f32[5,4]) tuple(s, u, c, p)
}`;

/** The same with arrays of arrays. */
function moved(x, i, j) {
  const at = (index, most) => Math.min(Math.max(index, 0), most);
  const s = [0, 1].map((r) => [0, 1, 2].map((c) => x[at(i, 2) + r][at(j, 2) + c]));
  const u = x.map((row) => [...row]);
  s.forEach((row, r) => row.forEach((value, c) => (u[at(j, 2) + r][at(i, 2) + c] = value)));
  const padded = (rows, columns, place) => Array.from({ length: rows }, (_, r) =>
    Array.from({ length: columns }, (__, c) => place(r, c) ?? -1));
  const p = padded(5, 4, (r, c) => s[r - 1]?.[c + 1]);
  const q = padded(6, 8, (r, c) =>
    (r % 2 || c % 2 ? undefined : s[r / 2]?.[(c - 2) / 2]));
  const c = u.map((row, r) => [...row, ...q[r].slice(1, 4)]);
  return [s, u, c, p];
}

/** A product of scalars, and a vector that goes round. */
const SCALARS = `${HEADER}
more { s = (s32[], f32[], f64[3]) parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(60000)  ROOT r = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[], f64[3]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  v = f64[3] get-tuple-element(s), index=2
  one = s32[] constant(1)  half = f32[] constant(0.5)  j = s32[] add(i, one)
  h = f32[] multiply(x, half)  y = f32[] add(h, half)
  a = f64[1] slice(v), slice={[0:1]}  b = f64[2] slice(v), slice={[1:3]}
  w = f64[3] concatenate(b, a), dimensions={0}  d = f64[] convert(y)  e = f64[3] broadcast(d), dimensions={}
  u = f64[3] maximum(w, e)
  ROOT r = (s32[], f32[], f64[3]) tuple(j, y, u) }
ENTRY e { x = f32[] parameter(0)  v = f64[3] parameter(1)  z = s32[] constant(0)
  t = (s32[], f32[], f64[3]) tuple(z, x, v)
  ROOT w = (s32[], f32[], f64[3]) while(t), condition=more, body=body }`;

/** The instructions of a region's loop in each turn, but for those that leave it. */
function turn(text) {
  const lines = text.slice(text.indexOf(';; region')).split('\n').map((line) => line.trim());
  const loop = lines.slice(lines.findIndex((line) => /^loop/.test(line)));
  const left = loop.lastIndexOf('return');
  return loop.slice(0, loop.lastIndexOf('if', left));
}

/**
 * A small array in the state of a loop that holds another one and a branch: it is cut and joined,
 * written as a row of a larger one and read from there, and goes to another place in the state.
 * `mix` of two is |x - y|, of PRED x xor y, of complex numbers x times the imaginary unit.
 */
const small = (type, n) => {
  const mixed = (name, x, y) => {
    const shape = `${type}[${n}]`;
    if (type === 'pred') return `${name} = ${shape} xor(${x}, ${y})`;
    if (type.startsWith('c')) {
      return `${name}i = ${type}[] constant((0, 1))  ${name}b = ${shape} broadcast(${name}i), dimensions={}
  ${name} = ${shape} multiply(${x}, ${name}b)`;
    }
    return `${name}m = ${shape} maximum(${x}, ${y})  ${name}l = ${shape} minimum(${x}, ${y})
  ${name} = ${shape} subtract(${name}m, ${name}l)`;
  };
  const inner = `(s32[], ${type}[${n}], ${type}[${n}])`;
  const state = `(s32[], s32[], ${type}[${n}], ${type}[${n}], ${type}[], ${type}[4,${n}])`;
  return `${HEADER}
inner_more { s = ${inner} parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)  ROOT r = pred[] compare(i, n), direction=LT }
inner_body { s = ${inner} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = ${type}[${n}] get-tuple-element(s), index=1
  y = ${type}[${n}] get-tuple-element(s), index=2
  one = s32[] constant(1)  j = s32[] add(i, one)
  ${mixed('z', 'x', 'y')}
  ROOT r = ${inner} tuple(j, y, z) }
turn { s = ${inner} parameter(0)
  ROOT w = ${inner} while(s), condition=inner_more, body=inner_body }
stay { ROOT s = ${inner} parameter(0) }
more { s = ${state} parameter(0)  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1  ROOT r = pred[] compare(i, n), direction=LT }
body { s = ${state} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  x = ${type}[${n}] get-tuple-element(s), index=2
  y = ${type}[${n}] get-tuple-element(s), index=3
  c = ${type}[] get-tuple-element(s), index=4
  all = ${type}[4,${n}] get-tuple-element(s), index=5
  zero = s32[] constant(0)  one = s32[] constant(1)  three = s32[] constant(3)  four = s32[] constant(4)
  j = s32[] add(i, one)
  last = ${type}[1] slice(x), slice={[${n - 1}:${n}]}
  c1 = ${type}[] reshape(last)
  c0 = ${type}[1] reshape(c)
  first = ${type}[${n - 1}] slice(x), slice={[0:${n - 1}]}
  x1 = ${type}[${n}] concatenate(c0, first), dimensions={0}
  k = s32[] remainder(i, four)
  row = ${type}[1,${n}] reshape(x1)
  all1 = ${type}[4,${n}] dynamic-update-slice(all, row, k, zero)
  l = s32[] remainder(j, four)
  old = ${type}[1,${n}] dynamic-slice(all1, l, zero), dynamic_slice_sizes={1,${n}}
  y1 = ${type}[${n}] reshape(old)
  ${mixed('y2', 'y', 'y1')}
  b = s32[] remainder(i, three)
  t = ${inner} tuple(zero, x1, y2)
  p = pred[] compare(b, zero), direction=EQ
  q = ${inner} conditional(p, t, t), true_computation=turn, false_computation=stay
  x3 = ${type}[${n}] get-tuple-element(q), index=1
  y3 = ${type}[${n}] get-tuple-element(q), index=2
  ROOT r = ${state} tuple(j, n, y3, x3, c1, all1) }
ENTRY e {
  n = s32[] parameter(0)
  x = ${type}[${n}] parameter(1)
  c = ${type}[] parameter(2)
  all = ${type}[4,${n}] parameter(3)
  zero = s32[] constant(0)
  t = ${state} tuple(zero, n, x, x, c, all)
  ROOT w = ${state} while(t), condition=more, body=body }`;
};

/** The same with arrays; elements are numbers, or pairs of them. */
function smallTurns(type, turns, x, c, all) {
  const mix = (a, b) => a.map((value, k) => (type.startsWith('c') ? [0 - value[1], value[0]]
    : type === 'pred' ? value !== b[k] : Math.abs(value - b[k])));
  let y = x;
  for (let i = 0; i < turns; i++) {
    const next = x[x.length - 1];
    x = [c, ...x.slice(0, -1)];
    all = all.map((row, r) => (r === i % 4 ? x : row));
    y = mix(y, all[(i + 1) % 4]);
    if (i % 3 === 0) for (let j = 0; j < 3; j++) [x, y] = [y, mix(x, y)];
    [x, y, c] = [y, x, next];
  }
  return [x, y, c, all];
}

const SMALL_TYPES = ['pred', 's8', 'u8', 's16', 'u16', 's32', 'u32', 's64', 'u64', 'f8e4m3fn', 'f16',
  'bf16', 'f32', 'f64', 'c64', 'c128'];

for (const threads of [0, 2]) {
  describe(`regions, ${threads} threads`, () => {
    test('loops in branches in loops, left and entered again', async () => {
      const client = await Client.create({ threads });
      const executable = await client.compile(client.parseHlo(NESTED));
      assert.match(executable.thunks(), /^region /m);
      // More turns than one stay in the region has fuel for, in the outer and the inner loops.
      for (const [n, k] of [[0, 5], [5, 0], [1, 300000], [7, 40000], [30000, 3], [4, 1]]) {
        const [result] = await executable.execute([n, k]);
        assert.equal(result.data[0], nested(n, k), `${n} x ${k}`);
      }
      client.dispose();
    });

    test('a loop without end is stopped', async () => {
      const client = await Client.create({ threads });
      const executable = await client.compile(client.parseHlo(FOREVER));
      assert.match(executable.thunks(), /^region /m);
      const controller = new AbortController();
      const run = executable.execute([1], { signal: controller.signal });
      setTimeout(() => controller.abort(), 50);
      await assert.rejects(run, { code: 'CANCELLED' });
      client.dispose();
    });

    test('slices, updates, padding and concatenation as moves', async () => {
      const client = await Client.create({ threads });
      const x = [0, 1, 2, 3].map((r) => [0, 1, 2, 3, 4].map((c) => 10 * r + c));
      for (const type of ['s8', 'u8', 's16', 'u16', 's32', 'u32', 's64', 'u64']) {
        const executable = await client.compile(client.parseHlo(moves(type)));
        assert.doesNotMatch(executable.thunks(), /^kernel|^eval/m);
        for (const [i, j] of [[0, 0], [1, 2], [2, 1], [100, 1], [-1, -100], [3, 127]]) {
          if (type.startsWith('u') && i < 0) continue;
          const wide = type.endsWith('64');
          const outputs = await executable.execute([x, ...[i, j].map((n) => (wide ? BigInt(n) : n))]);
          assert.deepEqual(outputs.map((output) => output.toArray()), moved(x, i, j), `${type} ${i} ${j}`);
        }
      }
      client.dispose();
    });

    test('scalars and small vectors of a loop are in locals', async () => {
      const client = await Client.create({ threads });
      const executable = await client.compile(client.parseHlo(SCALARS));
      const text = wasmText(parser, executable.generatedCode(), executable.thunks());
      assert.deepEqual(turn(text).filter((line) => /load|store|call/.test(line)), []);
      const [i, x, v] = await executable.execute([3, [-1, 5, 0.25]]);
      assert.deepEqual([i.data[0], x.data[0], ...v.data], [60000, 1, 2, 5, 2]);
      client.dispose();
    });

    test('a slice that a counter keeps in range is not clamped', async () => {
      const client = await Client.create({ threads });
      const program = (start, size) => `${HEADER}
more { s = (s32[], f32[], f32[40], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(40)
  ROOT r = pred[] compare(i, n), direction=LT }
turn { s = (s32[], f32[], f32[40], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0\n a = f32[] get-tuple-element(s), index=1
  x = f32[40] get-tuple-element(s), index=2\n k = s32[] get-tuple-element(s), index=3
  one = s32[] constant(1)\n two = s32[] constant(2)\n o = f32[] constant(0)
  ${start}
  y = f32[${size}] dynamic-slice(x, at), dynamic_slice_sizes={${size}}
  f = f32[] constant(0.5)\n w = f32[${size}] broadcast(f), dimensions={}\n h = f32[${size}] multiply(y, w)
  z = f32[1] slice(h), slice={[0:1]}\n v = f32[] reshape(z)\n b = f32[] add(a, v)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[], f32[40], s32[]) tuple(j, b, x, k) }
ENTRY e { x = f32[40] parameter(0)\n k = s32[] parameter(1)\n z = s32[] constant(0)\n f = f32[] constant(0)
  s = (s32[], f32[], f32[40], s32[]) tuple(z, f, x, k)
  w = (s32[], f32[], f32[40], s32[]) while(s), condition=more, body=turn
  ROOT r = f32[] get-tuple-element(w), index=1 }`;
      const x = Array.from({ length: 40 }, (_, i) => i * i);
      for (const [start, size, clamps, at] of [
        ['at = s32[] copy(i)', 1, false, (i) => i],
        ['at = s32[] copy(i)', 3, true, (i) => Math.min(i, 37)],
        ['at = s32[] divide(i, two)', 3, false, (i) => i >> 1],
        ['at = s32[] add(i, one)', 1, true, (i) => Math.min(i + 1, 39)],
        ['at = s32[] subtract(i, one)', 1, true, (i) => Math.max(i - 1, 0)],
        ['at = s32[] copy(k)', 1, true, () => 39],
      ]) {
        const executable = await client.compile(client.parseHlo(program(start, size)));
        const text = wasmText(parser, executable.generatedCode(), executable.thunks());
        assert.equal(/i64\.lt_u/.test(text), clamps, `${start}, ${size}`);
        const [sum] = await executable.execute([x, 100]);
        assert.equal(sum.data[0], x.reduce((total, _, i) => total + x[at(i)] / 2, 0), start);
      }
      client.dispose();
    });

    test('small arrays of all types, in locals and left in the middle of loops', async () => {
      const client = await Client.create({ threads });
      for (const type of SMALL_TYPES) {
        for (const n of [2, 3, 5, 8]) {
          const value = (k) => (type.startsWith('c') ? [k % 5, (k * 3) % 7] : type === 'pred' ? k % 3 === 0 : (k * 5) % 8);
          const x = Array.from({ length: n }, (_, k) => value(k));
          const all = [1, 2, 3, 4].map((r) => x.map((_, k) => value(r * n + k)));
          const executable = await client.compile(client.parseHlo(small(type, n)));
          for (const turns of [0, 1, 7, 5000]) {
            const want = smallTurns(type, turns, x, value(6), all);
            const given = (values) => (type.endsWith('64') && /^[su]/.test(type)
              ? JSON.parse(JSON.stringify(values), (_, v) => (typeof v === 'number' ? BigInt(v) : v)) : values);
            const outputs = await executable.execute([turns, x, value(6), all].map((v, k) => (k ? given(v) : v)));
            const plain = (values) => JSON.parse(JSON.stringify(values,
              (_, v) => (typeof v === 'bigint' ? Number(v) : Object.is(v, -0) ? 0 : v)));
            assert.deepEqual(outputs.slice(2).map((output) => plain(output.toArray())), plain(want),
              `${type}[${n}], ${turns} turns`);
          }
          executable.dispose();
        }
      }
      client.dispose();
    });

    test('a profile says what a region holds', async () => {
      const client = await Client.create({ threads });
      const executable = await client.compile(client.parseHlo(NESTED));
      const { events } = await executable.execute([3, 2], { profile: true });
      const region = events.find(({ category }) => category === 'region');
      assert.ok(region.holds.includes('y') && region.holds.length > 5, region.holds?.join());
      client.dispose();
    });
  });
}

test('the listing of steps has those of conditions, bodies and branches below them', async () => {
  const client = await Client.create({ threads: 0 });
  const executable = await client.compile(client.parseHlo(`HloModule m
more { s = (s32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(3)\n ROOT p = pred[] compare(i, n), direction=LT }
turn { s = (s32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n v = f32[] get-tuple-element(s), index=1\n one = s32[] constant(1)
 j = s32[] add(i, one)\n u = f32[] sine(v)\n ROOT t = (s32[], f32[]) tuple(j, u) }
low { x = f32[] parameter(0)\n ROOT y = f32[] negate(x) }\nhigh { x = f32[] parameter(0)\n ROOT y = f32[] cosine(x) }
ENTRY e { x = f32[] parameter(0)\n z = s32[] constant(0)\n p = pred[] parameter(1)\n t = (s32[], f32[]) tuple(z, x)
 w = (s32[], f32[]) while(t), condition=more, body=turn\n v = f32[] get-tuple-element(w), index=1
 ROOT c = f32[] conditional(p, v, v), true_computation=low, false_computation=high }`), { optimize: false });
  const lines = executable.thunks().split('\n').map((line) => /^( *)(\w+ ?\d*)/.exec(line)).map((found) => [found?.[1].length, found?.[2].trim()]);
  const below = (name) => {
    const at = lines.findIndex(([, word]) => word === name), [indent] = lines[at] ?? [];
    return lines.slice(at + 1).filter((_, k, rest) => rest.slice(0, k + 1).every(([own]) => own > indent)).map(([own, word]) => [own - indent, word]);
  };
  assert.deepEqual(below('while').map(([, word]) => word).filter((word) => /condition|body/.test(word)), ['condition', 'body']);
  for (const name of ['condition', 'body', 'branch 0', 'branch 1']) assert.ok(below(name).some(([deep, word]) => deep === 2 && word === 'eval'),
    `${name}: ${executable.thunks()}`);
  client.dispose();
});

/** How a loop's body computes the value that pads: from the loop's state i, v and a. */
const PADDING = {
  'its state': (t) => `w = ${t}[] copy(v)`,
  'a sum of two scalars': (t) => `w = ${t}[] add(v, v)`,
  'the counter': (t) => `x = ${t}[] convert(i)\n  w = ${t}[] add(v, x)`,
  'an element at a computed place': (t) => `s = ${t}[1,1] dynamic-slice(a, i, i), dynamic_slice_sizes={1,1}\n  w = ${t}[] reshape(s)`,
  'the last element': (t) => `s = ${t}[1,1] slice(a), slice={[0:1],[1:2]}\n  w = ${t}[] reshape(s)`,
  'a sum of elements': (t) => `z = ${t}[] constant(0)\n  w = ${t}[] reduce(a, z), dimensions={0,1}, to_apply=sum`,
};
describe('a pad in a loop has its padding value everywhere', async () => {
  const client = await Client.create({ threads: 0 });
  after(() => client.dispose());
  for (const t of ['s8', 'f8e4m3fn', 'u16', 'bf16', 's32', 'f32', 'u64', 'f64']) {
    for (const [name, computed] of Object.entries(PADDING)) {
      test(`${t}, ${name}`, async () => {
        const state = `(s32[], ${t}[], ${t}[2,3], ${t}[1,2])`;
        const executable = await client.compile(client.parseHlo(`${HEADER}
sum { a = ${t}[] parameter(0)\n b = ${t}[] parameter(1)\n ROOT r = ${t}[] add(a, b) }
more { p = ${state} parameter(0)\n i = s32[] get-tuple-element(p), index=0\n n = s32[] constant(3)\n ROOT r = pred[] compare(i, n), direction=LT }
turn { p = ${state} parameter(0)\n i = s32[] get-tuple-element(p), index=0\n v = ${t}[] get-tuple-element(p), index=1\n a = ${t}[1,2] get-tuple-element(p), index=3
  one = s32[] constant(1)\n j = s32[] add(i, one)
  ${computed(t)}
  q = ${t}[2,3] pad(a, w), padding=0_1x1_0\n ROOT r = ${state} tuple(j, w, q, a) }
ENTRY e { a = ${t}[1,2] parameter(0)\n v = ${t}[] parameter(1)\n zero = s32[] constant(0)\n q = ${t}[2,3] broadcast(v), dimensions={}
  s = ${state} tuple(zero, v, q, a)\n w = ${state} while(s), condition=more, body=turn
  x = ${t}[] get-tuple-element(w), index=1\n y = ${t}[2,3] get-tuple-element(w), index=2\n ROOT r = (${t}[], ${t}[2,3]) tuple(x, y) }`));
        const [value, padded] = (await executable.execute([[[1, 2]], 5])).map((x) => x.toArray());
        assert.deepEqual(padded, [[value, 1, 2], [value, value, value]].map((row) => row.map((x) => (t === 'u64' ? BigInt(x) : x))));
        executable.dispose();
      });
    }
  }
});
