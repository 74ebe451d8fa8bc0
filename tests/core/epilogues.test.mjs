/**
 * Tests epilogues, loops that follow a product or a convolution, for each kernel. Elements are whole numbers, whose sums are
 * exact in any order, as in XLA.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

let shared, single;
before(async () => {
  [shared, single] = await Promise.all([Client.create({ threads: 3 }), Client.create({ threads: 0 })]);
});
after(() => {
  shared.dispose();
  single.dispose();
});

/** Whole numbers from -2 to 2, three of four of them 0 where sums are long. */
const whole = (i, phase, sparse) => (sparse && (i * 11 + phase) % 4 ? 0 : ((i * 7 + phase * 3 + Math.floor(i / 13)) % 5) - 2);

/** A program that begins with `made`, f32 or `type`, of this shape, made from x and w. */
function program(type, shapes, made, shape, rest) {
  const last = shape.length - 1, dims = shape.join(',');
  return `HloModule m
add {
 a = ${type}[] parameter(0)
 b = ${type}[] parameter(1)
 ROOT r = ${type}[] add(a, b)
}
ENTRY e {
  x = ${type}[${shapes[0]}] parameter(0)
  w = ${type}[${shapes[1]}] parameter(1)
  bias = ${type}[${shape[last]}] parameter(2)
  residual = ${type}[${dims}] parameter(3)
  zero = ${type}[] constant(0)
  zeros = ${type}[${dims}] broadcast(zero), dimensions={}
  c = ${type}[${dims}] ${made}
  bb = ${type}[${dims}] broadcast(bias), dimensions={${last}}
  cb = ${type}[${dims}] add(c, bb)
${rest ?? `  a = ${type}[${dims}] maximum(cb, zeros)\n  ROOT r = ${type}[${dims}] add(a, residual)`}
}`;
}

async function run(client, text, args) {
  const module = client.parseHlo(text), executable = await client.compile(module);
  const [got] = await executable.execute(args);
  executable.dispose();
  module.dispose();
  return got;
}

const size = (shape) => shape.reduce((a, b) => a * b, 1);

/** Runs it with and without threads; `at(x, w, index)` is the contraction's element, checked here and there. */
function check(name, { type = 'f32', shapes, made, shape, at, sparse, rest, finish }) {
  test(name, async () => {
    const sizes = [...shapes, [shape.at(-1)], shape];
    const values = sizes.map((dims, k) => Float32Array.from({ length: size(dims) }, (_, i) => whole(i, k, sparse)));
    const nest = (data, dims) => (dims.length === 1 ? [...data] : Array.from({ length: dims[0] }, (_, i) => {
      const part = data.length / dims[0];
      return nest(data.subarray(i * part, (i + 1) * part), dims.slice(1));
    }));
    const args = type === 'f32' ? values : values.map((data, k) => nest(data, sizes[k]));
    const text = program(type, shapes, made, shape, rest);
    const got = await run(shared, text, args);
    const flat = type === 'f32' ? got.data : got.toArray().flat(9), n = shape.at(-1);
    const ends = finish ?? ((sum, i) => Math.max(sum + values[2][i % n], 0) + values[3][i]);
    for (let i = 0, step = Math.max(1, Math.floor(flat.length / 3000)); i < flat.length; i += step) {
      const index = [];
      for (let d = shape.length - 1, left = i; d >= 0; left = Math.floor(left / shape[d--])) index.unshift(left % shape[d]);
      const wanted = ends(at(values[0], values[1], index), i, values, (k) => at(values[0], values[1], [...index.slice(0, -1), k]));
      assert.equal(flat[i], wanted, `element ${index}`);
    }
    assert.deepEqual((await run(single, text, args)).data, got.data);
  });
}

const dot = (m, k, n) => ({
  shapes: [[m, k], [k, n]],
  shape: [m, n],
  made: 'dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}',
  at: (x, w, [i, j]) => {
    let sum = 0;
    for (let d = 0; d < k; d++) sum += x[i * k + d] * w[d * n + j];
    return sum;
  },
});

/** Of images [n, h, h, inputs], `groups` or one; places beyond them are 0. */
function convolution(n, h, inputs, outputs, window, { stride = 1, groups = 1 } = {}) {
  const pad = (window - 1) / 2, places = Math.floor((h - 1) / stride) + 1, each = inputs / groups;
  return {
    shapes: [[n, h, h, inputs], [window, window, each, outputs]],
    shape: [n, places, places, outputs],
    made: `convolution(x, w), window={size=${window}x${window} stride=${stride}x${stride} pad=${pad}_${pad}x${pad}_${pad}}, dim_labels=b01f_01io->b01f, feature_group_count=${groups}`,
    at: (x, w, [image, y, column, o]) => {
      let sum = 0;
      const group = Math.floor(o / (outputs / groups)) * each;
      for (let t = 0; t < window * window; t++) {
        const a = y * stride + Math.floor(t / window) - pad, b = column * stride + (t % window) - pad;
        if (a < 0 || b < 0 || a >= h || b >= h) continue;
        for (let k = 0; k < each; k++) sum += x[((image * h + a) * h + b) * inputs + group + k] * w[(t * each + k) * outputs + o];
      }
      return sum;
    },
  };
}

check('a product of matrices, in tiles', dot(1210, 40, 96));
check('whose columns are several tiles, the last ones not full', dot(4000, 33, 203));
check('whose rhs is used where it is', dot(5000, 12, 24));
check('of few rows, in blocks of columns', dot(3, 50, 30011));
check('of few columns', dot(30011, 50, 3));
check('in bf16, whose sums are converted at the end', { ...dot(1210, 40, 200), type: 'bf16', sparse: true });
check('in f16', { ...dot(3000, 24, 72), type: 'f16', sparse: true });
for (const [type, columns] of [['bf16', 16383], ['bf16', 16384], ['bf16', 16385], ['f16', 32003]]) {
  check(`in ${type}, of ${columns} columns, 16,384 in a finishing chunk`, { ...dot(21, 4, columns), type });
}
check('of many small matrices', {
  shapes: [[2000, 8, 12], [2000, 12, 9]],
  shape: [2000, 8, 9],
  made: 'dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}',
  at: (x, w, [b, i, j]) => {
    let sum = 0;
    for (let d = 0; d < 12; d++) sum += x[(b * 8 + i) * 12 + d] * w[(b * 12 + d) * 9 + j];
    return sum;
  },
});
check('of heads', {
  shapes: [[6, 150, 32], [6, 130, 32]],
  shape: [6, 150, 130],
  made: 'dot(x, w), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}',
  at: (x, w, [b, i, j]) => {
    let sum = 0;
    for (let d = 0; d < 32; d++) sum += x[(b * 150 + i) * 32 + d] * w[(b * 130 + j) * 32 + d];
    return sum;
  },
});
check('a convolution of one place', convolution(2, 41, 16, 40, 1));
check('of 3 x 3 places, by two', convolution(3, 77, 8, 24, 3, { stride: 2 }));
check("by Winograd's way, of an odd size", convolution(3, 37, 64, 48, 3));
check('of grouped features, which come group by group', convolution(2, 40, 64, 64, 3, { groups: 4 }));
check('of each feature by itself', convolution(2, 31, 144, 144, 3, { groups: 144 }));
check('of each feature by itself, by two', convolution(2, 63, 200, 200, 5, { groups: 200, stride: 2 }));
check('a normalisation follows: sums of the rows that are there', {
  ...dot(3000, 20, 64),
  rest: `  q = f32[3000,64] add(cb, residual)
  s = f32[3000] reduce(q, zero), dimensions={1}, to_apply=add
  sb = f32[3000,64] broadcast(s), dimensions={0}
  ROOT r = f32[3000,64] subtract(q, sb)`,
  finish: (_, i, values, of) => {
    const row = Array.from({ length: 64 }, (_, k) => of(k) + values[2][k] + values[3][i - (i % 64) + k]);
    return row[i % 64] - row.reduce((a, b) => a + b);
  },
});
check('a converted result has memory of its own', {
  ...dot(2000, 20, 96),
  rest: `  h = bf16[2000,96] convert(cb)
  ROOT r = f32[2000,96] convert(h)`,
  finish: (sum, i, values) => sum + values[2][i % 96],
});

test('operands that the kernel still reads are not overwritten', async () => {
  /* The residual is the operand, whose memory the sum would like to take. */
  const text = `HloModule m
ENTRY e {
  x = f32[2000,64] parameter(0)
  w = f32[64,64] parameter(1)
  y = f32[2000,64] negate(x)
  c = f32[2000,64] dot(y, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT r = f32[2000,64] add(y, c)
}`;
  const x = Float32Array.from({ length: 128000 }, (_, i) => whole(i, 1)), w = Float32Array.from({ length: 4096 }, (_, i) => whole(i, 2));
  const got = await run(shared, text, [x, w]);
  for (let i = 0; i < 128000; i += 111) {
    let sum = -x[i];
    for (let d = 0; d < 64; d++) sum -= x[i - (i % 64) + d] * w[d * 64 + (i % 64)];
    assert.equal(got.data[i], sum + 0);
  }
});

test('rows of other images are not those of this one: reversed, they come after all', async () => {
  const text = program('f32', [[1210, 40], [40, 96]], dot(1210, 40, 96).made, [1210, 96], `  t = f32[1210,96] reverse(cb), dimensions={0}
  ROOT r = f32[1210,96] add(t, residual)`);
  const at = dot(1210, 40, 96).at,
    args = [[1210, 40], [40, 96], [96], [1210, 96]].map((dims, k) => Float32Array.from({ length: size(dims) }, (_, i) => whole(i, k)));
  const got = await run(shared, text, args);
  for (let i = 0; i < 1210; i += 7) assert.equal(got.data[i * 96 + 5], at(args[0], args[1], [1209 - i, 5]) + args[2][5] + args[3][i * 96 + 5]);
});
