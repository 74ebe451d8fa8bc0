/** Tests stacked-state: a loop over layers changes a stack of caches in place. Values are those without the rewrite. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { afterPass, client, wave } from '../support/passes.mjs';

const LAYERS = 5, LENGTH = 40, WIDTH = 16;

/**
 * A loop over the layers: a step takes row i of `xs`, changes it by `lines` to `row`, puts it into `ys` and sums `read` up.
 * @param {object} form
 */
const program = ({ lines, put = 'row', read = 'cache', first = 0, count = LAYERS, stack = `f32[${LAYERS},${LENGTH},${WIDTH}]`,
  slice = 'i, z, z', index = '', sizes = `1,${LENGTH},${WIDTH}`, after = '', again = 'xs', result = 'ys' }) => `HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
more { s = (s32[], ${stack}, ${stack}, f32[], s32[], f32[${WIDTH}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(${count})
  ROOT m = pred[] compare(i, n), direction=LT }
turn { s = (s32[], ${stack}, ${stack}, f32[], s32[], f32[${WIDTH}]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  xs = ${stack} get-tuple-element(s), index=1
  ys = ${stack} get-tuple-element(s), index=2
  sum = f32[] get-tuple-element(s), index=3
  at = s32[] get-tuple-element(s), index=4
  u = f32[${WIDTH}] get-tuple-element(s), index=5
  one = s32[] constant(1)
  z = s32[] constant(0)
  zero = f32[] constant(0)
  next = s32[] add(i, one)
${index}
  taken = f32[${sizes}] dynamic-slice(xs, ${slice}), dynamic_slice_sizes={${sizes}}
  old = f32[${LENGTH},${WIDTH}] reshape(taken)
  fi = f32[] convert(i)
  bi = f32[${WIDTH}] broadcast(fi), dimensions={}
  v = f32[${WIDTH}] add(u, bi)
  v1 = f32[1,${WIDTH}] reshape(v)
${lines}
  wide = f32[${sizes}] reshape(${put})
  new = ${stack} dynamic-update-slice(ys, wide, ${slice})
  r = f32[] reduce(${read}, zero), dimensions={0,1}, to_apply=add
  total = f32[] add(sum, r)
  ROOT t = (s32[], ${stack}, ${stack}, f32[], s32[], f32[${WIDTH}]) tuple(next, ${again}, new, total, at, u) }
ENTRY e { caches = ${stack} parameter(0)
  at = s32[] parameter(1)
  u = f32[${WIDTH}] parameter(2)
  begin = s32[] constant(${first})
  zero = f32[] constant(0)
  empty = ${stack} broadcast(zero), dimensions={}
  t = (s32[], ${stack}, ${stack}, f32[], s32[], f32[${WIDTH}]) tuple(begin, caches, empty, zero, at, u)
  w = (s32[], ${stack}, ${stack}, f32[], s32[], f32[${WIDTH}]) while(t), condition=more, body=turn
  ys = ${stack} get-tuple-element(w), index=2
  sum = f32[] get-tuple-element(w), index=3
${after}
  ROOT r = (${stack}, f32[]) tuple(${result}, sum) }`;

const UPDATE = `  row = f32[${LENGTH},${WIDTH}] dynamic-update-slice(old, v1, at, z)`;
const CHAIN = `  first = f32[${LENGTH},${WIDTH}] dynamic-update-slice(old, v1, at, z)
  half = f32[1,4] slice(v1), slice={[0:1], [2:6]}
  after = s32[] add(at, one)
  row = f32[${LENGTH},${WIDTH}] dynamic-update-slice(first, half, after, one)`;
const IN_PLACE = {
  'a row with an update': { lines: UPDATE, read: 'row' },
  'the row before is read, too': { lines: `${UPDATE}\n  both = f32[${LENGTH},${WIDTH}] subtract(row, old)`, read: 'both' },
  'two updates, and what is between': { lines: `${CHAIN}\n  both = f32[${LENGTH},${WIDTH}] multiply(row, first)`, read: 'both' },
  'an update of the whole rank': {
    lines: `  v2 = f32[1,1,${WIDTH}] reshape(v)\n  row = f32[1,${LENGTH},${WIDTH}] dynamic-update-slice(taken, v2, z, at, z)
  flat = f32[${LENGTH},${WIDTH}] reshape(row)`, read: 'flat',
  },
  'stacked along the middle': {
    lines: UPDATE, read: 'row', stack: `f32[${LENGTH},${LAYERS},${WIDTH}]`, slice: 'z, i, z', sizes: `${LENGTH},1,${WIDTH}`,
  },
  'the old stack is used after the loop': {
    lines: UPDATE, read: 'row', result: 'both',
    after: `  both = f32[${LAYERS},${LENGTH},${WIDTH}] subtract(ys, caches)`,
  },
};
const AS_IT_WAS = {
  'every row is computed': { lines: `  row = f32[${LENGTH},${WIDTH}] negate(old)`, read: 'row' },
  'some rows are left': { lines: UPDATE, read: 'row', count: LAYERS - 1 },
  'the first row is left': { lines: UPDATE, read: 'row', first: 1 },
  'another row is put': { lines: UPDATE, read: 'row', again: 'new' },
  'the row of another place': { lines: UPDATE, index: '  back = s32[] subtract(one, i)', read: 'row', slice: 'back, z, z' },
};

/** The results, of some places of the update: within, and beyond the end, where it is clamped. */
async function results(text, options) {
  const module = client.parseHlo(text);
  const executable = await client.compile(module, options);
  const got = [];
  for (const at of [0, 7, LENGTH - 1, LENGTH + 3, -2]) {
    const [caches, sum] = await executable.execute([wave(LAYERS * LENGTH * WIDTH, 0.3), at, wave(WIDTH, 2)]);
    got.push([[...caches.data], sum.data[0]]);
  }
  executable.dispose();
  module.dispose();
  return got;
}

describe('stacked-state', () => {
  for (const [what, form] of Object.entries(IN_PLACE)) {
    test(`in place: ${what}`, async () => {
      const text = program(form);
      assert.ok(afterPass(text, 'stacked-state'));
      const got = await results(text), wanted = await results(text, { disable: ['stacked-state'] });
      const written = await results(text, { optimize: false });
      assert.deepEqual(got.map(([caches]) => caches), written.map(([caches]) => caches));
      got.forEach(([, sum], i) => assert.ok(Math.abs(sum - wanted[i][1]) <= 1e-5 * Math.abs(wanted[i][1]) + 1e-3, `${sum}, ${wanted[i][1]}`));
    });
  }
  for (const [what, form] of Object.entries(AS_IT_WAS)) {
    test(`as it was: ${what}`, () => assert.equal(afterPass(program(form), 'stacked-state'), null));
  }

  test('as it was: another instruction reads the new stack', async () => {
    const again = `${UPDATE}
  ys2 = f32[${LAYERS},${LENGTH},${WIDTH}] get-tuple-element(s), index=2
  there = f32[1,${LENGTH},${WIDTH}] dynamic-slice(ys2, i, z, z), dynamic_slice_sizes={1,${LENGTH},${WIDTH}}
  flat = f32[${LENGTH},${WIDTH}] reshape(there)`; // zeros: this step has not written it yet
    const text = program({ lines: again, read: 'flat' });
    const got = await results(text, { disable: ['common-subexpressions'] });
    assert.deepEqual(got.map(([, sum]) => sum), [0, 0, 0, 0, 0]);
    assert.deepEqual(got, await results(text, { optimize: false }));
  });

  test('a donated stack is not copied', async () => {
    const module = client.parseHlo(program(IN_PLACE['a row with an update']));
    const executable = await client.compile(module), { memory } = executable;
    assert.ok(memory.temporariesGiven < (LAYERS * LENGTH * WIDTH * 4) / 2, JSON.stringify(memory));
  });
});
