/**
 * Packed storage: arguments, results and constants of 4-bit and 2-bit elements hold two or four in a byte. The values are
 * those of the same program on wider integers, whose bits the corpus compares with XLA's.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';

import { Client, Literal } from '../../bindings/index.mjs';

const clients = [await Client.create({ threads: 0 }), await Client.create({ threads: 2 })];
const [client] = clients;
after(() => clients.forEach((one) => one.dispose()));

const BITS = { s2: 2, u2: 2, s4: 4, u4: 4 };
const lowest = (type) => (type[0] === 's' ? -(2 ** (BITS[type] - 1)) : 0);
const numbers = (type, count, seed = 1) =>
  Array.from({ length: count }, (_, i) => lowest(type) + ((i * 7 + seed * 5 + (i >> 3)) % 2 ** BITS[type]));
/** XLA's order: the first element in the lowest bits. */
function bytesOf(type, values) {
  const bits = BITS[type], bytes = new Array(Math.ceil(values.length * bits / 8)).fill(0);
  values.forEach((value, i) => { bytes[Math.floor(i * bits / 8)] += (value & (2 ** bits - 1)) << (i * bits % 8); });
  return bytes;
}
const count = (dims) => dims.reduce((a, b) => a * b, 1);

async function compiled(text, one = client) {
  const module = one.parseHlo(text);
  try {
    return await one.compile(module);
  } finally {
    module.dispose();
  }
}

describe('Buffers', () => {
  for (const type of Object.keys(BITS)) {
    for (const dims of [[], [0], [1], [2], [3], [5], [7], [3, 3], [2, 0], [67]]) {
      test(`${type}[${dims}]`, () => {
        const values = numbers(type, count(dims)), shape = `${type}[${dims}]`, bytes = bytesOf(type, values);
        const before = client.memoryInUse, buffer = client.buffer((type[0] === 's' ? Int8Array : Uint8Array).from(values), shape);
        assert.equal(client.memoryInUse - before, bytes.length);
        assert.equal(buffer.shape.byteSize, bytes.length);
        assert.deepEqual([...buffer.view()], bytes);
        const copy = buffer.toLiteral();
        assert.deepEqual([...copy.packed], bytes); // before its elements are asked for, and after that
        assert.deepEqual([...copy.data], values);
        assert.deepEqual([...copy.packed], bytes);
        const again = client.buffer(Literal.fromPacked(Uint8Array.from(bytes), shape));
        assert.deepEqual(again.toArray(), buffer.toArray());
        buffer.dispose();
        again.dispose();
      });
    }
  }
});

test('sizes of arguments, results and constants', async () => {
  const numbersOf = Array.from({ length: 1001 }, (_, i) => (i % 16) - 8);
  const executable = await compiled(`HloModule m
ENTRY e { a = s4[999,3] parameter(0)
    b = u2[10] parameter(1)
    c = s4[1001] constant({${numbersOf}})
    d = s4[1001] negate(c)
    w = s32[1001] convert(d)
    t = s4[3,999] transpose(a), dimensions={1,0}
    n = u2[10] not(b)
    ROOT r = (s4[3,999], u2[10], s32[1001], s4[999,3]) tuple(t, n, w, a) }`);
  const { memory } = executable;
  assert.equal(memory.arguments, 1499 + 3);
  assert.equal(memory.results, 1499 + 3 + 4004 + 1499);
  const a = numbers('s4', 2997), b = numbers('u2', 10);
  const [turned, inverted, wide, same] = await executable.execute([Int8Array.from(a), Uint8Array.from(b)]);
  assert.deepEqual([...turned.data], Array.from({ length: 2997 }, (_, i) => a[(i % 999) * 3 + Math.floor(i / 999)]));
  assert.deepEqual([...inverted.data], b.map((x) => 3 - x));
  assert.deepEqual([...wide.data], numbersOf.map((x) => (x === -8 ? x : -x || 0))); // -(-8) is -8 in four bits
  assert.deepEqual([...same.data], a);
  const stored = await compiled(`HloModule m
ENTRY e { i = s32[] parameter(0)
    c = s4[1001] constant({${numbersOf}})
    ROOT r = s4[1] dynamic-slice(c, i), dynamic_slice_sizes={1} }`);
  assert(stored.memory.constants < 520, `${stored.memory.constants} bytes`);
  assert(stored.memory.temporaries < 200, `${stored.memory.temporaries} bytes`);
  assert.deepEqual((await stored.execute([Int32Array.of(998)]))[0].toArray(), [numbersOf[998]]);
});

/** Results of packed arguments are those of s32 arguments of the same numbers, cut to the type where they are stored. */
const PROGRAMS = {
  'gather of rows': ['s32[2,5] gather(A, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,5}',
    'i = s32[2] constant({6, 1})'],
  'gather of elements': ['s32[3] gather(A, i), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}', 'i = s32[3,2] constant({{6,4},{1,0},{3,3}})'],
  'slice': ['s32[2,2] slice(A), slice={[1:6:3],[0:4:2]}', ''],
  'reverse': ['s32[7,5] reverse(A), dimensions={0,1}', ''],
  'transpose': ['s32[5,7] transpose(A), dimensions={1,0}', ''],
  'reshape': ['s32[5,7] reshape(A)', ''],
  'concatenate': ['s32[7,8] concatenate(A, h), dimensions={1}', 'h = s32[7,3] slice(A), slice={[0:7],[2:5]}'],
  'pad': ['s32[10,6] pad(A, z), padding=1_2x1_0', 'z = s32[] constant(1)'],
  'dynamic-slice': ['s32[3,5] dynamic-slice(A, s, t), dynamic_slice_sizes={3,5}', 's = s32[] constant(3)\n t = s32[] constant(0)'],
  'dynamic-update-slice': ['s32[7,5] dynamic-update-slice(A, u, s, s)', 'u = s32[2,3] slice(A), slice={[4:6],[1:4]}\n s = s32[] constant(1)'],
  'sort': ['s32[7,5] sort(A), dimensions={0}, to_apply=less', ''],
  'reduce': ['s32[5] reduce(A, z), dimensions={0}, to_apply=most', 'z = s32[] constant(0)'],
  'scatter': ['s32[7,5] scatter(A, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=most', 'i = s32[2] constant({5, 0})\n u = s32[2,5] slice(A), slice={[1:3],[0:5]}'],
  'conditional': ['s32[7,5] conditional(p, A, A), true_computation=negated, false_computation=same',
    'p = pred[] constant(true)\n q = s32[] constant(0)'],
  'while': ['s32[7,5] get-tuple-element(l), index=2',
    'k = s32[] constant(0)\n g = (s32[], s32[7,5], s32[7,5]) tuple(k, A, A)\n l = (s32[], s32[7,5], s32[7,5]) while(g), condition=again, body=step'],
};
const textOf = ([operation, lines], type) => `HloModule m
less { x = s32[] parameter(0)
    y = s32[] parameter(1)
    ROOT c = pred[] compare(x, y), direction=LT }
most { x = s32[] parameter(0)
    y = s32[] parameter(1)
    ROOT m = s32[] maximum(x, y) }
negated { x = s32[7,5] parameter(0)
    ROOT n = s32[7,5] negate(x) }
same { ROOT x = s32[7,5] parameter(0) }
again { s = (s32[], s32[7,5], s32[7,5]) parameter(0)
    i = u8[] get-tuple-element(s), index=0
    n = u8[] constant(3)
    ROOT c = pred[] compare(i, n), direction=LT }
step { s = (s32[], s32[7,5], s32[7,5]) parameter(0)
    i = u8[] get-tuple-element(s), index=0
    w = s32[7,5] get-tuple-element(s), index=1
    v = s32[7,5] get-tuple-element(s), index=2
    one = u8[] constant(1)
    j = u8[] add(i, one)
    r = s32[7,5] reverse(v), dimensions={0}
    x = s32[7,5] xor(r, w)
    ROOT t = (s32[], s32[7,5], s32[7,5]) tuple(j, w, x) }
ENTRY e { A = s32[7,5] parameter(0)
    ${lines}
    ROOT r = ${operation} }`.replaceAll('(s32[],', '(u8[],').replace(/k = s32\[\]/, 'k = u8[]')
  // All but indices are of the type.
  .replace(/s32(?=\[(?!2\] constant|3,2\] constant|\] constant\(3\)\n t))/g,
    (all, at, whole) => (/^\s*[ist] = s32/.test(whole.slice(whole.lastIndexOf('\n', at) + 1)) && /constant/.test(whole.slice(at, at + 30))
      ? 's32' : type));

describe('operations', () => {
  for (const [name, program] of Object.entries(PROGRAMS)) {
    for (const type of ['s4', 'u4', 's2']) {
      test(`${name} of ${type}`, async () => {
        // Numbers whose results the narrow type holds, so that both programs compute the same.
        const values = numbers(type, 35, name.length).map((x) => (x === lowest(type) && type[0] === 's' ? 0 : x));
        const wide = await compiled(textOf(program, 's8'));
        const [want] = await wide.execute([Int8Array.from(values)]);
        wide.dispose();
        const mask = (x) => Number(type[0] === 's' ? BigInt.asIntN(BITS[type], BigInt(x)) : BigInt.asUintN(BITS[type], BigInt(x)));
        for (const one of clients) {
          const executable = await compiled(textOf(program, type), one);
          const buffer = one.buffer((type[0] === 's' ? Int8Array : Uint8Array).from(values), `${type}[7,5]`);
          const [result] = await executable.execute([buffer], { device: true });
          assert.deepEqual([...result.toLiteral().data], [...want.data].map(mask));
          assert.equal(result.view().length, Math.ceil(want.data.length * BITS[type] / 8));
          const last = result.view().at(-1), used = want.data.length * BITS[type] % 8;
          assert.equal(used ? last >> used : 0, 0, 'the unused bits are 0');
          // Over its own argument.
          const [given] = await executable.execute([buffer], { device: true, donate: [0] });
          assert.deepEqual(given.toArray(), result.toArray());
          [result, given].forEach((buffer_) => buffer_.dispose());
          executable.dispose();
        }
      });
    }
  }
});

test('weights of all layers stay packed in a loop over layers', async () => {
  const layers = 3, size = 128, state = `(s32[], f32[1,${size}], s4[${layers},${size},${size}], f32[${layers},${size}])`;
  for (const side of [0, 1]) {
    const executable = await compiled(`HloModule m
again { s = ${state} parameter(0)
    i = s32[] get-tuple-element(s), index=0
    n = s32[] constant(${layers})
    ROOT c = pred[] compare(i, n), direction=LT }
layer { s = ${state} parameter(0)
    i = s32[] get-tuple-element(s), index=0
    x = f32[1,${size}] get-tuple-element(s), index=1
    w = s4[${layers},${size},${size}] get-tuple-element(s), index=2
    f = f32[${layers},${size}] get-tuple-element(s), index=3
    zero = s32[] constant(0)
    one = s32[] constant(1)
    j = s32[] add(i, one)
    w1 = s4[1,${size},${size}] dynamic-slice(w, i, zero, zero), dynamic_slice_sizes={1,${size},${size}}
    w2 = s4[${size},${size}] reshape(w1)
    w3 = f32[${size},${size}] convert(w2)
    f1 = f32[1,${size}] dynamic-slice(f, i, zero), dynamic_slice_sizes={1,${size}}
    f2 = f32[${size}] reshape(f1)
    f3 = f32[${size},${size}] broadcast(f2), dimensions={${1 - side}}
    m = f32[${size},${size}] multiply(w3, f3)
    y = f32[1,${size}] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={${side}}
    ROOT t = ${state} tuple(j, y, w, f) }
ENTRY e { x = f32[1,${size}] parameter(0)
    w = s4[${layers},${size},${size}] parameter(1)
    f = f32[${layers},${size}] parameter(2)
    zero = s32[] constant(0)
    t = ${state} tuple(zero, x, w, f)
    l = ${state} while(t), condition=again, body=layer
    ROOT r = f32[1,${size}] get-tuple-element(l), index=1 }`);
    assert.equal(executable.memory.arguments, 4 * size + layers * size * size / 2 + 4 * layers * size);
    assert(executable.memory.temporaries < size * size / 2, `${executable.memory.temporaries} bytes`);
    const w = numbers('s4', layers * size * size, 3), f = Float32Array.from({ length: layers * size }, (_, i) => 2 ** -(i % 3));
    let x = Float32Array.from({ length: size }, (_, i) => (i % 5) - 2);
    const [result] = await executable.execute([x, Int8Array.from(w), f]);
    for (let l = 0; l < layers; l++) { // whole numbers times powers of two: exact in any order
      x = Float32Array.from({ length: size }, (_, j) => x.reduce((sum, value, k) => {
        const number = w[(l * size + (side ? j : k)) * size + (side ? k : j)];
        return sum + value * number * f[l * size + j];
      }, 0));
    }
    assert(x.every((value) => Math.abs(value) < 2 ** 22));
    assert.deepEqual([...result.data], [...x]);
  }
});

test('a slice of weights may begin within a byte', async () => {
  const executable = await compiled(`HloModule m
ENTRY e { x = f32[1,64] parameter(0)
    w = s4[65,129] parameter(1)
    i = s32[] parameter(2)
    s = s4[64,128] dynamic-slice(w, i, i), dynamic_slice_sizes={64,128}
    v = f32[64,128] convert(s)
    ROOT r = f32[1,128] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`);
  const w = numbers('s4', 65 * 129), x = Float32Array.from({ length: 64 }, (_, i) => (i % 7) - 3);
  for (const start of [0, 1]) {
    const [result] = await executable.execute([x, Int8Array.from(w), Int32Array.of(start)]);
    assert.deepEqual([...result.data], Array.from({ length: 128 }, (_, j) =>
      x.reduce((sum, value, k) => sum + value * w[(start + k) * 129 + start + j], 0)));
  }
  assert(executable.memory.temporaries < 64 * 128, `${executable.memory.temporaries} bytes`);
});

test('tables of packed rows are read in place', async () => {
  const executable = await compiled(`HloModule m
ENTRY e { t = u4[1000,33] parameter(0)
    i = s32[4] parameter(1)
    g = u4[4,33] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,33}
    ROOT r = f32[4,33] convert(g) }`);
  const table = numbers('u4', 33000);
  const [rows] = await executable.execute([Uint8Array.from(table), Int32Array.of(999, 0, 7, 500)]);
  assert.deepEqual(rows.toArray(), [999, 0, 7, 500].map((row) => table.slice(row * 33, row * 33 + 33)));
  assert(executable.memory.temporaries < 1000, `${executable.memory.temporaries} bytes`);
});

test('dynamic dimensions', async () => {
  const executable = await compiled(`HloModule m
ENTRY e { x = s4[<=7,3] parameter(0)
    ROOT r = s4[<=7,3] negate(x) }`);
  const values = [1, 2, 3, -4, 5, -6, 7, 0, -1];
  const [result] = await executable.execute([Literal.from(Int8Array.from(values), 's4[3,3]')]);
  assert.equal(String(result.shape), 's4[3,3]');
  assert.deepEqual([...result.data], values.map((x) => -x || 0));
});

const ROWS = {
  gather: 'rows = s4[2,64] gather(w, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,64}',
  'dynamic-slice': `first = s32[1,1] slice(i), slice={[0:1],[0:1]}
    n = s32[] reshape(first)
    z = s32[] constant(0)
    rows = s4[2,64] dynamic-slice(w, n, z), dynamic_slice_sizes={2,64}`,
};
for (const [operation, lines] of Object.entries(ROWS)) {
  test(`rows of a matrix that a product reads, too, need no unpacked matrix: ${operation}`, async () => {
    const executable = await compiled(`HloModule m
ENTRY e { w = s4[4096,64] parameter(0)
    x = f32[1,64] parameter(1)
    i = s32[2,1] parameter(2)
    v = f32[4096,64] convert(w)
    p = f32[1,4096] dot(x, v), lhs_contracting_dims={1}, rhs_contracting_dims={1}
    ${lines}
    a = s32[2,64] convert(rows)
    b = s32[2,64] negate(a)
    c = f32[2,64] convert(rows)
    y = f32[2,64] sine(c)
    ROOT r = (f32[1,4096], s32[2,64], f32[2,64]) tuple(p, b, y) }`);
    assert(executable.memory.temporaries < 4096 * 4, `${executable.memory.temporaries} bytes`);
    const w = numbers('s4', 4096 * 64), row = (k) => w.slice(64 * k, 64 * k + 64);
    const [sums, negated] = await executable.execute([Int8Array.from(w), new Float32Array(64).fill(1), Int32Array.of(7, 8)]);
    assert.equal(sums.data[7], row(7).reduce((sum, n) => sum + n));
    assert.deepEqual([...negated.data], [...row(7), ...row(8)].map((n) => -n || 0));
  });
}

test('initial values of reductions', async () => {
  const executable = await compiled(`HloModule m
most { a = u4[] parameter(0)
    b = u4[] parameter(1)
    ROOT m = u4[] maximum(a, b) }
ENTRY e { x = u4[9,4] parameter(0)
    z = u4[] parameter(1)
    ROOT r = u4[9] reduce(x, z), dimensions={1}, to_apply=most }`);
  const x = Array.from({ length: 36 }, (_, i) => i % 16);
  const [largest] = await executable.execute([Uint8Array.from(x), Uint8Array.of(6)]);
  assert.deepEqual([...largest.data], Array.from({ length: 9 }, (_, i) => Math.max(6, ...x.slice(4 * i, 4 * i + 4))));
});
