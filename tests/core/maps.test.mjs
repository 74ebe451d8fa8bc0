/**
 * Tests concatenations, padding and gathers as maps in fused loops: the loops that hold them, as HLO text, and
 * the source of each element, in generated loops and in regions. Expected elements follow the specification: of
 * one operand or another, by index; of a gather, by clamped indices.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { agrees } from '../support/as_written.mjs';
import { execute } from '../support/execute.mjs';

const clients = [];
before(async () => {
  for (const threads of [0, 2]) clients.push(await Client.create({ threads }));
});
after(() => clients.forEach((client) => client.dispose()));

/** The entry after fusion. */
function fused(text) {
  const module = clients[0].parseHlo(text);
  try {
    const last = clients[0].passes(module).at(-1)?.text ?? text;
    return last.slice(last.indexOf('ENTRY'));
  } finally {
    module.dispose();
  }
}

const within = (i, low, high) => i >= low && i < high;
const wrap = (i, n) => ((i % n) + n) % n;

/** x is [R,C], y [R,K], z a scalar; shapes in the entry are written with these letters, sums in brackets.
    The element (r, c) of the result, from (x, y, z), functions of two indices and a number. */
const MAPS = {
  'a padded array, multiplied': {
    entry: `p = f32[<R+3>,<C+1>] pad(x, z), padding=1_2x0_1
      ROOT r = f32[<R+3>,<C+1>] add(p, p)`,
    element: ({ x, z, R, C }, r, c) => 2 * (within(r, 1, R + 1) && c < C ? x(r - 1, c) : z),
  },
  'padding that takes rows away, and adds columns': {
    entry: `p = f32[<R-1>,<C+2>] pad(x, z), padding=-2_1x3_-1
      ROOT r = f32[<R-1>,<C+2>] negate(p)`,
    element: ({ x, z, R, C }, r, c) => -(r < R - 2 && within(c, 3, C + 2) ? x(r + 2, c - 3) : z),
  },
  'columns of two arrays, one of them computed': {
    entry: `n = f32[R,K] negate(y)
      k = f32[R,<C+K+C>] concatenate(x, n, x), dimensions={1}
      ROOT r = f32[R,<C+K+C>] add(k, k)`,
    element: ({ x, y, C, K }, r, c) => 2 * (c < C ? x(r, c) : c < C + K ? -y(r, c - C) : x(r, c - C - K)),
  },
  'rows that are written where they belong': {
    entry: `n = f32[R,C] negate(x)
      m = f32[R,C] add(x, x)
      ROOT r = f32[<R+R+R>,C] concatenate(n, x, m), dimensions={0}`,
    element: ({ x, R }, r, c) => (r < R ? -x(r, c) : r < 2 * R ? x(r - R, c) : 2 * x(r - 2 * R, c)),
  },
  'a computed array with a frame': {
    entry: `n = f32[R,C] negate(x)
      ROOT r = f32[<R+2>,<C+2>] pad(n, z), padding=1_1x1_1`,
    element: ({ x, z, R, C }, r, c) => (within(r, 1, R + 1) && within(c, 1, C + 1) ? -x(r - 1, c - 1) : z),
  },
  'padding of a concatenation': {
    entry: `k = f32[R,<C+K>] concatenate(x, y), dimensions={1}
      p = f32[<R+1>,<C+K>] pad(k, z), padding=1_0x2_-2
      ROOT r = f32[<R+1>,<C+K>] negate(p)`,
    element: ({ x, y, z, C }, r, c) => -(r < 1 || c < 2 ? z : c - 2 < C ? x(r - 1, c - 2) : y(r - 1, c - 2 - C)),
  },
  'a concatenation of padded arrays, reversed': {
    entry: `p = f32[R,<C+1>] pad(x, z), padding=0_0x1_0
      q = f32[R,<K+2>] pad(y, z), padding=0_0x0_2
      k = f32[R,<C+K+3>] concatenate(p, q), dimensions={1}
      v = f32[R,<C+K+3>] reverse(k), dimensions={1}
      ROOT r = f32[R,<C+K+3>] negate(v)`,
    element: ({ x, y, z, C, K }, r, c) => {
      const at = C + K + 2 - c;
      return -(at === 0 ? z : at <= C ? x(r, at - 1) : at <= C + K ? y(r, at - C - 1) : z);
    },
  },
  'neighbours around a torus': {
    entry: ['l 1 1', 'g 1 -1', 'u 0 1', 'd 0 -1'].map((roll) => {
      const [name, axis, by] = roll.split(' '), n = axis === '0' ? 'R' : 'C', o = axis === '0' ? 'C' : 'R';
      const shape = (part) => (axis === '0' ? `f32[${part},${o}]` : `f32[${o},${part}]`);
      const slice = (from, to) => (axis === '0' ? `[${from}:${to}], [0:${o}]` : `[0:${o}], [${from}:${to}]`);
      const cut = by === '1' ? `<${n}-1>` : '1', rest = by === '1' ? '1' : `<${n}-1>`;
      return `${name}a = ${shape(rest)} slice(x), slice={${slice(cut, n)}}
      ${name}b = ${shape(cut)} slice(x), slice={${slice('0', cut)}}
      ${name} = f32[R,C] concatenate(${name}a, ${name}b), dimensions={${axis}}\n`;
    }).join('') + `lg = f32[R,C] add(l, g)
      ud = f32[R,C] subtract(u, d)
      ROOT r = f32[R,C] multiply(lg, ud)`,
    element: ({ x, R, C }, r, c) =>
      (x(r, wrap(c - 1, C)) + x(r, wrap(c + 1, C))) * (x(wrap(r - 1, R), c) - x(wrap(r + 1, R), c)),
  },
  'two arrays interleaved': {
    entry: `n = f32[R,C] negate(x)
      a = f32[R,C,1] reshape(x)
      b = f32[R,C,1] reshape(n)
      k = f32[R,C,2] concatenate(a, b), dimensions={2}
      v = f32[R,<C+C>] reshape(k)
      ROOT r = f32[R,<C+C>] add(v, v)`,
    element: ({ x }, r, c) => (c % 2 ? -2 : 2) * x(r, c >> 1),
  },
  'transposed afterwards': {
    entry: `k = f32[<R+R>,C] concatenate(x, x), dimensions={0}
      t = f32[C,<R+R>] transpose(k), dimensions={1,0}
      ROOT r = f32[C,<R+R>] negate(t)`,
    element: ({ x, R }, r, c) => -x(c % R, r),
    sizes: [[3, 4, 2], [6, 9, 5]], /* larger ones are turned by a kernel */
  },
};

const SIZES = [[3, 4, 2], [4, 3, 1], [6, 9, 5], [40, 61, 33], [130, 200, 57]];
const TYPES = {
  f32: Float32Array, f64: Float64Array, s8: Int8Array, u8: Uint8Array, s16: Int16Array, s32: Int32Array, f16: null, bf16: null,
  s64: null, c64: null,
};

/** x, y and z with small whole numbers, which all types hold: as arguments, and as functions. */
function operands(type, [R, C, K]) {
  const value = (i) => (i * 7) % 5;
  const convert = type === 's64' ? (i) => BigInt(value(i)) : type === 'c64' ? (i) => [value(i), 0] : value;
  const array = (rows, columns, phase) =>
    Array.from({ length: rows }, (_, r) => Array.from({ length: columns }, (__, c) => convert(r * columns + c + phase)));
  return {
    args: [array(R, C, 0), array(R, K, 2), convert(4)],
    values: { x: (r, c) => value(r * C + c), y: (r, c) => value(r * K + c + 2), z: value(4), R, C, K },
  };
}

const number = (x) => (Array.isArray(x) ? x[0] : Number(x));

for (const [name, { entry, element, sizes = SIZES }] of Object.entries(MAPS)) {
  test(`fuse-loops: ${name}`, async () => {
    for (const [R, C, K] of sizes) {
      for (const type of Object.keys(TYPES)) {
        if (R > 40 && type !== 'f32' && type !== 's8') continue;
        const written = `x = f32[R,C] parameter(0)\n y = f32[R,K] parameter(1)\n z = f32[] parameter(2)\n ${entry}`
          .replace(/<([^>]*)>/g, (_, sum) => String(Function('R', 'C', 'K', `return ${sum}`)(R, C, K)))
          .replace(/(?<=[[,:x])[RCK](?=[\],:])/g, (letter) => String({ R, C, K }[letter]))
          .replaceAll('f32', type);
        const text = `HloModule m\nENTRY e {\n ${written}\n}`;
        const main = fused(text);
        assert.doesNotMatch(main, / (concatenate|pad)\(/, main);
        assert.equal(main.match(/ fusion\(/g).length, 1, main);
        const { args, values } = operands(type, [R, C, K]);
        for (const client of clients) {
          const [got] = await execute(client, text, args);
          got.forEach((row, r) => row.forEach((x, c) => {
            let wanted = element(values, r, c);
            if (type === 'u8') wanted &= 255;
            assert.equal(number(x) + 0, wanted + 0, `${type}[${R},${C}] at ${r}, ${c}`);
          }));
        }
      }
    }
  });
}

test('fuse-loops: a value that both parts of a concatenation need is computed once', () => {
  const main = fused(`HloModule m\nENTRY e {
    x = f32[1000] parameter(0)
    y = f32[1000] exponential(x)
    a = f32[1000] negate(y)
    ROOT k = f32[2000] concatenate(y, a), dimensions={0}\n}`);
  assert.match(main, /f32\[1000\].* fusion\(/, main); /* the function, and not twice in one loop */
});

test('fuse-loops: a function that is read at two places is computed once', () => {
  const main = fused(`HloModule m\nENTRY e {
    x = f32[1000] parameter(0)
    y = f32[1000] exponential(x)
    a = f32[999] slice(y), slice={[1:1000]}
    b = f32[999] slice(y), slice={[0:999]}
    ROOT k = f32[999] subtract(a, b)\n}`);
  assert.equal(main.match(/ fusion\(/g).length, 2, main);
});

test('fuse-loops: more parts than are worth a loop each stay a copy', async () => {
  const parts = Array.from({ length: 40 }, (_, i) => `n${i} = f32[1,50] negate(p${i})`).join('\n');
  const text = `HloModule m\nENTRY e {\n x = f32[40,50] parameter(0)
    ${Array.from({ length: 40 }, (_, i) => `p${i} = f32[1,50] slice(x), slice={[${39 - i}:${40 - i}], [0:50]}`).join('\n')}
    ${parts}
    ROOT k = f32[40,50] concatenate(${Array.from({ length: 40 }, (_, i) => `n${i}`).join(', ')}), dimensions={0}\n}`;
  assert.match(fused(text), / concatenate\(/);
  const x = Array.from({ length: 40 }, (_, r) => Array.from({ length: 50 }, (__, c) => r + c));
  const [got] = await execute(clients[0], text, [x]);
  got.forEach((row, r) => row.forEach((value, c) => assert.equal(value, -x[39 - r][c])));
});

test('fuse-loops: between elements padding is a kernel\'s', () => assert.match(fused(`HloModule m\nENTRY e {
    x = f32[100] parameter(0)
    z = f32[] constant(0)
    n = f32[100] negate(x)
    ROOT p = f32[199] pad(n, z), padding=0_0_1\n}`), / pad\(/));

test('fuse-loops: an operand of a reduction is not read in parts', async () => {
  const text = `HloModule m\nadd {\n a = u8[] parameter(0)\n b = u8[] parameter(1)\n ROOT r = u8[] add(a, b)\n}\nENTRY e {
    x = u8[3,1] parameter(0)
    z = u8[] constant(0)
    ROOT w = u8[4,3] reduce-window(x, z), window={size=1x1 pad=1_0x2_0}, to_apply=add\n}`;
  for (const client of clients) {
    assert.deepEqual(await execute(client, text, [[[7], [8], [9]]]), [[[0, 0, 0], [0, 0, 7], [0, 0, 8], [0, 0, 9]]]);
  }
});

/* ---- Gathers ---- */

/** x is f32[N,W]; i and j are s32[M], some of them out of bounds. Element (r, c), of x's and of indices
    clamped to `most`; loops in the entry. */
const GATHERED = {
  'rows, added': {
    entry: `g = f32[M,W] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,W}
      ROOT r = f32[M,W] add(g, g)`,
    element: ({ x, i, N }, r, c) => 2 * x(i(r, N - 1), c),
  },
  'parts of two rows, at an index that is computed for each': {
    entry: `n = I[M] add(i, j)
      g = f32[2,M,2] gather(x, n), offset_dims={0,2}, collapsed_slice_dims={}, start_index_map={0}, index_vector_dim=1, slice_sizes={2,2}
      k = f32[1,M,2] slice(g), slice={[1:2], [0:M], [0:2]}
      h = f32[M,2] reshape(k)
      ROOT r = f32[M,2] negate(h)`,
    element: ({ x, both, N }, r, c) => -x(both(r, N - 2) + 1, c),
    loops: [1, 2],
  },
  'single elements, by two indices': {
    entry: `a = I[M,1] reshape(i)
      b = I[M,1] reshape(j)
      v = I[M,2] concatenate(b, a), dimensions={1}
      g = f32[M] gather(x, v), offset_dims={}, collapsed_slice_dims={0,1}, start_index_map={1,0}, index_vector_dim=1, slice_sizes={1,1}
      n = f32[M] negate(g)
      ROOT r = f32[M,1] reshape(n)`,
    element: ({ x, i, j, N, W }, r) => -x(i(r, N - 1), j(r, W - 1)),
  },
  'an element of each row': {
    entry: `t = f32[M,W] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,W}
      y = f32[M,W] copy(t)
      g = f32[M] gather(y, j), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, slice_sizes={1,1}
      n = f32[M] negate(g)
      ROOT r = f32[M,1] reshape(n)`,
    element: ({ x, i, j, N, W }, r) => -x(i(r, N - 1), j(r, W - 1)),
    keeps: true,
  },
  'squared distances': {
    entry: `g = f32[M,W] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,W}
      h = f32[M,W] gather(x, j), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,W}
      d = f32[M,W] subtract(g, h)
      q = f32[M,W] multiply(d, d)
      z = f32[] constant(0)
      s = f32[M] reduce(q, z), dimensions={1}, to_apply=add
      ROOT r = f32[M,1] reshape(s)`,
    element: ({ x, i, j, N, W }, r) =>
      Array.from({ length: W }, (_, c) => (x(i(r, N - 1), c) - x(j(r, N - 1), c)) ** 2).reduce((a, b) => a + b),
    only: ['f32', 'f64', 's32', 'f16'],
  },
};
const INDICES = { s32: Number, s64: BigInt, s8: Number, u8: Number, u16: Number, u64: BigInt, u32: Number };

for (const [name, { entry, element, loops = [1], keeps, only }] of Object.entries(GATHERED)) {
  test(`fuse-loops: gathered ${name}`, async () => {
    for (const [N, W, M] of [[5, 3, 4], [30, 4, 100], [100, 37, 61]]) {
      for (const [type, index] of [
        ...Object.keys(INDICES).map((t) => ['f32', t]),
        ...['f64', 's8', 'u8', 'f16', 'bf16', 's64', 's16', 's32'].map((t) => [t, 's32']),
      ]) {
        if (only && !only.includes(type)) continue;
        const written = `x = f32[N,W] parameter(0)\n i = I[M] parameter(1)\n j = I[M] parameter(2)\n ${entry}`
          .replace(/(?<=[[,:{])[NWM](?=[\],:}])/g, (letter) => String({ N, W, M }[letter]))
          .replaceAll('I[', `${index}[`).replace(/\bf32\b/g, type);
        const text = `HloModule m\nadd {\n a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT r = ${type}[] add(a, b)\n}\nENTRY e {\n ${written}\n}`;
        const main = fused(text);
        assert.equal(/ gather\(/.test(main), Boolean(keeps), main);
        assert.ok(loops.includes(main.match(/ fusion\(/g).length), main);
        const signed = index.startsWith('s');
        const value = (k) => ((k * 7) % 5) - (type === 'u8' ? 0 : 1);
        const at = (r, by) => ((r * by) % 61) - (signed ? 9 : 0);
        const wide = type === 's64' ? BigInt : Number;
        const args = [
          Array.from({ length: N }, (_, r) => Array.from({ length: W }, (__, c) => wide(value(r * W + c)))),
          ...[17, 23].map((by) => Array.from({ length: M }, (_, r) => INDICES[index](at(r, by)))),
        ];
        const clamp = (k, most) => Math.min(Math.max(k, 0), most);
        const values = {
          x: (r, c) => value(r * W + c), N, W, M,
          i: (r, most) => clamp(at(r, 17), most), j: (r, most) => clamp(at(r, 23), most),
          both: (r, most) => clamp(at(r, 17) + at(r, 23), most),
        };
        for (const client of clients) {
          const [got] = await execute(client, text, args);
          got.forEach((row, r) => row.forEach((x, c) => {
            let wanted = element(values, r, c);
            if (type === 'u8') wanted &= 255;
            assert.equal(number(x) + 0, wanted + 0, `${type}[${N},${W}] by ${index} at ${r}, ${c}`);
          }));
        }
      }
    }
  });
}

test('fuse-loops: a gather from an array that is updated comes before, so that the update is in place', () => assert.match(fused(`HloModule m
add {\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b)\n}
ENTRY e {
  x = f32[100,8] parameter(0)
  i = s32[10] parameter(1)
  g = f32[10,8] gather(x, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}
  n = f32[10,8] negate(g)
  ROOT s = f32[100,8] scatter(x, i, n), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add
}`), / gather\(/));

test('concatenations and padding that reshapes fold into rows, cut inside of a row or between rows', async () => {
  for (const [m, n] of [[3, 4], [4, 3], [2, 6], [5, 7]]) {
    for (let a = 1; a < m * n; a++) {
      const rest = m * n - a;
      await agrees(clients[0], `ENTRY e { x = f32[${a}] parameter(0)\n y = f32[${rest}] parameter(1)\n v = f32[${n}] parameter(2)\n z = f32[] constant(-9)
 b = f32[${m},${n}] broadcast(v), dimensions={1}\n c = f32[${m * n}] concatenate(x, y), dimensions={0}\n d = f32[${m},${n}] reshape(c)\n e = f32[${m},${n}] subtract(d, b)
 p = f32[${m * n}] pad(x, z), padding=${rest}_0\n q = f32[${m},${n}] reshape(p)\n f = f32[${m},${n}] multiply(q, b)
 g = f32[${m * n}] reverse(c), dimensions={0}\n h = f32[${m},${n}] reshape(g)\n k = f32[${m},${n}] add(h, b)
 ROOT r = (f32[${m},${n}], f32[${m},${n}], f32[${m},${n}]) tuple(e, f, k) }`, (i, k) => i + 100 * k);
    }
  }
});

test('slices of reshaped arrays that begin inside of a row and end in the next one', async () => {
  const OF_ROWS = {
    'a transpose': 'm = f32[3,4] transpose(w), dimensions={1,0}', 'a reversal': 'm = f32[3,4] reverse(x), dimensions={1}',
    'a broadcast': 'm = f32[3,4] broadcast(v), dimensions={1}', 'a broadcast along rows': 'm = f32[3,4] broadcast(u), dimensions={0}',
    padding: 'm = f32[3,4] pad(y, z), padding=0_0x1_0', 'a concatenation': 'm = f32[3,4] concatenate(y, t), dimensions={1}',
    'a slice': 'm = f32[3,4] slice(b), slice={[1:4],[0:8:2]}', 'an iota': 'i = s32[3,4] iota(), iota_dimension=1\n m = f32[3,4] convert(i)',
  };
  for (const entry of Object.values(OF_ROWS)) {
    for (let size = 1; size <= 4; size++) {
      for (let from = 0; from + size <= 12; from++) {
        for (const [first, last, step, count] of [[from, from + size, 1, size], [from % 2, 12, 2, 6]]) {
          await agrees(clients[0], `ENTRY e { x = f32[3,4] parameter(0)\n w = f32[4,3] parameter(1)\n v = f32[4] parameter(2)\n u = f32[3] parameter(3)
 y = f32[3,3] parameter(4)\n t = f32[3,1] parameter(5)\n b = f32[5,8] parameter(6)\n q = f32[${count}] parameter(7)\n z = f32[] constant(-9)\n ${entry}
 n = f32[3,4] negate(m)\n r = f32[12] reshape(n)\n s = f32[${count}] slice(r), slice={[${first}:${last}:${step}]}\n k = f32[${count}] reverse(s), dimensions={0}
 a = f32[${count}] add(s, q)\n c = f32[${count}] add(k, q)\n ROOT p = (f32[${count}], f32[${count}]) tuple(a, c) }`, (i, k) => i + 100 * k);
        }
      }
    }
  }
});
