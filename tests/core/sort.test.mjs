/**
 * Sorts that no golden case can have: by comparators that are no orderings, where any permutation is
 * a right answer, but the same one for any number of threads.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';

/** A sort of s32[n] with the positions, by a comparator of a and b whose lines are given. */
const program = (n, lines, type = 's32') => `HloModule sort

less {
  a = ${type}[] parameter(0)
  b = ${type}[] parameter(1)
  i = s32[] parameter(2)
  j = s32[] parameter(3)
  ${lines.join('\n  ')}
}

ENTRY main {
  x = ${type}[${n}] parameter(0)
  i = s32[${n}] iota(), iota_dimension=0
  ROOT r = (${type}[${n}], s32[${n}]) sort(x, i), dimensions={0}, is_stable=true, to_apply=less
}
`;

const COMPARATORS = {
  'whether they differ': ['ROOT r = pred[] compare(a, b), direction=NE'],
  'rock, paper, scissors': [
    'three = s32[] constant(3)', 'one = s32[] constant(1)', 'd = s32[] subtract(a, b)',
    'm = s32[] remainder(d, three)', 'ROOT r = pred[] compare(m, one), direction=EQ'],
  'bits of both': [
    'p = s32[] multiply(a, b)', 'x = s32[] xor(p, i)', 'four = s32[] constant(4)',
    'm = s32[] and(x, four)', 'ROOT r = pred[] compare(m, four), direction=EQ'],
  'the left one alone': [
    'zero = s32[] constant(0)', 'ROOT r = pred[] compare(a, zero), direction=LT'],
};

const random = (n) => {
  let state = 1;
  return Int32Array.from({ length: n }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return state >> 8;
  });
};

describe('comparators that are no orderings', () => {
  const clients = [];
  before(async () => {
    for (const threads of [0, 1, 3]) clients.push(await Client.create({ threads }));
  });
  after(() => clients.forEach((client) => client.dispose()));

  async function sorted(client, text, x) {
    const executable = await client.compile(client.parseHlo(text));
    const [keys, positions] = (await executable.execute([x])).map((leaf) => leaf.data);
    executable.dispose();
    return { keys, positions };
  }

  for (const [name, lines] of Object.entries(COMPARATORS)) {
    for (const n of [2, 100, 300, 5000, 40000]) {
      test(`${name}, ${n} elements`, async () => {
        const x = random(n);
        const results = [];
        for (const client of clients) results.push(await sorted(client, program(n, lines), x));
        const { keys, positions } = results[0];
        assert.deepEqual([...positions].sort((a, b) => a - b), [...x.keys()]);
        positions.forEach((position, i) => assert.equal(keys[i], x[position]));
        for (const other of results) assert.deepEqual(other.positions, positions);
      });
    }
  }

  for (const direction of ['LT', 'GT']) {
    test(`NaNs go last where floats are compared by ${direction}, in their order`, async () => {
      const x = Float32Array.from(random(300), (v) => (v % 5 === 0 ? NaN : v));
      const sign = direction === 'LT' ? 1 : -1;
      const order = [...x.keys()].sort((i, j) => (
        Number.isNaN(x[i]) - Number.isNaN(x[j]) || sign * (x[i] - x[j]) || i - j));
      const lines = [`ROOT r = pred[] compare(a, b), direction=${direction}`];
      const { positions } = await sorted(clients[0], program(300, lines, 'f32'), x);
      assert.deepEqual([...positions], order);
    });
  }
});
