/** Programs and checks that the tests of runs share: their failures, their memory, their threads. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { XlaError } from '../../bindings/index.mjs';
import { startedClient } from './started.mjs';

export const TIMEOUT = { timeout: 60000 }; // a hang fails

export const ADD = `%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}
`;

/** (x: f32[], y: f32[]) -> x op y */
export function scalars(client, op) {
  const b = client.builder(op);
  return b.build(b[op](b.parameter(0, 'f32[]', 'x'), b.parameter(1, 'f32[]', 'y')));
}

/** A test on a client of its own, on each of the given numbers of threads. */
export function onThreads(counts, name, body, options = TIMEOUT) {
  for (const threads of counts) {
    test(`${name}, ${threads} threads`, options, async () => {
      const client = await startedClient({ threads });
      try {
        await body(client, threads);
      } finally {
        client.dispose();
      }
    });
  }
}

export const compileText = async (client, text, options) => {
  const module = client.parseHlo(text);
  try {
    return await client.compile(module, options);
  } finally {
    module.dispose();
  }
};

export const fails = (promise, code, ...patterns) =>
  assert.rejects(promise, (error) => {
    assert.ok(error instanceof XlaError, String(error?.stack ?? error));
    assert.equal(error.code, code, error.message);
    for (const pattern of patterns) assert.match(error.message, pattern);
    return true;
  });

/** The client still computes, over all its replicas and threads. */
export async function isUsable(client) {
  const executable = await compileText(client, `HloModule usable
${ADD}
ENTRY %main (v: f32[3]) -> f32[3] {
  %v = f32[3] parameter(0)
  ROOT %sum = f32[3] all-reduce(%v), replica_groups={}, to_apply=%add
}`, { replicas: 3 });
  const results = await executable.executeReplicas([[[1, 2, 3]], [[10, 20, 30]], [[100, 200, 300]]]);
  for (const [sum] of results) assert.deepEqual(sum.toArray(), [111, 222, 333]);
  executable.dispose();
}

/* ---- Programs ---- */

/** Replica 2 skips an all-reduce. */
export const SKIP = `HloModule skip
${ADD}
%meet (v: f32[2]) -> f32[2] {
  %v = f32[2] parameter(0)
  ROOT %sum = f32[2] all-reduce(%v), replica_groups={}, to_apply=%add
}
%skip (v: f32[2]) -> f32[2] {
  ROOT %v = f32[2] parameter(0)
}
ENTRY %main (v: f32[2]) -> f32[2] {
  %v = f32[2] parameter(0)
  %id = u32[] replica-id()
  %two = u32[] constant(2)
  %is = pred[] compare(%id, %two), direction=EQ
  ROOT %c = f32[2] conditional(%is, %v, %v), true_computation=%skip, false_computation=%meet
}`;

/** Replica r goes through its loop `rounds[r]` times. */
export const ROUNDS = `HloModule rounds
${ADD}
%body (s: (s32[], s32[], f32[2])) -> (s32[], s32[], f32[2]) {
  %s = (s32[], s32[], f32[2]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %n = s32[] get-tuple-element(%s), index=1
  %v = f32[2] get-tuple-element(%s), index=2
  %sum = f32[2] all-reduce(%v), replica_groups={}, to_apply=%add
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  ROOT %t = (s32[], s32[], f32[2]) tuple(%next, %n, %sum)
}
%more (s: (s32[], s32[], f32[2])) -> pred[] {
  %s = (s32[], s32[], f32[2]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %n = s32[] get-tuple-element(%s), index=1
  ROOT %p = pred[] compare(%i, %n), direction=LT
}
ENTRY %main (v: f32[2], n: s32[]) -> f32[2] {
  %v = f32[2] parameter(0)
  %n = s32[] parameter(1)
  %zero = s32[] constant(0)
  %t = (s32[], s32[], f32[2]) tuple(%zero, %n, %v)
  %w = (s32[], s32[], f32[2]) while(%t), condition=%more, body=%body
  ROOT %r = f32[2] get-tuple-element(%w), index=2
}`;

/** A loop that takes hours. */
export const LONG = `HloModule long
%body (s: (s32[], f32[200,200])) -> (s32[], f32[200,200]) {
  %s = (s32[], f32[200,200]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %m = f32[200,200] get-tuple-element(%s), index=1
  %d = f32[200,200] dot(%m, %m), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  ROOT %t = (s32[], f32[200,200]) tuple(%next, %d)
}
%more (s: (s32[], f32[200,200])) -> pred[] {
  %s = (s32[], f32[200,200]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %many = s32[] constant(1000000)
  ROOT %p = pred[] compare(%i, %many), direction=LT
}
ENTRY %main (m: f32[200,200]) -> f32[200,200] {
  %m = f32[200,200] parameter(0)
  %zero = s32[] constant(0)
  %t = (s32[], f32[200,200]) tuple(%zero, %m)
  %w = (s32[], f32[200,200]) while(%t), condition=%more, body=%body
  ROOT %r = f32[200,200] get-tuple-element(%w), index=1
}`;
export const MATRIX = new Float32Array(200 * 200).fill(1 / 200);
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
