/**
 * Tests that rewrites of loops and branches neither repeat, drop nor reorder the side effects in them, with and
 * without threads.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

const clients = [];
const calls = []; // the values that the host was called with, in order
before(async () => {
  for (const threads of [0, 2]) {
    const client = await Client.create({ threads });
    client.registerCustomCall('next', ({ operands: [x] }) => {
      calls.push(Number(x.data[0]));
      return x.toArray() + 1;
    });
    clients.push(client);
  }
});
after(() => clients.forEach((client) => client.dispose()));

const ITERATIONS = 5;
const SIZE = 40; // of the matrix that the loop does not change

/* The loop's state: a count, a number, a matrix w, a sequence of rows. */
const STATE = `(s32[], f32[], f32[${SIZE},${SIZE}], f32[${ITERATIONS},8,${SIZE}])`;

/* Steps with one side effect: from x to g = x + 1. */
const EFFECTS = {
  'custom call': `
  g = f32[] custom-call(x), custom_call_target="next", custom_call_has_side_effect=true`,
  'custom call without a use of its result': `
  unused = f32[] custom-call(x), custom_call_target="next", custom_call_has_side_effect=true
  g = f32[] add(x, one)`,
  outfeed: `
  tok = token[] after-all()
  out = token[] outfeed(x, tok), outfeed_shape=f32[]
  g = f32[] add(x, one)`,
  infeed: `
  tok = token[] after-all()
  in = (f32[], token[]) infeed(tok)
  fed = f32[] get-tuple-element(in), index=0
  g = f32[] add(x, fed)`,
  'custom call in a branch': `
  yes = pred[] compare(i, i), direction=EQ
  g = f32[] conditional(yes, x, x), true_computation=calls, false_computation=same`,
  'custom call in a called computation': `
  g = f32[] call(x), to_apply=calls`,
};

/* Operations that may move before the loop: from w and the row of the sequence to a number, here 0. */
const INVARIANTS = {
  nothing: '\n  more = f32[] constant(0)',
  'a sum': '\n  more = f32[] reduce(w, zero), dimensions={0,1}, to_apply=sum',
  'a function': `
  e = f32[${SIZE},${SIZE}] tanh(w)
  more = f32[] reduce(e, zero), dimensions={0,1}, to_apply=sum`,
  'a product of rows of a sequence': `
  none = s32[] constant(0)
  row = f32[1,8,${SIZE}] dynamic-slice(xs, i, none, none), dynamic_slice_sizes={1,8,${SIZE}}
  r = f32[8,${SIZE}] reshape(row)
  d = f32[8,${SIZE}] dot(r, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  more = f32[] reduce(d, zero), dimensions={0,1}, to_apply=sum`,
  'a product with panels': `
  xb = f32[8,${SIZE}] broadcast(x), dimensions={}
  d = f32[8,${SIZE}] dot(xb, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  more = f32[] reduce(d, zero), dimensions={0,1}, to_apply=sum`,
};

const program = (effect, invariant, iterations = ITERATIONS) => `HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
calls {
  x = f32[] parameter(0)
  ROOT g = f32[] custom-call(x), custom_call_target="next", custom_call_has_side_effect=true
}
same {
  ROOT x = f32[] parameter(0)
}
condition {
  s = ${STATE} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(${iterations})
  ROOT r = pred[] compare(i, n), direction=LT
}
body {
  s = ${STATE} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  w = f32[${SIZE},${SIZE}] get-tuple-element(s), index=2
  xs = f32[${ITERATIONS},8,${SIZE}] get-tuple-element(s), index=3
  one = f32[] constant(1)
  zero = f32[] constant(0)
  step = s32[] constant(1)
  next = s32[] add(i, step)${EFFECTS[effect]}${INVARIANTS[invariant]}
  y = f32[] add(g, more)
  ROOT t = ${STATE} tuple(next, y, w, xs)
}
ENTRY e {
  x = f32[] parameter(0)
  w = f32[${SIZE},${SIZE}] parameter(1)
  xs = f32[${ITERATIONS},8,${SIZE}] parameter(2)
  zero = s32[] constant(0)
  init = ${STATE} tuple(zero, x, w, xs)
  loop = ${STATE} while(init), condition=condition, body=body
  ROOT r = f32[] get-tuple-element(loop), index=1
}`;

const WANTED = Array.from({ length: ITERATIONS }, (_, i) => i);

async function check(client, text, effect, options) {
  const executable = await client.compile(client.parseHlo(text), options);
  const w = new Float32Array(SIZE * SIZE), xs = new Float32Array(ITERATIONS * 8 * SIZE);
  calls.length = 0;
  if (effect === 'infeed') WANTED.forEach(() => client.transferToInfeed(1));
  const outs = effect === 'outfeed' ? WANTED.map(() => client.transferFromOutfeed()) : [];
  const [y] = await executable.execute([0, w, xs]);
  assert.equal(y.toArray(), ITERATIONS);
  if (effect.startsWith('custom call')) assert.deepEqual(calls, WANTED);
  const seen = await Promise.all(outs);
  if (outs.length) assert.deepEqual(seen.map((value) => value.toArray()), WANTED);
}

for (const effect of Object.keys(EFFECTS)) {
  describe(`a loop with: ${effect}`, () => {
    for (const invariant of Object.keys(INVARIANTS)) {
      test(`beside it: ${invariant}`, { timeout: 60_000 }, async () => {
        for (const client of clients) await check(client, program(effect, invariant), effect);
      });
    }
  });
}
