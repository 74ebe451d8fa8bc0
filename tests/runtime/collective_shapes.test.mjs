/**
 * Collectives whose stated shapes fit another number of replicas than the program is compiled for:
 * refused when that number is known, as they would write beyond their results or leave them unset.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client, XlaError } from '../../bindings/index.mjs';

const ADD = `%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}
`;

const entry = (lines, header = '') => `HloModule m${header}
${ADD}
ENTRY %main {
  ${lines.join('\n  ')}
}
`;

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

async function compile(text, replicas) {
  const module = client.parseHlo(text);
  try {
    return await client.compile(module, { replicas });
  } finally {
    module.dispose();
  }
}

const gather = (operand, result, rest = 'replica_groups={}, dimensions={0}', header = '') =>
  entry([`p0 = ${operand} parameter(0)`, `ROOT r = ${result} all-gather(p0), ${rest}`], header);
const scatter = (operand, result, rest = 'replica_groups={}, dimensions={0}', header = '') =>
  entry([`p0 = ${operand} parameter(0)`,
    `ROOT r = ${result} reduce-scatter(p0), ${rest}, to_apply=add`], header);
const ragged = (entries) => entry([
  'p0 = f32[4] parameter(0)', `p1 = s32[${entries}] parameter(1)`,
  `ROOT r = f32[4] ragged-all-to-all(p0, p0, p1, p1, p1, p1), replica_groups={}`,
]);

/** [name, program, replicas, the message without operation and group size] */
const REFUSED = [
  ['all-gather: too small a result', gather('f32[1000]', 'f32[1000]'), 4, 'f32[1000]'],
  ['all-gather: too large a result', gather('f32[10]', 'f32[80]'), 4, 'f32[10]', 'f32[80]'],
  ['all-gather: not a multiple', gather('f32[3]', 'f32[3]'), 2, 'f32[3]'],
  ['all-gather of an inner dimension',
    gather('f32[2,3]', 'f32[2,9]', 'replica_groups={}, dimensions={1}'), 2, 'f32[2,9]'],
  ['all-gather: the header says another number',
    gather('f32[2]', 'f32[4]', undefined, ', replica_count=2'), 4, 'f32[4]'],
  ['all-gather over partitions that do not run',
    gather('f32[2]', 'f32[8]', 'channel_id=1, replica_groups={{0,1}}, dimensions={0}'), 2, 'f32[8]'],
  ['all-gather: partitions not stated',
    gather('f32[2]', 'f32[12]', 'channel_id=1, replica_groups={{0,1}}, dimensions={0}'), 2, 'f32[12]'],
  ['all-gather of several operands', entry([
    'p0 = f32[2] parameter(0)', 'p1 = s32[3] parameter(1)',
    'ROOT r = (f32[4], s32[6]) all-gather(p0, p1), replica_groups={}, dimensions={0}']), 3, 'f32[4]'],
  ['all-gather in a computation that is called', `HloModule m
%all (p: f32[2]) -> f32[2] {
  %p = f32[2] parameter(0)
  ROOT %r = f32[2] all-gather(%p), replica_groups={}, dimensions={0}
}
ENTRY %main (p: pred[], x: f32[2]) -> f32[2] {
  %p = pred[] parameter(0)
  %x = f32[2] parameter(1)
  ROOT %c = f32[2] conditional(%p, %x, %x), branch_computations={%all, %all}
}`, 2, 'f32[2]'],
  ['all-gather-start', entry([
    'p0 = f32[2] parameter(0)',
    's = (f32[2], f32[2]) all-gather-start(p0), replica_groups={}, dimensions={0}',
    'ROOT r = f32[2] all-gather-done(s)']), 2, 'f32[2]'],
  ['all-gather in an async call', `HloModule m
%all (p: f32[2]) -> f32[2] {
  %p = f32[2] parameter(0)
  ROOT %r = f32[2] all-gather(%p), replica_groups={}, dimensions={0}
}
ENTRY %main (x: f32[2]) -> f32[2] {
  %x = f32[2] parameter(0)
  %s = ((f32[2]), f32[2], u32[]) async-start(%x), calls=%all
  ROOT %d = f32[2] async-done(%s), calls=%all
}`, 2, 'f32[2]'],
  ['reduce-scatter: too large a result', scatter('f32[1000]', 'f32[1000]'), 4, 'f32[1000]'],
  ['reduce-scatter: too small a result', scatter('f32[16]', 'f32[2]'), 4, 'f32[16]', 'f32[2]'],
  ['reduce-scatter: the header says another number',
    scatter('f32[4]', 'f32[2]', undefined, ', replica_count=2'), 4, 'f32[4]'],
  ['all-to-all: not divisible', entry([
    'p0 = f32[3] parameter(0)',
    'ROOT r = f32[3] all-to-all(p0), replica_groups={}, dimensions={0}']), 2, 'f32[3]'],
  ['all-to-all: as many operands as replicas', entry([
    'p0 = f32[3] parameter(0)',
    'ROOT r = (f32[3], f32[3]) all-to-all(p0, p0), replica_groups={}']), 3, 'f32[3]'],
  ['ragged-all-to-all: fewer entries than replicas', ragged(2), 4, 's32[2]'],
  ['ragged-all-to-all: entries that do not divide', ragged(3), 2, 's32[3]'],
];

for (const [what, text, replicas, ...patterns] of REFUSED) {
  test(`${what}, ${replicas} replicas`, async () => {
    await assert.rejects(compile(text, replicas), (error) => {
      assert.ok(error instanceof XlaError, String(error?.stack));
      assert.equal(error.code, 'INVALID_ARGUMENT');
      assert.equal(error.operation, what.match(/^[a-z-]+/)[0].replace('-start', ''));
      assert.match(error.message, new RegExp(`\\b${what.includes('partitions') ? 2 : replicas} replicas`));
      for (const pattern of patterns) assert.ok(error.message.includes(pattern), error.message);
      return true;
    });
  });
}

test('the same programs, for the replicas that their shapes are for', async () => {
  const all = await compile(gather('f32[2]', 'f32[8]'), 4);
  const results = await all.executeReplicas([0, 1, 2, 3].map((r) => [[2 * r, 2 * r + 1]]));
  for (const [y] of results) assert.deepEqual(y.toArray(), [0, 1, 2, 3, 4, 5, 6, 7]);
  all.dispose();
  const part = await compile(scatter('f32[4]', 'f32[2]'), 2);
  const parts = await part.executeReplicas([[[1, 2, 3, 4]], [[10, 20, 30, 40]]]);
  assert.deepEqual(parts.map(([y]) => y.toArray()), [[11, 22], [33, 44]]);
  part.dispose();
  // Groups in the text are believed on any number of replicas.
  const groups = 'replica_groups={{0,1},{2,3}}, dimensions={0}';
  (await compile(gather('f32[2]', 'f32[4]', groups), 4)).dispose();
});
