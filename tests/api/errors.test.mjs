/** Tests invalid programs: errors.json has one for each rule of each operation. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { Batch, GIVEN, INFERRED, PARAMETER } from '../../bindings/builder/batch.mjs';
import { Core } from '../../bindings/host/core.mjs';
import { Client, XlaError } from '../../bindings/index.mjs';

// { op, rule, hlo, message } where the parser finds it; { op, rule, builder, message } where the
// builder does: { op, operands: shapes, attributes, shape }, as Batch.add() takes them.
const cases = JSON.parse(await readFile(new URL('errors.json', import.meta.url), 'utf8'));

/** Rules of a module as a whole, which no operation breaks. */
const OF_MODULES = ['entry_computation_layout', 'input_output_alias'];

let client, core;
before(async () => {
  client = await Client.create({ threads: 0 });
  core = await Core.create(0);
});
after(() => {
  client.dispose();
  core.dispose();
});

function refusal(body) {
  try {
    body();
  } catch (error) {
    return error;
  }
  return assert.fail('this was accepted');
}

const parse = (hlo) => client.parseHlo(hlo).dispose();

function build({ op, operands, attributes, shape = '' }) {
  const builder = core.scoped((copy) => core.need('xla_builder_new', copy('test')));
  try {
    const batch = new Batch();
    const parameters = operands.map((text, i) => ({ handle: batch.add(PARAMETER, '', text, `p${i}`, [i]) }));
    batch.flush(core, builder);
    batch.add(shape ? GIVEN : INFERRED, op, shape, attributes, batch.operands(parameters));
    batch.flush(core, builder);
  } finally {
    core.call('xla_builder_free', builder);
  }
}

for (const operation of new Set(cases.map(({ op }) => op))) {
  describe(operation, () => {
    for (const row of cases.filter(({ op }) => op === operation)) {
      const { op, rule, hlo, builder, message, code = 'INVALID_ARGUMENT' } = row;
      test(rule, () => {
        const error = refusal(() => (hlo === undefined ? build(builder) : parse(hlo)));
        assert.ok(error instanceof XlaError, String(error));
        assert.equal(error.code, code);
        assert.equal(error.operation, OF_MODULES.includes(op) ? undefined : op);
        for (const part of message) {
          assert.ok(error.message.includes(part), `"${part}" is not in "${error.message}"`);
        }
      });
    }
  });
}

describe('the place in the text', () => {
  test('of an operation that breaks a rule', () => {
    const error = refusal(() => parse('HloModule m\n\nENTRY e {\n p = f32[2] parameter(0)\n' +
      '  q = f32[3] parameter(1)\n  ROOT r = f32[2] add(p, q)\n}\n'));
    assert.equal(error.operation, 'add');
    assert.equal(error.line, 6);
    assert.ok(error.column >= 1);
  });
  test('of text that is not HLO', () => {
    const error = refusal(() => parse('HloModule m\nENTRY e {\n  ROOT r = f32[] frob()\n}'));
    assert.equal(error.code, 'INVALID_ARGUMENT');
    assert.match(error.message, /frob/);
    assert.equal(error.line, 3);
    assert.equal(error.column, 18);
  });
  const texts = ['', 'garbage', 'HloModule', 'HloModule m\nENTRY e {', '\0', '{'.repeat(1e5)];
  for (const text of texts) {
    test(`of ${JSON.stringify(text.slice(0, 30))}`, () => {
      const error = refusal(() => parse(text));
      assert.equal(error.code, 'INVALID_ARGUMENT', error.message);
      assert.ok(error.line >= 1);
    });
  }
});

test('afterwards the client works', async () => {
  const module = client.parseHlo('ENTRY e { ROOT r = f32[] constant(3) }');
  const executable = await client.compile(module);
  const [three] = await executable.execute();
  assert.equal(three.toArray(), 3);
});

test('every operation has a broken rule', async () => {
  const table = await readFile(new URL('../../src/hlo/ir/opcodes.def', import.meta.url), 'utf8');
  const operations = [...table.matchAll(/^OPCODE\(\w+, "([\w-]+)"/gm)].map(([, name]) => name);
  const broken = new Set(cases.map(({ op }) => op));
  assert.deepEqual(operations.filter((name) => !broken.has(name)), []);
});
