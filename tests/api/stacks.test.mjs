/** Errors lead to the caller's line, and to the documentation. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { STATUS_CODES } from '../../bindings/base/error.mjs';
import { Client, Literal, readNpz, Shape, XlaError } from '../../bindings/index.mjs';
import { adam, trainStep } from '../../bindings/train/index.mjs';

const DIVERGED = `HloModule diverged, replica_count=2
add { a = u32[] parameter(0)
  b = u32[] parameter(1)
  ROOT c = u32[] add(a, b) }
yes { a = u32[] parameter(0)
  ROOT met = u32[] all-reduce(a), to_apply=add }
no { ROOT a = u32[] parameter(0) }
ENTRY e {
  i = u32[] replica-id()
  zero = u32[] constant(0)
  first = pred[] compare(i, zero), direction=EQ
  ROOT r = u32[] conditional(first, i, i), true_computation=yes, false_computation=no
}`;

const DOUBLE = 'HloModule m\nENTRY e { x = f32[3] parameter(0)\n ROOT r = f32[3] add(x, x) }';
const HOSTED = 'HloModule m\nENTRY e { x = f32[3] parameter(0)\n ROOT r = f32[3] custom-call(x), custom_call_target="fails" }';

/** Each fails in a function of this name. */
const CALLERS = {
  parsesShape: () => Shape.parse('f32['),
  makesLiteral: () => Literal.from([1, 2], 'f32[3]'),
  buildsSum: ({ client }) => client.builder().parameter(0, 'f32[2]').add('x'),
  parsesText: ({ client }) => client.parseHlo('HloModule m\nENTRY e { ROOT x = f32[2] ad(x) }'),
  differentiates: ({ client, module }) => client.gradient(module, { wrt: 'nothing' }),
  compilesNumber: async ({ client }) => { await client.compile(5); },
  compilesTooLong: async ({ client, module }) => { await client.compile(module, { signal: AbortSignal.abort() }); },
  loadsText: async ({ client }) => { await client.load('func.func @main( {'); },
  readsFile: async () => { await readNpz('/no/such/file.npz'); },
  givesTooFew: async ({ double }) => { await double.execute([]); },
  givesOtherNames: async ({ double }) => { await double.execute({ y: [1, 2, 3] }); },
  givesNumber: async ({ double }) => { await double.execute(5); },
  compilesPromise: async ({ client, module }) => { await client.compile(Promise.resolve(module)); },
  multipliesByOperator: ({ client }) => client.builder().parameter(0, 'f32[2]') * 2,
  givesWrongShape: async ({ double }) => { await double.execute([[1]]); },
  hangs: async ({ diverged }) => { await diverged.execute([]); },
  hangsOnAll: async ({ diverged }) => { await diverged.executeReplicas([[], []]); },
  launchesNothing: async ({ client }) => { await client.launch([]); },
  asksHost: async ({ hosted }) => { await hosted.execute([[1, 2, 3]]); },
  trainsOnText: async ({ client }) => { await trainStep(client, 'text', { optimiser: adam() }); },
};

for (const threads of [0, 2]) {
  describe(`the stack begins at the caller, ${threads} threads`, () => {
    const given = {};
    before(async () => {
      const client = await Client.create({ threads });
      const module = client.parseHlo(DOUBLE);
      client.registerCustomCall('fails', () => 'not an array');
      Object.assign(given, {
        client, module, double: await client.compile(module), diverged: await client.compile(client.parseHlo(DIVERGED)),
        hosted: await client.compile(client.parseHlo(HOSTED)),
      });
    });
    after(() => given.client.dispose());

    for (const [name, call] of Object.entries(CALLERS)) {
      test(name, async () => {
        const caller = { async [name]() { await call(given); } }[name];
        const error = await caller().then(() => assert.fail('it does not fail'), (thrown) => thrown);
        assert.ok(error instanceof XlaError, error.stack);
        const [first] = error.stack.slice(error.stack.indexOf(error.message) + error.message.length).trim().split('\n');
        assert.match(first, /stacks\.test\.mjs/, error.stack);
        assert.ok(error.stack.startsWith(`XlaError: ${error.message}\n`), error.stack);
      });
    }
  });
}

test('an error inside of a function of the caller has that place', async () => {
  const client = await Client.create({ threads: 0 });
  const b = client.builder();
  const inner = (x) => x.add('wrong');
  let error;
  try {
    b.map([b.parameter(0, 'f32[2]')], (_, x) => inner(x), [0]);
  } catch (thrown) {
    error = thrown;
  }
  assert.match(error.stack.split('\n')[1], /at inner /);
  client.dispose();
});

test('each code has a section that error.docs names', async () => {
  const text = await readFile(new URL('../../docs/errors.md', import.meta.url), 'utf8');
  const sections = Array.from(text.matchAll(/^## (.*)$/gm), ([, heading]) => heading);
  const bindings = new URL('../../bindings/', import.meta.url);
  const names = (await readdir(bindings, { recursive: true })).filter((name) => name.endsWith('.mjs') &&
    name !== 'base/error.mjs'); // which lists them
  const sources = await Promise.all(names.map((name) => readFile(new URL(name, bindings), 'utf8')));
  const used = new Set(Array.from(sources.join('\n').matchAll(/'([A-Z]+_?[A-Z]+)'/g), ([, code]) => code).filter((code) => code !== 'OK' &&
    STATUS_CODES.includes(code)));
  assert.ok(used.size > 8, `${[...used]}`);
  for (const code of used) {
    const { docs } = new XlaError(code, 'm');
    assert.ok(sections.includes(docs.split('#')[1]), `${code}: ${docs}`);
  }
  assert.match(new XlaError('FAILED_PRECONDITION', 'm', { waiting: [{}] }).docs, /errors\.md#waiting$/);
  assert.ok(sections.includes('waiting'));
});
