/** Tests that fusions of the same operands become one loop, with several results and reductions, or stay apart. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { agrees, whole } from '../support/as_written.mjs';
import { execute } from '../support/execute.mjs';
import { afterPass, bf16, client, isClose, operationsOf, reshaped, wave } from '../support/passes.mjs';

const fusions = (text, name) => operationsOf(text, name).filter(([opcode]) => opcode === 'fusion').length;

const SIBLINGS = {
  'results of the same operands': {
    entry: `a = f32[64,40] add(x, y)
      b = f32[64,40] multiply(x, y)
      ROOT r = (f32[64,40], f32[64,40]) tuple(a, b)`,
    loops: 1,
    wants: (x, y) => [x + y, x * y],
  },
  'one that reads the other': {
    entry: `a = f32[64,40] tanh(x)
      b = f32[64,40] multiply(a, y)
      ROOT r = (f32[64,40], f32[64,40]) tuple(a, b)`,
    loops: 1,
    wants: (x, y) => [Math.tanh(x), Math.tanh(x) * y],
  },
  'a result that only the other reads, in several ways': {
    entry: `a = f32[64,40] tanh(x)
      n = f32[64,40] negate(a)
      c = f32[64,40] exponential(n)
      d = f32[64,40] exponential(a)
      b = f32[64,40] multiply(c, y)
      e = f32[64,40] subtract(d, y)
      ROOT r = (f32[64,40], f32[64,40]) tuple(b, e)`,
    wants: (x, y) => [Math.exp(-Math.tanh(x)) * y, Math.exp(Math.tanh(x)) - y],
  },
  'a sort between them, which waits for one': {
    entry: `a = f32[64,40] add(x, y)
      s = f32[64,40] sort(a), dimensions={1}, to_apply=less
      b = f32[64,40] subtract(x, s)
      ROOT r = (f32[64,40], f32[64,40]) tuple(a, b)`,
    loops: 2,
  },
  'one that reads the other turned round': {
    entry: `a = f32[64,40] tanh(x)
      v = f32[64,40] reverse(a), dimensions={1}
      b = f32[64,40] multiply(v, a)
      ROOT r = (f32[64,40], f32[64,40]) tuple(a, b)`,
    loops: 2,
  },
  'other shapes': {
    entry: `a = f32[64,40] add(x, y)
      t = f32[40,64] transpose(x), dimensions={1,0}
      u = f32[40,64] transpose(y), dimensions={1,0}
      b = f32[40,64] multiply(t, u)
      ROOT r = (f32[64,40], f32[40,64]) tuple(a, b)`,
  },
};
const LESS = 'less {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=LT\n}\n';
const pair = (entry) =>
  `HloModule m\n${LESS}ENTRY e {\n  x = f32[64,40] parameter(0)\n  y = f32[64,40] parameter(1)\n  ${entry}\n}`;

for (const [name, { entry, loops, wants }] of Object.entries(SIBLINGS)) {
  test(`fuse-siblings: ${name}`, async () => {
    const text = pair(entry);
    const module = client.parseHlo(text);
    const last = client.passes(module).at(-1).text;
    module.dispose();
    if (loops) assert.equal(fusions(last), loops, last);
    const [x, y] = [wave(64 * 40, 0), wave(64 * 40, 1)];
    const results = await execute(client, text, [x, y]);
    if (!wants) return;
    results.forEach((rows, r) => rows.flat().forEach((value, i) =>
      assert.ok(isClose(value, wants(x[i], y[i])[r]), `${value} of result ${r} at ${i}`)));
  });
}

test('fuse-siblings: an operand that two results read as bits is not overwritten between them', async () => {
  for (const type of ['f16', 'bf16', 'f8e5m2', 'f32']) {
    const [x, y] = await execute(client, `HloModule m\nENTRY e {
      p = ${type}[4] parameter(0)
      a = ${type}[2] slice(p), slice={[2:4]}
      n = ${type}[2] multiply(a, a)
      b = ${type}[2] slice(p), slice={[0:2]}
      c = ${type}[4,1] reshape(p)
      h = ${type}[2] negate(n)
      k = ${type}[4] concatenate(h, b), dimensions={0}
      q = ${type}[4] sort(k), dimensions={0}, to_apply=less
      s = ${type}[4] add(q, p)
      t = ${type}[4] add(p, q)
      ROOT r = (${type}[4], ${type}[4]) tuple(t, s)\n}`.replace('ENTRY', `less {
      a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT c = pred[] compare(a, b), direction=LT\n}\nENTRY`), [[1, 2, 4, 3]]);
    if (!type.startsWith('f8')) assert.deepEqual(x, [-15, -7, 5, 5]);
    assert.deepEqual(y, x);
  }
});

test('fuse-siblings: a loop\'s state is still updated in place', () => {
  const text = `HloModule m
more {
  s = (s32[], f32[1000], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(20)
  ROOT r = pred[] compare(i, n), direction=LT
}
turn {
  s = (s32[], f32[1000], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[1000] get-tuple-element(s), index=1
  v = f32[1000] get-tuple-element(s), index=2
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[1000] add(x, v)
  w = f32[1000] subtract(v, x)
  ROOT r = (s32[], f32[1000], f32[1000]) tuple(j, y, w)
}
ENTRY e {
  x = f32[1000] parameter(0)
  v = f32[1000] parameter(1)
  zero = s32[] constant(0)
  t = (s32[], f32[1000], f32[1000]) tuple(zero, x, v)
  ROOT w = (s32[], f32[1000], f32[1000]) while(t), condition=more, body=turn
}`;
  const module = client.parseHlo(text);
  return client.compile(module).then(async (executable) => {
    const turn = executable.thunks().split('body')[1];
    assert.equal(turn.match(/generated/g).length, 2, turn);
    assert.doesNotMatch(turn, /copy/);
    const [, x, v] = await executable.execute([wave(1000, 0), wave(1000, 1)]);
    let [a, b] = [wave(1000, 0), wave(1000, 1)];
    for (let i = 0; i < 20; i++) [a, b] = [a.map((p, k) => p + b[k]), b.map((q, k) => q - a[k])];
    x.toArray().forEach((value, i) => assert.ok(isClose(value, a[i]), `${value} at ${i}, not ${a[i]}`));
    v.toArray().forEach((value, i) => assert.ok(isClose(value, b[i])));
    executable.dispose();
    module.dispose();
  });
});

/** Mean and mean square, as normalisations want them: over dimension `d`, of `type`. */
const moments = (type, dims, d, more = '') => {
  const left = dims.filter((_, i) => i !== d), a = `${type}[${dims}]`, r = `${type}[${left}]`;
  return `HloModule m
add { a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT r = ${type}[] add(a, b) }
mul { a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT r = ${type}[] multiply(a, b) }
ENTRY e { x = ${a} parameter(0)\n z = ${type}[] constant(2)\n o = ${type}[] constant(1)
  s = ${r} reduce(x, z), dimensions={${d}}, to_apply=add
  ${more || `n = ${a} negate(x)\n y = ${a} multiply(x, n)`}
  q = ${r} reduce(y, z), dimensions={${d}}, to_apply=add
  p = ${r} reduce(x, o), dimensions={${d}}, to_apply=mul
  ROOT t = (${r}, ${r}, ${r}) tuple(s, q, p) }`;
};
for (const type of ['f32', 'f64', 's32', 'bf16', 's64']) {
  for (const [dims, d] of [[[5, 67], 1], [[67, 5], 0], [[3, 40, 2], 1], [[200, 33], 0], [[7, 3], 1]]) {
    test(`sums of one array, ${type}[${dims}] over ${d}, are one reduction`, async () => {
      const text = moments(type, dims, d), wide = type === 's64';
      assert.match(afterPass(text, 'fuse-siblings'), /reduce\([^)]*\), dimensions=\{\d\}, to_apply=/);
      assert.match(afterPass(text, 'fuse-siblings'), /= \(\w+\[[\d,]+\]\S*, \w+\[[\d,]+\]\S*, \w+\[[\d,]+\]\S*\) reduce\(/);
      const count = dims.reduce((n, size) => n * size), inner = dims.slice(d + 1).reduce((n, size) => n * size, 1);
      const values = Array.from({ length: count }, (_, i) => (i % 7 === 3 ? -1 : 1));
      const data = wide ? BigInt64Array.from(values, BigInt) : values;
      const got = (await execute(client, text, [data.length ? reshaped(Array.from(data), dims) : data]))
        .map((result) => result.flat(3).map(Number));
      for (let r = 0; r < count / dims[d]; r++) {
        const all = Array.from({ length: dims[d] }, (_, k) =>
          values[Math.floor(r / inner) * inner * dims[d] + k * inner + (r % inner)]);
        const wanted = [2 + all.reduce((a, b) => a + b, 0), 2 - all.length, all.reduce((a, b) => a * b, 1)];
        assert.deepEqual(got.map((result) => result[r]), wanted.map((x) => (type === 'bf16' ? bf16(x) : x)));
      }
    });
  }
}

/** As many sums of one array as results of a loop, and one more: the accumulators of all are in registers. */
for (const [type, dims] of [
  ['f32', [3]], ['f32', [64]], ['f32', [100, 16]], ['f64', [37]], ['bf16', [50, 33]], ['s32', [1000]], ['s16', [30, 70]], ['s64', [5, 100]],
    ['c64', [40]],
]) {
  test(`8, 9, 16 and 17 sums of ${type}[${dims}]`, async () => {
    const a = `${type}[${dims}]`, r = `${type}[${dims.slice(0, -1)}]`, row = dims.at(-1);
    const literal = (v) => (type === 'c64' ? `(${v}, 0)` : v);
    for (const n of [8, 9, 16, 17]) {
      const sums = Array.from({ length: n }, (_, k) => `c${k} = ${type}[] constant(${literal(k - 6)})
  b${k} = ${a} broadcast(c${k}), dimensions={}
  y${k} = ${a} multiply(x, b${k})
  q${k} = ${r} reduce(y${k}, z), dimensions={${dims.length - 1}}, to_apply=add`);
      const text = `HloModule m
add { a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT r = ${type}[] add(a, b) }
ENTRY e { x = ${a} parameter(0)\n z = ${type}[] constant(${literal(1)})
  ${sums.join('\n  ')}
  ROOT t = (${Array(n).fill(r).join(', ')}) tuple(${sums.map((_, k) => `q${k}`).join(', ')}) }`;
      const values = Array.from({ length: dims.reduce((p, q) => p * q) }, (_, i) => (i % 5) - 2);
      const of = { s64: BigInt, c64: (v) => [v, 0] }[type] ?? Number;
      const got = await execute(client, text, [reshaped(values.map(of), dims)]);
      for (let k = 0; k < n; k++) {
        const wanted = [];
        for (let i = 0; i < values.length; i += row) {
          const sum = 1 + (k - 6) * values.slice(i, i + row).reduce((p, q) => p + q);
          wanted.push(type === 'bf16' ? bf16(sum) : sum);
        }
        assert.deepEqual([got[k]].flat(2).filter((_, i) => type !== 'c64' || i % 2 === 0).map(Number), wanted, `sum ${k} of ${n}`);
      }
    }
  });
}

/** Arrays that are written and whose rows are reduced: [type, dimensions, reduced, combiner]. */
const WRITTEN = [
  ['f32', [40, 301], [1], ['add']], ['f32', [40, 304], [1], ['maximum']], ['f64', [20, 3, 301], [2], ['add', 'add']],
  ['bf16', [90, 7, 40], [1, 2], ['add', 'multiply']], ['s32', [31, 17, 40], [0, 2], ['add']],
  ['f16', [90, 203], [1], ['maximum']], ['s64', [40, 301], [1], ['minimum']],
];
for (const [type, dims, reduced, operations] of WRITTEN) {
  test(`fuse-siblings: ${type}[${dims}] is written and reduced (${operations}) in one loop`, async () => {
    const a = `${type}[${dims}]`, r = `${type}[${dims.filter((_, d) => !reduced.includes(d))}]`;
    const text = `HloModule m
${operations.map((operation, i) => `f${i} { a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT r = ${type}[] ${operation}(a, b) }`).join('\n')}
ENTRY e { x = ${a} parameter(0)\n y = ${a} parameter(1)\n z = ${type}[] constant(1)
  w = ${a} multiply(x, y)\n n = ${a} negate(w)
${operations.map((_, i) => `  q${i} = ${r} reduce(${'wn'[i]}, z), dimensions={${reduced}}, to_apply=f${i}`).join('\n')}
  ROOT t = (${a}${`, ${r}`.repeat(operations.length)}) tuple(w${operations.map((_, i) => `, q${i}`).join('')}) }`;
    const last = afterPass(text, 'fuse-siblings');
    assert.equal(fusions(last), 1, last);
    assert.match(last, /ROOT \S+ = \([^)]*\) tuple\([^)]*\)\n\}/);
    const count = dims.reduce((n, size) => n * size);
    const values = [3, 5].map((by) => Array.from({ length: count }, (_, i) => (i * by % 11 === 0 ? -1 : 1)));
    const as = { s64: (v) => BigInt(v) }[type] ?? Number;
    const flat = (nested) => nested.flat(3).map(Number);
    const [w, ...sums] = (await execute(client, text, values.map((list) => reshaped(list.map(as), dims)))).map(flat);
    const wanted = values[0].map((v, i) => v * values[1][i]), totals = operations.map(() => []);
    assert.deepEqual(w, wanted);
    wanted.forEach((v, i) => {
      const at = dims.reduceRight(([rest, index, stride], size, d) => (reduced.includes(d)
        ? [Math.floor(rest / size), index, stride]
        : [Math.floor(rest / size), index + (rest % size) * stride, stride * size]), [i, 0, 1])[1];
      operations.forEach((operation, k) => {
        const f = { add: (p, q) => p + q, multiply: (p, q) => p * q, maximum: Math.max, minimum: Math.min }[operation];
        totals[k][at] = f(totals[k][at] ?? 1, k ? -v : v);
      });
    });
    assert.deepEqual(sums, totals.map((list) => (type === 'bf16' ? list.map(bf16) : list)));
  });
}

test('a sum of values that hold another sum stays apart', async () => {
  const text = moments('f32', [4, 8], 1, `b = f32[4,8] broadcast(s), dimensions={0}
  y = f32[4,8] subtract(x, b)`);
  const x = Array.from({ length: 4 }, (_, r) => Array.from({ length: 8 }, (__, c) => r + c));
  const [s, q] = await execute(client, text, [x]);
  x.forEach((row, r) => {
    const sum = 2 + row.reduce((a, b) => a + b);
    assert.deepEqual([s[r], q[r]], [sum, 2 + row.reduce((a, b) => a + b) - 8 * sum]);
  });
});

/** Rows of every length around those of vectors, few of them and enough for a loop that writes and reduces. */
const LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19, 20, 21, 23, 24, 25, 31, 32, 33, 47, 48, 49, 64, 96, 127, 130];
const INITIAL = { add: 0, multiply: 1, maximum: -100, minimum: 100, and: -1, or: 0, xor: 0 }; // neutral
const bytes = (type) => Number(type.match(/\d+/)[0]) / 8;

/** Rows of w that are reduced and written; instructions that read both, and w itself. */
const rowsProgram = (type, operation, rows) => `HloModule m
f { a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT r = ${type}[] ${operation}(a, b) }
ENTRY e { z = ${type}[] constant(${/^u/.test(type) ? Math.abs(INITIAL[operation]) : INITIAL[operation]})
${LENGTHS.map((n, i) => {
    const a = `${type}[${rows(n)},${n}]`, v = `${type}[${rows(n)}]`;
    return `x${i} = ${a} parameter(${2 * i})\n v${i} = ${a} parameter(${2 * i + 1})\n w${i} = ${a} multiply(x${i}, v${i})
  m${i} = ${v} reduce(w${i}, z), dimensions={1}, to_apply=f\n b${i} = ${a} broadcast(m${i}), dimensions={0}
  y${i} = ${a} subtract(w${i}, b${i})\n t${i} = (${v}, ${a}, ${a}) tuple(m${i}, y${i}, w${i})`;
  }).join('\n')}
  ROOT r = (${LENGTHS.map((n) => `(${type}[${rows(n)}], ${type}[${rows(n)},${n}], ${type}[${rows(n)},${n}])`)}) tuple(${LENGTHS.map((_, i) => `t${i}`)}) }`;
for (const [type, operations] of [
  ['f32', ['add', 'multiply', 'maximum', 'minimum']], ['bf16', ['maximum', 'add']], ['f16', ['minimum', 'add']], ['f64', ['maximum', 'add']],
  ['s32', ['add', 'maximum', 'xor']], ['u16', ['minimum', 'or']], ['s64', ['add', 'minimum', 'and']], ['s8', ['maximum', 'add']],
]) {
  test(`rows of 1 to 130 of ${type} that are written, and reduced by ${operations}`, async () => {
    for (const operation of operations) {
      const value = (i, k) => (operation === 'multiply' ? whole(i, k) % 2 || 1 : whole(i, k));
      for (const rows of [() => 3, () => 17, (n) => Math.ceil(36000 / n / bytes(type))]) {
        await agrees(client, rowsProgram(type, operation, rows), value);
      }
    }
  });
}
