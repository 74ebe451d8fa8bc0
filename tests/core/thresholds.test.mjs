/**
 * Tests the thresholds that choose between implementations on both sides: n - 1, n, n + 1 and 2n, for each class of
 * element types, against the unoptimised programs. Sums are of small whole numbers, so that every order is exact.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { agrees, filled, whole } from '../support/as_written.mjs';
import { around, binary, less, literal, Parts } from '../support/parts.mjs';

const CLASSES = ['f32', 'f64', 'bf16', 'f16', 'f8e5m2', 's8', 'u16', 's32', 's64', 'c64', 'pred'];
const REAL = CLASSES.filter((type) => !['c64', 'pred'].includes(type));

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

/** Tests of a class of types: `add(parts, type, n)` for each of the numbers. */
function each(what, types, numbers, add, applied = () => '', value = whole) {
  test(what, async () => {
    for (const type of types) {
      const parts = new Parts();
      for (const n of numbers) add(parts, type, n);
      await agrees(client, parts.text(applied(type)), value).catch((error) => {
        error.message += ` (${type})`;
        throw error;
      });
    }
  });
}

const plus = (type) => (type === 'pred' ? 'xor' : 'add');

each('rows of element-wise loops: lanes, wide lanes, unrolled, blocks of short rows', CLASSES, around(4, 8, 16, 32, 64, 128, 256),
  (parts, type, n) => {
  for (const rows of [1, 3, 70]) {
    const shape = `${type}[${rows},${n}]`, x = parts.parameter(shape), line = parts.parameter(`${type}[${n}]`);
    const b = parts.add(shape, `broadcast(${line}), dimensions={1}`), s = parts.add(shape, `${plus(type)}(${x}, ${b})`);
    parts.result(shape, parts.add(shape, type === 'pred' ? `not(${s})` : `negate(${s})`));
  }
});

each('bodies of loops and reductions, by their number of operations', ['f32'], around(4, 8, 24, 30, 160), (parts, type, n) => {
  const shape = `${type}[5,133]`, x = parts.parameter(shape), y = parts.parameter(shape);
  const z = parts.add(`${type}[]`, 'constant(0)');
  /** Different chains, since equal ones would be computed once, and reductions would only read them. */
  const chain = (operation, first, other) => {
    let value = first;
    for (let i = 0; i < n; i++) value = parts.add(shape, `${operation}(${value}, ${other})`);
    return value;
  };
  parts.result(shape, chain('add', x, y));
  parts.result(`${type}[5]`, parts.add(`${type}[5]`, `reduce(${chain('subtract', x, y)}, ${z}), dimensions={1}, to_apply=f`));
  parts.result(`${type}[133]`, parts.add(`${type}[133]`, `reduce(${chain('subtract', y, x)}, ${z}), dimensions={0}, to_apply=f`));
}, (type) => binary('f', type, 'add'));

each('columns of element-wise loops', ['f32', 'f64', 's8', 'bf16', 'c64'], around(3, 4, 8), (parts, type, n) => {
  for (const rows of [7, 8, 9, 64, 127, 129, 2047, 2049]) {
    const shape = `${type}[${rows},${n}]`, x = parts.parameter(shape), line = parts.parameter(`${type}[${rows}]`);
    const b = parts.add(shape, `broadcast(${line}), dimensions={0}`);
    parts.result(shape, parts.add(shape, `add(${x}, ${b})`));
  }
});

for (const operation of ['add', 'maximum']) {
  each(`reductions by ${operation} along rows and down columns`, REAL, around(4, 8, 12, 24, 32, 64, 256), (parts, type, n) => {
    const z = parts.add(`${type}[]`, `constant(${operation === 'add' ? 0 : type[0] === 'u' ? 0 : -100})`);
    for (const other of [1, 3, 4, 5, 17]) {
      const x = parts.parameter(`${type}[${other},${n}]`);
      parts.result(`${type}[${other}]`, parts.add(`${type}[${other}]`, `reduce(${x}, ${z}), dimensions={1}, to_apply=f`));
      const y = parts.parameter(`${type}[${n},${other}]`);
      parts.result(`${type}[${other}]`, parts.add(`${type}[${other}]`, `reduce(${y}, ${z}), dimensions={0}, to_apply=f`));
    }
  }, (type) => binary('f', type, operation), (i) => (i % 32 === 5 ? 1 : i % 64 === 40 ? -1 : 0));
}

each('reductions that are cut: long ones, and high columns', ['f32', 's32', 'bf16', 's8', 'f64'],
  [2 ** 13, 2 ** 15, 2 ** 17].flatMap((n) => [n - 1, n, n + 1]), (parts, type, n) => {
  const z = parts.add(`${type}[]`, 'constant(0)'), x = parts.parameter(`${type}[${n}]`), y = parts.parameter(`${type}[2,${n}]`);
  parts.result(`${type}[]`, parts.add(`${type}[]`, `reduce(${x}, ${z}), dimensions={0}, to_apply=f`));
  parts.result(`${type}[2]`, parts.add(`${type}[2]`, `reduce(${y}, ${z}), dimensions={1}, to_apply=f`));
}, (type) => binary('f', type, 'add'), (i) => (i % 4096 === 9 ? 1 : 0));

test('high columns: 255 to 257 rows of 63 to 65 columns and of 2 MB', async () => {
  for (const [rows, columns] of [[255, 2100], [256, 2049], [257, 2048], [8400, 63], [8200, 64], [8100, 65]]) {
    await agrees(client, `HloModule m\n${binary('f', 'f32', 'add')}ENTRY e { x = f32[${rows},${columns}] parameter(0)\n z = f32[] constant(0)
 ROOT r = f32[${columns}] reduce(x, z), dimensions={0}, to_apply=f }`);
  }
});

describe('how much goes into a loop', () => {
  for (const n of around(48, 24)) {
    test(`${n} inputs, and as many results`, async () => {
      const parts = new Parts(), shape = 'f32[300]';
      const inputs = Array.from({ length: n }, () => parts.parameter(shape));
      let sum = inputs[0];
      for (const x of inputs.slice(1)) {
        sum = parts.add(shape, `add(${sum}, ${x})`);
        parts.result(shape, sum);
      }
      if (n === 1) parts.result(shape, sum);
      await agrees(client, parts.text());
    });
  }

  for (const n of around(16, 512, 1024)) {
    test(`a chain of ${n} operations`, async () => {
      const parts = new Parts(), shape = 's32[37]', x = parts.parameter(shape), y = parts.parameter(shape);
      let value = x;
      for (let i = 0; i < n; i++) value = parts.add(shape, i % 3 ? `subtract(${y}, ${value})` : `multiply(${value}, ${y})`);
      parts.result(shape, value);
      await agrees(client, parts.text());
    });
  }

  for (const n of around(4, 8, 16)) {
    test(`${n} pieces side by side, and padded, and windows over the edge`, async () => {
      const parts = new Parts(), x = parts.parameter(`f32[${n},6]`), z = parts.add('f32[]', 'constant(0)');
      const pieces = Array.from({ length: n }, (_, i) => {
        const row = parts.add('f32[1,6]', `slice(${x}), slice={[${n - 1 - i}:${n - i}],[0:6]}`);
        return parts.add('f32[1,6]', i % 2 ? `negate(${row})` : `add(${row}, ${row})`);
      });
      const all = pieces.length > 1 ? parts.add(`f32[${n},6]`, `concatenate(${pieces.join(', ')}), dimensions={0}`) : pieces[0];
      const twice = parts.add(`f32[${n},6]`, `multiply(${all}, ${x})`);
      parts.result(`f32[${n},6]`, twice);
      parts.result(`f32[${n + 3},6]`, parts.add(`f32[${n + 3},6]`, `pad(${twice}, ${z}), padding=1_2x0_0`));
      parts.result(`f32[${n},6]`, parts.add(`f32[${n},6]`,
        `reduce-window(${twice}, ${z}), window={size=${n}x3 pad=${n >> 1}_${(n - 1) >> 1}x1_1}, to_apply=f`));
      await agrees(client, parts.text(binary('f', 'f32', 'add')));
    });
  }

  for (const rank of [4, 5, 8, 9, 10, 11, 12]) {
    test(`${rank} dimensions: starts of slices, transposes, reductions`, async () => {
      const dims = Array.from({ length: rank }, (_, d) => (d % 4 === 0 ? 3 : d % 4 === 1 ? 2 : 1)), shape = `f32[${dims}]`;
      const part = dims.map((size) => Math.max(1, size - 1)), back = dims.map((_, d) => rank - 1 - d), reversed = [...dims].reverse();
      const parts = new Parts(), x = parts.parameter(shape), z = parts.add('f32[]', 'constant(0)');
      const starts = dims.map(() => parts.parameter('s32[]'));
      const n = parts.add(shape, `negate(${x})`);
      parts.result(`f32[${part}]`, parts.add(`f32[${part}]`, `dynamic-slice(${n}, ${starts.join(', ')}), dynamic_slice_sizes={${part}}`));
      parts.result(`f32[${reversed}]`, parts.add(`f32[${reversed}]`, `transpose(${n}), dimensions={${back}}`));
      parts.result(`f32[${dims.slice(1)}]`, parts.add(`f32[${dims.slice(1)}]`, `reduce(${n}, ${z}), dimensions={0}, to_apply=f`));
      parts.result('f32[]', parts.add('f32[]', `reduce(${n}, ${z}), dimensions={${dims.map((_, d) => d)}}, to_apply=f`));
      await agrees(client, parts.text(binary('f', 'f32', 'add')));
    });
  }
});

each('transposes around tiles and short rows', ['f32', 's8', 'bf16', 'f64', 'c64'], around(3, 4, 8, 16, 64), (parts, type, n) => {
  for (const m of [3, 8, 65, 600]) {
    const x = parts.parameter(`${type}[${m},${n}]`), t = parts.add(`${type}[${n},${m}]`, `transpose(${x}), dimensions={1,0}`);
    parts.result(`${type}[${n},${m}]`, parts.add(`${type}[${n},${m}]`, `add(${t}, ${t})`));
    parts.result(`${type}[${n},${m}]`, t);
  }
});

each('cumulative sums around blocks and calls', ['f32', 's32', 'bf16', 's64'], around(15, 16, 32), (parts, type, n) => {
  for (const other of [1, 3, 16, 17]) {
    const z = parts.add(`${type}[]`, 'constant(0)'), x = parts.parameter(`${type}[${n},${other}]`);
    parts.result(`${type}[${n},${other}]`,
      parts.add(`${type}[${n},${other}]`, `reduce-window(${x}, ${z}), window={size=${n}x1 pad=${n - 1}_0x0_0}, to_apply=f`));
    parts.result(`${type}[${n},${other}]`,
      parts.add(`${type}[${n},${other}]`, `reduce-window(${x}, ${z}), window={size=1x${other} pad=0_0x0_${other - 1}}, to_apply=f`));
  }
}, (type) => binary('f', type, 'add'));

each('sorts of lines around insertion and ranges', ['f32', 's8', 'u16', 's64', 'bf16', 'f64'], [...around(8, 80), 65535, 65536, 65537],
  (parts, type, n) => {
  const x = parts.parameter(`${type}[${n > 1000 ? 1 : 3},${n}]`), shape = `${type}[${n > 1000 ? 1 : 3},${n}]`;
  parts.result(shape, parts.add(shape, `sort(${x}), dimensions={1}, to_apply=less`));
}, less, (i) => ((i * 7919) % 1009) % 97 - 48);

test('largest ones of a line: around short lists, large lists and ranges', async () => {
  for (const [n, ks] of [[200, around(24, 48)], [2100, around(64, 512, 1024)], [131072, [1, 47, 49, 1025]], [131073, [64, 2049]]]) {
    for (const k of ks) {
      await agrees(client, `HloModule m\nENTRY e { x = f32[2,${n}] parameter(0)\n ROOT t = (f32[2,${k}], s32[2,${k}]) topk(x), k=${k}, largest=true }`, (i) => (i * 7919) % 65521);
    }
  }
});

each('look-ups and scatters around chunks', ['f32', 's8', 'f64'], [1, 3, 4, 255, 256, 257, 65535, 65536, 65537], (parts, type, n) => {
  for (const row of n > 1000 ? [1] : [1, 5, 256]) {
    const x = parts.parameter(`${type}[40,${row}]`), i = parts.parameter(`s32[${n},1]`), u = parts.parameter(`${type}[${n},${row}]`);
    parts.result(`${type}[${n},${row}]`,
      parts.add(`${type}[${n},${row}]`,
        `gather(${x}, ${i}), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,${row}}`));
    parts.result(`${type}[40,${row}]`,
      parts.add(`${type}[40,${row}]`,
        `scatter(${x}, ${i}, ${u}), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f`));
  }
}, (type) => binary('f', type, 'add'), (i, k, type) => (type === 's32' ? (i * 7919) % 43 - 1 : i % 4096 === 9 ? 1 : 0));

each('random bits around blocks', ['u32', 'u64', 'u8'], around(4, 8, 128, 4096), (parts, type, n) => {
  for (const algorithm of ['rng_default', 'rng_three_fry', 'rng_philox']) {
    const state = parts.parameter('u64[2]'), t = parts.add(`(u64[2], ${type}[${n}])`, `rng-bit-generator(${state}), algorithm=${algorithm}`);
    parts.result(`${type}[${n}]`, parts.add(`${type}[${n}]`, `get-tuple-element(${t}), index=1`));
    parts.result('u64[2]', parts.add('u64[2]', `get-tuple-element(${t}), index=0`));
  }
});

for (const turns of around(8, 16)) {
  test(`a loop of ${turns} turns`, async () => agrees(client, `HloModule m
more { s = (s32[], f32[40]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n n = s32[] constant(${turns})\n ROOT r = pred[] compare(i, n), direction=LT }
turn { s = (s32[], f32[40]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n x = f32[40] get-tuple-element(s), index=1
 one = s32[] constant(1)\n j = s32[] add(i, one)\n f = f32[] convert(j)\n b = f32[40] broadcast(f), dimensions={}\n y = f32[40] subtract(b, x)\n ROOT t = (s32[], f32[40]) tuple(j, y) }
ENTRY e { x = f32[40] parameter(0)\n z = s32[] constant(0)\n t = (s32[], f32[40]) tuple(z, x)\n w = (s32[], f32[40]) while(t), condition=more, body=turn
 ROOT r = f32[40] get-tuple-element(w), index=1 }`));
}

describe('products', () => {
  const SIZES = [...around(3, 4, 6, 8, 16, 32, 64, 128, 256, 512), 1023, 1024, 1025, 16383, 16384, 16385];
  for (const [at, fixed] of [[0, [5, 9]], [1, [5, 9]], [2, [5, 9]], [0, [33, 22]], [2, [22, 33]], [0, [1, 7]], [2, [7, 1]]]) {
    test(`of [m,k] and [k,n] by sums: ${'mkn'[at]}, with ${fixed} beside each`, async () => {
      for (const type of ['f32', 'f64', 'bf16', 'f16', 's8', 's32', 's64', 'c64', 'u8']) {
        for (const sizes of [SIZES.filter((n) => n <= 128), SIZES.filter((n) => n > 128 && n * fixed[0] * fixed[1] < 160_000)]) {
          const parts = new Parts();
          const pairs = sizes.map((n) => {
            const [m, k, columns] = [...fixed.slice(0, at), n, ...fixed.slice(at)], cube = `${type}[${m},${columns},${k}]`,
              plane = `${type}[${m},${columns}]`;
            const x = parts.parameter(`${type}[${m},${k}]`), w = parts.parameter(`${type}[${k},${columns}]`),
              z = parts.add(`${type}[]`, `constant(${literal(type, 0)})`);
            const dot = parts.add(plane, `dot(${x}, ${w}), lhs_contracting_dims={1}, rhs_contracting_dims={0}`);
            const xb = parts.add(cube, `broadcast(${x}), dimensions={0,2}`), wb = parts.add(cube, `broadcast(${w}), dimensions={2,1}`);
            const sum = parts.add(plane, `reduce(${parts.add(cube, `multiply(${xb}, ${wb})`)}, ${z}), dimensions={2}, to_apply=f`);
            parts.result(plane, dot);
            parts.result(plane, sum);
            return [m, k, columns];
          });
          const module = client.parseHlo(parts.text(binary('f', type, 'add'))), executable = await client.compile(module);
          const sign = (i, k) => ((i * 7 + (i >> 3) + k) % 5 < 2 ? -1 : 1); // no product is a zero, which may have either sign
          const results = await executable.execute(module.parameters.map(({ shape }, k) => filled(shape, (i) => sign(i, k))));
          pairs.forEach((sizes, i) => assert.deepEqual(results[2 * i].data, results[2 * i + 1].data, `${type} ${sizes}`));
          executable.dispose();
          module.dispose();
        }
      }
    });
  }
});

describe('a depth of two axes', () => {
  /** Weights of [heads, columns, depth] or [heads, 1 of 2, depth, columns]: the heads' matrices are added up. */
  for (const type of ['f32', 'f64', 'bf16', 'f16', 'f8e4m3fn', 's8', 'u8', 's32', 's64', 'c64']) {
    test(type, async () => {
      const parts = new Parts(), to = { s8: 's32', u8: 'u32', f8e4m3fn: 'f32' }[type] ?? type;
      for (const [heads, rows, depth, columns] of [[2, 1, 31, 40], [2, 1, 32, 40], [3, 2, 33, 40], [16, 1, 64, 300], [5, 8, 129, 70], [2, 3, 700, 33],
        [70, 1, 40, 17], [4, 4, 600, 1], [3, 17, 64, 90], [40, 1, 512, 40]]) {
        if (type === 'f16' && heads * depth > 2048) continue;
        const out = `${to}[${rows},${columns}]`, x = parts.parameter(`${type}[${rows},${heads},${depth}]`);
        const along = parts.parameter(`${type}[${heads},${columns},${depth}]`), w = parts.parameter(`${type}[${heads},2,${depth},${columns}]`);
        const slice = parts.add(`${type}[${heads},1,${depth},${columns}]`, `slice(${w}), slice={[0:${heads}], [1:2], [0:${depth}], [0:${columns}]}`);
        const across = parts.add(`${type}[${heads},${depth},${columns}]`, `reshape(${slice})`);
        parts.result(out, parts.add(out, `dot(${x}, ${along}), lhs_contracting_dims={1,2}, rhs_contracting_dims={0,2}`));
        parts.result(out, parts.add(out, `dot(${x}, ${along}), lhs_contracting_dims={2,1}, rhs_contracting_dims={2,0}`));
        const turned = `${to}[${columns},${rows}]`;
        parts.result(turned, parts.add(turned, `dot(${along}, ${x}), lhs_contracting_dims={0,2}, rhs_contracting_dims={1,2}`));
        parts.result(out, parts.add(out, `dot(${x}, ${across}), lhs_contracting_dims={1,2}, rhs_contracting_dims={0,1}`));
      }
      await agrees(client, parts.text(''), (i) => (i * 7 + (i >> 3)) % 3 - 1);
    });
  }
});

test('convolutions of long windows of single features', async () => {
  for (const type of ['f32', 's8', 'f64']) {
    for (const [high, wide] of [[1, 63], [1, 64], [1, 65], [1, 255], [1, 256], [1, 257], [1, 513], [16, 16], [17, 16], [65, 4], [130, 2]]) {
      await agrees(client, `HloModule m\nENTRY e { x = ${type}[2,${high + 1},${wide + 4},5] parameter(0)\n w = ${type}[${high},${wide},1,5] parameter(1)
 ROOT c = ${type}[2,2,5,5] convolution(x, w), window={size=${high}x${wide}}, dim_labels=b01f_01io->b01f, feature_group_count=5 }`,
      (i) => ((i * 7) % 5 === 0 ? 1 - (i % 2) * 2 : 0));
    }
  }
});

test('convolutions around vectors, groups and features', async () => {
  for (const type of ['f32', 'bf16', 's8', 'f64']) {
    for (const [inputs, outputs, groups] of [[3, 4, 1], [4, 5, 1], [8, 8, 1], [15, 16, 1], [16, 16, 1], [17, 15, 1], [3, 3, 3],
      [4, 4, 4], [5, 5, 5], [16, 16, 16], [8, 8, 2], [129, 129, 129]]) {
      for (const [window, pad] of [[1, 0], [3, 1], [2, 1]]) {
        const size = 9, out = size + 2 * pad - window + 1;
        await agrees(client, `HloModule m\nENTRY e { x = ${type}[2,${size},${size},${inputs}] parameter(0)\n w = ${type}[${window},${window},${inputs / groups},${outputs}] parameter(1)
 ROOT c = ${type}[2,${out},${out},${outputs}] convolution(x, w), window={size=${window}x${window} pad=${pad}_${pad}x${pad}_${pad}}, dim_labels=b01f_01io->b01f, feature_group_count=${groups} }`,
        (i) => ((i * 7) % 5 === 0 ? 1 - (i % 2) * 2 : 0));
      }
    }
  }
});

test('groups of rows: softmaxes around 512 kB and 16 blocks', async () => {
  for (const [rows, columns] of [[1023, 128], [1024, 128], [1025, 128], [4096, 33], [15, 9000], [17, 9000]]) {
    await agrees(client, `HloModule m\n${binary('max', 'f32', 'maximum')}${binary('sum', 'f32', 'add')}ENTRY e { x = f32[${rows},${columns}] parameter(0)
 y = f32[${rows},${columns}] parameter(1)\n lo = f32[] constant(-inf)\n z = f32[] constant(0)\n s = f32[${rows},${columns}] multiply(x, y)
 m = f32[${rows}] reduce(s, lo), dimensions={1}, to_apply=max\n b = f32[${rows},${columns}] broadcast(m), dimensions={0}\n d = f32[${rows},${columns}] subtract(b, s)
 q = f32[${rows}] reduce(d, z), dimensions={1}, to_apply=sum\n c = f32[${rows},${columns}] broadcast(q), dimensions={0}\n ROOT r = f32[${rows},${columns}] subtract(d, c) }`);
  }
});
