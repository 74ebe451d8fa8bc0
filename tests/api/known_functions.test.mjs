/** Tests derivatives of functions for which JAX has rules that an export does not contain: golden/gradients/known.py. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import { Client, Literal } from '../../bindings/index.mjs';
import { ROOT } from '../support/program.mjs';
import { sample } from '../support/sample.mjs';

const FUNCTIONS = JSON.parse(gunzipSync(await readFile(join(ROOT, 'tests/golden/gradients/known.json.gz'))));

let client;
before(async () => { client = await Client.create({ threads: 0 }); });
after(() => client.dispose());

const number = (v) => (typeof v === 'string' ? Number(v.replace('inf', 'Infinity')) : v);

function filled(type, values) {
  const literal = Literal.zeros(type);
  literal.data.forEach((_, i) => { literal.data[i] = values[i]; });
  return literal;
}

const run = async (module, args) => (await client.compile(module)).execute(args);

function assertNear(got, want, tolerance, what) {
  want.map(number).forEach((w, i) => {
    const least = w && Math.abs(w) < 1e-9 ? 1e-30 : 1e-6;
    const near = Object.is(got[i], w) || got[i] === w || (w !== w && got[i] !== got[i])
      || Math.abs(got[i] - w) <= tolerance * Math.abs(w) + least;
    assert.ok(near, `${what} ${i}: ${got[i]}, expected ${w}`);
  });
}

/** Slopes of approximations in the formulas of the type. */
const tolerance = (type) => (/32|c64/.test(type) ? 2e-4 : 1e-6);

describe("slopes equal JAX's", () => {
  for (const [form, { name, type, before = [], arguments: given, value, vjp, jvp, [form]: program }] of sample(FUNCTIONS.flatMap((f) => [['hlo', f], ['stablehlo', f]]), 3)) {
    test(`${name}: ${form}`, async () => {
      const module = await client.load(program), all = [...before, given].map((values) => filled(type, values.map(number)));
      const wrt = [before.length];
      const one = filled(type, given.map((_, i) => (type.startsWith('c') ? 1 - (i % 2) : 1)));
      const tangents = filled(type, given.map((_, i) => (i % 3) + 1));
      const [first] = await run(module, all);
      assertNear(first.data, value, tolerance(type), 'value');
      const ones = filled(first.shape, value.map((_, i) => (type.startsWith('c') ? 1 - (i % 2) : 1)));
      const reverse = await run(client.vjp(module, { wrt }), [...all, ones]);
      const forward = await run(client.jvp(module, { wrt }), [...all, jvp ? tangents : one]);
      assertNear(reverse.at(-1).data, vjp, tolerance(type), 'vjp');
      assertNear(forward.at(-1).data, jvp ?? vjp, tolerance(type), 'jvp');
    });
  }
});

test('another function of the name _gamma is differentiated as it is written', async () => {
  const module = client.parseHlo(`HloModule m
_gamma.1 {
  key = u32[2] parameter(0)
  a = f32[] parameter(1)
  first = u32[1] slice(key), slice={[0:1]}
  bits = u32[] reshape(first)
  drawn = f32[] bitcast-convert(bits)
  ROOT r = f32[] multiply(drawn, a)
}
ENTRY main {
  key = u32[2] parameter(0)
  a = f32[] parameter(1)
  ROOT r = f32[] call(key, a), to_apply=_gamma.1
}
`);
  const results = await run(client.vjp(module, { wrt: [1] }), [filled('u32[2]', [0x40200000, 0]), 3, 1]);
  assert.equal(results.at(-1).data[0], 2.5);
});

/** A module whose function `name` is x -> (sin x, -x), or one result of it. */
const named = (name, shape) => client.parseHlo(`HloModule m
${name}.1 {
  x = ${shape} parameter(0)
  y = ${shape} sine(x)
  z = ${shape} negate(x)
  ROOT both = (${shape}, ${shape}) tuple(y, z)
}
ENTRY main {
  x = ${shape} parameter(0)
  both = (${shape}, ${shape}) call(x), to_apply=${name}.1
  y = ${shape} get-tuple-element(both), index=0
  z = ${shape} get-tuple-element(both), index=1
  ROOT sum = ${shape} add(y, z)
}
`);

for (const name of ['sici', 'sincospisquaredhalf']) {
  for (const [shape, xs] of [['f32[2]', [0.5, 2]], ['f64[]', [0.7]], ['f32[100]', Array.from({ length: 100 }, (_, i) => i / 10)]]) {
    test(`another function of the name ${name} is differentiated as it is written: ${shape}`, async () => {
      const ones = filled(shape, xs.map(() => 1));
      const results = await run(client.vjp(named(name, shape)), [filled(shape, xs), ones]);
      assertNear(results.at(-1).data, xs.map((x) => Math.cos(x) - 1), 1e-5, 'slope');
    });
  }
}
