/** Tests that the host's other events come in between: without threads in every kind of program, and always between short runs. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { turnsDuring } from '../support/turns.mjs';

const LEVELS = 40; // no machine ever comes to the end of so many calls
const MIN_TURNS = 20;
const LEAF = 'leaf { x = f32[] parameter(0)\n ROOT y = f32[] sine(x) }';
const MORE = `more { s = (s32[], f32[]) parameter(0)
 i = s32[] get-tuple-element(s), index=0
 k = s32[] constant(2)
 ROOT p = pred[] compare(i, k), direction=LT }`;

/** Computations c0, c1 ...; each calls the one before twice. `body` returns its lines. */
const levels = (count, shape, body) => Array.from({ length: count }, (_, i) =>
  `c${i} { x = ${shape} parameter(0)\n${body(i ? `c${i - 1}` : 'leaf', i)}\n}`).join('\n');
const twice = (shape) => (callee) => ` a = ${shape} call(x), to_apply=${callee}\n ROOT b = ${shape} call(a), to_apply=${callee}`;
const program = (count, computations, last = ' ROOT y = f32[] call(x), to_apply=', shape = 'f32[]') =>
  `HloModule m\n${computations}\nENTRY e { x = ${shape} parameter(0)\n${last}c${count - 1} }`;
const arrays = (leaf, more = '') => (count) => program(count,
  `${more}leaf { x = f32[16] parameter(0)\n${leaf} }\n${levels(count, 'f32[16]', twice('f32[16]'))}`,
  ' ROOT y = f32[16] call(x), to_apply=', 'f32[16]');

/** [name, program of `count` levels, its argument] */
const KINDS = [
  ['calls', (count) => program(count, `${LEAF}\n${levels(count, 'f32[]', twice('f32[]'))}`), 0.1],
  ['conditionals', (count) => program(count, `${LEAF}\n${levels(count, 'f32[]', (callee) => ` z = f32[] constant(0.3)
 p = pred[] compare(x, z), direction=LT
 a = f32[] conditional(p, x, x), true_computation=${callee}, false_computation=${callee}
 ROOT b = f32[] conditional(p, a, a), true_computation=${callee}, false_computation=${callee}`)}`), 0.1],
  ['switches and calls', (count) => program(count, `${LEAF}
other { x = f32[] parameter(0)\n ROOT y = f32[] cosine(x) }
${levels(count, 'f32[]', (callee) => ` s = s32[] convert(x)
 a = f32[] conditional(s, x, x), branch_computations={${callee}, other}\n ROOT b = f32[] call(a), to_apply=${callee}`)}`), 0.1],
  ['nested loops', (count) => program(count, `${LEAF}\n${MORE}\n${levels(count, 'f32[]', (callee, i) => ` z = s32[] constant(0)
 t = (s32[], f32[]) tuple(z, x)\n w = (s32[], f32[]) while(t), condition=more, body=w${i}
 ROOT r = f32[] get-tuple-element(w), index=1 }
w${i} { s = (s32[], f32[]) parameter(0)\n i = s32[] get-tuple-element(s), index=0
 v = f32[] get-tuple-element(s), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)
 u = f32[] call(v), to_apply=${callee}\n ROOT t = (s32[], f32[]) tuple(j, u)`)}`), 0.1],
  ['arrays', arrays(' ROOT y = f32[16] sine(x)'), new Float32Array(16).fill(0.1)],
  ['maps', (count) => program(count, `${LEAF}\n${levels(count, 'f32[]', twice('f32[]'))}`,
    ' ROOT y = f32[4] map(x), dimensions={0}, to_apply=', 'f32[4]'), new Float32Array(4).fill(0.1)],
  ['comparators', arrays(' ROOT y = f32[16] sort(x), dimensions={0}, to_apply=less', `less { a = f32[] parameter(0)
 b = f32[] parameter(1)\n c = f32[] sine(a)\n d = f32[] sine(b)\n ROOT p = pred[] compare(c, d), direction=GT }\n`),
  Float32Array.from({ length: 16 }, (_, i) => i / 16)],
  ['scans', arrays(` z = f32[] constant(0)
 w = f32[16] reduce-window(x, z), window={size=16 pad=15_0}, to_apply=add\n ROOT y = f32[16] sine(w)`,
  'add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b) }\n'), new Float32Array(16).fill(0.1)],
];

describe('2^40 calls', () => {
  let client;
  before(async () => { client = await Client.create({ threads: 0 }); });
  after(() => client.dispose());
  const compile = async (text) => client.compile(client.parseHlo(text));

  for (const [what, text, argument] of KINDS) {
    test(`${what}: nothing is blocked`, { timeout: 60000 }, async () => {
      const executable = await compile(text(LEVELS)), stop = new AbortController();
      const run = () => assert.rejects(executable.execute([argument], { signal: stop.signal }), { code: 'CANCELLED' });
      const turns = await turnsDuring(run, (count) => { if (count === MIN_TURNS) stop.abort(); });
      assert.ok(turns >= MIN_TURNS, `${turns} turns`);
    });
  }

  // So many calls that they are not inlined.
  const CALLS = 2 ** 15;
  for (const [what, text, argument] of KINDS.slice(0, 6)) {
    test(`${what}: the result`, { timeout: 60000 }, async () => {
      const [y] = await (await compile(text(15))).execute([argument]);
      let expected = 0.1;
      for (let i = 0; i < CALLS; i++) expected = Math.sin(expected);
      for (const value of y.data) assert.ok(Math.abs(value - expected) < 1e-5, `${value}, not ${expected}`);
    });
  }
});

test('a turn takes a step, however late it begins', async () => {
  const client = await Client.create({ threads: 0 }), n = 300_007;
  const sort = (name, of) => `${name} = f32[${n}] sort(${of}), dimensions={0}, to_apply=less`;
  const executable = await client.compile(client.parseHlo(`HloModule m
less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT p = pred[] compare(a, b), direction=LT }
ENTRY e { x = f32[${n}] parameter(0)\n ${sort('a', 'x')}\n b = f32[${n}] reverse(a), dimensions={0}\n ROOT ${sort('c', 'b')} }`));
  let turns = 0;
  const count = (now) => { if ((turns = now) > 100_000) throw new Error('it takes turns without an end'); };
  await turnsDuring(async () => {
    const [{ data }] = await executable.execute([Float32Array.from({ length: n }, (_, i) => (i * 37) % n)]);
    assert.deepEqual([data[0], data[n - 1]], [0, n - 1]);
  }, count);
  assert.ok(turns > 3, `${turns} turns`);
  client.dispose();
});

// There was no turn before the last run, with threads as without. A run reads the clock some five times.
const STEP_MS = 0.01;
for (const threads of [0, 1, 2]) {
  test(`a loop that awaits short runs, ${threads} threads`, async () => {
    const client = await Client.create({ threads });
    const executable = await client.compile(client.parseHlo('HloModule m\nENTRY e { x = f32[64] parameter(0)\n ROOT y = f32[64] negate(x) }'));
    const x = client.buffer(new Float32Array(64));
    await executable.execute([x]);
    const turns = await turnsDuring(async () => {
      for (let i = 0; i < 2000; i++) await executable.execute([x]);
    }, undefined, STEP_MS);
    assert.ok(turns >= 4, `${turns} turns of other events during 2000 runs`);
    client.dispose();
  });
}
