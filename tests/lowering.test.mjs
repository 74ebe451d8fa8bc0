/**
 * Rewrites for speed that shapes tell of, which lists of operations (native/passes.c) do not: what a pass
 * makes of a program, as HLO text, and that it still computes the same.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../bindings/index.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

/** The module's text after the last round of a pass; null if it changed nothing. */
function afterPass(text, pass) {
  const module = client.parseHlo(text);
  try {
    return client.passes(module).findLast((step) => step.pass === pass)?.text ?? null;
  } finally {
    module.dispose();
  }
}

const isClose = (x, y) => Math.abs(x - y) <= 1e-5 * (1 + Math.abs(y));

async function execute(text, args) {
  const module = client.parseHlo(text);
  const executable = await client.compile(module);
  try {
    return (await executable.execute(args)).map((literal) => literal.toArray());
  } finally {
    executable.dispose();
    module.dispose();
  }
}

const wave = (count, phase) => Float32Array.from({ length: count }, (_, i) => Math.sin(i * 0.7 + phase));


const ADD = 'add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}\n';

const NARROWED = {
  'the last row of a product': {
    entry: 'd = f32[64,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}',
    slice: ['f32[1,32]', '[63:64], [0:32]'],
    has: /f32\[1,32\] dot\(/,
  },
  'columns of a product': {
    entry: 'd = f32[64,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}',
    slice: ['f32[64,3]', '[0:64], [2:11:4]'],
    has: /f32\[64,9\] dot\(/,
  },
  'a row of two layers': {
    entry: `a = f32[64,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      b = f32[64,32] tanh(a)
      z = f32[] constant(0)
      m = f32[64] reduce(b, z), dimensions={1}, to_apply=add
      n = f32[64,32] broadcast(m), dimensions={0}
      c = f32[64,32] subtract(b, n)
      v = f32[32,40] reshape(w)
      d = f32[64,40] dot(c, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}`,
    slice: ['f32[1,40]', '[5:6], [0:40]'],
    has: /f32\[1,32\] dot\((?:.|\n)*f32\[1,40\] dot\(/,
  },
  'a query of attention, through reshapes and transposes': {
    entry: `h = f32[64,4,10] reshape(x)
      t = f32[4,64,10] transpose(h), dimensions={1,0,2}
      s = f32[4,64,64] dot(t, t), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}
      o = f32[4,64,10] dot(s, t), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
      u = f32[64,4,10] transpose(o), dimensions={1,0,2}
      d = f32[64,40] reshape(u)`,
    slice: ['f32[2,40]', '[10:12], [0:40]'],
    has: /f32\[4,2,64\] dot\((?:.|\n)*f32\[4,2,10\] dot\(/,
  },
  'part of what two users want': {
    entry: `a = f32[64,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      l = f32[10,32] slice(a), slice={[3:13], [0:32]}
      m = f32[10,32] slice(a), slice={[9:19], [0:32]}
      d = f32[10,32] multiply(l, m)`,
    slice: ['f32[10,32]', '[0:10], [0:32]'],
    has: /f32\[16,32\] dot\(/,
  },
};

const KEPT = {
  'a product of which all is used': `a = f32[64,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      l = f32[32,32] slice(a), slice={[0:32], [0:32]}
      m = f32[32,32] slice(a), slice={[32:64], [0:32]}
      ROOT d = f32[32,32] add(l, m)`,
  'a reshape that a part does not fit': `a = f32[64,32] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      b = f32[32,64] reshape(a)
      ROOT d = f32[32,1] slice(b), slice={[0:32], [0:1]}`,
  'little work': `p = f32[4,4] slice(x), slice={[0:4], [0:4]}
      a = f32[4,4] dot(p, p), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      ROOT d = f32[1,4] slice(a), slice={[0:1], [0:4]}`,
};

const program = (entry) => `HloModule m
${ADD}ENTRY e {
  x = f32[64,40] parameter(0)
  w = f32[40,32] parameter(1)
  ${entry}
}`;
const arguments_ = () => [wave(64 * 40, 0), wave(40 * 32, 1)];

for (const [name, { entry, slice: [shape, bounds], has }] of Object.entries(NARROWED)) {
  test(`narrow: ${name}`, async () => {
    const text = program(`${entry}\n  ROOT r = ${shape} slice(d), slice={${bounds}}`);
    const narrowed = afterPass(text, 'narrow');
    assert.ok(narrowed, 'the pass changes the program');
    assert.match(narrowed.replace(/\{[\d,]*\}/g, ''), has);
    const [rows, columns] = [...bounds.matchAll(/\[(\d+):(\d+)(?::(\d+))?\]/g)]
      .map(([, ...numbers]) => numbers.map((n) => Number(n ?? 1)));
    const [whole] = await execute(program(entry.replace(/\bd = /, 'ROOT d = ')), arguments_());
    const wanted = whole.slice(rows[0], rows[1]).filter((_, i) => i % rows[2] === 0)
      .map((row) => row.slice(columns[0], columns[1]).filter((_, i) => i % columns[2] === 0));
    const [part] = await execute(text, arguments_());
    part.forEach((row, i) => row.forEach((value, k) =>
      assert.ok(isClose(value, wanted[i][k]), `${value} at ${i}, ${k}, not ${wanted[i][k]}`)));
    assert.deepEqual([part.length, part[0].length], [wanted.length, wanted[0].length]);
  });
}

for (const [name, entry] of Object.entries(KEPT)) {
  test(`narrow leaves as it is ${name}`, () => assert.equal(afterPass(program(entry), 'narrow'), null));
}
