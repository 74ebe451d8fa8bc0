/**
 * Tests groups of loops over the same rows, a block of rows at a time (src/compile/row_groups.c): the steps
 * of a group, and that grouping changes only the order of work.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 3 });
});
after(() => client.dispose());

const wave = (count, phase = 0) => Float32Array.from({ length: count }, (_, i) => Math.sin(i * 0.7 + phase) * 3);
const rowsOf = (values, size) => Array.from({ length: values.length / size }, (_, r) => [...values.subarray(r * size, (r + 1) * size)]);

const program = (shape, entry, type = 'f32') => `HloModule m
add {
 a = ${type}[] parameter(0)
 b = ${type}[] parameter(1)
 ROOT r = ${type}[] add(a, b)
}
most {
 a = ${type}[] parameter(0)
 b = ${type}[] parameter(1)
 ROOT r = ${type}[] maximum(a, b)
}
ENTRY e {
  x = ${type}[${shape}] parameter(0)
  z = ${type}[] constant(0)
  low = ${type}[] constant(-inf)
${entry}
}`;

const SOFTMAX = `  m = f32[600] reduce(x, low), dimensions={1}, to_apply=most
  mb = f32[600,301] broadcast(m), dimensions={0}
  d = f32[600,301] subtract(x, mb)
  e = f32[600,301] exponential(d)
  s = f32[600] reduce(e, z), dimensions={1}, to_apply=add
  sb = f32[600,301] broadcast(s), dimensions={0}`;
const softmax = (row) => {
  const most = Math.max(...row), e = row.map((v) => Math.exp(v - most)), sum = e.reduce((a, b) => a + b);
  return e.map((v) => v / sum);
};

async function compile(text, owner = client) {
  const module = owner.parseHlo(text);
  try {
    return await owner.compile(module);
  } finally {
    module.dispose();
  }
}

/** How many steps each group of rows has. */
const groups = (executable) =>
  [...executable.thunks().matchAll(/^( *)rows .*\n((?:\1 {2}.*\n)*)/gm)].map(([, , steps]) => steps.trim().split('\n').length);

function compare(got, wanted, within = 1e-5) {
  const all = [...got];
  assert.equal(all.length, wanted.length);
  all.forEach((value, i) => assert.ok(Math.abs(value - wanted[i]) <= within * (1 + Math.abs(wanted[i])), `${value} at ${i}, not ${wanted[i]}`));
}

test('a softmax is one group, whose profile names its steps', async () => {
  const executable = await compile(program('600,301', `${SOFTMAX}\n  ROOT r = f32[600,301] divide(e, sb)`));
  assert.deepEqual(groups(executable), [4]);
  const x = wave(600 * 301);
  const { outputs: [got], events } = await executable.execute([x], { profile: true });
  compare(got.data, rowsOf(x, 301).flatMap(softmax));
  const { holds } = events.find(({ category }) => category === 'rows');
  assert.deepEqual(holds, ['m', holds[1], holds[2], 'r']); // the compiler's own names: s with e, and 1 / s
  assert.match(holds[1], /^s\./);
});

test('the same bits for any number of threads, in the memory of an argument too', async () => {
  const text = program('600,301', `${SOFTMAX}\n  ROOT r = f32[600,301] divide(e, sb)`);
  const executable = await compile(text), x = wave(600 * 301);
  const [got] = await executable.execute([x]);
  const [donated] = await executable.execute([client.buffer(x, 'f32[600,301]')], { donate: [0] });
  assert.deepEqual(donated.data, got.data);
  const single = await Client.create({ threads: 0 });
  const [alone] = await (await compile(text, single)).execute([x]);
  assert.deepEqual(alone.data, got.data);
  single.dispose();
});

test('rows of two dimensions, with a mask that all heads share', async () => {
  const executable = await compile(program('6,100,128', `  i = s32[100,128] iota(), iota_dimension=0
  k = s32[100,128] iota(), iota_dimension=1
  p = pred[100,128] compare(i, k), direction=GE
  q = pred[6,100,128] broadcast(p), dimensions={1,2}
  lb = f32[6,100,128] broadcast(low), dimensions={}
  y = f32[6,100,128] select(q, x, lb)
  m = f32[6,100] reduce(y, low), dimensions={2}, to_apply=most
  mb = f32[6,100,128] broadcast(m), dimensions={0,1}
  d = f32[6,100,128] subtract(y, mb)
  e = f32[6,100,128] exponential(d)
  s = f32[6,100] reduce(e, z), dimensions={2}, to_apply=add
  sb = f32[6,100,128] broadcast(s), dimensions={0,1}
  ROOT r = f32[6,100,128] divide(e, sb)`));
  assert.equal(groups(executable).length, 1);
  const x = wave(6 * 100 * 128), [got] = await executable.execute([x]);
  compare(got.data, rowsOf(x, 128).flatMap((row, r) => softmax(row.map((v, k) => (k <= r % 100 ? v : -Infinity)))));
});

test('groups of channels: rows are the dimensions before the reduced ones', async () => {
  const executable = await compile(program('32,24,4,40', `  s = f32[32,4] reduce(x, z), dimensions={1,3}, to_apply=add
  n = f32[] constant(960)
  nb = f32[32,4] broadcast(n), dimensions={}
  m = f32[32,4] divide(s, nb)
  mb = f32[32,24,4,40] broadcast(m), dimensions={0,2}
  ROOT r = f32[32,24,4,40] subtract(x, mb)`));
  assert.equal(groups(executable).length, 1);
  const x = wave(32 * 24 * 160), [got] = await executable.execute([x]);
  const sums = new Float64Array(32 * 4), at = (i) => Math.floor(i / 3840) * 4 + Math.floor(i / 40) % 4;
  x.forEach((v, i) => { sums[at(i)] += v; });
  compare(got.data, Array.from(x, (v, i) => v - sums[at(i)] / 960));
});

test('what goes over rows that other steps read as a whole is no group', async () => {
  const columns = program('301,600', `  m = f32[600] reduce(x, low), dimensions={0}, to_apply=most
  mb = f32[301,600] broadcast(m), dimensions={1}
  d = f32[301,600] subtract(x, mb)
  e = f32[301,600] exponential(d)
  s = f32[600] reduce(e, z), dimensions={0}, to_apply=add
  sb = f32[301,600] broadcast(s), dimensions={1}
  ROOT r = f32[301,600] divide(e, sb)`);
  const executable = await compile(columns), x = wave(600 * 301);
  assert.deepEqual(groups(executable), []);
  const rows = rowsOf(x, 600), turned = rows[0].map((_, c) => softmax(rows.map((row) => row[c])));
  const [got] = await executable.execute([x]);
  compare(got.data, Array.from(x, (_, i) => turned[i % 600][Math.floor(i / 600)]));
});

test('a step that reads other rows comes after all of them', async () => {
  const executable = await compile(program('600,301', `${SOFTMAX}
  f = f32[600,301] divide(e, sb)
  b = f32[600,301] opt-barrier(f)
  v = f32[600,301] reverse(b), dimensions={0}
  w = f32[600,301] exponential(v)
  t = f32[600] reduce(w, z), dimensions={1}, to_apply=add
  tb = f32[600,301] broadcast(t), dimensions={0}
  ROOT r = f32[600,301] add(b, tb)`));
  const x = wave(600 * 301), [got] = await executable.execute([x]);
  const each = rowsOf(x, 301).map(softmax), sums = each.map((row) => row.reduce((a, v) => a + Math.exp(v), 0));
  compare(got.data, each.flatMap((row, r) => row.map((v) => v + sums[599 - r])));
  assert.ok(groups(executable).length >= 1, executable.thunks());
});

test('in loops and branches, of wide and narrow numbers', async () => {
  for (const [type, within] of [['f64', 1e-12], ['bf16', 2e-2]]) {
    const loop = program('800,256', `  n = s32[] constant(3)
  o = s32[] constant(0)
  i = (s32[], ${type}[800,256]) tuple(o, x)
  w = (s32[], ${type}[800,256]) while(i), condition=condition, body=body
  ROOT r = ${type}[800,256] get-tuple-element(w), index=1`, type).replace('ENTRY', `condition {
  s = (s32[], ${type}[800,256]) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(k, n), direction=LT
}
body {
  s = (s32[], ${type}[800,256]) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  x = ${type}[800,256] get-tuple-element(s), index=1
  one = s32[] constant(1)
  next = s32[] add(k, one)
  z = ${type}[] constant(0)
  e = ${type}[800,256] exponential(x)
  t = ${type}[800] reduce(e, z), dimensions={1}, to_apply=add
  tb = ${type}[800,256] broadcast(t), dimensions={0}
  y = ${type}[800,256] divide(e, tb)
  ROOT r = (s32[], ${type}[800,256]) tuple(next, y)
}
ENTRY`);
    const executable = await compile(loop), x = Array.from(wave(800 * 256));
    assert.match(executable.thunks(), /^ +rows /m);
    const [got] = await executable.execute([rowsOf(Float64Array.from(x), 256)]);
    let rows = rowsOf(Float64Array.from(x), 256);
    for (let turn = 0; turn < 3; turn++) {
      rows = rows.map((row) => {
        const e = row.map(Math.exp), sum = e.reduce((a, b) => a + b);
        return e.map((v) => v / sum);
      });
    }
    compare(got.toArray().flat(), rows.flat(), within);
  }
});

test("in a loop's condition", async () => {
  const executable = await compile(`HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
condition {
  x = f32[800,256] parameter(0)
  z = f32[] constant(0)
  t = f32[800] reduce(x, z), dimensions={1}, to_apply=add
  tb = f32[800,256] broadcast(t), dimensions={0}
  d = f32[800,256] subtract(x, tb)
  e = f32[800,256] exponential(d)
  u = f32[800] reduce(e, z), dimensions={1}, to_apply=add
  value = f32[] reduce(u, z), dimensions={0}, to_apply=add
  limit = f32[] constant(1600)
  ROOT c = pred[] compare(value, limit), direction=GT
}
body {
  x = f32[800,256] parameter(0)
  one = f32[] constant(1)
  ones = f32[800,256] broadcast(one), dimensions={}
  ROOT r = f32[800,256] add(x, ones)
}
ENTRY main { x = f32[800,256] parameter(0) ROOT w = f32[800,256] while(x), condition=condition, body=body }`);
  assert.match(executable.thunks(), /^ +rows /m);
  const zeros = new Float32Array(800 * 256);
  const [got] = await executable.execute([zeros]);
  /* 800 * 256 e^0 > 1600, and 800 * 256 e^(1 - 256) < 1600 */
  assert.ok(got.data.every((v) => v === 1));
});

test('a group can be cancelled', async () => {
  const single = await Client.create({ threads: 0 });
  const executable = await compile(program('60000,301', SOFTMAX.replaceAll('600', '60000').concat('\n  ROOT r = f32[60000,301] divide(e, sb)')),
    single);
  assert.deepEqual(groups(executable), [4]);
  const controller = new AbortController();
  const run = executable.execute([new Float32Array(60000 * 301)], { signal: controller.signal });
  setTimeout(() => controller.abort(), 1);
  await assert.rejects(run, { code: 'CANCELLED' });
  const [got] = await executable.execute([new Float32Array(60000 * 301)]);
  assert.equal(got.data[0], Math.fround(1 / 301));
  single.dispose();
});
