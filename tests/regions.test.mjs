/**
 * Regions: small steps with their loops and branches as one function. What they compute is the golden
 * corpus's question too; here it is that they are made, that they can be left in the middle of any
 * loop and go on there, and that they can be stopped.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { Client } from '../bindings/index.mjs';

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
