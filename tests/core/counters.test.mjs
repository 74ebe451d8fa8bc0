/**
 * Values of a counted loop's body whose range is known from the counter's (rewrite/loops/counters.c): comparisons that are
 * always or never true there are constants, others stay; and the results are the evaluator's.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { agrees } from '../support/as_written.mjs';
import { afterPass, client } from '../support/passes.mjs';

const [FIRST, LAST] = [-300, 600];
const ITERATIONS = LAST - FIRST;

/** Values of i, in [-300, 600], and j, in [0, 900]: [lines, type, lowest, highest]; the last line's value is v. */
const KNOWN = {
  'the counter': ['v = s32[] copy(i)', 's32', FIRST, LAST],
  'a sum': ['v = s32[] add(i, five)', 's32', FIRST + 5, LAST + 5],
  'a sum of two': ['v = s32[] add(i, j)', 's32', FIRST, LAST + ITERATIONS],
  'a difference': ['v = s32[] subtract(i, five)', 's32', FIRST - 5, LAST - 5],
  'a difference from a number': ['v = s32[] subtract(five, i)', 's32', 5 - LAST, 5 - FIRST],
  'a product with a negative number': ['v = s32[] multiply(i, minus)', 's32', -2 * LAST, -2 * FIRST],
  'a product of two': ['v = s32[] multiply(i, j)', 's32', FIRST * ITERATIONS, LAST * ITERATIONS],
  'a product of two of either sign': ['k = s32[] subtract(i, five)\n v = s32[] multiply(i, k)', 's32', LAST * (FIRST - 5), LAST * (LAST - 5)],
  'a maximum': ['v = s32[] maximum(i, five)', 's32', 5, LAST],
  'a minimum': ['v = s32[] minimum(i, five)', 's32', FIRST, 5],
  'clamped from both sides': ['v = s32[] clamp(five, i, hundred)', 's32', 5, 100],
  'clamped to more than it is': ['k = s32[] add(hundred, j)\n v = s32[] clamp(five, j, k)', 's32', 5, ITERATIONS],
  'a maximum that is always the first': ['v = s32[] maximum(i, low)', 's32', FIRST, LAST],
  'a maximum that is always the second': ['v = s32[] maximum(low, i)', 's32', FIRST, LAST],
  'a minimum that is always the first': ['v = s32[] minimum(i, high)', 's32', FIRST, LAST],
  'a minimum that is always the second': ['v = s32[] minimum(high, i)', 's32', FIRST, LAST],
  'clamped to what it is': ['v = s32[] clamp(low, i, high)', 's32', FIRST, LAST],
  'clamped to one less below': ['k = s32[] subtract(high, one)\n v = s32[] clamp(low, i, k)', 's32', FIRST, LAST - 1],
  'a remainder by more than it is': ['k = s32[] add(high, high)\n v = s32[] remainder(j, k)', 's32', 0, ITERATIONS],
  'a remainder by as much as it is': ['k = s32[] constant(900)\n v = s32[] remainder(j, k)', 's32', 0, ITERATIONS - 1],
  'one of two': ['p = pred[] parameter_is_odd\n v = s32[] select(p, i, five)', 's32', FIRST, LAST],
  'one of two, the first larger': ['p = pred[] parameter_is_odd\n k = s32[] add(i, hundred)\n v = s32[] select(p, k, five)', 's32',
    FIRST + 100, LAST + 100],
  'a remainder': ['v = s32[] remainder(j, hundred)', 's32', 0, 99],
  'a remainder of fewer': ['k = s32[] add(j, one)\n v = s32[] remainder(hundred, k)', 's32', 0, 100],
  'a quotient': ['v = s32[] divide(j, hundred)', 's32', 0, 9],
  'a quotient by more than one': ['k = s32[] add(j, five)\n v = s32[] divide(hundred, k)', 's32', 0, 20],
  'a quotient by one or more': ['k = s32[] add(j, one)\n v = s32[] divide(hundred, k)', 's32', 0, 100],
  'another type': ['v = s64[] convert(i)', 's64', FIRST, LAST],
  'another shape': ['b = s32[1] broadcast(i), dimensions={}\n v = s32[] reshape(b)', 's32', FIRST, LAST],
  'the largest of a narrow type': ['k = s32[] remainder(j, hundred)\n e = s8[] convert(k)\n w = s8[] constant(28)\n v = s8[] add(e, w)',
    's8', 28, 127],
};
/** Values that may be what no range says: [lines, type, a number]. */
const UNKNOWN = {
  'a remainder of a negative number': ['v = s32[] remainder(i, hundred)', 's32', 0],
  'a remainder by zero': ['v = s32[] remainder(hundred, j)', 's32', 0],
  'a quotient of a negative number': ['v = s32[] divide(i, hundred)', 's32', 0],
  'a quotient by zero': ['v = s32[] divide(hundred, j)', 's32', 0],
  'a sum that wraps': ['k = s32[] remainder(j, hundred)\n e = s8[] convert(k)\n w = s8[] constant(29)\n v = s8[] add(e, w)', 's8', 28],
  'a difference that wraps': ['k = s32[] remainder(j, hundred)\n e = s8[] convert(k)\n w = s8[] constant(-128)\n v = s8[] subtract(w, e)', 's8', 0],
  'a product that wraps': ['k = s32[] remainder(j, hundred)\n e = s8[] convert(k)\n w = s8[] constant(2)\n v = s8[] multiply(w, e)', 's8', -1],
  'a narrower type': ['v = s8[] convert(i)', 's8', 0],
};

/** A loop that counts the turns in which each of the comparisons of v is true. */
function program(lines, type, comparisons) {
  const body = lines.replace('parameter_is_odd', 'compare(odd, one), direction=EQ');
  const steps = comparisons.map(([direction, number], n) => ` c${n} = ${type}[] constant(${number})
 t${n} = pred[] compare(v, c${n}), direction=${direction}\n as_number${n} = s32[] convert(t${n})\n g${n} = s32[] get-tuple-element(s), index=${n + 1}
 a${n} = s32[] add(g${n}, as_number${n})`).join('\n');
  const state = `(${['s32[]', ...comparisons.map(() => 's32[]')].join(', ')})`;
  return `HloModule m
more { s = ${state} parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(${LAST + 1})\n ROOT r = pred[] compare(i, n), direction=LT }
turn { s = ${state} parameter(0)\n i = s32[] get-tuple-element(s), index=0\n one = s32[] constant(1)\n five = s32[] constant(5)\n minus = s32[] constant(-2)
 hundred = s32[] constant(100)\n low = s32[] constant(${FIRST})\n high = s32[] constant(${LAST})\n most = s32[] constant(${-FIRST})\n j = s32[] add(i, most)\n next = s32[] add(i, one)\n odd = s32[] and(i, one)
 ${body}\n${steps}\n ROOT t = ${state} tuple(next, ${comparisons.map((_, n) => `a${n}`).join(', ')}) }
ENTRY e { z = s32[] parameter(0)\n f = s32[] constant(${FIRST})\n t = ${state} tuple(f, ${comparisons.map(() => 'z').join(', ')})\n ROOT w = ${state} while(t), condition=more, body=turn }
`;
}

/** How many of the comparisons are used after the pass; the others are constants. */
const staying = (text) => (afterPass(text, 'counters') ?? text).match(/ convert\(t\d+\)/g)?.length ?? 0;

for (const [name, [lines, type, low, high]] of Object.entries(KNOWN)) {
  test(`${name}: from ${low} to ${high}`, async () => {
    const max = { s8: 127 }[type] ?? Infinity;
    const always = [['GE', low], ['LE', high], ['LT', low], ['GT', high], ['NE', low - 1], ['EQ', low - 1],
      ...high < max ? [['EQ', high + 1], ['NE', high + 1], ['GE', high + 1], ['LT', high + 1]] : [], ['LE', low - 1], ['GT', low - 1]];
    const sometimes = [['GT', low], ['LT', high], ['GE', low + 1], ['LE', high - 1], ['EQ', low], ['NE', low], ['EQ', high], ['NE', high]];
    assert.equal(staying(program(lines, type, always)), 0);
    assert.equal(staying(program(lines, type, sometimes)), sometimes.length);
    await agrees(client, program(lines, type, [...always, ...sometimes]), () => 0);
  });
}

for (const [name, [lines, type, number]] of Object.entries(UNKNOWN)) {
  test(`${name} has no range`, async () => {
    const comparisons = ['GE', 'LE', 'LT', 'GT', 'EQ', 'NE'].map((direction) => [direction, number]);
    assert.equal(staying(program(lines, type, comparisons)), comparisons.length);
    await agrees(client, program(lines, type, comparisons), () => 0);
  });
}
