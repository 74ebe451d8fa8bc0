/**
 * Tests computations that use the next one twice, for every operation that has computations: written out, they
 * would be 2^40. Each compiles and runs, or is refused, in a few seconds, and compiled programs are freed.
 * (Calls, maps, conditionals and whiles are in limits.test.mjs.)
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

const LEVELS = 40, MAX_SECONDS = 5;
const CODES = ['RESOURCE_EXHAUSTED', 'UNIMPLEMENTED', 'FAILED_PRECONDITION', 'CANCELLED'];

let client;
before(async () => {
  client = await Client.create({ threads: 2, replicas: 2 });
});
after(() => client.dispose());

const ARRAYS = `u = f32[1] reshape(a)
  v = f32[1] reshape(b)
  zero = f32[] constant(0)
  at = s32[1,1] constant({{0}})`;
const SCATTER = 'update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1';
const AT_LEAST = `ge {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=GE
}
`;

/** Each combines two scalars, or arrays of one element, by `f`. */
const OF_ARRAYS = {
  reduce: (x, y, f) => `f32[] reduce(${x}, ${y}), dimensions={0}, to_apply=${f}`,
  scatter: (x, y, f) => `f32[1] scatter(${x}, at, ${y}), ${SCATTER}, to_apply=${f}`,
  'select-and-scatter': (x, y, f) =>
    `f32[1] select-and-scatter(${x}, ${y}, zero), window={size=1}, select=ge, scatter=${f}`,
  'reduce-window': (x, _, f) => `f32[1] reduce-window(${x}, b), window={size=1}, to_apply=${f}`,
  'all-reduce': (x, _, f) => `f32[1] all-reduce(${x}), replica_groups={}, to_apply=${f}`,
  'reduce-scatter': (x, _, f) => `f32[1] reduce-scatter(w_${x}), replica_groups={}, dimensions={0}, to_apply=${f}`,
};
const level = (name, lines) => `${name} {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ${lines}
}
`;

function ofArrays(what, f) {
  const combine = OF_ARRAYS[what], is = what === 'reduce';
  const wide = (x) => what === 'reduce-scatter' ? `w_${x} = f32[2] concatenate(${x}, ${x}), dimensions={0}\n  ` : '';
  return `${ARRAYS}
  ${wide('u')}s = ${combine('u', is ? 'zero' : 'v', f)}
  ${is ? 't = f32[1] reshape(s)' : 't = f32[1] copy(s)'}
  ${wide('t')}r = ${combine('t', is ? 'b' : 'v', f)}
  ROOT o = f32[] reshape(r)`;
}

/** Each gives two scalars to `f`. */
const OF_SCALARS = {
  fusion: (f) => `s = f32[] fusion(a, b), kind=kLoop, calls=${f}
  ROOT r = f32[] fusion(s, b), kind=kLoop, calls=${f}`,
  'async-start, async-update, async-done': (f) => `start = ((f32[], f32[]), f32[], s32[]) async-start(a, b), calls=${f}
  update = ((f32[], f32[]), f32[], s32[]) async-update(start)
  s = f32[] async-done(update)
  again = ((f32[], f32[]), f32[], s32[]) async-start(s, b), calls=${f}
  ROOT r = f32[] async-done(again)`,
  'custom-call': (f) => `s = f32[] custom-call(a, b), custom_call_target="f", called_computations={${f}, ${f}}
  ROOT r = f32[] custom-call(s, b), custom_call_target="f", to_apply=${f}`,
  composite: (f) => `s = f32[] call(a, b), to_apply=${f}, is_composite=true, frontend_attributes={composite.name="f"}
  ROOT r = f32[] call(s, b), to_apply=${f}`,
};
/* A scan's computation returns an output and the carried value. */
const SCAN = (f) => `u = f32[1] reshape(a)
  s = (f32[1], f32[]) scan(u, b), dimensions={0}, num_carries=1, to_apply=${f}
  c = f32[] get-tuple-element(s), index=1
  t = (f32[1], f32[]) scan(u, c), dimensions={0}, num_carries=1, to_apply=${f}
  d = f32[] get-tuple-element(t), index=1
  ROOT r = (f32[], f32[]) tuple(d, d)`;

function program(body, levels, leaf = 'ROOT r = f32[] add(a, b)') {
  let text = `HloModule m\n${AT_LEAST}${level('k0', leaf)}`;
  for (let i = 1; i <= levels; i++) text += level(`k${i}`, body(`k${i - 1}`));
  return text;
}

const FORMS = [
  ...Object.keys(OF_ARRAYS).map((what) => [what, (f) => ofArrays(what, f)]),
  ...Object.entries(OF_SCALARS)];
const ENTRY = (use) => `ENTRY e {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ${use}\n}`;

/** Compiles and runs, for 0.3 s at most; returns the outcome. */
async function ends(text) {
  const start = process.cpuUsage();
  let code = 'OK', executable;
  const module = client.parseHlo(text);
  try {
    executable = await client.compile(module);
    await executable.execute([1, 1], { signal: AbortSignal.timeout(300) });
  } catch (error) {
    code = error.code;
    assert.ok(CODES.includes(code) && error.message.length > 20, `${code}: ${error.message}`);
  }
  executable?.dispose();
  module.dispose();
  const { user, system } = process.cpuUsage(start);
  return { code, seconds: (user + system) / 1e6 };
}

const ALL = [
  ...FORMS.map(([what, body]) => [what, program(body, LEVELS) +
    ENTRY(`ROOT r = f32[] call(a, b), to_apply=k${LEVELS}`)]),
  ['scan', program(SCAN, LEVELS, 's = f32[] add(a, b)\n  ROOT r = (f32[], f32[]) tuple(s, s)') +
    ENTRY(`t = (f32[], f32[]) call(a, b), to_apply=k${LEVELS}\n  ROOT r = f32[] get-tuple-element(t), index=0`)],
];
for (const [what, text] of ALL) {
  test(`${what}, twice each, ${LEVELS} levels deep`, { timeout: 60000 }, async (t) => {
    const { code, seconds } = await ends(text);
    t.diagnostic(`${code} after ${seconds.toFixed(2)} s`);
    assert.ok(seconds < MAX_SECONDS, `${seconds} s`);
  });
}

test('fusions of two each, 16 levels deep, run', async () => {
  const text = program(OF_SCALARS.fusion, 16) + ENTRY('ROOT r = f32[] call(a, b), to_apply=k16');
  const executable = await client.compile(client.parseHlo(text), { replicas: 1 });
  const [y] = await executable.execute([1, 1]);
  assert.equal(y.data[0], 2 ** 16 + 1);
  executable.dispose();
});

test('disposed executables leave no memory', { timeout: 60000 }, async () => {
  const compiled = async () => {
    for (const [, text] of ALL) {
      const module = client.parseHlo(text);
      (await client.compile(module)).dispose();
      module.dispose();
    }
    return client.heapInUse;
  };
  await compiled();
  const before = await compiled(), after = await compiled();
  assert.ok(after <= before + 65536, `${before} bytes, then ${after}`);
});
