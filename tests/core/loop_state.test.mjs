/** Tests the state of loops and branches: dead elements, two equal counters, equal computations. */
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { execute } from '../support/execute.mjs';
import { ADD, afterPass, client, isClose, operationsOf, wave } from '../support/passes.mjs';

/** A loop over the elements of `state` from `init` on: [its shape, what it begins as, a turn's lines]. */
const loop = (elements, turn, read) => {
  const shape = `(${elements.map(([type]) => type)})`;
  const parts = elements.map(([type], i) => `  p${i} = ${type} get-tuple-element(s), index=${i}\n`).join('');
  const next = elements.map((_, i) => `n${i}`);
  return `HloModule m
more {
  s = ${shape} parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(30)
  ROOT r = pred[] compare(i, n), direction=LT
}
turn {
  s = ${shape} parameter(0)
${parts}  one = s32[] constant(1)
  n0 = s32[] add(p0, one)
${turn}
  ROOT r = ${shape} tuple(${next})
}
ENTRY e {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  t = ${shape} tuple(${elements.map(([, init]) => init)})
  w = ${shape} while(t), condition=more, body=turn
${read}
}`;
};
const stateOf = (text) => text.match(/(\S+|\(.*?\)) while\(/)?.[1].replace(/\{[\d,]*\}|\/\*.*?\*\//g, '');

test('loop-state: what only feeds itself goes, with what makes it', async () => {
  const text = loop([['s32[]', 'zero'], ['f32[4]', 'x'], ['f32[4]', 'x'], ['f32[4]', 'x']],
    '  n1 = f32[4] cosine(p1)\n  n2 = f32[4] add(p2, p1)\n  n3 = f32[4] multiply(p3, p2)',
    '  ROOT r = f32[4] get-tuple-element(w), index=1');
  assert.equal(stateOf(afterPass(text, 'loop-state')), '(s32[], f32[4])');
  const [r] = await execute(client, text, [[0.1, 0.2, 0.3, 0.4]]);
  r.forEach((value) => assert.ok(isClose(value, 0.7390851), `${value}`));
});

test('loop-state: what another one needs stays, and so does what the condition reads', async () => {
  const text = loop([['s32[]', 'zero'], ['f32[4]', 'x'], ['f32[4]', 'x']],
    '  n1 = f32[4] cosine(p1)\n  n2 = f32[4] add(p2, p1)', '  ROOT r = f32[4] get-tuple-element(w), index=2');
  assert.equal(afterPass(text, 'loop-state'), null);
  const wanted = [0.1, 0.2, 0.3, 0.4].map((x) => {
    let [a, sum] = [x, x];
    for (let i = 0; i < 30; i++) [a, sum] = [Math.cos(a), sum + a];
    return sum;
  });
  const [r] = await execute(client, text, [[0.1, 0.2, 0.3, 0.4]]);
  r.forEach((value, i) => assert.ok(isClose(value, wanted[i])));
});

test('loop-state: of two counters one goes', async () => {
  const text = loop([['s32[]', 'zero'], ['s32[]', 'zero'], ['s32[]', 'zero']],
    '  n1 = s32[] add(p1, one)\n  n2 = s32[] add(p2, p1)', '  ROOT r = s32[] get-tuple-element(w), index=2');
  assert.equal(stateOf(afterPass(text, 'loop-state')), '(s32[], s32[])');
  assert.deepEqual(await execute(client, text, [[0, 0, 0, 0]]), [435]);
});

test('loop-state: an element that a loop passes on is its initial value', async () => {
  const text = loop([['s32[]', 'zero'], ['f32[4]', 'x'], ['f32[4]', 'x']], '  n1 = f32[4] copy(p1)\n  n2 = f32[4] cosine(p2)',
    `  a = f32[4] get-tuple-element(w), index=1
  i = s32[] get-tuple-element(w), index=0
  c = f32[] convert(i)
  b = f32[4] broadcast(c), dimensions={}
  ROOT r = f32[4] add(a, b)`);
  assert.equal(stateOf(afterPass(text, 'loop-state')), '(s32[])');
  assert.deepEqual(await execute(client, text, [[1, 2, 3, 4]]), [[31, 32, 33, 34]]);
});

test('loop-state: a loop all of whose state is a result stays as it is', () => {
  const text = loop([['s32[]', 'zero'], ['f32[4]', 'x']], '  n1 = f32[4] cosine(p1)',
    '  ROOT r = (s32[], f32[4]) tuple(i, a)').replace('  ROOT r = (s32[], f32[4]) tuple',
    '  i = s32[] get-tuple-element(w), index=0\n  a = f32[4] get-tuple-element(w), index=1\n  ROOT r = (s32[], f32[4]) tuple');
  assert.equal(afterPass(text, 'loop-state'), null);
});

test('common-subexpressions: reductions by computations that say the same are one', async () => {
  const text = `HloModule m
${ADD}${ADD.replace(/add \{/, 'also {')}ENTRY e {
  x = f32[8] parameter(0)
  z = f32[] constant(0)
  a = f32[] reduce(x, z), dimensions={0}, to_apply=add
  b = f32[] reduce(x, z), dimensions={0}, to_apply=also
  ROOT r = f32[] multiply(a, b)
}`;
  assert.equal(operationsOf(afterPass(text, 'dead-code')).filter(([op]) => op === 'reduce').length, 1);
  assert.deepEqual(await execute(client, text, [[1, 2, 3, 4, 5, 6, 7, 8]]), [36 * 36]);
});

const BRANCHES = `HloModule m
yes {
  s = (f32[8], f32[8], f32[8]) parameter(0)
  x = f32[8] get-tuple-element(s), index=0
  y = f32[8] get-tuple-element(s), index=2
  a = f32[8] add(x, y)
  b = f32[8] exponential(y)
  ROOT r = (f32[8], f32[8], f32[8]) tuple(b, a, x)
}
no {
  s = (f32[8], f32[8]) parameter(0)
  x = f32[8] get-tuple-element(s), index=0
  y = f32[8] get-tuple-element(s), index=1
  a = f32[8] sine(y)
  ROOT r = (f32[8], f32[8], f32[8]) tuple(a, x, x)
}
ENTRY e {
  p = pred[] parameter(0)
  x = f32[8] parameter(1)
  y = f32[8] parameter(2)
  l = f32[8] log(x)
  t = (f32[8], f32[8], f32[8]) tuple(x, l, y)
  f = (f32[8], f32[8]) tuple(x, y)
  c = (f32[8], f32[8], f32[8]) conditional(p, t, f), true_computation=yes, false_computation=no
  ROOT e = f32[8] get-tuple-element(c), index=1
}`;

test('branch-state: dead results go, with the instructions that make them and their operands', async () => {
  const module = client.parseHlo(BRANCHES), after = client.passes(module).at(-1).text;
  module.dispose();
  assert.doesNotMatch(after, /exponential|sine|log\(/, after);
  assert.match(after, /= \(f32\[8\]\{0\}\) conditional\(/, after);
  const x = wave(8, 0), y = wave(8, 1);
  for (const p of [true, false]) {
    const [got] = await execute(client, BRANCHES, [p, x, y]);
    got.forEach((value, i) => assert.ok(isClose(value, p ? x[i] + y[i] : x[i])));
  }
});

test('branch-state: a branch in a branch, and one that two conditionals share, which stays', async () => {
  const nested = BRANCHES.replace('ENTRY e {', `outer {
    s = (pred[], (f32[8], f32[8], f32[8]), (f32[8], f32[8])) parameter(0)
    p = pred[] get-tuple-element(s), index=0
    t = (f32[8], f32[8], f32[8]) get-tuple-element(s), index=1
    f = (f32[8], f32[8]) get-tuple-element(s), index=2
    ROOT c = (f32[8], f32[8], f32[8]) conditional(p, t, f), true_computation=yes, false_computation=no
  }
  same {
    s = (f32[8], f32[8], f32[8]) parameter(0)
    ROOT r = (f32[8], f32[8], f32[8]) copy(s)
  }
  ENTRY e {`).replace('c = (f32[8], f32[8], f32[8]) conditional(p, t, f), true_computation=yes, false_computation=no\n  ROOT e', `
    q = pred[] parameter(3)
    o = (pred[], (f32[8], f32[8], f32[8]), (f32[8], f32[8])) tuple(p, t, f)
    c = (f32[8], f32[8], f32[8]) conditional(q, o, t), true_computation=outer, false_computation=same
    ROOT e`);
  const module = client.parseHlo(nested), after = client.passes(module).at(-1).text;
  module.dispose();
  assert.doesNotMatch(after, /exponential|sine/, after);
  const x = wave(8, 0).map((v) => Math.abs(v) + 1), y = wave(8, 1);
  for (const [p, q] of [[true, true], [false, true], [true, false]]) {
    const [got] = await execute(client, nested, [p, x, y, q]);
    got.forEach((value, i) => assert.ok(isClose(value, !q ? Math.log(x[i]) : p ? x[i] + y[i] : x[i])));
  }
  const shared = BRANCHES.replace('true_computation=yes, false_computation=no', 'true_computation=yes, false_computation=yes')
    .replace('conditional(p, t, f)', 'conditional(p, t, t)');
  const [got] = await execute(client, shared, [true, x, y]);
  got.forEach((value, i) => assert.ok(isClose(value, x[i] + y[i])));
});

test('common-subexpressions: calls of equal computations are equal', async () => {
  const less = (name) => `${name} {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = pred[] compare(a, b), direction=LT\n}\n`;
  const body = (name, by) => `${name} {\n s = (s32[], f32[50]) parameter(0)\n i = s32[] get-tuple-element(s), index=0
    x = f32[50] get-tuple-element(s), index=1\n k = s32[] constant(${by})\n j = s32[] add(i, k)\n y = f32[50] sine(x)
    ROOT r = (s32[], f32[50]) tuple(j, y)\n}\n`;
  const more = (name) => `${name} {\n s = (s32[], f32[50]) parameter(0)\n i = s32[] get-tuple-element(s), index=0
    n = s32[] constant(40)\n ROOT c = pred[] compare(i, n), direction=LT\n}\n`;
  const called = (name) => `${name} {\n x = f32[50] parameter(0)\n n = f32[50] cosine(x)\n ROOT r = f32[50] multiply(n, x)\n}\n`;
  const text = (by) => `HloModule m\n${less('l1')}${less('l2')}${body('b1', 1)}${body('b2', by)}${more('m1')}${more('m2')}${called('c1')}${called('c2')}ENTRY e {
    x = f32[50] parameter(0)
    p = f32[50] sort(x), dimensions={0}, to_apply=l1
    q = f32[50] sort(x), dimensions={0}, to_apply=l2
    z = s32[] constant(0)
    t = (s32[], f32[50]) tuple(z, x)
    v = (s32[], f32[50]) while(t), condition=m1, body=b1
    w = (s32[], f32[50]) while(t), condition=m2, body=b2
    f = f32[50] get-tuple-element(v), index=1
    g = f32[50] get-tuple-element(w), index=1
    h = f32[50] call(x), to_apply=c1
    k = f32[50] call(x), to_apply=c2
    d = f32[50] divide(f, g)
    ROOT r = (f32[50], f32[50], f32[50], f32[50], f32[50]) tuple(p, q, d, h, k)\n}`;
  const last = (program) => {
    const module = client.parseHlo(program), after = client.passes(module).at(-1).text;
    module.dispose();
    return after.slice(after.indexOf('ENTRY'));
  };
  assert.deepEqual([/ sort\(/g, / while\(/g].map((x) => last(text(1)).match(x).length), [1, 1], last(text(1)));
  assert.equal(last(text(1)).match(/ cosine|fusion\(x/g)?.length ?? 0, 1, last(text(1)));
  assert.equal(last(text(2)).match(/ while\(/g).length, 2);
  const x = wave(50, 0), [p, q, d, h, k] = await execute(client, text(1), [x]);
  assert.deepEqual(p, [...x].sort((a, b) => a - b));
  assert.deepEqual(q, p);
  assert.deepEqual(h, k);
  d.forEach((value, i) => assert.ok(x[i] === 0 || value === 1));
});

/** A loop of 40 turns, from `first` on by `step`, whose body makes y s32[] of its counter i, and adds it up. */
const counting = (first, step, made, end = first + 40 * step) => `HloModule m
more {
  s = (s32[], s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(${end})
  ROOT c = pred[] compare(i, n), direction=LT
}
turn {
  s = (s32[], s32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  t = s32[] get-tuple-element(s), index=1
  u = s32[] get-tuple-element(s), index=2
  zero = s32[] constant(0)
  n = s32[] constant(${Math.max(end, 1)})
  k = s32[] constant(${step})
  ${made}
  p = s32[] multiply(t, k)
  q = s32[] add(p, y)
  j = s32[] add(i, k)
  ROOT r = (s32[], s32[], s32[]) tuple(j, q, u)
}
ENTRY e {
  i = s32[] constant(${first})
  t = s32[] parameter(0)
  u = s32[] parameter(1)
  s = (s32[], s32[], s32[]) tuple(i, t, u)
  w = (s32[], s32[], s32[]) while(s), condition=more, body=turn
  ROOT r = s32[] get-tuple-element(w), index=1
}`;
const FROM_END = 'l = pred[] compare(i, zero), direction=LT\n m = s32[] add(i, n)\n y = s32[] select(l, m, i)';
const COUNTED = {
  'an index that may count from the end': [0, 1, FROM_END, /select|compare\(get/, (i) => i],
  'one that begins below 0, which stays': [-3, 1, FROM_END, null, (i, n) => (i < 0 ? i + n : i)],
  'a clamp': [2, 3, 'y = s32[] clamp(zero, i, n)', /clamp/, (i) => i],
  'a clamp at which the last turn arrives, which stays': [2, 3, 'm = s32[] constant(118)\n y = s32[] clamp(zero, i, m)', null,
    (i) => Math.min(i, 118)],
  'bounds, of an expression': [1, 2, `d = s32[] constant(4)
    a = s32[] multiply(i, d)\n b = s32[] subtract(a, d)\n c = s32[] maximum(b, zero)
    h = s32[] constant(316)\n y = s32[] minimum(c, h)`, /maximum|minimum/, (i) => 4 * i - 4],
  'a remainder and its users': [0, 1, `f = s32[] constant(7)
    a = s32[] remainder(i, n)\n b = s32[] remainder(i, f)
    l = pred[] compare(b, zero), direction=LT\n o = pred[] compare(u, zero), direction=NE
    g = pred[] and(l, o)\n m = s32[] add(b, f)\n e = s32[] select(g, m, b)\n y = s32[] add(a, e)`, /select| and\(/, (i) => i + (i % 7)],
};
for (const [name, [first, step, made, gone, y]] of Object.entries(COUNTED)) {
  test(`counters: ${name}`, async () => {
    const text = counting(first, step, made), end = first + 40 * step;
    const module = client.parseHlo(text), after = client.passes(module).at(-1).text;
    module.dispose();
    if (gone) assert.doesNotMatch(after, gone);
    else assert.match(after, /select|clamp|minimum/);
    let total = 5;
    for (let i = first; i < end; i += step) total = (Math.imul(total, step) + y(i, Math.max(end, 1))) | 0;
    assert.deepEqual(await execute(client, text, [5, 1]), [total]);
  });
}

test('counters: of a body that another loop has, too, nothing is known', async () => {
  const text = counting(0, 1, FROM_END).replace('ROOT r = s32[] get', `h = s32[] constant(-2)
  v = (s32[], s32[], s32[]) tuple(h, t, u)
  x = (s32[], s32[], s32[]) while(v), condition=more, body=turn
  a = s32[] get-tuple-element(x), index=1
  b = s32[] get-tuple-element(w), index=1
  ROOT r = s32[] subtract(a, b)\n  unused = s32[] get`);
  assert.deepEqual(await execute(client, text, [0, 1]), [38 + 39]);
});
