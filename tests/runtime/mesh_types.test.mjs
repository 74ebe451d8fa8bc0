/** Tests collectives of every element type on 2 replicas by 4 partitions, each with another form of groups. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';

const typesOf = (isWanted) => [...ELEMENT_TYPES.values()].filter(isWanted).map(({ name }) => name);
const COMPLEX = typesOf(({ kind }) => kind === 'complex');
const NUMBERS = typesOf(({ kind }) => kind !== 'complex' && kind !== 'pred');
/** Types with the values 0 to 4, which ROWS needs; the others are only moved. */
const REAL = NUMBERS.filter((type) => ELEMENT_TYPES.get(type).limits[0] <= 0 && ELEMENT_TYPES.get(type).limits[1] >= 4);
const MOVED = NUMBERS.filter((type) => !REAL.includes(type)); // s2, u2, f8e8m0fnu
const EVERY = [0, 1, 2, 3, 4, 5, 6, 7];
const FLAT = 'channel_id=1, use_global_device_ids=true';

let client;
before(async () => {
  client = await Client.create({ threads: 2 });
});
after(() => client.dispose());

async function results(lines, args, computations = '') {
  const module = client.parseHlo(`HloModule m, replica_count=2, num_partitions=4
${computations}
ENTRY e {\n${lines.join('\n')}\n}`);
  const executable = await client.compile(module);
  const all = await executable.executeReplicas(args);
  module.dispose();
  executable.dispose();
  return all.map((of) => of.map((literal) =>
    JSON.parse(JSON.stringify(literal.toArray(), (_, v) => (typeof v === 'bigint' ? Number(v) : v)))));
}

const SUM = (type, name = 'add') => `${name} { a = ${type}[] parameter(0)
  b = ${type}[] parameter(1)
  ROOT c = ${type}[] add(a, b) }`;

/** [name, elements of the operand, the line, each device's operand, each device's result] */
const ROWS = [
  ['all-reduce of transposed ids', 1, (t) => `${t}[1] all-reduce(p), replica_groups=[4,2]<=[2,4]T(1,0), ${FLAT}, to_apply=add`,
    () => [1], () => [2]],
  ['all-reduce of ragged groups', 1, (t) => `${t}[1] all-reduce(p), replica_groups={{0,5,7},{1},{6,2,3,4}}, ${FLAT}, to_apply=add`,
    () => [1], (d) => [[3, 1, 4, 4, 4, 3, 4, 3][d]]],
  ['permute with idle devices', 1, (t) => `${t}[1] collective-permute(p), source_target_pairs={{0,1},{1,3}}, channel_id=2`,
    (d) => [d & 1], (d) => [[0, 0, 0, 1][d & 3]]],
  ['broadcast that leaves some out', 1, (t) => `${t}[1] collective-broadcast(p), replica_groups={{2,0}}, channel_id=2`,
    (d) => [(d & 3) === 2 ? 1 : 0], (d) => [d & 1 ? 0 : 1]],
  ['reduce-scatter of replicas', 4, (t) => `${t}[2] reduce-scatter(p), replica_groups={{0,1}}, dimensions={0}, to_apply=add`,
    (d) => [1, 0, d < 4 ? 1 : 0, 1], (d) => (d < 4 ? [2, 0] : [1, 2])],
  ['all-to-all of partitions', 4, (t) => `${t}[4] all-to-all(p), replica_groups={{3,1},{0,2}}, dimensions={0}, channel_id=9`,
    (d) => [d & 1, 0, 1, d >> 2], (d) => [[0, 0, 0, 0], [1, d >> 2, 1, d >> 2], [1, d >> 2, 1, d >> 2], [1, 0, 1, 0]][d & 3]],
];

describe('each element type', () => {
  for (const [what, count, line, give, get] of ROWS) {
    test(what, async () => {
      for (const type of REAL) {
        const got = await results([`  p = ${type}[${count}] parameter(0)`, `  ROOT r = ${line(type)}`],
          EVERY.map((d) => [give(d)]), SUM(type));
        assert.deepEqual(got, EVERY.map((d) => [get(d)]), type);
      }
    });
  }

  test('predicates, two bits, exponents, complex numbers', async () => {
    const or = 'or { a = pred[] parameter(0)\n  b = pred[] parameter(1)\n  ROOT c = pred[] or(a, b) }';
    assert.deepEqual(await results(['  p = pred[1] parameter(0)',
      '  ROOT r = pred[1] all-reduce(p), replica_groups={{0,1}}, to_apply=or'], EVERY.map((d) => [[d === 5]]), or),
    EVERY.map((d) => [[d % 4 === 1]]));
    for (const type of MOVED) {
      assert.deepEqual(await results([`  p = ${type}[1] parameter(0)`,
        `  ROOT r = ${type}[2] all-gather(p), replica_groups=[4,2]<=[2,4]T(1,0), dimensions={0}, ${FLAT}`],
      EVERY.map(() => [[1]])), EVERY.map(() => [[1, 1]]), type);
    }
    for (const type of COMPLEX) {
      assert.deepEqual(await results([`  p = ${type}[1] parameter(0)`,
        `  ROOT r = ${type}[1] all-reduce(p), replica_groups={}, channel_id=1, to_apply=add`],
      EVERY.map((d) => [[[1, d]]]), SUM(type)), EVERY.map(() => [[[8, 28]]]), type);
    }
  });
});

describe('tuples', () => {
  const GROUPS = `replica_groups=[2,4]<=[8], ${FLAT}`;
  test('all-reduce', async () => {
    assert.deepEqual(await results(['  p = f32[2] parameter(0)', '  q = f32[3] parameter(1)',
      `  ROOT r = (f32[2], f32[3]) all-reduce(p, q), ${GROUPS}, to_apply=add`],
    EVERY.map((d) => [[d, 1], [1, 2, d]]), SUM('f32')),
    EVERY.map((d) => [[d < 4 ? 6 : 22, 4], [4, 8, d < 4 ? 6 : 22]]));
  });
  test('all-gather', async () => {
    assert.deepEqual(await results(['  p = s32[1] parameter(0)', '  q = u8[1,2] parameter(1)',
      `  ROOT r = (s32[4], u8[4,2]) all-gather(p, q), ${GROUPS}, dimensions={0}`], EVERY.map((d) => [[d], [[d, 9]]])),
    EVERY.map((d) => {
      const list = [0, 1, 2, 3].map((i) => i + (d & 4));
      return [list, list.map((i) => [i, 9])];
    }));
  });
  test('all-to-all', async () => {
    assert.deepEqual(await results(['  p = s32[1] parameter(0)', '  q = s32[1] parameter(1)',
      '  ROOT r = (s32[1], s32[1]) all-to-all(p, q), replica_groups={{0,1}}'], EVERY.map((d) => [[d * 10], [d * 10 + 1]])),
    EVERY.map((d) => [[(d & 3) * 10 + (d >> 2)], [((d & 3) + 4) * 10 + (d >> 2)]]));
  });
});
