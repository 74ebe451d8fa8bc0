/**
 * V8 since Turboshaft makes a vector constant at each use, by up to five instructions: in each iteration, if the use is in a
 * loop. So functions keep constants in locals: those of the core by bindings/tools/vector_constants.mjs, generated ones by
 * wasm_v128 (src/codegen/wasm/wasm_encoder.c).
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { readFunctions } from '../../bindings/tools/vector_constants.mjs';

for (const name of ['single', 'threads']) {
  test(`the core: a function has at most one constant in loops, and none that it uses three times: ${name}`, () => {
    const functions = readFunctions(readFileSync(new URL(`../../build/dist/xla-${name}.wasm`, import.meta.url)));
    assert.ok(functions.filter(({ constants }) => constants.length).length > 100);
    for (const { constants, start } of functions) {
      const inLoops = constants.filter(({ inLoop }) => inLoop).length;
      const often = constants.find(({ text }) => constants.filter((other) => other.text === text).length > 2);
      assert.ok(inLoops < 2 && !often, `the function at byte ${start}: ${inLoops} in loops, ${often?.text} often`);
    }
  });
}

/** The element-wise operations of x, an array, and of v, which loops carry. */
const OPERATIONS = {
  sign: 'ROOT r = f32[99] sign(x)',
  'a conversion to integers': 'y = s8[99] convert(x)\n ROOT r = f32[99] convert(y)',
  'a conversion by f64': 'y = f64[99] convert(x)\n z = s64[99] convert(y)\n ROOT r = f32[99] convert(z)',
  'a polynomial': 'ROOT r = f32[99] tanh(x)',
  'an iota': 'i = s32[99] iota(), iota_dimension=0\n y = f32[99] convert(i)\n ROOT r = f32[99] add(x, y)',
};
const module = (body) => `HloModule m\nENTRY e {\n x = f32[99] parameter(0)\n ${body}\n}`;

/** A loop of eight numbers, which is a region. */
const REGION = `HloModule m
more {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(9)
  ROOT r = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  v = f32[8] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  t = f32[8] sign(v)
  u = f32[8] tanh(v)
  w = f32[8] subtract(u, t)
  ROOT r = (s32[], f32[8]) tuple(j, w)
}
ENTRY e {
  zero = s32[] constant(0)
  v = f32[8] parameter(0)
  t = (s32[], f32[8]) tuple(zero, v)
  w = (s32[], f32[8]) while(t), condition=more, body=body
  ROOT r = f32[8] get-tuple-element(w), index=1
}`;

const PROGRAMS = { 'a region': REGION, ...Object.fromEntries(Object.entries(OPERATIONS).map(([title, body]) => [title, module(body)])) };
for (const [title, program] of Object.entries(PROGRAMS)) {
  test(`generated code makes each constant once, before its loops: ${title}`, async () => {
    const client = await Client.create({ threads: 0 });
    const executable = await client.compile(client.parseHlo(program));
    const constants = readFunctions(executable.generatedCode().slice()).map((body) => body.constants);
    assert.ok(constants.flat().length > 0);
    for (const own of constants) {
      assert.deepEqual(own.filter(({ inLoop }) => inLoop), []);
      assert.equal(new Set(own.map(({ text }) => text)).size, own.length);
    }
    client.dispose();
  });
}
