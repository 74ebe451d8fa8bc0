/**
 * Operations on scalars that only move elements, in computations that are applied to elements: they are the number
 * itself. As a rule simplify-algebra removes them; loops must not need it.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { agrees } from '../support/as_written.mjs';

const MOVES = {
  broadcast: 'broadcast(s), dimensions={}', copy: 'copy(s)', reshape: 'reshape(s)', transpose: 'transpose(s), dimensions={}',
  reverse: 'reverse(s), dimensions={}', slice: 'slice(s), slice={}', 'dynamic-slice': 'dynamic-slice(s), dynamic_slice_sizes={}',
  pad: 'pad(s, a), padding=', bitcast: 'bitcast(s)',
};
const f = (type, move) => `f { a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n s = ${type}[] add(a, b)
 t = ${type}[] ${move}\n u = ${type}[] ${move.replace('(s', '(t')}\n ROOT r = ${type}[] maximum(u, s)\n}\n`;
const less = (type, move) => `f { a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n s = ${type}[] add(a, a)
 t = ${type}[] ${move}\n ROOT r = pred[] compare(t, b), direction=LT\n}\n`;
const entry = (type, root) => `ENTRY e { x = ${type}[9,30] parameter(0)\n z = ${type}[] constant(0)\n ${root} }`;

const PROGRAMS = {
  reduce: (type, move) => f(type, move) + entry(type, `ROOT r = ${type}[9] reduce(x, z), dimensions={1}, to_apply=f`),
  columns: (type, move) => f(type, move) + entry(type, `ROOT r = ${type}[30] reduce(x, z), dimensions={0}, to_apply=f`),
  'reduce-window': (type, move) =>
    f(type, move) + entry(type, `ROOT r = ${type}[9,28] reduce-window(x, z), window={size=1x3}, to_apply=f`),
  cumulative: (type, move) =>
    f(type, move) + entry(type, `ROOT r = ${type}[9,30] reduce-window(x, z), window={size=1x30 pad=0_0x29_0}, to_apply=f`),
  scatter: (type, move) => f(type, move) + entry(type, `i = s32[4,1] constant({{1},{2},{2},{8}})
 u = ${type}[4,30] slice(x), slice={[0:4],[0:30]}
 ROOT r = ${type}[9,30] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f`),
  map: (type, move) => f(type, move) + entry(type, `ROOT r = ${type}[9,30] map(x, x), dimensions={0,1}, to_apply=f`),
  sort: (type, move) => less(type, move) + entry(type, `ROOT r = ${type}[9,30] sort(x), dimensions={1}, to_apply=f`),
};

let client;
before(async () => { client = await Client.create({ threads: 0 }); });
after(() => client.dispose());

for (const [outer, program] of Object.entries(PROGRAMS)) {
  describe(outer, () => {
    for (const [inner, move] of Object.entries(MOVES)) {
      test(inner, async () => {
        for (const type of ['f32', 's32', 'bf16', 'f64', 'u8', 'f8e8m0fnu']) {
          if (type === 'f8e8m0fnu' && (outer !== 'scatter' || inner === 'pad')) continue; // has no zero
          const text = program(type, move).replaceAll('constant(0)', type === 'f8e8m0fnu' ? 'constant(1)' : 'constant(0)');
          const value = (i) => (type === 'f8e8m0fnu' ? 2 ** (i % 5) : (i * 7919) % 5);
          for (const disable of [[], ['simplify-algebra'], client.optionalPasses.filter((name) => name !== 'fuse-loops')]) {
            await agrees(client, text, value, { disable });
          }
        }
      });
    }
  });
}

test('a program that the engine refused: minima of scale factors, scattered', async () => {
  const text = `f { a = f8e8m0fnu[] parameter(0)\n b = f8e8m0fnu[] parameter(1)\n ROOT r = f8e8m0fnu[] minimum(a, b)\n}
ENTRY e {
 x = f8e8m0fnu[1,1] parameter(0)
 y = f8e8m0fnu[1,1] parameter(1)
 i = u64[1,1] constant({{0}})
 ROOT r = f8e8m0fnu[1,1] scatter(x, i, y), update_window_dims={}, inserted_window_dims={0,1}, scatter_dims_to_operand_dims={0}, index_vector_dim=2, to_apply=f
}`;
  assert.ok(client.optionalPasses.includes('simplify-algebra'));
  await agrees(client, text, (i, k) => 2 ** k, { disable: ['simplify-algebra'] });
});

test('numbers that are drawn for each element are the same for any number of threads', async () => {
  const results = [];
  for (const threads of [0, 2]) {
    const other = await Client.create({ threads }),
      module = other.parseHlo(`noise { x = f32[] parameter(0)\n a = f32[] constant(0)\n b = f32[] constant(1)
 r = f32[] rng(a, b), distribution=rng_uniform\n ROOT s = f32[] add(x, r) }
ENTRY e { x = f32[100000] parameter(0)\n ROOT y = f32[100000] map(x), dimensions={0}, to_apply=noise }`);
    const executable = await other.compile(module);
    results.push((await executable.execute([new Float32Array(100000)]))[0].data);
    other.dispose();
  }
  assert.deepEqual(results[1], results[0]);
});
