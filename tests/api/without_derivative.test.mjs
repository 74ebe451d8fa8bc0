/** Tests that programs without a derivative are refused, with the operation and the rule, in reverse and in forward mode. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

const combiner = (name, root) => `${name} {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n${root}\n}\n`;
const ADD = combiner('add', ' ROOT r = f32[] add(a, b)'), MAX = combiner('max', ' ROOT r = f32[] maximum(a, b)');
/** A sum of two arrays: no element-wise computation. */
const ARRAYS = `${ADD}${combiner('arrays', ` z = f32[] constant(0)
 c = f32[2] broadcast(a), dimensions={}\n d = f32[] reduce(c, z), dimensions={0}, to_apply=add\n ROOT r = f32[] multiply(d, b)`)}`;
const WINDOW = 'update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1';
const scatter = (computation, more = '') => `i = s32[2,1] constant({{0}, {2}})\n u = f32[2] slice(x), slice={[0:2]}
 ROOT r = f32[4] scatter(x, i, u), ${WINDOW}, to_apply=${computation}${more}`;

/** A loop that squares x until `condition`, of the state (s32 i, f32[4] x). */
const loop = (condition) => `more {\n s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0
 n = s32[] constant(3)\n${condition}\n}
turn {\n s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n x = f32[4] get-tuple-element(s), index=1
 one = s32[] constant(1)\n j = s32[] add(i, one)\n y = f32[4] multiply(x, x)\n ROOT t = (s32[], f32[4]) tuple(j, y)\n}\n`;
const LOOP = `z = s32[] constant(0)\n s = (s32[], f32[4]) tuple(z, x)
 w = (s32[], f32[4]) while(s), condition=more, body=turn\n ROOT r = f32[4] get-tuple-element(w), index=1`;
const UNKNOWN = /while "w" of shape .* is a loop whose number of iterations is not known before the run; give an upper bound/;

/** Of x f32[4]: computations, lines, the message; whether only reverse mode refuses it. */
const REFUSED = {
  'a reduce-scatter by maximum': [MAX, 'ROOT r = f32[4] reduce-scatter(x), replica_groups={{0}}, dimensions={0}, to_apply=max',
    /reduce-scatter "r" of shape f32\[4\] combines by a computation that has no derivative here/],
  'a collective-broadcast to some devices': ['', 'ROOT r = f32[4] collective-broadcast(x), replica_groups={{1,2}}',
    /collective-broadcast ".*" of shape f32\[4\] has replica_groups that leave out devices/, 'reverse'],
  'updates by a computation at indices that may be equal': [ARRAYS, scatter('arrays'),
    /scatter "r" .* updates by a computation other than add, .*unique_indices=true/],
  'updates by a computation of arrays': [ARRAYS, scatter('arrays', ', unique_indices=true'),
    /scatter "r" .* updates by a computation that is not element-wise/],
  'a reduction by a computation of arrays': [ARRAYS, 'z = f32[] constant(1)\n ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=arrays',
    /reduce "r" .* reduces by a computation that is not element-wise/],
  'windows that a computation of arrays reduces': [ARRAYS,
    'z = f32[] constant(1)\n ROOT r = f32[3] reduce-window(x, z), window={size=2}, to_apply=arrays',
    /reduce-window "r" .* reduces windows by a computation that is not element-wise/],
  'windows that are selected by a computation': [`${ADD}select {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] sine(a)\n ROOT r = pred[] compare(c, b), direction=GE\n}\n`,
    `z = f32[] constant(0)\n s = f32[2] slice(x), slice={[0:2]}\n ROOT r = f32[4] select-and-scatter(x, s, z), window={size=2 stride=2}, select=select, scatter=add`,
    /select-and-scatter "r" .* does not select by a comparison/],
  'a loop whose end is random': [loop(' p = s32[] rng(i, n), distribution=rng_uniform\n m = s32[] add(p, n)\n ROOT r = pred[] compare(i, m), direction=LT'),
    LOOP, UNKNOWN, 'reverse'],
  'a loop whose end the host knows': [loop(' m = s32[] custom-call(i), custom_call_target="end"\n ROOT r = pred[] compare(i, m), direction=LT'),
    LOOP, UNKNOWN, 'reverse'],
  'a map of a computation of arrays': [ARRAYS, 'ROOT r = f32[4] map(x, x), dimensions={0}, to_apply=arrays',
    /map "r" of shape f32\[4\] applies a computation that is not made of element-wise operations/],
  'numbers drawn between bounds': ['', `z = f32[] constant(0)\n a = f32[1] slice(x), slice={[0:1]}\n b = f32[] reshape(a)
 ROOT r = f32[4] rng(z, b), distribution=rng_uniform`, /rng "r" of shape f32\[4\] draws numbers between operands that have derivatives/],
  'an array of dynamic size': ['', `n = s32[] constant(2)\n d = f32[<=4] set-dimension-size(x, n), dimensions={0}
 ROOT r = f32[<=4] sine(d)`, /has a dynamic dimension; gradients need sizes that are known/],
};

let client;
before(async () => { client = await Client.create({ threads: 0 }); });
after(() => client.dispose());

for (const [name, [computations, lines, message, only]] of Object.entries(REFUSED)) {
  test(name, () => {
    const module = client.parseHlo(`HloModule m\n${computations}ENTRY e {\n x = f32[4] parameter(0)\n ${lines}\n}`);
    assert.throws(() => client.vjp(module).dispose(), message);
    if (only === 'reverse') client.jvp(module).dispose();
    else assert.throws(() => client.jvp(module).dispose(), message);
    module.dispose();
  });
}

test('a value of 64 dimensions, saved in each iteration', () => {
  const shape = `f32[${new Array(64).fill(1)}]`;
  const module = client.parseHlo(`HloModule m
more {\n s = (s32[], ${shape}) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(3)\n ROOT c = pred[] compare(i, n), direction=LT\n}
turn {\n s = (s32[], ${shape}) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n x = ${shape} get-tuple-element(s), index=1
 one = s32[] constant(1)\n j = s32[] add(i, one)\n y = ${shape} multiply(x, x)\n ROOT t = (s32[], ${shape}) tuple(j, y)\n}
ENTRY e {\n x = ${shape} parameter(0)\n z = s32[] constant(0)\n s = (s32[], ${shape}) tuple(z, x)\n w = (s32[], ${shape}) while(s), condition=more, body=turn\n ROOT r = ${shape} get-tuple-element(w), index=1\n}`);
  assert.throws(() => client.vjp(module), /gradient: a value of shape f32\[.*inside a loop has too many dimensions to be saved/);
});
