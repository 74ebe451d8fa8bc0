/**
 * Programs that are very deep or very wide: each compiles and runs, or is refused with an error that
 * says the limit; none overflows a stack, and none takes for ever.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { ALL } from '../support/sample.mjs';

const TIMEOUT = { timeout: 60000 };

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

async function run(text, ...args) {
  const module = client.parseHlo(text);
  try {
    const executable = await client.compile(module);
    const results = await executable.execute(args);
    executable.dispose();
    return results;
  } finally {
    module.dispose();
  }
}

for (const operation of ['tanh', 'negate', 'reverse', 'reshape', 'none']) {
  for (const depth of [160, 400, 2000]) {
    test(`transpose and ${operation}, ${depth} times`, TIMEOUT, async () => {
      const lines = [];
      let value = 'x', shape = 'f32[2,3]';
      const add = (line) => lines.push(`v${lines.length} = ${line}`) && (value = `v${lines.length - 1}`);
      for (let i = 0; i < depth; i++) {
        shape = shape === 'f32[2,3]' ? 'f32[3,2]' : 'f32[2,3]';
        add(`${shape} transpose(${value}), dimensions={1,0}`);
        if (operation === 'reverse') add(`${shape} reverse(${value}), dimensions={0,1}`);
        else if (operation === 'reshape') {
          add(`f32[1,6] reshape(${value})`);
          add(`${shape} reshape(${value})`);
        } else if (operation !== 'none') add(`${shape} ${operation}(${value})`);
      }
      const [y] = await run(`HloModule m
ENTRY e {
  x = f32[2,3] parameter(0)
  ${lines.join('\n  ')}
  ROOT r = ${shape} copy(${value})
}`, [[1, 2, 3], [4, 5, 6]]);
      if (operation === 'tanh') {
        let [first] = [1];
        for (let i = 0; i < depth; i++) first = Math.fround(Math.tanh(first));
        assert.ok(Math.abs(y.data[0] - first) < 1e-4);
      } else assert.deepEqual([...y.data], [1, 2, 3, 4, 5, 6]);
    });
  }
}

/* ---- Infinite loops in computations that are applied to elements ---- */

const FOREVER = `HloModule m
always { p = (f32[]) parameter(0)\n ROOT c = pred[] constant(true) }
step { p = (f32[]) parameter(0)\n v = f32[] get-tuple-element(p), index=0
  o = f32[] constant(1)\n s = f32[] add(v, o)\n ROOT t = (f32[]) tuple(s) }
at_least { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = pred[] compare(a, b), direction=GE }
own { a = f32[] parameter(0)\n b = f32[] parameter(1)\n s = f32[] add(a, b)
  t = (f32[]) tuple(s)\n w = (f32[]) while(t), condition=always, body=step
  ROOT r = f32[] get-tuple-element(w), index=0 }
less { a = f32[] parameter(0)\n b = f32[] parameter(1)\n s = f32[] call(a, b), to_apply=own
  ROOT r = pred[] compare(s, b), direction=LT }
`;
const ENDLESS = {
  map: 'f32[60] map(x, x), dimensions={0}, to_apply=own',
  reduce: 'f32[] reduce(x, z), dimensions={0}, to_apply=own',
  'reduce-window': 'f32[58] reduce-window(x, z), window={size=3}, to_apply=own',
  scatter: `f32[60] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0},
    scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=own`,
  'select-and-scatter': 'f32[60] select-and-scatter(x, h, z), window={size=2 stride=2}, select=at_least, scatter=own',
  sort: 'f32[60] sort(x), dimensions={0}, to_apply=less',
  'all-reduce': 'f32[60] all-reduce(x), replica_groups={}, to_apply=own',
  'reduce-scatter': 'f32[30] reduce-scatter(x), replica_groups={}, dimensions={0}, to_apply=own',
};

/* With threads the signal ends them; without, where no event comes in between, a budget does: but for
   collectives, these are loops then, as others. */
const BUDGETED = ['all-reduce', 'reduce-scatter'];
for (const [threads, budget] of [[0, 'RESOURCE_EXHAUSTED'], [2, 'CANCELLED']]) {
  test(`loops without end, applied to elements, ${threads} threads`, TIMEOUT, async (t) => {
    const other = await Client.create({ threads });
    for (const [name, operation] of Object.entries(ENDLESS)) {
      await t.test(name, async () => {
        const module = other.parseHlo(`${FOREVER}ENTRY e {
  x = f32[60] parameter(0)\n h = f32[30] parameter(1)\n z = f32[] constant(0)
  i = s32[4,1] constant({{1},{2},{3},{1}})\n u = f32[4] constant({1,2,3,4})
  ROOT r = ${operation}\n}`);
        const executable = await other.compile(module, { replicas: 2 });
        const run = executable.execute([new Float32Array(60), new Float32Array(30)],
          { signal: AbortSignal.timeout(100) });
        await assert.rejects(run, { code: BUDGETED.includes(name) ? budget : 'CANCELLED' });
        executable.dispose();
        module.dispose();
      });
    }
    other.dispose();
  });
}

test('an error in one of many parts of an evaluated step fails the run', TIMEOUT, async () => {
  for (const threads of [0, 2]) {
    const other = await Client.create({ threads }), module = other.parseHlo(`ENTRY e { x = f32[100000] parameter(0)
 n = u32[100000] iota(), iota_dimension=0\n ROOT y = u8[100000] stochastic-convert(x, n) }`);
    const executable = await other.compile(module);
    await assert.rejects(executable.execute([new Float32Array(100000)]),
      { code: 'UNIMPLEMENTED', message: /f32 cannot become u8; only signed integers are defined/ });
    other.dispose();
  }
});

test('sizes whose product needs more than 32 bits', TIMEOUT, async () => {
  const text = `HloModule m
%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %r = f32[] add(%a, %b)
}
ENTRY e {
  x = f32[65536] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[65536] reduce-window(x, z), window={size=65536 pad=32767_32768 rhs_reversal=1}, to_apply=%add
}`;
  const [{ data }] = await run(text, new Float32Array(65536).fill(1));
  const wrong = data.findIndex((sum, i) => sum !== Math.min(65535, i + 32768) - Math.max(0, i - 32767) + 1);
  assert.equal(wrong, -1, `element ${wrong} is ${data[wrong]}`);
});

/* ---- Computations that call the next one twice, 40 levels deep ---- */

const scalar = (type, name, body) => `${name} {
  x = ${type}[] parameter(0)
  ${body.join('\n  ')}
}
`;
const BASE = scalar('f32', 'k0', ['ROOT r = f32[] negate(x)']);
const IS_SMALL = scalar('s32', 'small', [
  'three = s32[] constant(3)', 'ROOT r = pred[] compare(x, three), direction=LT']);

/** [name, the innermost computation and its helpers, the body of level i, type] */
const TREES = [
  ['calls', BASE, (last) => [
    `a = f32[] call(x), to_apply=${last}`, `ROOT r = f32[] call(a), to_apply=${last}`], 'f32'],
  ['maps', BASE, (last) => [
    `a = f32[] map(x), dimensions={}, to_apply=${last}`,
    `ROOT r = f32[] map(a), dimensions={}, to_apply=${last}`], 'f32'],
  ['conditionals', BASE, (last) => [
    'zero = f32[] constant(0)', 'p = pred[] compare(x, zero), direction=GT',
    `ROOT r = f32[] conditional(p, x, x), branch_computations={${last}, ${last}}`], 'f32'],
  ['whiles', IS_SMALL + scalar('s32', 'k0', [
    'one = s32[] constant(1)', 'ROOT r = s32[] add(x, one)']), (last) => [
    `a = s32[] while(x), condition=small, body=${last}`,
    `ROOT r = s32[] while(a), condition=small, body=${last}`], 's32'],
];

const tree = (base, body, type, levels) => {
  let text = `HloModule m\n${base}`;
  for (let i = 1; i < levels; i++) text += scalar(type, `k${i}`, body(`k${i - 1}`));
  return `${text}ENTRY ${scalar(type, 'main', [`ROOT r = ${type}[] call(x), to_apply=k${levels - 1}`])}`;
};

for (const [what, base, body, type] of TREES) {
  test(`${what} of two each, 40 levels deep, compile`, TIMEOUT, async () => {
    const module = client.parseHlo(tree(base, body, type, 40));
    (await client.compile(module)).dispose();
    module.dispose();
  });

  test(`${what} of two each, 40 levels deep, twice the same under other names, compile`, TIMEOUT, async () => {
    const once = tree(base, body, type, 40), [before, entry] = once.slice('HloModule m\n'.length).split('ENTRY ');
    const again = before.replace(/\bk(\d+)\b/g, 'l$1').replace(/\bsmall\b/g, 'little');
    const both = entry.replace(/ROOT r = (\S+) call\(x\), to_apply=k(\d+)/,
      'y = $1 call(x), to_apply=k$2\n  ROOT r = $1 call(y), to_apply=l$2');
    const module = client.parseHlo(`HloModule m\n${before}${again}ENTRY ${both}`);
    (await client.compile(module)).dispose();
    module.dispose();
  });

  test(`${what} of two each, 8 levels deep, run`, TIMEOUT, async () => {
    const [y] = await run(tree(base, body, type, 8), 1);
    assert.equal(y.data[0], { calls: 1, maps: 1, conditionals: -1, whiles: 3 }[what]);
  });
}

/* Calls too large to inline, but finite. One element's work is within the limit; the host's events come in
   between the elements of a map; an operation without such breaks has a limit for all its work. */
const DOUBLED = (levels) => {
  let text = `HloModule m\n${scalar('f32', 'k0', ['ROOT r = f32[] cosine(x)'])}`;
  for (let i = 1; i < levels; i++) text += scalar('f32', `k${i}`, TREES[0][2](`k${i - 1}`));
  return text;
};

/* Operations that apply a computation of doubled calls to elements, and their results. */
const FIXED_POINT = 0.739085; // of the cosine
const APPLIED = {
  'a map': ['f32[30] map(x), dimensions={0}, to_apply=k', 18, new Array(30).fill(FIXED_POINT)],
  'a reduction': ['f32[] reduce(x, z), dimensions={0}, to_apply=f', 18, FIXED_POINT],
  'a sort': ['f32[30] sort(x), dimensions={0}, to_apply=lt', 15, new Array(30).fill(0)],
};
for (const [what, [operation, levels, wanted]] of Object.entries(APPLIED)) {
  test(`${what} by doubled calls lets events come in, without threads`, TIMEOUT, async () => {
    const single = await Client.create({ threads: 0 });
    const last = `k${levels - 1}`;
    const module = single.parseHlo(`${DOUBLED(levels)}f {
  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  s = f32[] add(a, b)\n  ROOT r = f32[] call(s), to_apply=${last}\n}
lt {
  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  s = f32[] call(a), to_apply=${last}\n  ROOT r = pred[] compare(s, b), direction=LT\n}
ENTRY e {\n  x = f32[30] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = ${operation.replace(/=k$/, `=${last}`)}\n}`);
    const executable = await single.compile(module);
    let events = 0, ends = false;
    const tick = () => {
      events++;
      if (!ends) setImmediate(tick);
    };
    setImmediate(tick);
    const [y] = await executable.execute([new Float32Array(30)]);
    ends = true;
    const values = [y.toArray()].flat();
    assert.ok(values.every((value, i) => Math.abs(value - [wanted].flat()[i]) < 1e-5), `${values}`);
    assert.ok(events >= 10, `${events} events`);
    single.dispose();
  });
}

test('a tree of conditionals with collectives in it is refused', TIMEOUT, async () => {
  const [, , body] = TREES.find(([what]) => what === 'conditionals');
  const base = `add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}
${scalar('f32', 'k0', ['ROOT r = f32[] all-reduce(x), replica_groups={}, to_apply=add'])}`;
  await assert.rejects(run(tree(base, body, 'f32', 40), 1), {
    code: 'RESOURCE_EXHAUSTED', message: /conditional: .* more than 262144 instructions/ });
});

/* ---- Width ---- */

const count = (n, line) => Array.from({ length: n }, (_, i) => line(i));

test('10,000 parameters, tuple elements and results', TIMEOUT, async () => {
  const n = 10000, tuple = `(${Array(n).fill('f32[]').join(', ')})`;
  const [first] = await run(`HloModule m
ENTRY e {
  t = ${tuple} parameter(0)
  ${count(n, (i) => `g${i} = f32[] get-tuple-element(t), index=${i}`).join('\n  ')}
  ${count(n, (i) => `h${i} = f32[] negate(g${i})`).join('\n  ')}
  ROOT r = ${tuple} tuple(${count(n, (i) => `h${i}`).join(', ')})
}`, count(n, (i) => i));
  assert.equal(Math.abs(first.data[0]), 0);
  const [sum] = await run(`HloModule m
ENTRY e {
  ${count(n, (i) => `p${i} = f32[] parameter(${i})`).join('\n  ')}
  ROOT r = f32[] add(p0, p${n - 1})
}`, ...count(n, (i) => i));
  assert.equal(sum.data[0], n - 1);
});

test('a loop whose state has 5,000 parts, each moved on to the next', TIMEOUT, async () => {
  const n = 5000, state = `(${Array(n).fill('s32[]').join(', ')})`;
  const results = await run(`HloModule m
body {
  s = ${state} parameter(0)
  ${count(n, (i) => `g${i} = s32[] get-tuple-element(s), index=${i}`).join('\n  ')}
  one = s32[] constant(1)
  next = s32[] add(g0, one)
  ROOT t = ${state} tuple(next, ${count(n - 1, (i) => `g${i}`).join(', ')})
}
more {
  s = ${state} parameter(0)
  g = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT p = pred[] compare(g, three), direction=LT
}
ENTRY e {
  x = s32[] parameter(0)
  t = ${state} tuple(${Array(n).fill('x').join(', ')})
  ROOT w = ${state} while(t), condition=more, body=body
}`, 0);
  assert.deepEqual(results.slice(0, 5).map(({ data }) => data[0]), [3, 2, 1, 0, 0]);
});

test('enough temporaries to be placed in the order of time', TIMEOUT, async () => {
  const n = 6000, lines = [];
  for (let i = 0; i < n; i++) {
    const from = i ? `v${i - 1}` : 'x', size = 8 + (i % 7);
    lines.push(`b${i} = s32[${size}] pad(${from}, zero), padding=0_${i ? size - 8 - ((i - 1) % 7) : 0}`,
      `v${i} = s32[${size}] sort(b${i}), dimensions={0}, to_apply=greater`);
  }
  const [y] = await run(`HloModule m
greater {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=GT
}
ENTRY e {
  x = s32[8] parameter(0)
  zero = s32[] constant(0)
  ${lines.join('\n  ')}
  ROOT r = s32[8] slice(v${n - 1}), slice={[0:8]}
}`, [3, 1, 4, 1, 5, 9, 2, 6]);
  assert.deepEqual([...y.data], [9, 6, 5, 4, 3, 2, 1, 1]);
});

test('an endless loop is not folded, and can be cancelled', { timeout: 60000 }, async () => {
  const client = await Client.create({ threads: 2 });
  const reduce = (operand) => `HloModule m
more { s = (f32[]) parameter(0)
  ROOT r = pred[] constant(true) }
turn { s = (f32[]) parameter(0)
  x = f32[] get-tuple-element(s), index=0
  ROOT r = (f32[]) tuple(x) }
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  t = (f32[]) tuple(a)
  w = (f32[]) while(t), condition=more, body=turn
  c = f32[] get-tuple-element(w), index=0
  ROOT r = f32[] add(b, c) }
ENTRY e { z = f32[] constant(0)
  x = f32[4] ${operand}
  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=add }`;
  for (const operand of ['constant({1, 2, 3, 4})', 'parameter(0)']) {
    const executable = await client.compile(client.parseHlo(reduce(operand)));
    const signal = AbortSignal.timeout(200);
    const args = operand === 'parameter(0)' ? [[1, 2, 3, 4]] : [];
    await assert.rejects(executable.execute(args, { signal }), { code: 'CANCELLED' });
  }
  client.dispose();
});

/* ---- 100,000 of something: under 5 s each on a machine that does nothing else ---- */

// Of what takes long, `make test` has a quarter: still too many for a stack, or for a pass whose time grows with the square.
const MANY = 100000, LESS = ALL ? MANY : MANY / 4;
const secondsOf = (number) => 2 + (12 * number) / MANY; // of processor time, which a busy machine doubles
const many = (number, type) => `(${Array(number).fill(type).join(', ')})`;
const numbered = (number, prefix) => count(number, (i) => `${prefix}${i}`).join(', ');

/** [how many, of what, computations, lines of the entry, arguments, the first result's first element] */
const LARGE = [
  [MANY, 'element-wise operations in a chain', '', [
    'x = f32[8] parameter(0)', ...count(MANY, (i) => `v${i} = f32[8] negate(${i ? `v${i - 1}` : 'x'})`),
    `ROOT r = f32[8] add(v${MANY - 1}, x)`], [[1, 2, 3, 4, 5, 6, 7, 8]], 2],
  [LESS, 'elements of a tuple', '', [
    `t = ${many(LESS, 'f32[]')} parameter(0)`,
    ...count(LESS, (i) => `g${i} = f32[] get-tuple-element(t), index=${i}`),
    ...count(LESS, (i) => `n${i} = f32[] negate(g${i})`),
    `ROOT r = ${many(LESS, 'f32[]')} tuple(${numbered(LESS, 'n')})`], [count(LESS, (i) => i + 1)], -1],
  [LESS, 'reductions that share their initial value', `add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}`, ['x = f32[4] parameter(0)', 'z = f32[] constant(0)', ...count(LESS / 4, (i) => [
    `t${i} = f32[4] tanh(${i ? `d${i - 1}` : 'x'})`,
    `q${i} = f32[] reduce(t${i}, z), dimensions={0}, to_apply=add`,
    `b${i} = f32[4] broadcast(q${i}), dimensions={}`,
    `d${i} = f32[4] subtract(t${i}, b${i})`]).flat(),
  `ROOT r = f32[4] copy(d${LESS / 4 - 1})`], [[0, 0, 0, 0]], 0],
  [MANY, 'operations of a comparator', `less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ${count(MANY / 2, (i) => `v${i} = f32[] add(${i ? `v${i - 1}` : 'a'}, b)`).join('\n  ')}
  ROOT r = pred[] compare(v${MANY / 2 - 1}, b), direction=LT
}`, ['x = f32[3] parameter(0)', 'ROOT r = f32[3] sort(x), dimensions={0}, to_apply=less'], [[0, 0, 0]], 0],
  [LESS, 'sorts, each with a comparator of its own', count(LESS / 20, (i) => `odd${i} {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  x = f32[] sine(a)
  y = f32[] cosine(b)
  ROOT r = pred[] compare(x, y), direction=LT
}`).join('\n'), ['x = f32[2] parameter(0)', ...count(LESS / 20, (i) =>
    `v${i} = f32[2] sort(${i ? `v${i - 1}` : 'x'}), dimensions={0}, to_apply=odd${i}`),
  `ROOT r = f32[2] copy(v${LESS / 20 - 1})`], [[3, 3]], 3],
  [MANY, 'operands of a concatenation', '', [
    'x = f32[8] parameter(0)',
    ...count(MANY, (i) => `p${i} = f32[1] slice(x), slice={[${i % 8}:${i % 8 + 1}]}`),
    `ROOT r = f32[${MANY}] concatenate(${numbered(MANY, 'p')}), dimensions={0}`], [[1, 2, 3, 4, 5, 6, 7, 8]], 1],
  [LESS, 'scatters, each with a sum of its own', count(LESS / 4, (i) => `add${i} {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}`).join('\n'), [
    'x = f32[8] parameter(0)', 'at = s32[2,1] constant({{1}, {0}})', 'u = f32[2] constant({1, 2})',
    ...count(LESS / 4, (i) => `v${i} = f32[8] scatter(${i ? `v${i - 1}` : 'x'}, at, u), ` +
      'update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, ' +
      `index_vector_dim=1, to_apply=add${i}`),
    `ROOT r = f32[8] copy(v${LESS / 4 - 1})`], [[0, 0, 0, 0, 0, 0, 0, 0]], LESS / 2],
  [LESS, 'select-and-scatters', `ge {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = pred[] compare(a, b), direction=GE
}
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b)
}`, ['x = f32[8] parameter(0)', 'y = f32[4] constant({1, 2, 3, 4})', 'z = f32[] constant(0)',
    ...count(LESS / 4, (i) => `v${i} = f32[8] select-and-scatter(${i ? `v${i - 1}` : 'x'}, y, z), ` +
      'window={size=2 stride=2}, select=ge, scatter=add'),
    `ROOT r = f32[8] copy(v${LESS / 4 - 1})`], [[8, 7, 6, 5, 4, 3, 2, 1]], 1],
  [LESS, 'whiles, each with its own computations', count(LESS / 4, (i) => `going${i} {
  p = (f32[], s32[]) parameter(0)
  i = s32[] get-tuple-element(p), index=1
  n = s32[] constant(${i % 3})
  ROOT c = pred[] compare(i, n), direction=LT
}
turn${i} {
  p = (f32[], s32[]) parameter(0)
  v = f32[] get-tuple-element(p), index=0
  i = s32[] get-tuple-element(p), index=1
  o = s32[] constant(1)
  k = s32[] add(i, o)
  s = f32[] sine(v)
  ROOT t = (f32[], s32[]) tuple(s, k)
}`).join('\n'), ['x = f32[] parameter(0)', 'z = s32[] parameter(1)', 'w = (f32[], s32[]) tuple(x, z)',
    ...count(LESS / 4, (i) => `v${i} = (f32[], s32[]) while(${i ? `v${i - 1}` : 'w'}), condition=going${i}, body=turn${i}`),
    `g = f32[] get-tuple-element(v${LESS / 4 - 1}), index=0`, 'ROOT r = f32[] negate(g)'], [0, 0], -0],
];
for (const [number, what, computations, lines, args, first] of LARGE) {
  test(`${number} ${what}`, TIMEOUT, async () => {
    const text = `HloModule m\n${computations}\nENTRY e {\n${lines.join('\n')}\n}`;
    const start = process.cpuUsage();
    const [result] = await run(text, ...args);
    const { user, system } = process.cpuUsage(start);
    assert.equal(result.data[0], first);
    assert.ok((user + system) / 1e6 < secondsOf(number), `${(user + system) / 1e6} s`);
  });
}

test(`${MANY} parameters`, TIMEOUT, async () => {
  const start = process.cpuUsage();
  const executable = await client.compile(client.parseHlo(`HloModule m\nENTRY e {\n${
    count(MANY, (i) => `p${i} = f32[] parameter(${i})`).join('\n')}\nROOT r = f32[] subtract(p${MANY - 1}, p1)\n}`));
  const [result] = await executable.execute(count(MANY, (i) => i));
  const { user, system } = process.cpuUsage(start);
  assert.equal(result.data[0], MANY - 2);
  assert.ok((user + system) / 1e6 < secondsOf(MANY), `${(user + system) / 1e6} s`);
  executable.dispose();
});

test(`${MANY} sends to the host, each on a channel of its own, are parsed`, TIMEOUT, () => {
  const text = `HloModule m\nENTRY e {\nx = f32[8] parameter(0)\nk = token[] after-all()\n${count(MANY, (i) =>
    `sent${i} = (f32[8], u32[], token[]) send(x, k), channel_id=${i + 1}, is_host_transfer=true\n` +
    `d${i} = token[] send-done(sent${i}), channel_id=${i + 1}, is_host_transfer=true`).join('\n')}\nROOT r = f32[8] copy(x)\n}`;
  const start = process.cpuUsage();
  client.parseHlo(text).dispose();
  const { user, system } = process.cpuUsage(start);
  assert.ok((user + system) / 1e6 < secondsOf(MANY), `${(user + system) / 1e6} s`);
});
