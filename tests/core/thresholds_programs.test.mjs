/**
 * Tests thresholds of whole programs on both sides: numbers of operands, results, steps, iterations, bytes, ranks; and
 * those of kernels that thresholds.test.mjs does not reach. tests/project/thresholds.md says which test meets which number.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { thresholds } from '../../bindings/tools/declarations/thresholds.mjs';
import { agrees, filled, whole } from '../support/as_written.mjs';
import { around, binary, less, Parts } from '../support/parts.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

const CLASSES = ['f32', 's32', 'bf16', 's8'];

/** The numbers of rewrites that name a test of this file. */
const OF_REWRITES = thresholds().filter(({ file, test: named }) => file.startsWith('rewrite/') && named?.file === 'core/thresholds_programs.test.mjs');
/** By title, the rewrites that changed a program of it. @type {Map<string, Set<string>>} */
const changing = new Map(OF_REWRITES.map(({ test: named }) => [named.name, new Set()]));

/** The rewrites that change a program of a test; notes them. @returns {Set<string>} */
function passesOf(what, text) {
  const module = client.parseHlo(text), names = new Set(client.passes(module).map(({ pass }) => pass));
  for (const name of names) changing.get(what)?.add(name);
  module.dispose();
  return names;
}

/**
 * Tests `add(parts, n, type)`, a program of its own for each number. `changes` says, by name of a rewrite, for which numbers
 * it changes the program.
 */
function each(what, numbers, add, { applied = () => '', types = ['f32'], value = whole, options = [{}], changes = {} } = {}) {
  describe(what, () => {
    for (const n of numbers) {
      test(`${n}`, async () => {
        for (const type of types) {
          const parts = new Parts();
          add(parts, n, type);
          const text = parts.text(applied(type));
          const passes = changing.has(what) ? passesOf(what, text) : new Set();
          for (const [pass, when] of Object.entries(changes)) assert.equal(passes.has(pass), when(n), pass);
          for (const option of options) await agrees(client, text, value, option);
        }
      });
    }
  });
}

const list = (n, of) => Array.from({ length: n }, (_, i) => of(i));

/* ---- Numbers of things ---- */

each('sorts of several arrays, by several keys', around(4, 16, 32), (parts, n) => {
  const arrays = list(n, () => parts.parameter('s32[20]')), shapes = list(n, () => 's32[20]');
  const t = parts.add(`(${shapes})`, `sort(${arrays.join(', ')}), dimensions={0}, is_stable=true, to_apply=keys${n}`);
  list(n, (i) => parts.result('s32[20]', parts.add('s32[20]', `get-tuple-element(${t}), index=${i}`)));
}, { applied: () => around(4, 16, 32).map((n) => {
  const lines = list(2 * n, (i) => ` p${i} = s32[] parameter(${i})`);
  let rest = '';
  for (let k = n - 1; k >= 0; k--) {
    lines.push(` l${k} = pred[] compare(p${2 * k}, p${2 * k + 1}), direction=${k % 2 ? 'GT' : 'LT'}`);
    if (rest) {
      lines.push(` e${k} = pred[] compare(p${2 * k}, p${2 * k + 1}), direction=EQ`, ` a${k} = pred[] and(e${k}, ${rest})`,
        ` o${k} = pred[] or(l${k}, a${k})`);
    }
    rest = rest ? `o${k}` : `l${k}`;
  }
  return `keys${n} {\n${lines.join('\n')}\n ROOT r = pred[] or(${rest}, ${rest})\n}\n`;
}).join(''), value: (i, k) => ((i * 7919 + k * 31) % 3) - 1 });

const chain = (n, of) => list(n, (i) => ` v${i} = ${of(i ? `v${i - 1}` : 'a')}`).join('\n');

each('comparators and reducers of many instructions', around(16, 256, 1000), (parts, n) => {
  const x = parts.parameter('s32[5,40]'), z = parts.add('s32[]', 'constant(0)');
  parts.result('s32[5,40]', parts.add('s32[5,40]', `sort(${x}), dimensions={1}, is_stable=true, to_apply=long${n}`));
  parts.result('s32[5]', parts.add('s32[5]', `reduce(${x}, ${z}), dimensions={1}, to_apply=mix${n}`));
}, { applied: () => around(16, 256, 1000).map((n) => `long${n} { a = s32[] parameter(0)\n b = s32[] parameter(1)
${chain(n, (v) => `s32[] xor(${v}, a)`)}\n w = s32[] add(v${n - 1}, a)\n ROOT r = pred[] compare(a, b), direction=LT\n}
mix${n} { a = s32[] parameter(0)\n b = s32[] parameter(1)\n${chain(n, (v) => `s32[] maximum(${v}, b)`)}\n ROOT r = s32[] maximum(v${n - 1}, a)\n}\n`).join('') });

each('loops with a state of several arrays', around(16, 64), (parts, n) => {
  const shapes = ['s32[]', ...list(n, () => 'f32[9]')].join(', ');
  const init = [parts.add('s32[]', 'constant(0)'), ...list(n, () => parts.parameter('f32[9]'))];
  const w = parts.add(`(${shapes})`, `while(${parts.add(`(${shapes})`, `tuple(${init.join(', ')})`)}), condition=more${n}, body=turn${n}`);
  list(n, (i) => parts.result('f32[9]', parts.add('f32[9]', `get-tuple-element(${w}), index=${i + 1}`)));
}, { applied: () => around(16, 64).map((n) => {
  const shapes = ['s32[]', ...list(n, () => 'f32[9]')].join(', ');
  const gets = list(n, (i) => ` x${i} = f32[9] get-tuple-element(s), index=${i + 1}`).join('\n');
  const next = list(n, (i) => (i % 4 === 3 ? ` y${i} = f32[9] negate(x${i})` : ` y${i} = f32[9] maximum(x${i}, x${(i + 1) % n})`)).join('\n');
  return `more${n} { s = (${shapes}) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(5)\n ROOT r = pred[] compare(i, n), direction=LT }
turn${n} { s = (${shapes}) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n one = s32[] constant(1)\n j = s32[] add(i, one)\n${gets}\n${next}
 ROOT t = (${shapes}) tuple(j, ${list(n, (i) => (i % 5 === 4 ? `x${i}` : `y${i}`)).join(', ')}) }\n`;
}).join('') });

/** A loop's computations: `body` makes y, the next a, of a and of b, which does not change. */
const loop = (name, iterations, shape, body, other = shape) =>
  `more_${name} { s = (s32[], ${shape}, ${other}) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(${iterations})
 ROOT r = pred[] compare(i, n), direction=LT }
body_${name} { s = (s32[], ${shape}, ${other}) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n a = ${shape} get-tuple-element(s), index=1
 b = ${other} get-tuple-element(s), index=2\n one = s32[] constant(1)\n j = s32[] add(i, one)\n${body}\n ROOT t = (s32[], ${shape}, ${other}) tuple(j, y, b) }\n`;

function addLoop(parts, name, shape, other = shape) {
  const state = `(s32[], ${shape}, ${other})`;
  const t = parts.add(state, `tuple(${parts.add('s32[]', 'constant(0)')}, ${parts.parameter(shape)}, ${parts.parameter(other)})`);
  const w = parts.add(state, `while(${t}), condition=more_${name}, body=body_${name}`);
  parts.result(shape, parts.add(shape, `get-tuple-element(${w}), index=1`));
}

each('loops of many iterations', [...around(1024), 99_999, 100_000, 100_001, 200_000, 350_000], (parts, n) => addLoop(parts, `n${n}`, 's32[]'), {
  applied: () => [...around(1024), 99_999, 100_000, 100_001, 200_000, 350_000]
    .map((n) => loop(`n${n}`, n, 's32[]', ' m = s32[] multiply(a, b)\n y = s32[] add(m, i)')).join(''),
});

each('short loops with long bodies', around(16, 32), (parts, n) => addLoop(parts, `b${n}`, 's32[40]'), {
  applied: () => around(16, 32).map((n) =>
    loop(`b${n}`, 16, 's32[40]', `${chain(n, (v) => `s32[40] subtract(b, ${v})`)}\n y = s32[40] negate(v${n - 1})`)).join(''),
});

each('loops that sort several arrays', around(16), (parts, n) => {
  const shapes = ['s32[]', ...list(n, () => 's32[9]')].join(', ');
  const init = [parts.add('s32[]', 'constant(0)'), ...list(n, () => parts.parameter('s32[9]'))];
  const w = parts.add(`(${shapes})`, `while(${parts.add(`(${shapes})`, `tuple(${init.join(', ')})`)}), condition=more${n}, body=turn${n}`);
  list(n, (i) => parts.result('s32[9]', parts.add('s32[9]', `get-tuple-element(${w}), index=${i + 1}`)));
}, { applied: () => around(16).map((n) => {
  const shapes = list(n, () => 's32[9]').join(', ');
  return `more${n} { s = (s32[], ${shapes}) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(4)\n ROOT r = pred[] compare(i, n), direction=LT }
keys${n} { ${list(2 * n, (i) => `p${i} = s32[] parameter(${i})\n `).join('')}ROOT r = pred[] compare(p0, p1), direction=LT }
turn${n} { s = (s32[], ${shapes}) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n one = s32[] constant(1)\n j = s32[] add(i, one)
${list(n, (i) => ` x${i} = s32[9] get-tuple-element(s), index=${i + 1}`).join('\n')}
 t = (${shapes}) sort(${list(n, (i) => `x${i}`).join(', ')}), dimensions={0}, is_stable=true, to_apply=keys${n}
${list(n, (i) => ` y${i} = s32[9] get-tuple-element(t), index=${i}`).join('\n')}
 ROOT r = (s32[], ${shapes}) tuple(j, ${list(n, (i) => `y${(i + 1) % n}`).join(', ')}) }\n`;
}).join(''), value: (i, k) => (i * 7919 + k * 31) % 11 });

each('loops that copy or evaluate arrays of some bytes', around(4096, 65536), (parts, n) => {
  for (const [type, width] of [['s8', 1], ['f32', 4]]) {
    addLoop(parts, `u${type}${n}`, `${type}[${Math.floor(n / width)}]`);
    addLoop(parts, `v${type}${n}`, `${type}[${Math.floor(n / width / 2)}]`);
  }
}, {
  applied: () => around(4096, 65536).flatMap((n) => [['s8', 1], ['f32', 4]].map(([type, width]) => {
    const shape = `${type}[${Math.floor(n / width)}]`, half = `${type}[${Math.floor(n / width / 2)}]`;
    return loop(`u${type}${n}`, 5, shape,
      ` p = ${type}[3] slice(a), slice={[1:4]}\n q = ${type}[3] negate(p)\n y = ${shape} dynamic-update-slice(b, q, i)`) +
      loop(`v${type}${n}`, 5, half, ` p = ${half} reverse(a), dimensions={0}\n y = ${half} subtract(b, p)`);
  })).join(''),
  options: [{}, { disable: ['fuse-loops'] }],
});

/* ---- Invariant operations ---- */

/** Lines that compute 4 tanh(x), rounded: the evaluator's last bits do not show. */
const rounded = (shape, x, y) => ` t${y} = ${shape} tanh(${x})\n k${y} = f32[] constant(4)\n f${y} = ${shape} broadcast(k${y}), dimensions={}
 m${y} = ${shape} multiply(t${y}, f${y})\n ${y} = ${shape} round-nearest-even(m${y})`;

const hoists = (when) => ({ 'hoist-loops': when });

each('invariant functions: how many', around(16), (parts, n) => addLoop(parts, `c${n}`, 'f32[70]'), {
  applied: () => around(16).map((n) => loop(`c${n}`, 9, 'f32[70]',
    `${list(n, (i) => ` c${i} = f32[] constant(${i})\n w${i} = f32[70] broadcast(c${i}), dimensions={}\n h${i} = f32[70] multiply(b, w${i})\n${rounded('f32[70]', `h${i}`, `r${i}`)}`).join('\n')}
${list(n, (i) => ` v${i} = f32[70] maximum(${i ? `v${i - 1}` : 'a'}, r${i})`).join('\n')}\n y = f32[70] negate(v${n - 1})`)).join(''),
  changes: hoists(() => true),
});

each('invariant functions: how many elements', around(64), (parts, n) => addLoop(parts, `d${n}`, `f32[${n}]`), {
  applied: () => around(64).map((n) => loop(`d${n}`, 70, `f32[${n}]`,
    `${rounded(`f32[${n}]`, 'b', 'k')}\n y = f32[${n}] subtract(k, a)`)).join(''),
  changes: hoists((n) => n >= 64),
});

/** A product [rows, depth] x [depth, rows] of b with itself. */
const outer = (name, rows, depth) => loop(name, 5, `f32[${rows},${rows}]`,
  ` p = f32[${rows},${rows}] dot(b, b), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n y = f32[${rows},${rows}] subtract(p, a)`,
  `f32[${rows},${depth}]`);

each('invariant products: how much larger than their operands', around(10), (parts, n) => addLoop(parts, `g${n}`, 'f32[160,160]', `f32[160,${n}]`), {
  applied: () => around(10).map((n) => outer(`g${n}`, 160, n)).join(''), changes: hoists((n) => n >= 10),
});

each('invariant products: 64 kB', around(128), (parts, n) => addLoop(parts, `s${n}`, `f32[${n},${n}]`, `f32[${n},2]`), {
  applied: () => around(128).map((n) => outer(`s${n}`, n, 2)).join(''), changes: hoists((n) => n <= 128),
});

/** Products of `rows` rows with an invariant matrix. */
const packed = (name, iterations, rows, size) => loop(name, iterations, `f32[${rows},${size}]`,
  ` p = f32[${rows},${size}] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n z = f32[] constant(0)\n o = f32[] constant(2)
 y = f32[${rows},${size}] clamp(z, p, o)`, `f32[${size},${size}]`);

const ROWS = [4, 7, 8, 9, 10, 12, 60, 63, 64, 65, 68];
each('invariant matrices: rows of products', ROWS, (parts, n) => addLoop(parts, `r${n}`, `f32[${n},72]`, 'f32[72,72]'), {
  applied: () => ROWS.map((n) => packed(`r${n}`, 5, n, 72)).join(''), changes: hoists((n) => n % 4 === 0 && n >= 8 && n <= 64),
});

each('invariant matrices: iterations', around(4), (parts, n) => addLoop(parts, `i${n}`, 'f32[8,72]', 'f32[72,72]'), {
  applied: () => around(4).map((n) => packed(`i${n}`, n, 8, 72)).join(''), changes: hoists((n) => n >= 4),
});

each('invariant matrices: 4096 elements', [56, 64, 72], (parts, n) => addLoop(parts, `e${n}`, `f32[8,${n}]`, `f32[${n},${n}]`), {
  applied: () => [56, 64, 72].map((n) => packed(`e${n}`, 5, 8, n)).join(''), changes: hoists((n) => n > 64),
});

test('invariant matrices: 32 MB', () => {
  for (const [n, isPacked] of [[2896, true], [2904, false]]) {
    const parts = new Parts();
    addLoop(parts, 'b', `f32[8,${n}]`, `f32[${n},${n}]`);
    assert.equal(passesOf('invariant matrices: 32 MB', parts.text(packed('b', 5, 8, n))).has('hoist-loops'), isPacked, `${n}`);
  }
});

each('siblings: reductions of the same array, small and large', around(4, 12, 16, 48), (parts, n, type) => {
  const large = [type === 'f32' ? 420 : 1700, 40]; // more bytes than SMALL_BYTES
  for (const shape of n > 40 ? [[17, 13]] : n > 20 ? [[5, 11], [16, 12]] : [[5, 11], [16, 12], large]) {
    const x = parts.parameter(`${type}[${shape}]`), z = parts.add(`${type}[]`, 'constant(0)');
    list(n, (i) => {
      const c = parts.add(`${type}[]`, `constant(${i % 5})`), b = parts.add(`${type}[${shape}]`, `broadcast(${c}), dimensions={}`);
      const y = parts.add(`${type}[${shape}]`, `maximum(${x}, ${b})`);
      parts.result(`${type}[${shape[0]}]`, parts.add(`${type}[${shape[0]}]`, `reduce(${y}, ${z}), dimensions={1}, to_apply=f`));
      if (i % 3 === 0) parts.result(`${type}[${shape}]`, y);
    });
  }
}, { applied: (type) => binary('f', type, 'maximum'), types: ['f32', 's8'] });

each('functions of one array, read by two loops', around(4), (parts, n) => {
  const shape = 'f32[1031]', x = parts.parameter(shape), y = parts.parameter(shape);
  let value = x, sum = y;
  for (let i = 0; i < 6; i++) {
    list(n, (k) => { value = parts.add(shape, `${k % 2 ? 'maximum' : 'subtract'}(${value}, ${x})`); });
    sum = parts.add(shape, `subtract(${parts.add(shape, `multiply(${value}, ${y})`)}, ${sum})`);
  }
  parts.result(shape, parts.add(shape, `sine(${value})`));
  parts.result(shape, parts.add(shape, `reverse(${sum}), dimensions={0}`));
});

each('operations before a reduction that is cut', around(8, 32), (parts, n) => {
  const x = parts.parameter('f32[131101]'), y = parts.parameter('f32[131101]'), z = parts.add('f32[]', 'constant(0)');
  let value = x;
  for (let i = 0; i < n; i++) value = parts.add('f32[131101]', `${i % 2 ? 'maximum' : 'minimum'}(${value}, ${y})`);
  parts.result('f32[]', parts.add('f32[]', `reduce(${value}, ${z}), dimensions={0}, to_apply=f`));
}, { applied: () => binary('f', 'f32', 'add'), value: (i) => (i % 4096 === 9 ? 1 : 0) });

each('constants that are reduced by computations of many instructions', [14, 15, 16, 17, 32], (parts, n) => {
  const x = parts.add('s8[65535]', `constant({${list(65535, (i) => (i * 7) % 100)}})`), z = parts.add('s8[]', 'constant(-7)');
  parts.result('s8[]', parts.add('s8[]', `reduce(${x}, ${z}), dimensions={0}, to_apply=most${n}`));
}, { applied: () => [14, 15, 16, 17,
  32].map((n) => `most${n} { a = s8[] parameter(0)\n b = s8[] parameter(1)\n${chain(n, (v) => `s8[] xor(${v}, b)`)}\n ROOT r = s8[] maximum(v${n - 1}, b)\n}\n`).join('') });

each('calls of calls, and conditionals of constant predicates, in each other', around(8, 16), (parts, n) => {
  const x = parts.parameter('f32[9]');
  parts.result('f32[9]', parts.add('f32[9]', `call(${x}), to_apply=c${n - 1}`));
  parts.result('f32[9]', parts.add('f32[9]', `call(${x}), to_apply=d${n - 1}`));
}, { applied: () => `c0 { a = f32[9] parameter(0)\n ROOT r = f32[9] negate(a)\n}\nd0 { a = f32[9] parameter(0)\n ROOT r = f32[9] negate(a)\n}\n${
  list(31, (i) => `c${i + 1} { a = f32[9] parameter(0)\n b = f32[9] call(a), to_apply=c${i}\n ROOT r = f32[9] subtract(a, b)\n}
d${i + 1} { a = f32[9] parameter(0)\n i = s32[] constant(${i})\n t = s32[] constant(${i % 3 ? i : 99})\n p = pred[] compare(i, t), direction=EQ
 ROOT r = f32[9] conditional(p, a, a), true_computation=d${i}, false_computation=c0\n}\n`).join('')}` });

each('a computation that is called many times', around(128), (parts, n) => {
  let value = parts.parameter('s32[3]');
  for (let i = 0; i < n; i++) value = parts.add('s32[3]', `call(${value}), to_apply=long`);
  parts.result('s32[3]', value);
}, { applied: () => `long { a = s32[3] parameter(0)\n${chain(128, (v) => `s32[3] subtract(a, ${v})`)}\n ROOT r = s32[3] negate(v127)\n}\n` });

each('dense steps: values of a region, results of a region, moves', around(32, 64, 160, 512), (parts, n) => {
  const x = parts.parameter('f32[3]'), y = parts.parameter('f32[3]'), rows = [];
  let value = x;
  for (let i = 0; i < n; i++) {
    value = parts.add('f32[3]', `${['add', 'maximum', 'subtract'][i % 3]}(${value}, ${i % 2 ? x : y})`);
    if (i % 2) value = parts.add('f32[3]', `reverse(${value}), dimensions={0}`);
    value = parts.add('f32[3]', `clamp(${parts.add('f32[]', 'constant(-9)')}, ${value}, ${parts.add('f32[]', 'constant(9)')})`);
    parts.result('f32[3]', value);
    rows.push(parts.add('f32[1,3]', `reshape(${value})`));
  }
  if (n > 1) parts.result(`f32[${n},3]`, parts.add(`f32[${n},3]`, `concatenate(${rows.join(', ')}), dimensions={0}`));
});

each('results and temporaries: how many', around(4, 16, 256, 512), (parts, n) => {
  const inputs = list(Math.min(n, 40), (i) => parts.parameter(`f32[${1100 + 8 * (i % 3)}]`));
  list(n, (i) => {
    const k = i % inputs.length, shape = `f32[${1100 + 8 * (k % 3)}]`;
    const sorted = parts.add(shape, `sort(${inputs[k]}), dimensions={0}, to_apply=less`);
    const back = parts.add(shape, `reverse(${sorted}), dimensions={0}`);
    const most = parts.add(shape, `maximum(${back}, ${inputs[k]})`);
    if (i < 40) parts.result(shape, parts.add(shape, `sort(${most}), dimensions={0}, to_apply=less`));
    inputs[k] = most;
  });
}, { applied: () => less('f32') });

each('very many temporaries, with gaps between them', around(256), (parts, n) => {
  const rows = 1100, x = parts.parameter(`f32[${rows},16]`);
  const sorted = (value) => parts.add('f32[16]', `sort(${value}), dimensions={0}, to_apply=less`);
  const all = list(rows, (i) => {
    const row = parts.add('f32[1,16]', `slice(${x}), slice={[${i}:${i + 1}],[0:16]}`);
    return sorted(parts.add('f32[16]', `reshape(${row})`));
  });
  const isEarly = (i) => i % 2 === 1 && i < 2 * n;
  let value = all[0];
  for (const i of [...all.keys()].sort((a, b) => isEarly(b) - isEarly(a) ||
    ((a * 7919) % rows) - ((b * 7919) % rows))) value = sorted(parts.add('f32[16]', `maximum(${value}, ${all[i]})`));
  parts.result('f32[16]', value);
}, { applied: () => less('f32'), options: [{}, { disable: ['regions'] }] });

each('temporaries beside results: how large', around(1024, 8192, 16384), (parts, n) => {
  const shape = `f32[${n}]`, x = parts.parameter(shape), z = parts.add('f32[]', 'constant(0)');
  const sorted = parts.add(shape, `sort(${x}), dimensions={0}, to_apply=less`), back = parts.add(shape, `reverse(${sorted}), dimensions={0}`);
  const more = parts.add(shape, `sort(${back}), dimensions={0}, to_apply=less`);
  const all = parts.add('f32[]', `reduce(${parts.add(shape, `multiply(${back}, ${x})`)}, ${z}), dimensions={0}, to_apply=f`);
  parts.result('f32[]', all);
  parts.result(shape, parts.add(shape, `subtract(${more}, ${parts.add(shape, `broadcast(${all}), dimensions={}`)})`));
}, { applied: () => less('f32') + binary('f', 'f32', 'maximum') });

each('another order, whose temporaries take a 16th less', around(15), (parts, n) => {
  const small = 'f32[2048]', large = `f32[${2048 * n}]`, x = parts.parameter(small), y = parts.parameter(large),
    z = parts.add('f32[]', 'constant(-9)');
  const early = parts.add(small, `sort(${x}), dimensions={0}, to_apply=less`), late = parts.add(large, `sort(${y}), dimensions={0}, to_apply=less`);
  const largest = (shape, array) => parts.add('f32[]', `reduce(${parts.add(shape, `reverse(${array}), dimensions={0}`)}, ${z}), dimensions={0}, to_apply=f`);
  const most = largest(large, late);
  parts.result('f32[]', parts.add('f32[]', `subtract(${most}, ${largest(small, early)})`));
}, { applied: () => less('f32') + binary('f', 'f32', 'maximum'), changes: { schedule: (n) => n < 15 } });

each('products of few rows, and steps over the same rows', [128, 255, 256, 257, 384, 512, 768, 1024, 2048], (parts, n) => {
  const shape = `f32[${n},512]`, x = parts.parameter(`f32[${n},3]`), w = parts.parameter('f32[3,512]'), z = parts.add('f32[]', 'constant(-9)');
  const y = parts.add(shape, `dot(${x}, ${w}), lhs_contracting_dims={1}, rhs_contracting_dims={0}`);
  const row = parts.add(`f32[${n}]`, `reduce(${y}, ${z}), dimensions={1}, to_apply=f`);
  parts.result(shape, parts.add(shape, `subtract(${parts.add(shape, `broadcast(${row}), dimensions={0}`)}, ${y})`));
}, { applied: () => binary('f', 'f32', 'maximum') });

each('steps over the same rows', around(4, 32), (parts, n) => {
  const shape = 'f32[1100,130]', x = parts.parameter(shape), z = parts.add('f32[]', 'constant(-9)');
  let value = x;
  for (let i = 0; i < n; i++) {
    const row = parts.add('f32[1100]', `reduce(${value}, ${z}), dimensions={1}, to_apply=f`);
    value = parts.add(shape, `subtract(${parts.add(shape, `broadcast(${row}), dimensions={0}`)}, ${value})`);
  }
  parts.result(shape, value);
}, { applied: () => binary('f', 'f32', 'maximum') });

each('small groups of rows, and those without elements', [0, 1, 2, 3, 8], (parts, n) => {
  for (const rows of [0, 1, 5]) {
    const shape = `f32[${rows},${n}]`, x = parts.parameter(shape), z = parts.add('f32[]', 'constant(-9)');
    let value = x;
    for (let i = 0; i < 3; i++) {
      const row = parts.add(`f32[${rows}]`, `reduce(${value}, ${z}), dimensions={1}, to_apply=f`);
      value = parts.add(shape, `subtract(${parts.add(shape, `broadcast(${row}), dimensions={0}`)}, ${value})`);
    }
    parts.result(shape, value);
  }
}, { applied: () => binary('f', 'f32', 'maximum'), options: [{}, { disable: ['large-chunks'] }, { disable: ['regions', 'large-chunks'] }] });

/* ---- Sizes ---- */

each('chunks: elements of loops, of the evaluator, bytes of moves', [...around(16384), 32767, 32769, 65535, 65536, 65537, 131_071, 131_073],
  (parts, n, type) => {
  const x = parts.parameter(`${type}[${n}]`), one = parts.add(`${type}[]`, 'constant(1)');
  parts.result(`${type}[${n}]`, parts.add(`${type}[${n}]`, `add(${x}, ${parts.add(`${type}[${n}]`, `reverse(${x}), dimensions={0}`)})`));
  parts.result(`${type}[${n + 1}]`, parts.add(`${type}[${n + 1}]`, `pad(${x}, ${one}), padding=1_0`));
  parts.result(`${type}[${2 * n}]`, parts.add(`${type}[${2 * n}]`, `concatenate(${x}, ${x}), dimensions={0}`));
}, { types: CLASSES, options: [{}, { disable: ['fuse-loops'] }, { disable: ['large-chunks'] }] });

each('pieces of a few bytes', around(16, 64, 256), (parts, n, type) => {
  const x = parts.parameter(`${type}[7,${n}]`), i = parts.parameter('s32[]'), j = parts.parameter('s32[]');
  const row = parts.add(`${type}[1,${n}]`, `dynamic-slice(${x}, ${i}, ${j}), dynamic_slice_sizes={1,${n}}`);
  parts.result(`${type}[1,${n}]`, row);
  parts.result(`${type}[7,${n}]`, parts.add(`${type}[7,${n}]`, `dynamic-update-slice(${x}, ${row}, ${j}, ${i})`));
  const column = parts.add(`${type}[7,1]`, `dynamic-slice(${x}, ${i}, ${j}), dynamic_slice_sizes={7,1}`);
  parts.result(`${type}[7,${n}]`, parts.add(`${type}[7,${n}]`, `dynamic-update-slice(${x}, ${column}, ${j}, ${i})`));
  const t = parts.add(`${type}[${n},7]`, `transpose(${x}), dimensions={1,0}`);
  parts.result(`${type}[${n},14]`, parts.add(`${type}[${n},14]`, `concatenate(${t}, ${t}), dimensions={1}`));
  const line = parts.parameter(`${type}[${n - 1}]`),
    zero = parts.add(`${type}[]`, `constant(${type === 'pred' ? false : type === 'c64' ? '(0, 0)' : 0})`);
  parts.result(`${type}[${n}]`, parts.add(`${type}[${n}]`, `pad(${line}, ${zero}), padding=1_0`));
}, { types: [...CLASSES, 'f64', 'c64', 'pred'], options: [{}, { disable: ['fuse-loops', 'in-place'] }, { disable: ['regions'] }] });

each('transposes of 4096 elements',
  [[63, 64], [64, 63], [64, 64], [65, 64], [64, 65], [512, 7], [512, 8], [512, 9], [1024, 4], [8, 512], [7, 600], [2, 2048], [4096, 1]],
    (parts, [m, n], type) => {
  const x = parts.parameter(`${type}[${m},${n}]`), t = parts.add(`${type}[${n},${m}]`, `transpose(${x}), dimensions={1,0}`);
  parts.result(`${type}[${n},${m}]`, parts.add(`${type}[${n},${m}]`, `add(${t}, ${t})`));
}, { types: [...CLASSES, 'f64', 'c64'] });

each('lines of sorts and of the largest elements, by all elements', around(64, 128), (parts, n, type) => {
  const x = parts.parameter(`${type}[64,${n}]`);
  parts.result(`${type}[64,${n}]`, parts.add(`${type}[64,${n}]`, `sort(${x}), dimensions={1}, to_apply=less`));
  parts.result(`${type}[64,${n}]`, parts.add(`${type}[64,${n}]`, `sort(${x}), dimensions={0}, to_apply=less`));
  const k = Math.max(1, n >> 2), t = parts.add(`(${type}[64,${k}], s32[64,${k}])`, `topk(${x}), k=${k}, largest=true`);
  parts.result(`s32[64,${k}]`, parts.add(`s32[64,${k}]`, `get-tuple-element(${t}), index=1`));
}, { applied: less, types: ['f32', 's32', 's8', 'f64'], value: (i) => ((i * 7919) % 1009) % 97 - 48 });

describe('cumulative sums of few long lines', () => {
  for (const n of around(4, 16)) {
    test(`${n}`, async () => {
      const steps = 5000, value = (i) => ((i * 7919) % 5) - 2; // the evaluator would add each window anew
      for (const type of ['f32', 's32']) {
        const module = client.parseHlo(`${binary('f', type, 'add')}ENTRY e { x = ${type}[${n},${steps}] parameter(0)\n z = ${type}[] constant(0)
 ROOT r = ${type}[${n},${steps}] reduce-window(x, z), window={size=1x${steps} pad=0_0x${steps - 1}_0}, to_apply=f }`);
        const executable = await client.compile(module), { shape } = module.parameters[0];
        const [{ data }] = await executable.execute([filled(shape, value)]);
        for (let row = 0, sum; row < n; row++) {
          sum = 0;
          for (let k = 0; k < steps; k++) {
            sum += value(row * steps + k);
            if (data[row * steps + k] !== sum) assert.fail(`${type}: line ${row}, step ${k} is ${data[row * steps + k]}, not ${sum}`);
          }
        }
        executable.dispose();
        module.dispose();
      }
    });
  }
});

each('functions of 8-bit floats, from tables', [2 ** 18 - 1, 2 ** 18, 2 ** 18 + 1], (parts, n) => {
  const x = parts.parameter(`f8e5m2[${n}]`);
  parts.result(`f8e5m2[${n}]`, parts.add(`f8e5m2[${n}]`, `exponential(${x})`));
  for (const operation of ['subtract', 'divide', 'maximum']) {
    const y = parts.parameter(`f8e5m2[${n}]`);
    parts.result(`f8e5m2[${n}]`, parts.add(`f8e5m2[${n}]`, `${operation}(${x}, ${y})`));
  }
});

each('windows of several ranks', [1, 2, 3, 4, 5, 6], (parts, rank) => {
  const dims = list(rank, (d) => (d < 2 ? 5 : 3)), shape = `f32[${dims}]`, x = parts.parameter(shape), z = parts.add('f32[]', 'constant(1)');
  const same = list(rank, () => '1_0').join('x'), size = list(rank, () => 2).join('x');
  parts.result(shape, parts.add(shape, `reduce-window(${x}, ${z}), window={size=${size} pad=${same}}, to_apply=f`));
  const half = dims.map((n) => Math.ceil((n - 1) / 2)), source = parts.parameter(`f32[${half}]`);
  parts.result(shape, parts.add(shape, `select-and-scatter(${x}, ${source}, ${z}), window={size=${size} stride=${size}}, select=ge, scatter=f`));
}, { applied: () => `${binary('f', 'f32', 'add')}ge { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GE }\n` });

each('small products in batches', around(4, 8, 16, 32), (parts, n, type) => {
  for (const [m, k, c] of [[2, 3, 4], [1, n, 1], [n, 1, 2], [3, 4, 3], [8, 2, 8], [4, 5, 4], [70, n, 5], [70, 3, n]]) {
    const x = parts.parameter(`${type}[${n},${m},${k}]`), w = parts.parameter(`${type}[${n},${k},${c}]`);
    const dot = parts.add(`${type}[${n},${m},${c}]`,
      `dot(${x}, ${w}), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}`);
    const cube = `${type}[${n},${m},${c},${k}]`, z = parts.add(`${type}[]`, 'constant(0)');
    const product = parts.add(cube,
      `multiply(${parts.add(cube, `broadcast(${x}), dimensions={0,1,3}`)}, ${parts.add(cube, `broadcast(${w}), dimensions={0,3,2}`)})`);
    const sum = parts.add(`${type}[${n},${m},${c}]`, `reduce(${product}, ${z}), dimensions={3}, to_apply=f`);
    parts.result(`pred[${n},${m},${c}]`, parts.add(`pred[${n},${m},${c}]`, `compare(${dot}, ${sum}), direction=EQ`));
    parts.result(`${type}[${n},${m},${c}]`, sum);
  }
}, { applied: (type) => binary('f', type, 'add'), types: ['f32', 's32', 'f64', 's64'] });

each('products and reductions that are used in part', around(2, 4, 128), (parts, n) => {
  const x = parts.parameter('f32[64,9]'), w = parts.parameter('f32[9,128]'), z = parts.add('f32[]', 'constant(0)');
  const dot = parts.add('f32[64,128]', `dot(${x}, ${w}), lhs_contracting_dims={1}, rhs_contracting_dims={0}`);
  const [rows, columns] = [Math.max(1, Math.floor(64 / n)), Math.max(1, Math.floor(128 / n))];
  parts.result(`f32[${rows},128]`, parts.add(`f32[${rows},128]`, `slice(${dot}), slice={[0:${rows}],[0:128]}`));
  const other = parts.add('f32[64,128]', `dot(${parts.add('f32[64,9]', `negate(${x})`)}, ${w}), lhs_contracting_dims={1}, rhs_contracting_dims={0}`);
  parts.result(`f32[64,${columns}]`, parts.add(`f32[64,${columns}]`, `slice(${other}), slice={[0:64],[0:${columns}]}`));
  const sum = parts.add('f32[64]', `reduce(${parts.parameter('f32[64,1000]')}, ${z}), dimensions={1}, to_apply=f`);
  parts.result(`f32[${rows}]`, parts.add(`f32[${rows}]`, `slice(${sum}), slice={[0:${rows}]}`));
}, { applied: () => binary('f', 'f32', 'add') });

describe('convolutions: lines of tiles, places of a unit, transposed operands', ({ name: what }) => {
  for (const [inputs, outputs, groups, width, window, labels] of [
    ...around(128).map((n) => [16, 16, 1, 2 * n, 3, 'b01f_01io->b01f']), ...around(64).map((n) => [8, 8, 8, n, 3, 'b01f_01io->b01f']),
    ...around(128).map((n) => [n, n, n, 5, 3, 'b01f_01io->b01f']), ...around(16).map((n) => [5, 6, 1, n, 3, 'bf01_oi01->bf01']),
    ...around(4).map((n) => [n, n, n, 9, 3, 'bf01_oi01->bf01']),
    ...around(4).map((n) => [n, 2 * n, n, 17, 3, 'bf01_oi01->bf01']), ...around(3).map((n) => [4, 4, 1, 18, n, 'bf01_oi01->bf01']),
    ...around(376).map((n) => [256, n, 1, 5, 3, 'b01f_01io->b01f']), // from 377 on Winograd's kernel is transformed in blocks
  ]) {
    test(`${inputs} to ${outputs} features in ${groups} groups, ${width} wide, windows of ${window}, ${labels}`, async () => {
      const [x, w] = labels.startsWith('bf') ? [`[1,${inputs},8,${width}]`, `[${outputs},${inputs / groups},${window},${window}]`]
        : [`[1,8,${width},${inputs}]`, `[${window},${window},${inputs / groups},${outputs}]`];
      const [high, low] = [window >> 1, (window - 1) >> 1];
      const out = labels.startsWith('bf') ? `[1,${outputs},8,${width}]` : `[1,8,${width},${outputs}]`;
      const text = `ENTRY e { x = f32${x} parameter(0)\n w = f32${w} parameter(1)
 ROOT c = f32${out} convolution(x, w), window={size=${window}x${window} pad=${low}_${high}x${low}_${high}}, dim_labels=${labels}, feature_group_count=${groups} }`;
      passesOf(what, text);
      // The first kernels that take it, and those that are left without them.
      await agrees(client, text, (i) => ((i * 7) % 5 === 0 ? 1 - (i % 2) * 2 : 0), {},
        { disable: ['kernel-winograd', 'kernel-depthwise', 'order-convolutions'] });
    });
  }
});

describe('convolutions of single features with few taps', ({ name: what }) => {
  for (const [features, height, width, rows, columns, more] of [
    ...around(12).map((n) => [1, 5, n, 3, 3, 'pad=1_1x1_1']), ...around(12).map((n) => [3, 5, n, 2, 3, 'pad=0_0x0_2']),
    ...around(32).map((n) => [1, 3, 50, 1, n, `pad=0_0x${n >> 1}_${n - 1 - (n >> 1)}`]),
  ]) {
    test(`${features} features of ${height} x ${width}, windows of ${rows} x ${columns}, ${more}`, async () => {
      const size = height - rows + 1 + (more.includes('pad=1_1') ? 2 : 0);
      const text = `ENTRY e { x = f32[2,${features},${height},${width}] parameter(0)
 w = f32[${features},1,${rows},${columns}] parameter(1)
 ROOT c = f32[2,${features},${size},${width}] convolution(x, w), window={size=${rows}x${columns} ${more}},
  dim_labels=bf01_oi01->bf01, feature_group_count=${features} }`;
      passesOf(what, text);
      await agrees(client, text, (i) => ((i * 7) % 5 === 0 ? 1 - (i % 2) * 2 : 0.5), {}, { disable: ['small-convolutions'] });
    });
  }
});

describe('Fourier transforms of all small sizes, and around factors', () => {
  for (const lines of [1, 8, 9]) {
    test(`${lines} lines`, async () => {
      for (const [type, near] of [['c64', 4e-6], ['c128', 1e-13]]) {
        for (const n of [...list(130, (i) => i + 1), ...around(256, 512), 61 * 3, 59 * 61, 67 * 2]) {
          if (lines > 1 && n > 70) continue;
          const module = client.parseHlo(`ENTRY e { x = ${type}[${lines},${n}] parameter(0)\n ROOT r = ${type}[${lines},${n}] fft(x), fft_type=FFT, fft_length={${n}} }`);
          const executable = await client.compile(module), [{ data: [...x] }] = [filled(module.parameters[0].shape, (i) => whole(i))];
          const [{ data }] = await executable.execute([filled(module.parameters[0].shape, (i) => whole(i))]);
          const angles = list(n, (i) => (-2 * Math.PI * i) / n), [cos, sin] = [angles.map(Math.cos), angles.map(Math.sin)];
          for (const k of n < 300 ? list(n, (i) => i) : [0, 1, n >> 1, n - 1]) {
            const line = (lines - 1) * 2 * n;
            let [re, im] = [0, 0];
            for (let i = 0; i < n; i++) {
              const [a, b, t] = [x[line + 2 * i], x[line + 2 * i + 1], (i * k) % n];
              re += a * cos[t] - b * sin[t];
              im += a * sin[t] + b * cos[t];
            }
            const far = Math.hypot(data[line + 2 * k] - re, data[line + 2 * k + 1] - im);
            assert.ok(far <= near * 3 * n, `${type}[${lines},${n}], element ${k}: ${far} away`);
          }
          executable.dispose();
          module.dispose();
        }
      }
    });
  }
});

test('sparse matrices around chunks of rows', async () => {
  const columns = 5, right = 4; // a row has 5 numbers: (5 + 1) * 4 = 24 operations
  for (const type of ['f32', 's64']) {
    for (const rows of [...around(833), 1667, 53_333, 53_334]) {
      const nse = rows * columns, text = `ENTRY e { x = ${type}[${nse}] parameter(0)\n i = s32[${nse}] parameter(1)\n p = s32[${rows + 1}] parameter(2)\n y = ${type}[${columns},${right}] parameter(3)
 ROOT r = ${type}[${rows},${right}] custom-call(x, p, i, y), custom_call_target="cpu_csr_sparse_dense_ffi", api_version=API_VERSION_TYPED_FFI, backend_config={} }`;
      const module = client.parseHlo(text), shapes = module.parameters.map(({ shape }) => shape);
      const values = [whole, (i) => (i * 3) % columns, (i) => i * columns, (i) => whole(i, 3)];
      const executable = await client.compile(module);
      const [{ data }] = await executable.execute(shapes.map((shape, k) => filled(shape, values[k])));
      for (let row = 0; row < rows; row++) {
        for (let column = 0; column < right; column++) {
          let sum = 0;
          for (let k = row * columns; k < (row + 1) * columns; k++) sum += whole(k) * whole(((k * 3) % columns) * right + column, 3);
          if (Number(data[row * right + column]) !== sum) assert.fail(`${type}, ${rows} rows: row ${row}, column ${column}`);
        }
      }
      executable.dispose();
      module.dispose();
    }
  }
});

test('decimal numbers around the largest exact power of ten', async () => {
  const numbers = [21, 22, 23, 24, 44, -21, -22, -23, -24, -44].flatMap((power) =>
    ['1', '-7', '9007199254740991', '9007199254740993', '1.5', '123456789.25'].map((digits) => `${digits}e${power}`));
  const module = client.parseHlo(`ENTRY e { ROOT r = f64[${numbers.length}] constant({${numbers.join(', ')}}) }`);
  const [{ data }] = await (await client.compile(module)).execute([]);
  assert.deepEqual([...data], numbers.map(Number));
  const again = client.parseHlo(module.toString()); // as it is written
  assert.deepEqual([...(await (await client.compile(again)).execute([]))[0].data], numbers.map(Number));
  for (const each of [module, again]) each.dispose();
});

describe('quotients, and differences from the largest: how far they are apart', ({ name: what }) => {
  for (const n of around(2, 3, 6, 8)) {
    test(`${n} steps`, async () => {
      const steps = list(n, (i) => ` w${i} = f32[4,20] ${i % 2 ? `select(q, ${i ? `w${i - 1}` : 'p'}, x)` : `multiply(${i ? `w${i - 1}` : 'p'}, two)`}`).join('\n');
      const around0 = list(n, (i) =>
        ` m${i} = f32[4] ${i % 2 ? `maximum(${i ? `m${i - 1}` : 'm'}, low)` : `maximum(low, ${i ? `m${i - 1}` : 'm'})`}`).join('\n');
      const text = (function_) => `${binary('f', 'f32', 'maximum')}ENTRY e { x = f32[4,20] parameter(0)\n z = f32[] constant(-4)\n t = f32[] constant(2)
 two = f32[4,20] broadcast(t), dimensions={}\n q = pred[4,20] compare(x, two), direction=LE\n p = f32[4,20] ceil(x)\n low = f32[4] broadcast(z), dimensions={}
 m = f32[4] reduce(x, z), dimensions={1}, to_apply=f\n${around0}\n b = f32[4,20] broadcast(m${n - 1}), dimensions={0}\n d = f32[4,20] subtract(x, b)
 e = f32[4,20] ${function_}(d)\n${steps}\n v = f32[4,20] divide(w${n - 1}, two)\n ROOT r = (f32[4,20], f32[4,20]) tuple(e, v) }`;
      await agrees(client, text('sign'));
      const quotient = `ENTRY e { x = f32[4,20] parameter(0)\n s = f32[4] parameter(1)\n two = f32[4,20] broadcast(s), dimensions={0}
 q = pred[4,20] compare(x, two), direction=LE\n p = f32[4,20] exponential(x)\n${steps}\n ROOT v = f32[4,20] divide(w${n - 1}, two) }`;
      assert.equal(passesOf(what, quotient).has('logistic'), n <= 3);
      await agrees(client, quotient, whole, {}, { disable: ['logistic'] });
      // The formula is the same if the sign of its operand is not known.
      await agrees(client, text('exponential'), whole, {}, { disable: ['fuse-loops'] });
      await agrees(client, `ENTRY e { x = f32[4,20] parameter(0)\n a = f32[4,20] abs(x)\n${list(n, (i) => ` p${i} = f32[4,20] multiply(${i ? `p${i - 1}` : 'a'}, a)`).join('\n')}
 n = f32[4,20] negate(p${n - 1})\n ROOT e = f32[4,20] exponential(n) }`, whole, {}, { disable: ['fuse-loops'] });
    });
  }
});

/** The rewrites of a file of src/, by the functions that it defines. */
function rewritesOf(file) {
  const source = readFileSync(new URL(`../../src/${file}`, import.meta.url), 'utf8');
  const table = readFileSync(new URL('../../src/rewrite/base/passes.def', import.meta.url), 'utf8');
  return [...table.matchAll(/^PASS(?:_FOR)?\(\w+, \w+, "([\w-]+)", (\w+),/gm)]
    .filter(([, , name]) => new RegExp(`^bool ${name}\\(`, 'm').test(source)).map(([, name]) => name);
}

/** Rewrites that set facts, which no text shows. */
const UNSEEN = ['differences'];

test('each rewrite changes a program of the tests that its numbers name', () => {
  const wrong = OF_REWRITES.filter(({ file, test: { name } }) => {
    const names = rewritesOf(file).filter((pass) => !UNSEEN.includes(pass));
    return names.length && !names.some((pass) => changing.get(name).has(pass));
  });
  assert.deepEqual(wrong.map(({ file, name }) => `${file}: ${name}`), []);
});
