/** Tests that selects between an updated array and the old one become updates that are masked. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { agrees } from '../support/as_written.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

const COMBINER = `c { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
r { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }`;
const PARAMETERS = `x = f32[3,8,5] parameter(0) p = pred[3] parameter(1) q = pred[] parameter(2) i = s32[] parameter(3)
j = s32[3] parameter(4) u = f32[3,1,5] parameter(5) v = f32[3,5] parameter(6) z = s32[] constant(0)`;
const program = (lines, result = 'f32[3,8,5]') =>
  `HloModule masked\n${COMBINER}\nENTRY e {\n${PARAMETERS}\n${lines}\nROOT result = (${result}) tuple(y)\n}`;
const P = 'm = pred[3,8,5] broadcast(p), dimensions={0}', Q = 'm = pred[3,8,5] broadcast(q), dimensions={}';
const CHOICE = 'y = f32[3,8,5] select(m, w, x)', REVERSED = 'y = f32[3,8,5] select(m, x, w)';
const slice = (to = 'w', from = 'x') => `${to} = f32[3,8,5] dynamic-update-slice(${from}, u, z, i, z)`;
/** Row j[b] of x[b] becomes v[b], or v[b] is added to it. */
const scatter = (to = 'w', from = 'x', { by = 'r', at = 'k', more = '' } = {}) =>
  `${to} = f32[3,8,5] scatter(${from}, ${at}, v), update_window_dims={1}, inserted_window_dims={1}, input_batching_dims={0}, ` +
  `scatter_indices_batching_dims={0}, scatter_dims_to_operand_dims={1}, index_vector_dim=1${more}, to_apply=${by}`;
const INDICES = 'k = s32[3,1] reshape(j)';

/** Predicates that differ; indices inside, at the ends and outside. */
const value = (at) => (i, k, type) => (type === 's32' ? at + 3 * i : type === 'pred' ? (i + k + at) % 2 : Math.sin(i * 1.3 + k));
const selects = async (text, options) => {
  const module = client.parseHlo(text), executable = await client.compile(module, options);
  const compiled = executable.toString();
  executable.dispose();
  module.dispose();
  return [...compiled.matchAll(/ = (\w+)\[([\d,]*)\]\S* select\(/g)].some(([, , dims]) => dims === '3,8,5');
};

for (const [name, lines] of Object.entries({
  'a slice of each element': [slice(), P, CHOICE],
  'a slice, where the predicate is false': [slice(), P, REVERSED],
  'a slice, by one predicate': [slice(), Q, CHOICE],
  'a row of each element': [INDICES, scatter(), P, CHOICE],
  'a row, where the predicate is false': [INDICES, scatter(), P, REVERSED],
  'a row, by one predicate': [INDICES, scatter(), Q, CHOICE],
  'a sum': [INDICES, scatter('w', 'x', { by: 'c' }), P, CHOICE],
  'indices that were said to be sorted': [INDICES, scatter('w', 'x', { more: ', indices_are_sorted=true' }), P, CHOICE],
  'a select of a select': [INDICES, scatter('w1'), Q, 'w = f32[3,8,5] select(m, x, w1)', 'm2 = pred[3,8,5] broadcast(p), dimensions={0}',
    'y = f32[3,8,5] select(m2, w, x)'],
  'rows after a slice': [INDICES, slice('w1'), scatter('w2', 'w1'), scatter('w', 'w2', { by: 'c' }), P, CHOICE],
})) {
  test(`masked: ${name}`, async () => {
    const text = program(lines.join('\n'));
    assert.ok(await selects(text, { disable: ['masked-updates', 'fuse-loops'] }), 'the program has no select');
    assert.ok(!await selects(text, { disable: ['fuse-loops'] }));
    for (const at of [0, 1, 6, 7, -2, 100]) await agrees(client, text, value(at));
  });
}

for (const [name, lines] of Object.entries({
  'a predicate of each row': [slice(), `n = s32[8] iota(), iota_dimension=0
    l = s32[8] broadcast(i), dimensions={} f = pred[8] compare(n, l), direction=LT`, 'm = pred[3,8,5] broadcast(f), dimensions={1}', CHOICE],
  'a scatter whose predicate is of a window': [INDICES, scatter(), `n = s32[5] iota(), iota_dimension=0
    l = s32[5] broadcast(i), dimensions={} f = pred[5] compare(n, l), direction=LT`, 'm = pred[3,8,5] broadcast(f), dimensions={2}', CHOICE],
  'unsigned indices': [INDICES, 'k2 = u32[3,1] convert(k)', scatter('w', 'x', { at: 'k2' }), P, CHOICE],
  'an updated array with another reader': [slice(), P, 'y1 = f32[3,8,5] select(m, w, x)', 's = f32[3,8,5] sine(w)',
    'y = f32[3,8,5] add(y1, s)'],
  'another array': ['o = f32[3,8,5] negate(x)', slice('w', 'o'), P, CHOICE],
})) {
  test(`not masked: ${name}`, async () => {
    const text = program(lines.join('\n'));
    assert.ok(await selects(text, { disable: ['fuse-loops'] }));
    for (const at of [0, 3, 6]) await agrees(client, text, value(at));
  });
}

/** Each element of a batch writes one number a turn, for its own number of turns. */
const LOOP = `HloModule loop
b { s = (s32[], s32[], f32[4096]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] get-tuple-element(s), index=1
  x = f32[4096] get-tuple-element(s), index=2 o = s32[] constant(1) j = s32[] add(i, o) f = f32[] convert(j)
  u = f32[1] reshape(f) y = f32[4096] dynamic-update-slice(x, u, i) ROOT t = (s32[], s32[], f32[4096]) tuple(j, n, y) }
c { s = (s32[], s32[], f32[4096]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] get-tuple-element(s), index=1
  ROOT l = pred[] compare(i, n), direction=LT }
ENTRY e { n = s32[] parameter(0) z = s32[] constant(0) f = f32[] constant(0) x = f32[4096] broadcast(f), dimensions={}
  s = (s32[], s32[], f32[4096]) tuple(z, n, x) w = (s32[], s32[], f32[4096]) while(s), condition=c, body=b
  ROOT y = f32[4096] get-tuple-element(w), index=2 }`;

test('a batch of loops writes elements, not arrays', async () => {
  const module = client.parseHlo(LOOP), batch = client.vmap(module, { size: 3 });
  const executable = await client.compile(batch, { disable: ['fuse-loops'] }), text = executable.toString();
  assert.doesNotMatch(text, /f32\[3,4096\]\S* (select|copy|fusion)\(/);
  const [y] = await executable.execute([[3, 4096, 0]]);
  y.toArray().forEach((row, k) => assert.deepEqual(row, Array.from({ length: 4096 }, (_, i) => (i < [3, 4096, 0][k] ? i + 1 : 0))));
  for (const each of [executable, batch, module]) each.dispose();
});
