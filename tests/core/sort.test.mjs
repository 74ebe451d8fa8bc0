/**
 * Sorts that no golden case can have: by comparators that are no orderings, where any permutation is
 * a right answer, but the same one for any number of threads; and which comparators are taken for orderings.
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

/** The forms of comparators of x (a, b), then y (c, d), then the positions (i, j); whether each is found to order by keys: its own, or
 * those that become operands. */
describe('comparators that are orderings', () => {
  const x = Float32Array.from(random(300), (v) => v % 4), y = random(300).map((v) => (v >> 4) % 3);
  const sortedBy = (less) => [...x.keys()].sort((i, j) => less(i, j) || i - j);
  const byBoth = sortedBy((i, j) => x[i] - x[j] || y[j] - y[i]);
  const byX = sortedBy((i, j) => x[i] - x[j]);
  const PARTS = `less = pred[] compare(a, b), direction=LT
  differ = pred[] compare(a, b), direction=NE
  equal = pred[] compare(a, b), direction=EQ
  swapped = pred[] compare(b, a), direction=EQ
  at_most = pred[] compare(a, b), direction=LE
  total = pred[] compare(a, b), direction=EQ, type=TOTALORDER
  of_y = pred[] compare(c, d), direction=EQ
  rest = pred[] compare(c, d), direction=GT
  other = pred[] compare(d, c), direction=LT
  s = pred[] and(equal, rest)\n  t = pred[] and(rest, equal)\n  u = pred[] and(swapped, rest)
  v = pred[] and(total, rest)\n  w = pred[] and(of_y, rest)\n  z = pred[] and(differ, rest)\n  o = pred[] and(equal, other)`;
  const ORDERS = {
    'one key': ['compare(a, b), direction=LT', byX],
    'one key, the right element first': ['compare(b, a), direction=GT', byX],
    'one key, descending': ['compare(a, b), direction=GT', sortedBy((i, j) => x[j] - x[i])],
    'one key, descending, the right element first': ['compare(b, a), direction=LT', sortedBy((i, j) => x[j] - x[i])],
    'less, or equal and rest': ['or(less, s)', byBoth],
    'less, or rest and equal': ['or(less, t)', byBoth],
    'equal and rest, or less': ['or(s, less)', byBoth],
    'less, or equal by exchanged operands': ['or(less, u)', byBoth],
    'the second key by exchanged operands': ['or(less, o)', byBoth],
    'if equal rest, else less': ['select(equal, rest, less)', byBoth],
    'if differ less, else rest': ['select(differ, less, rest)', byBoth],
    'a computed key': ['compare(size_a, size_b), direction=GT', sortedBy((i, j) => Math.abs(x[j]) - Math.abs(x[i]))],
    'a key computed of two operands': ['compare(sum_a, sum_b), direction=LT', sortedBy((i, j) => x[i] * y[i] - x[j] * y[j])],
    'a computed key after another': ['select(equal_sizes, less, larger)', sortedBy((i, j) => Math.abs(x[j]) - Math.abs(x[i]) || x[i] - x[j])],
    'two computed keys': ['select(equal_sizes, by_sum, larger)',
      sortedBy((i, j) => Math.abs(x[j]) - Math.abs(x[i]) || x[i] * y[i] - x[j] * y[j])],
    'the total order, by bits': ['compare(order_a, order_b), direction=LT',
      sortedBy((i, j) => x[i] - x[j] || Object.is(x[j], -0) - Object.is(x[i], -0))],
    'a key that is constant': ['compare(two, two2), direction=LT', [...x.keys()]],
    'a key computed by a call': ['compare(size_a2, size_b2), direction=GT', sortedBy((i, j) => Math.abs(x[j]) - Math.abs(x[i]))],
  };
  const NO_ORDERS = {
    'at most, or equal and rest': 'or(at_most, s)',
    'equal by another order of floats': 'or(less, v)',
    'equal by another key': 'or(less, w)',
    'less, or unequal and rest': 'or(less, z)',
    'less and rest': 'and(less, rest)',
    'if differ rest, else less': 'select(differ, rest, less)',
    'if equal less, else rest': 'select(equal, less, rest)',
    'equal': 'compare(a, b), direction=EQ',
    'a key of one side': 'compare(a, a2), direction=LT',
    'another key on each side': 'compare(a, b2), direction=LT',
  };
  const COMPUTED = `size_a = f32[] abs(a)\n  size_b = f32[] abs(b)
  larger = pred[] compare(size_a, size_b), direction=GT\n  equal_sizes = pred[] compare(size_a, size_b), direction=EQ
  c2 = f32[] convert(c)\n  d2 = f32[] convert(d)\n  sum_a = f32[] multiply(a, c2)\n  sum_b = f32[] multiply(b, d2)
  by_sum = pred[] compare(sum_a, sum_b), direction=LT
  zero = s32[] constant(0)\n  most = s32[] constant(2147483647)
  bits_a = s32[] bitcast-convert(a)\n  bits_b = s32[] bitcast-convert(b)
  sign_a = pred[] compare(bits_a, zero), direction=LT\n  sign_b = pred[] compare(bits_b, zero), direction=LT
  other_a = s32[] xor(bits_a, most)\n  other_b = s32[] xor(bits_b, most)
  order_a = s32[] select(sign_a, other_a, bits_a)\n  order_b = s32[] select(sign_b, other_b, bits_b)
  size_a2 = f32[] call(a), to_apply=size\n  size_b2 = f32[] call(b), to_apply=size`;
  const text = (root) => `HloModule sort

size {
  x = f32[] parameter(0)\n  ROOT r = f32[] abs(x)
}

less {
  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  c = s32[] parameter(2)\n  d = s32[] parameter(3)
  i = s32[] parameter(4)\n  j = s32[] parameter(5)\n  two = f32[] constant(2)\n  two2 = f32[] constant(2)
  a2 = f32[] add(a, two)\n  b2 = f32[] subtract(b, two)
  ${PARTS}
  ${COMPUTED}
  ROOT r = pred[] ${root}
}

ENTRY main {
  x = f32[300] parameter(0)\n  y = s32[300] parameter(1)\n  p = s32[300] iota(), iota_dimension=0
  ROOT r = (f32[300], s32[300], s32[300]) sort(x, y, p), dimensions={0}, is_stable=true, to_apply=less
}
`;
  /** The positions, and whether the sort became a loop, as one without keys does. */
  async function sorted(root) {
    const client = await Client.create({ threads: 0 }), module = client.parseHlo(text(root));
    try {
      const isLoop = client.passes(module).some(({ pass }) => pass === 'apply-in-order');
      const [, , positions] = await (await client.compile(module)).execute([x, y]);
      return { isLoop, positions: [...positions.data] };
    } finally {
      client.dispose();
    }
  }

  for (const [name, [root, wanted]] of Object.entries(ORDERS)) {
    test(name, async () => assert.deepEqual(await sorted(root), { isLoop: false, positions: wanted }));
  }
  for (const [name, root] of Object.entries(NO_ORDERS)) {
    test(`none: ${name}`, async () => {
      const { isLoop, positions } = await sorted(root);
      assert.ok(isLoop);
      assert.deepEqual(positions.sort((i, j) => i - j), [...x.keys()]);
    });
  }
});
