/** Tests results in the memory of operands, of loops' states and of donated arguments. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 2 });
});
after(() => client.dispose());

const compile = (text) => client.compile(client.parseHlo(text));
const copies = (executable) => executable.thunks().match(/^ *copy .*/gm) ?? [];

describe('loops', () => {
  const scan = (body) => `HloModule m
condition {
  s = (s32[], f32[64], f32[100,64], f32[100,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(100)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[64], f32[100,64], f32[100,64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1
  rows = f32[100,64] get-tuple-element(s), index=2
  out = f32[100,64] get-tuple-element(s), index=3
  one = s32[] constant(1)
  zero = s32[] constant(0)
  next = s32[] add(i, one)
${body}
}
ENTRY e {
  x = f32[64] parameter(0)
  rows = f32[100,64] parameter(1)
  zero = s32[] constant(0)
  f = f32[] constant(0)
  out = f32[100,64] broadcast(f), dimensions={}
  s = (s32[], f32[64], f32[100,64], f32[100,64]) tuple(zero, x, rows, out)
  w = (s32[], f32[64], f32[100,64], f32[100,64]) while(s), condition=condition, body=body
  ROOT r = f32[100,64] get-tuple-element(w), index=3
}`;

  test('a scan copies nothing in its turns, nor what it only reads', async () => {
    const executable = await compile(scan(`  slice = f32[1,64] dynamic-slice(rows, i, zero), dynamic_slice_sizes={1,64}
  row = f32[64] reshape(slice)
  y = f32[64] add(x, row)
  line = f32[1,64] reshape(y)
  o = f32[100,64] dynamic-update-slice(out, line, i, zero)
  ROOT t = (s32[], f32[64], f32[100,64], f32[100,64]) tuple(next, y, rows, o)`));
    assert.equal(copies(executable).filter((line) => line.startsWith('      ')).length, 0);
    assert.ok(executable.memory.temporaries < 100 * 64 * 4, `${executable.memory.temporaries}`);
    const rows = Array.from({ length: 100 }, (_, i) => new Array(64).fill(i));
    const [out] = await executable.execute([new Float32Array(64).fill(1), rows]);
    out.toArray().forEach((row, i) =>
      assert.deepEqual(row, new Array(64).fill(1 + (i * (i + 1)) / 2)));
  });

  test('an operand with later readers is kept', async () => {
    const executable = await compile(scan(`  flip = f32[64] reverse(x), dimensions={0}
  y = f32[64] add(x, flip)
  z = f32[64] multiply(y, x)
  line = f32[1,64] reshape(z)
  o = f32[100,64] dynamic-update-slice(out, line, i, zero)
  half = f32[] constant(0.5)
  halves = f32[64] broadcast(half), dimensions={}
  v = f32[64] multiply(y, halves)
  ROOT t = (s32[], f32[64], f32[100,64], f32[100,64]) tuple(next, v, rows, o)`));
    let x = Float64Array.from({ length: 64 }, (_, i) => i);
    const [out] = await executable.execute([Array.from(x), new Float32Array(6400)]);
    for (const row of out.toArray()) {
      const y = x.map((value, i) => value + x[63 - i]);
      assert.deepEqual(row, Array.from(y, (value, i) => value * x[i]));
      x = y.map((value) => value / 2);
    }
  });

  const writes = (between) => scan(`  line = f32[1,64] reshape(x)
  last = s32[] constant(99)
  from = s32[] subtract(last, i)
  a = f32[100,64] dynamic-update-slice(out, line, i, zero)
  b = f32[100,64] dynamic-update-slice(a, line, from, zero)
${between}
  c = f32[100,64] dynamic-update-slice(b, more, zero, zero)
  y = f32[64] add(x, x)
  ROOT t = (s32[], f32[64], f32[100,64], f32[100,64]) tuple(next, x, rows, c)`);

  test('several writes of a turn to one array are all in place', async () => {
    const executable = await compile(writes('  more = f32[1,64] add(line, line)'));
    assert.ok(executable.memory.temporaries < 100 * 64 * 4, `${executable.memory.temporaries}`);
    const [out] = await executable.execute([new Float32Array(64).fill(1), new Float32Array(6400)]);
    out.toArray().forEach((row, i) => assert.deepEqual(row, new Array(64).fill(i ? 1 : 2)));
  });

  test('a value on the way that is read once more after the next write is kept', async () => {
    const executable = await compile(writes(`  old = f32[1,64] slice(a), slice={[99:100], [0:64]}
  sum = f32[1,64] add(old, line)
  seen = f32[1,64] slice(b), slice={[99:100], [0:64]}
  more = f32[1,64] add(sum, seen)`));
    const [out] = await executable.execute([new Float32Array(64).fill(1), new Float32Array(6400)]);
    // The last turn reads 1 where it wrote, before and after.
    out.toArray().forEach((row, i) => assert.deepEqual(row, new Array(64).fill(i ? 1 : 3)));
  });

  test('a swap is a swap', async () => {
    const executable = await compile(`HloModule m
condition {
  s = (s32[], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[8], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  a = f32[8] get-tuple-element(s), index=1
  b = f32[8] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  sum = f32[8] add(a, b)
  ROOT t = (s32[], f32[8], f32[8]) tuple(next, b, sum)
}
ENTRY e {
  a = f32[8] parameter(0)
  b = f32[8] parameter(1)
  zero = s32[] constant(0)
  s = (s32[], f32[8], f32[8]) tuple(zero, a, b)
  w = (s32[], f32[8], f32[8]) while(s), condition=condition, body=body
  p = f32[8] get-tuple-element(w), index=1
  q = f32[8] get-tuple-element(w), index=2
  ROOT r = (f32[8], f32[8]) tuple(p, q)
}`);
    const [p, q] = await executable.execute([new Array(8).fill(1), new Array(8).fill(2)]);
    assert.deepEqual([p.toArray()[0], q.toArray()[7]], [5, 8]); // 1 2 3 5 8
  });
});

describe('arguments that are given away', () => {
  const ROW = (header) => `HloModule m${header}
ENTRY e {
  cache = f32[1000,256] parameter(0)
  row = f32[1,256] parameter(1)
  i = s32[] parameter(2)
  zero = s32[] constant(0)
  ROOT r = f32[1000,256] dynamic-update-slice(cache, row, i, zero)
}`;
  const SIZE = 1000 * 256 * 4;

  test('a cache that one row is written to stays where it is', async () => {
    const executable = await compile(ROW(', input_output_alias={ {}: (0, {}, may-alias) }'));
    assert.equal(executable.memory.aliases, SIZE);
    assert.equal(executable.memory.temporaries, 0);
    let cache = client.buffer(new Float32Array(SIZE / 4), 'f32[1000,256]');
    const before = client.memoryInUse;
    for (let i = 0; i < 20; i++) {
      const row = new Float32Array(256).fill(i + 1);
      [cache] = await executable.execute([cache, row, i], { device: true, donate: [0] });
      assert.equal(client.memoryInUse, before);
    }
    const { data } = cache.toLiteral();
    for (let i = 0; i < 1000; i++) assert.equal(data[i * 256 + 255], i < 20 ? i + 1 : 0);
    cache.dispose();
  });

  test('an argument that is not donated stays unchanged, alias or not', async () => {
    const executable = await compile(ROW(', input_output_alias={ {}: (0, {}, must-alias) }'));
    const cache = client.buffer(new Float32Array(SIZE / 4), 'f32[1000,256]');
    const [result] = await executable.execute([cache, new Float32Array(256).fill(7), 3]);
    assert.equal(result.data[3 * 256], 7);
    assert.ok(cache.toLiteral().data.every((value) => value === 0));
    cache.dispose();
  });

  test('a buffer that another run reads is not written to', async () => {
    const executable = await compile(`HloModule m
ENTRY e {
  a = f32[1000] parameter(0)
  ROOT r = f32[1000] negate(a)
}`);
    const mesh = await client.compile(client.parseHlo(executable.toString()), { replicas: 3 });
    const values = Float32Array.from({ length: 1000 }, (_, i) => i);
    for (const [result] of await mesh.executeReplicas(new Array(3).fill([values]))) {
      assert.deepEqual(result.data, values.map((value) => -value));
    }
    const a = client.buffer(values, 'f32[1000]');
    const running = executable.execute([a]);
    const [donated] = await executable.execute([a], { donate: [0] });
    const [[other]] = [await running];
    assert.deepEqual(donated.data, other.data);
  });

  test('a parameter that is read later gives nothing', async () => {
    const executable = await compile(`HloModule m
less {
  p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT l = pred[] compare(p, q), direction=LT
}
ENTRY e {
  a = f32[4096] parameter(0)
  n = f32[4096] negate(a)
  back = f32[4096] reverse(a), dimensions={0}
  s = f32[4096] sort(back), dimensions={0}, to_apply=less
  sum = f32[4096] add(s, a)
  ROOT r = (f32[4096], f32[4096]) tuple(n, sum)
}`);
    const values = Float32Array.from({ length: 4096 }, (_, i) => (i * 7919) % 4096);
    const [n, sum] = await executable.execute([values]);
    assert.deepEqual(n.data, values.map((value) => -value));
    assert.deepEqual(sum.data, values.map((value, i) => value + i));
  });
});

test('a training step holds its weights once', async () => {
  const b = client.builder('step');
  const w = b.parameter(0, 'f32[512,512]', 'w');
  const m = b.parameter(1, 'f32[512,512]', 'm');
  const g = b.parameter(2, 'f32[512,512]', 'g');
  const rate = b.broadcast(b.constantR0(0.25), [512, 512]);
  const momentum = b.add(b.mul(m, rate), g);
  const executable = await client.compile(b.build(b.tuple([b.sub(w, momentum), momentum])));
  const bytes = 512 * 512 * 4;
  const { arguments: given, results, aliases, temporaries } = executable.memory;
  assert.deepEqual([given, results, aliases, temporaries], [3 * bytes, 2 * bytes, 2 * bytes, 0]);
  const buffers = [3, 2, 1].map((value) =>
    client.buffer(new Float32Array(512 * 512).fill(value), 'f32[512,512]'));
  const before = client.memoryInUse;
  const made = await executable.execute(buffers, { device: true, donate: [0, 1] });
  assert.equal(client.memoryInUse, before);
  assert.deepEqual(made.map((result) => result.toLiteral().data[77]), [1.5, 1.5]);
});

describe('of two arguments that a result may take the memory of', () => {
  const sum = (alias) => `HloModule m${alias}
ENTRY e {
  a = f32[1000] parameter(0)
  b = f32[1000] parameter(1)
  ROOT y = f32[1000] add(a, b)
}`;
  for (const [what, alias, donated] of [
    ['it takes the first', '', 0],
    ['it takes the declared one: the first', ', input_output_alias={ {}: (0, {}, may-alias) }', 0],
    ['it takes the declared one: the second', ', input_output_alias={ {}: (1, {}, may-alias) }', 1],
  ]) {
    test(what, async () => {
      const executable = await client.compile(client.parseHlo(sum(alias)));
      const buffers = [1, 2].map((value) => client.buffer(new Float32Array(1000).fill(value), 'f32[1000]'));
      const place = buffers[donated].view().byteOffset;
      const [y] = await executable.execute(buffers, { device: true, donate: [donated] });
      assert.equal(y.view().byteOffset, place);
      assert.equal(y.view()[999], 3);
    });
  }
});

test('a kept value that a loop writes overwrites no argument whose other elements it reads later', async () => {
  for (const [name, line, wanted] of [
    ['reversed columns', 'y = f32[64,8] reverse(x), dimensions={1}', (i, k) => 8 * i + 7 - k],
    ['the same elements', 'y = f32[64,8] copy(x)', (i, k) => 8 * i + k],
  ]) {
    const executable = await client.compile(client.parseHlo(`HloModule m
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
ENTRY e {
  x = f32[64,8] parameter(0)
  z = f32[] constant(0)
  ${line}
  k = f32[64,8] negate(y)
  s = f32[64] reduce(k, z), dimensions={1}, to_apply=add
  ROOT t = (f32[64], f32[64,8]) tuple(s, k)
}`));
    const argument = client.buffer(Float32Array.from({ length: 512 }, (_, i) => i), 'f32[64,8]');
    const [sums, kept] = await executable.execute([argument], { device: true, donate: [0] });
    assert.deepEqual([...kept.view()], Array.from({ length: 512 }, (_, i) => -wanted(i >> 3, i & 7)), name);
    assert.deepEqual([...sums.view()], Array.from({ length: 64 }, (_, i) => -(64 * i + 28)), name);
  }
});

test('a declared pair names elements of tuples', async () => {
  const executable = await client.compile(client.parseHlo(`HloModule m, input_output_alias={ {1}: (1, {0}, may-alias) }
ENTRY e {
  a = f32[1000] parameter(0)
  p = (f32[1000], f32[1000]) parameter(1)
  b = f32[1000] get-tuple-element(p), index=0
  c = f32[1000] get-tuple-element(p), index=1
  n = f32[1000] subtract(a, c)
  s = f32[1000] add(b, c)
  ROOT t = (f32[1000], f32[1000]) tuple(n, s)
}`));
  const [a, b, c] = [1, 2, 3].map((value) => client.buffer(new Float32Array(1000).fill(value), 'f32[1000]'));
  const place = b.view().byteOffset;
  const [n, s] = await executable.execute([a, [b, c]], { device: true, donate: [0, 1] });
  assert.equal(s.view().byteOffset, place);
  assert.deepEqual([n.view()[999], s.view()[999]], [-2, 5]);
});

test('an array of more than 2 GB', { timeout: 300_000 }, async () => {
  const own = await Client.create({ threads: 0 });
  const n = 600_000_000;
  const made = await own.compile(own.parseHlo(`HloModule m
ENTRY e {
  x = f32[] parameter(0)
  i = s32[${n}] iota(), iota_dimension=0
  f = f32[${n}] convert(i)
  b = f32[${n}] broadcast(x), dimensions={}
  ROOT r = f32[${n}] multiply(f, b)
}`));
  const negated = await own.compile(own.parseHlo(`HloModule m
ENTRY e {
  a = f32[${n}] parameter(0)
  ROOT r = f32[${n}] negate(a)
}`));
  const sliced = await own.compile(own.parseHlo(`HloModule m
ENTRY e {
  a = f32[${n}] parameter(0)
  i = s32[] parameter(1)
  ROOT r = f32[2] dynamic-slice(a, i), dynamic_slice_sizes={2}
}`));
  const [large] = await made.execute([2], { device: true });
  assert.equal(own.memoryInUse, 4 * n);
  const [other] = await negated.execute([large], { device: true, donate: [0] });
  const [slice] = await sliced.execute([other, n - 8]);
  assert.deepEqual(slice.toArray(), [-2 * Math.fround(n - 8), -2 * Math.fround(n - 7)]);
  own.dispose();
});
