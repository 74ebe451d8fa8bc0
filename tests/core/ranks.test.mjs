/**
 * Arrays of more than ten dimensions, as states of many qubits are: none of these operations runs in the evaluator
 * (merge_dimensions.c), and elements are those that the specification has.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { agrees } from '../support/as_written.mjs';

const clients = [];
before(async () => {
  for (const threads of [0, 2]) clients.push(await Client.create({ threads }));
});
after(() => clients.forEach((client) => client.dispose()));

const SIZES = [2, 1, 3, 2, 2, 1, 2, 2, 3, 2, 2, 2, 2];
const RANK = SIZES.length;
const count = (sizes) => sizes.reduce((a, b) => a * b, 1);
const shape = (sizes, type = 'f32') => `${type}[${sizes}]`;
const indexOf = (sizes, linear) => sizes.map((size, d) => Math.floor(linear / count(sizes.slice(d + 1))) % size);
const linearOf = (sizes, index) => index.reduce((at, i, d) => at * sizes[d] + i, 0);
const X = shape(SIZES);
const PERMUTATION = [8, 9, 10, 0, 1, 2, 12, 11, 5, 3, 4, 6, 7];
const KEPT = [1, 2, 3, 6, 7, 8, 9, 10, 12];
const ARGMAX = SIZES.filter((_, d) => d !== 8);
const SLICED = SIZES.map((size, d) => (d === 2 || d === 9 ? 1 : size));

/** The operation, its result's sizes, and an element of it: of x, a function of an index. */
const CASES = {
  'element-wise, of several types': [`pred[${SIZES}] compare(x, x), direction=EQ
    n = ${X} negate(x)
    ROOT r = ${X} select(p, n, x)`, SIZES, (x, i) => -x(i)],
  'a broadcast of neighbours and of one apart': [`f32[3,2,2] slice(y), slice={[0:3],[0:2],[0:2]}
    ROOT r = ${X} broadcast(p), dimensions={2,3,9}`, SIZES, (x, i) => (i[2] * 2 + i[3]) * 2 + i[9]],
  'a scalar everywhere': [`f32[] constant(7)\n ROOT r = ${X} broadcast(p), dimensions={}`, SIZES, () => 7],
  'a transpose': [`${X} negate(x)
    ROOT r = ${shape(PERMUTATION.map((d) => SIZES[d]))} transpose(p), dimensions={${PERMUTATION}}`,
  PERMUTATION.map((d) => SIZES[d]), (x, i) => -x(SIZES.map((_, d) => i[PERMUTATION.indexOf(d)]))],
  'a reversal': [`${X} reverse(x), dimensions={8,3,4}\n ROOT r = ${X} add(p, p)`, SIZES,
    (x, i) => 2 * x(i.map((at, d) => ([8, 3, 4].includes(d) ? SIZES[d] - 1 - at : at)))],
  'a slice': [`${X} negate(x)
    ROOT r = ${shape(SLICED)} slice(p), slice={${SIZES.map((size, d) => (SLICED[d] < size ? '[1:2]' : `[0:${size}]`))}}`,
  SLICED, (x, i) => -x(i.map((at, d) => (SLICED[d] < SIZES[d] ? 1 : at)))],
  'an iota': [`${X} iota(), iota_dimension=8\n ROOT r = ${X} multiply(p, p)`, SIZES, (_, i) => i[8] ** 2],
  'a sum': [`f32[] constant(0)\n ROOT r = ${shape(KEPT.map((d) => SIZES[d]))} reduce(x, p),
    dimensions={${SIZES.map((_, d) => d).filter((d) => !KEPT.includes(d)).reverse()}}, to_apply=add`,
  KEPT.map((d) => SIZES[d]), (x, i) => {
    let sum = 0;
    for (let a = 0; a < 2; a++) for (let b = 0; b < 2; b++) for (let c = 0; c < 2; c++) {
      const at = Array(RANK).fill(0);
      KEPT.forEach((d, k) => { at[d] = i[k]; });
      [at[0], at[4], at[11]] = [a, b, c];
      sum += x(at);
    }
    return sum;
  }],
  'sums in windows': [`f32[] constant(0)\n ROOT r = ${X} reduce-window(x, p),
    window={size=${SIZES.map((_, d) => ([2, 8].includes(d) ? 2 : 1)).join('x')} pad=${
  SIZES.map((_, d) => ([2, 8].includes(d) ? '1_0' : '0_0')).join('x')}}, to_apply=add`, SIZES, (x, i) => {
    let sum = 0;
    for (const a of [0, 1]) for (const b of [0, 1]) {
      const at = i.map((k, d) => k - (d === 2 ? a : d === 8 ? b : 0));
      if (at.every((k) => k >= 0)) sum += x(at);
    }
    return sum;
  }],
  // Two results, in one number: the largest, and where the first of such is.
  'the place of the largest': [`f32[] constant(-inf)\n z = s32[] constant(0)\n k = ${shape(SIZES, 's32')} iota(), iota_dimension=8
    t = (${shape(ARGMAX)}, ${shape(ARGMAX, 's32')}) reduce(x, k, p, z), dimensions={8}, to_apply=argmax
    v = ${shape(ARGMAX)} get-tuple-element(t), index=0\n j = ${shape(ARGMAX, 's32')} get-tuple-element(t), index=1
    w = ${shape(ARGMAX)} convert(j)\n h = f32[] constant(1000)\n hb = ${shape(ARGMAX)} broadcast(h), dimensions={}
    m = ${shape(ARGMAX)} multiply(w, hb)\n ROOT r = ${shape(ARGMAX)} add(v, m)`, ARGMAX, (x, i) => {
    const values = [0, 1, 2].map((k) => x([...i.slice(0, 8), k, ...i.slice(8)]));
    const most = Math.max(...values);
    return most + 1000 * values.indexOf(most);
  }],
};

for (const [name, [operation, sizes, element]] of Object.entries(CASES)) {
  test(name, async () => {
    const text = `HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
argmax {
  a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n  j = s32[] parameter(3)
  g = pred[] compare(a, b), direction=GT\n  q = pred[] compare(a, b), direction=EQ\n  l = pred[] compare(i, j), direction=LT
  f = pred[] and(q, l)\n  c = pred[] or(g, f)\n  v = f32[] select(c, a, b)\n  k = s32[] select(c, i, j)
  ROOT r = (f32[], s32[]) tuple(v, k)
}
ENTRY e {
  x = ${X} parameter(0)
  y = f32[3,2,2] parameter(1)
  p = ${operation}
}`;
    const numbers = Array.from({ length: count(SIZES) }, (_, i) => (i * 7) % 101);
    const x = (index) => numbers[linearOf(SIZES, index)];
    const want = Array.from({ length: count(sizes) }, (_, i) => element(x, indexOf(sizes, i)));
    for (const client of clients) {
      const module = client.parseHlo(text);
      const executable = await client.compile(module);
      assert.doesNotMatch(executable.thunks(), /\beval\b/);
      const y = Float32Array.from({ length: 12 }, (_, i) => i);
      const [result] = await executable.execute([Float32Array.from(numbers), y]);
      assert.deepEqual([...result.data].map((value) => value + 0), want.map((value) => value + 0));
      executable.dispose();
      module.dispose();
    }
  });
}

test('a dynamic slice in five and six dimensions, of a computed array', async () => {
  for (const sizes of [[4, 5, 3, 3, 2], [4, 5, 3, 3, 2, 2]]) {
    const starts = sizes.map((size) => size - 2);
    const text = `HloModule m
ENTRY e {
  x = f32[${sizes}] parameter(0)
  n = f32[${sizes}] negate(x)
${sizes.map((_, d) => `  start${d} = u64[] parameter(${d + 1})`).join('\n')}
  ROOT r = f32[${sizes.map(() => 1)}] dynamic-slice(n, ${sizes.map((_, d) => `start${d}`)}),
    dynamic_slice_sizes={${sizes.map(() => 1)}}
}`;
    const numbers = Float32Array.from({ length: count(sizes) }, (_, i) => i);
    for (const client of clients) {
      const module = client.parseHlo(text);
      const executable = await client.compile(module);
      const [result] = await executable.execute([numbers, ...starts.map(BigInt)]);
      assert.deepEqual([...result.data], [-linearOf(sizes, starts)]);
      executable.dispose();
      module.dispose();
    }
  }
});

test('small products of each rank, with one contracted dimension or several', async () => {
  for (let batch = 0; batch <= 11; batch++) {
    for (const contracted of [[3], [2, 2], [1, 2, 1]]) {
      const sizes = Array.from({ length: batch }, (_, d) => (d % 3 ? 1 : 2)), first = sizes.map((_, d) => d),
        own = contracted.map((_, d) => batch + 1 + d);
      for (const type of ['f32', 's32', 's8']) {
        await agrees(clients[0], `ENTRY e { x = ${type}[${[...sizes, 2, ...contracted]}] parameter(0)\n y = ${type}[${[...sizes, 3, ...contracted]}] parameter(1)
 ROOT d = ${type}[${[...sizes, 2, 3]}] dot(x, y), lhs_batch_dims={${first}}, rhs_batch_dims={${first}}, lhs_contracting_dims={${own}}, rhs_contracting_dims={${own}} }`);
      }
    }
  }
});

test('windows of each sort along two neighbours, among twelve dimensions', async () => {
  const sizes = [2, 1, 2, 1, 2, 1, 2, 6, 6, 1, 2, 1], neighbours = [7, 8];
  const plain = { size: 1, stride: 1, pad: '0_0', lhs_dilate: 1, rhs_dilate: 1, rhs_reversal: 0 };
  for (const sort of [{ size: 3 }, { stride: 2 }, { lhs_dilate: 2 }, { pad: '1_0' }, { pad: '0_2' }, { size: 2, rhs_dilate: 3 },
    { size: 2, rhs_reversal: 1 }, { size: 2, pad: '1_1', stride: 2 }, { size: 2, lhs_dilate: 2, pad: '0_1' }]) {
    const all = sizes.map((_, d) => (neighbours.includes(d) ? { ...plain, ...sort } : plain));
    const result = sizes.map((size, d) => {
      const w = all[d], [low, high] = w.pad.split('_').map(Number);
      return Math.floor(((size - 1) * w.lhs_dilate + 1 + low + high - (w.size - 1) * w.rhs_dilate - 1) / w.stride) + 1;
    });
    const window = Object.keys(plain).map((key) => `${key}=${all.map((w) => w[key]).join('x')}`).join(' ');
    await agrees(clients[0], `add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }
ENTRY e { x = f32[${sizes}] parameter(0)\n z = f32[] constant(0)\n n = f32[${sizes}] negate(x)
 ROOT w = f32[${result}] reduce-window(n, z), window={${window}}, to_apply=add }`);
  }
});
