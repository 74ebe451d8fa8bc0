/**
 * Products with matrices in few bytes: a dot widens or dequantises its matrix as it reads it, and no array of the matrix's
 * size is written. Operands are whole numbers and scales powers of two, so the sums are exact in any order.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';

import { Client, Literal } from '../../bindings/index.mjs';

const client = await Client.create({ threads: 0 });
after(() => client.dispose());

const SIGNED = ['s8', 's4', 'bf16', 'f16', 'f8e4m3fn', 'f8e5m2'], TYPES = [...SIGNED, 'u8', 'u4'];

/** Lines that dequantise a matrix of [rows, columns]: in blocks of `block` of the last dimension, or of the first. */
const SCALES = {
  none: () => ['m = f32[R,C] copy(c)', '1'],
  tensor: () => ['b = f32[R,C] broadcast(s), dimensions={}\n m = f32[R,C] multiply(c, b)', ''],
  row: () => ['b = f32[R,C] broadcast(s), dimensions={0}\n m = f32[R,C] multiply(c, b)', 'R'],
  column: () => ['b = f32[R,C] broadcast(s), dimensions={1}\n m = f32[R,C] multiply(c, b)', 'C'],
  along: (block, [, columns]) => [`d = f32[R,${columns / block},${block}] reshape(c)
    b = f32[R,${columns / block},${block}] broadcast(s), dimensions={0,1}
    t = f32[R,${columns / block},${block}] multiply(d, b)
    m = f32[R,C] reshape(t)`, `R,${columns / block}`],
  across: (block, [rows]) => [`d = f32[${rows / block},${block},C] reshape(c)
    b = f32[${rows / block},${block},C] broadcast(s), dimensions={0,2}
    t = f32[${rows / block},${block},C] multiply(d, b)
    m = f32[R,C] reshape(t)`, `${rows / block},C`],
};

/** x: f32[vectors, depth]; w: [depth, columns], or turned. */
function text(type, vectors, depth, columns, { turned = false, scale = 'none', block = 1, zero = 0, scaleType = 'f32' } = {}) {
  const dims = turned ? [columns, depth] : [depth, columns];
  const [lines, shape] = SCALES[scale](block, dims);
  const given = shape === '' || shape !== '1';
  const named = (part) => part.replace(/\bR\b/g, dims[0]).replace(/\bC\b/g, dims[1]);
  return `HloModule m
ENTRY e { x = f32[${vectors},${depth}] parameter(0)
    w = ${type}[${dims}] parameter(1)
    ${given ? `p = ${scaleType}[${named(shape)}] parameter(2)\n s = f32[${named(shape)}] convert(p)` : ''}
    v = f32[${dims}] convert(w)
    zero = f32[] constant(${zero})
    zeros = f32[${dims}] broadcast(zero), dimensions={}
    c = f32[${dims}] subtract(v, zeros)
    ${named(lines)}
    ROOT r = f32[${vectors},${columns}] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={${turned ? 1 : 0}} }`;
}

function whole(count, from, to, seed) {
  const numbers = new Float32Array(count);
  for (let i = 0, n = (seed * 104729) % 65537; i < count; i++, n = (n + 7919) % 65537) numbers[i] = from + n % (to - from + 1);
  return numbers;
}
const power = (count, seed) => whole(count, -2, 2, seed).map((x) => 2 ** x);

/** Which scale a number has, by its row, its column, the block and the columns of the matrix. */
const SCALE_OF = {
  none: () => 0,
  tensor: () => 0,
  row: (row) => row,
  column: (row, column) => column,
  along: (row, column, block, width) => Math.floor((row * width + column) / block),
  across: (row, column, block, width) => Math.floor(row / block) * width + column,
};

/** The product by its definition. */
function expected(x, w, s, vectors, depth, columns, { turned, scale, block, zero = 0 }) {
  const out = new Float64Array(vectors * columns), line = new Float64Array(columns), width = turned ? depth : columns;
  const scaleOf = SCALE_OF[scale];
  for (let k = 0; k < depth; k++) {
    for (let j = 0; j < columns; j++) {
      const row = turned ? j : k, column = turned ? k : j;
      line[j] = (w[row * width + column] - zero) * (s ? s[scaleOf(row, column, block, width)] : 1);
    }
    for (let i = 0; i < vectors; i++) addTimes(out.subarray(i * columns, (i + 1) * columns), line, x[i * depth + k]);
  }
  return out;
}

function addTimes(sums, line, factor) {
  for (let j = 0; j < line.length; j++) sums[j] += factor * line[j];
}

/** Asserts that numbers are the wanted ones; a zero may have either sign. */
function same(got, wanted, name) {
  const at = got.findIndex((value, i) => !Object.is(value + 0, wanted[i] + 0));
  if (at >= 0 || got.length !== wanted.length) assert.fail(`${JSON.stringify(name)}: element ${at} is ${got[at]}, not ${wanted[at]}`);
}

async function check(type, vectors, depth, columns, options = {}) {
  const { turned = false, scale = 'none', block = 1, from = type[0] === 'u' ? 0 : -7, to = 7 } = options;
  const all = { ...options, turned, scale, block };
  const module = client.parseHlo(text(type, vectors, depth, columns, options));
  const executable = await client.compile(module);
  const x = whole(vectors * depth, -3, 3, 1), w = whole(depth * columns, from, to, 2);
  const dims = turned ? [columns, depth] : [depth, columns];
  const counts = { tensor: 1, row: dims[0], column: dims[1], along: (depth * columns) / block, across: (depth * columns) / block };
  const s = scale === 'none' ? null : power(counts[scale], 3);
  const shapes = { tensor: [], row: [dims[0]], column: [dims[1]], along: [dims[0], dims[1] / block], across: [dims[0] / block, dims[1]] };
  const args = [new Literal(`f32[${vectors},${depth}]`, x), new Literal(`f32[${dims}]`, w).convert(type)];
  if (s) args.push(new Literal(`f32[${shapes[scale]}]`, s));
  const [y] = await executable.execute(args);
  same(y.data, expected(x, w, s, vectors, depth, columns, all), [type, vectors, depth, columns, options]);
  const { temporaries } = executable.memory;
  executable.dispose();
  module.dispose?.();
  return temporaries;
}

test('no array of the matrix\'s size is written', async () => {
  for (const turned of [false, true]) {
    for (const type of ['s8', 'u4', 'f16']) {
      for (const scale of Object.keys(SCALES)) {
        for (const [vectors, depth, columns] of [[1, 256, 320], [7, 256, 320], [40, 256, 320], ...scale === 'along' ? [[128, 512, 640]] : []]) {
          const temporaries = await check(type, vectors, depth, columns, { turned, scale, block: 32, zero: type === 'u4' ? 4 : 0 });
          // One byte for each number would be as many; products of many rows pack those.
          const most = depth * columns + vectors * depth * 5;
          assert(temporaries < most, `${type} ${scale} ${vectors}: ${temporaries} bytes`);
        }
      }
    }
  }
});

test('sizes on both sides of each limit', async () => {
  for (const type of TYPES) {
    for (const size of [15, 16, 17, 31, 33, 64, 127]) {
      for (const turned of [false, true]) {
        await check(type, 1, size, 4096 / 8, { turned });
        await check(type, 3, 300, size, { turned, scale: 'column' });
        await check(type, 1, 4 * size, 160, { turned, scale: 'tensor', zero: 3 });
      }
    }
    for (const vectors of [2, 4, 5, 7]) { // pairs and fours of them, with rows and lines that are left over
      for (const turned of [false, true]) await check(type, vectors, 301, 33, { turned, scale: 'column' });
    }
  }
  for (const [depth, columns] of [[45, 91], [64, 64], [17, 241], [64, 128]]) { // around 4096 elements
    for (const turned of [false, true]) await check('s8', 2, depth, columns, { turned, scale: 'column', zero: 3 });
  }
  for (const vectors of [1, 2, 3, 4, 5, 8, 9, 19, 20, 21, 40]) {
    for (const turned of [false, true]) await check('s8', vectors, 130, 97, { turned, scale: 'row' });
  }
});

test('blocks of all sizes', async () => {
  for (const block of [4, 8, 12, 15, 16, 17, 24, 32, 48, 64, 128, 255, 256, 257, 512]) {
    for (const [type, vectors] of [['s8', 1], ['f8e5m2', 5], ['f16', 1], ['s4', 1], ['u4', 5]]) {
      await check(type, vectors, block * 3, 48, { turned: true, scale: 'along', block });
      await check(type, vectors, block * 3, 48, { scale: 'across', block });
      await check(type, vectors, 64, block * 2, { scale: 'along', block });
      await check(type, vectors, 64, block * 2, { turned: true, scale: 'across', block });
    }
  }
});

test('units, blocks of the depth and lists of scales of several sizes', async () => {
  for (const [depth, columns] of [[1023, 33], [1024, 32], [1025, 31], [4096, 17], [5000, 48], [2048, 5], [8191, 5], [8192, 4],
    [8193, 3], [40, 4095], [40, 4096], [40, 4097], [256, 1030], [24, 9000],
    [8, 16384], [9, 16384], [16, 16384], [9, 16400]]) {
    for (const turned of [false, true]) {
      if (depth > 2000 || columns > 8000) await check('f32', 1, depth, columns, { turned });
      await check('s8', 1, depth, columns, { turned, scale: 'column' });
      await check('bf16', 1, depth, columns, { turned });
      await check('f8e4m3fn', 1, depth, columns, { turned, scale: 'row' });
    }
  }
  for (const vectors of [3, 4, 5, 9]) { // by some rows at a time
    for (const [depth, columns] of [[301, 700], [45, 4100]]) {
      for (const type of ['f32', 'f64', 'bf16', 's8']) await check(type, vectors, depth, columns);
    }
  }
});

test('bytes of all values, with and without zeros', async () => {
  for (const turned of [false, true]) {
    for (const vectors of [1, 5]) {
      for (const scale of ['none', 'column', 'along', 'across']) {
        for (const zero of [0, 128, 255]) {
          await check('u8', vectors, 96, 176, { turned, scale, block: 16, zero, from: 0, to: 255 });
          await check('s8', vectors, 96, 176, { turned, scale, block: 16, zero: zero - 128, from: -128, to: 127 });
        }
      }
    }
  }
});

test('packed numbers of all values, less zeros of all kinds', async () => {
  for (const turned of [false, true]) {
    for (const vectors of [1, 5]) {
      for (const scale of ['none', 'column', 'along', 'across']) {
        for (const zero of [0, 15, 127, -3, 0.5, 300]) {
          const given = { turned, scale, block: 16, zero };
          await check('u4', vectors, 96, 176, { ...given, from: 0, to: 15 });
          await check('s4', vectors, 96, 176, { ...given, from: -8, to: 7 });
        }
      }
    }
  }
  for (const [type, zeros, from] of [['u4', 'u4', 0], ['u4', 's32', -112], ['u4', 's32', -113], ['u4', 's32', 120], ['s4', 's8', -120],
    ['s4', 's8', -10], ['s4', 'f32', 0.5]]) {
    for (const turned of [false, true]) {
      const [depth, columns] = [96, 83], dims = turned ? [columns, depth] : [depth, columns];
      const split = turned ? [columns, 3, 32] : [3, 32, columns], blocks = turned ? [columns, 3] : [3, columns];
      const each = (name) => `${name}b = f32[${split}] broadcast(${name}), dimensions={${turned ? '0,1' : '0,2'}}`;
      const executable = await client.compile(client.parseHlo(`HloModule m
ENTRY e { x = f32[1,${depth}] parameter(0)
  w = ${type}[${dims}] parameter(1)
  s = f32[${blocks}] parameter(2)
  p = ${zeros}[${blocks}] parameter(3)
  z = f32[${blocks}] convert(p)
  v = f32[${dims}] convert(w)
  u = f32[${split}] reshape(v)
  ${each('z')}
  c = f32[${split}] subtract(u, zb)
  ${each('s')}
  t = f32[${split}] multiply(c, sb)
  m = f32[${dims}] reshape(t)
  ROOT r = f32[1,${columns}] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={${turned ? 1 : 0}} }`));
      const x = whole(depth, -3, 3, 1), w = whole(depth * columns, type === 'u4' ? 0 : -8, type === 'u4' ? 15 : 7, 2);
      const s = power(3 * columns, 3), z = whole(3 * columns, 0, 7, 4).map((value) => value + from);
      const [y] = await executable.execute([new Literal(`f32[1,${depth}]`, x), new Literal(`f32[${dims}]`, w).convert(type),
        new Literal(`f32[${blocks}]`, s), new Literal(`f32[${blocks}]`, z).convert(zeros)]);
      const want = Array.from({ length: columns }, (_, j) => {
        let sum = 0;
        for (let k = 0; k < depth; k++) {
          const at = turned ? j * 3 + Math.floor(k / 32) : Math.floor(k / 32) * columns + j;
          sum += x[k] * (w[turned ? j * depth + k : k * columns + j] - z[at]) * s[at];
        }
        return sum;
      });
      assert.deepEqual([...y.data], want, `${type} less ${zeros} from ${from}, ${turned}`);
      executable.dispose();
    }
  }
});

/**
 * Products of x and a matrix of s8 in both orders. rows: its numbers for each result; scales: one for each 32 of the depth, of f32,
 * and of f16 if it has these numbers.
 */
async function blocks(x, rows, scales, look) {
  const f16 = new Literal(`f32[${scales.length}]`, scales).convert('f16').convert('f32').data;
  await blocksOf('f32', x, rows, scales, look);
  if (scales.every((scale, i) => Object.is(scale, f16[i]))) await blocksOf('f16', x, rows, scales, look);
}

async function blocksOf(scaleType, x, rows, scales, look) {
  for (const turned of [false, true]) {
    const depth = x.length, columns = rows.length;
    const scale = turned ? 'along' : 'across';
    const executable = await client.compile(client.parseHlo(text('s8', 1, depth, columns, { turned, scale, block: 32, scaleType })));
    const w = new Float32Array(depth * columns), s = new Float32Array((depth / 32) * columns);
    for (let j = 0; j < columns; j++) {
      for (let k = 0; k < depth; k++) w[turned ? j * depth + k : k * columns + j] = rows[j][k];
      for (let k = 0; k < depth / 32; k++) s[turned ? (j * depth) / 32 + k : k * columns + j] = scales[k];
    }
    const dims = turned ? [columns, depth] : [depth, columns];
    const [y] = await executable.execute([new Literal(`f32[1,${depth}]`, x), new Literal(`f32[${dims}]`, w).convert('s8'),
      new Literal(`f32[${turned ? [columns, depth / 32] : [depth / 32, columns]}]`, s).convert(scaleType)]);
    look(y.data);
    executable.dispose();
  }
}

test('a number times its scale is rounded first, and large sums do not overflow', async () => {
  const depth = 128, columns = 67, { fround } = Math;
  const rows = Array.from({ length: columns }, (_, j) => whole(depth, -128, 127, j));
  // Scales with 24 bits, and on both sides of the limits of those that multiply sums.
  for (const scale of [0.1, 1.7, 0.0123, 1e-30, 3e30, 0, 2 ** -24, 65504, 2 ** -65, 2 ** -64, 2 ** 64, 2 ** 65, 1 + 2 ** -14, 1 + 2 ** -15]) {
    for (const at of [0, 31, 70, 127]) {
      const x = new Float32Array(depth);
      x[at] = 3;
      await blocks(x, rows, Array(4).fill(scale), (y) => {
        y.forEach((value, j) => assert.equal(value + 0, fround(3 * fround(rows[j][at] * fround(scale))) + 0));
      });
    }
  }
  const deep = [Array(3000).fill(5), Array(3000).fill(-7)], far = new Float32Array(3008);
  far[2900] = 3;
  for (const row of deep) row.length = 3008; // the last ones are 0
  await blocks(far, deep.map((row) => Float32Array.from(row, (w) => w ?? 0)), Array(94).fill(1e-44), (y) => { // too small for loops
    assert.deepEqual([...y], deep.map(([w]) => fround(3 * fround(w * fround(1e-44)))));
  });
  const hundreds = Array.from({ length: columns }, () => new Float32Array(depth).fill(100));
  await blocks(new Float32Array(depth).fill(2 ** 120), hundreds, Array(4).fill(2 ** -20), (y) => {
    y.forEach((value) => assert.equal(value, depth * 100 * 2 ** 100));
  });
  const x = new Float32Array(depth).fill(1);
  x[40] = Infinity;
  await blocks(x, rows, [1, 0.5, 1, 1], (y) => {
    y.forEach((value, j) => assert.equal(value, rows[j][40] ? Math.sign(rows[j][40]) * Infinity : NaN));
  });
  await blocks(new Float32Array(depth).fill(1), rows, [1, 1, NaN, 1], (y) => y.forEach((value) => assert.equal(value, NaN)));
  await blocks(new Float32Array(depth).fill(1), rows, [1, Infinity, 1, 1], (y) => {
    y.forEach((value, j) => {
      const [above, below] = [1, -1].map((sign) => rows[j].subarray(32, 64).some((w) => w * sign > 0));
      assert.equal(value, (above && below) || rows[j].subarray(32, 64).includes(0) ? NaN : above ? Infinity : -Infinity);
    });
  });
});

/** Numbers times scales of bf16, in bf16; or those of f32, in f32, and then rounded. By lines of scales, or in blocks of 32. */
function roundedText(type, vectors, depth, columns, { turned, block, inBf16, moved }) {
  const dims = turned ? [columns, depth] : [depth, columns], [t, to] = inBf16 ? ['bf16', 'b'] : ['f32', 'f32'];
  const few = !block ? [columns] : turned ? [columns, depth / 32] : [depth / 32, columns];
  const split = !block ? dims : turned ? [columns, depth / 32, 32] : [depth / 32, 32, columns];
  const over = !block ? [turned ? 0 : 1] : turned ? [0, 1] : [0, 2];
  return `HloModule m
ENTRY e { x = bf16[${vectors},${depth}] parameter(0)
    w = ${type}[${dims}] parameter(1)
    s = ${t}[${few}] parameter(2)
    z = ${type}[${few}] parameter(3)
    c = ${t}[${dims}] convert(w)
    d = ${t}[${split}] reshape(c)
    e = ${t}[${few}] convert(z)
    zeros = ${t}[${split}] broadcast(e), dimensions={${over}}
    g = ${t}[${split}] ${moved ? 'subtract(d, zeros)' : 'copy(d)'}
    scales = ${t}[${split}] broadcast(s), dimensions={${over}}
    p = ${t}[${split}] multiply(g, scales)
    q = ${t}[${dims}] reshape(p)
    m = bf16[${dims}] ${to === 'b' ? 'copy' : 'convert'}(q)
    ROOT r = f32[${vectors},${columns}] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={${turned ? 1 : 0}} }`;
}

test('zero points that are subtracted in the numbers\' own type wrap there', async () => {
  const depth = 320, columns = 256;
  for (const [type, bits] of [['s8', 8], ['u8', 8], ['s4', 4], ['u4', 4]]) {
    for (const [wide, operation] of [[type, 'subtract'], [type, 'add'], ['s16', 'subtract'], [{ s4: 's8', u4: 'u8' }[type] ?? type, 'subtract']]) {
      for (const [zero, back] of [[3, false], [5, true], [2 ** (bits - 1) - 1, false]]) {
        const executable = await client.compile(client.parseHlo(`HloModule m
ENTRY e { x = f32[1,${depth}] parameter(0)
    w = ${type}[${depth},${columns}] parameter(1)
    c = ${wide}[${depth},${columns}] convert(w)
    zero = ${wide}[] constant(${zero})
    z = ${wide}[${depth},${columns}] broadcast(zero), dimensions={}
    d = ${wide}[${depth},${columns}] ${operation}(${back ? 'z, c' : 'c, z'})
    m = f32[${depth},${columns}] convert(d)
    ROOT r = f32[1,${columns}] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`));
        const x = whole(depth, -3, 3, 1), from = type[0] === 's' ? -(2 ** (bits - 1)) : 0, w = whole(depth * columns, from, from + 2 ** bits - 1, 2);
        const [y] = await executable.execute([new Literal(`f32[1,${depth}]`, x), new Literal(`f32[${depth},${columns}]`, w).convert(type)]);
        const width = Number(wide.slice(1)), wrap = (v) => wide[0] === 's' ? (v << (32 - width)) >> (32 - width) : v & (2 ** width - 1);
        const value = (v) => wrap(operation === 'add' ? v + zero : back ? zero - v : v - zero);
        const wanted = Array.from({ length: columns }, (_, j) => x.reduce((sum, n, k) => sum + n * value(w[k * columns + j]), 0));
        assert.deepEqual(Array.from(y.data), wanted, `${type} in ${wide}, ${operation} ${zero} ${back}`);
        executable.dispose();
      }
    }
  }
});

test('a number times its scale is rounded to bf16', async () => {
  const at = [0, 31, 70, 127], toBf16 = (numbers) => Literal.from([...numbers], `f32[${numbers.length}]`).convert('bf16').convert('f32').data;
  const RANGES = { s8: [-128, 127], u8: [0, 255], s4: [-8, 7], u4: [0, 15], s2: [-2, 1], u2: [0, 3] };
  const kinds = [[1, 128, 256], [1, 128, 131], [5, 160, 70]]; // vectors, depth, columns: whole steps, and rests
  for (const [type, [from, to]] of Object.entries(RANGES)) {
    for (let form = 0; form < 16; form++) {
      const [turned, block, inBf16, moved] = [1, 2, 4, 8].map((bit) => (form & bit) > 0), [vectors, depth, columns] = kinds[(form + to) % 3];
      const executable = await client.compile(client.parseHlo(roundedText(type, vectors, depth, columns, { turned, block, inBf16, moved })));
      const dims = turned ? [columns, depth] : [depth, columns], blocks = block ? depth / 32 : 1;
      const few = !block ? [columns] : turned ? [columns, blocks] : [blocks, columns];
      const w = whole(depth * columns, from, to, form), z = whole(blocks * columns, from, to, form + 1);
      const matrix = new Literal(`f32[${dims}]`, w).convert(type), zeros = new Literal(`f32[${few}]`, z).convert(type);
      // Scales of 8 bits, or of 24, of all signs; some make ties; 2^-64 and 2^64 are limits of the loops.
      const s = whole(blocks * columns, 129, 255, form + 2).map((n, i) =>
        (i % 3 ? 1 : -1) * (inBf16 ? n : n + n / 2 ** 16 * (i % 2)) * 2 ** ([-7, 0, -20, 40][i % 4]));
      for (const limit of [1, 0, 2 ** -65, 2 ** -64, 2 ** 64, 2 ** 65, 2 ** 100, Infinity, NaN]) {
        const scales = s.slice();
        if (limit !== 1) scales[7] = limit;
        for (const k of limit === 1 ? at : [at[form % 4]]) {
          const x = new Float32Array(vectors * depth);
          for (let i = 0; i < vectors; i++) x[i * depth + k] = i + 1;
          const [y] = await executable.execute([
            new Literal(`f32[${vectors},${depth}]`, x).convert('bf16'), matrix,
            inBf16 ? new Literal(`f32[${few}]`, scales).convert('bf16') : new Literal(`f32[${few}]`, scales), zeros]);
          const number = Float32Array.from({ length: columns }, (_, j) => {
            const i = !block ? j : turned ? j * blocks + Math.floor(k / 32) : Math.floor(k / 32) * columns + j;
            return Math.fround((w[turned ? j * depth + k : k * columns + j] - (moved ? z[i] : 0)) * scales[i]);
          });
          const rounded = toBf16(number), isOther = limit === Infinity || Number.isNaN(limit);
          const withLimit = block && turned ? Math.floor(7 / blocks) : 7; // the column of scale 7
          // Zero times an infinity or a NaN is a NaN: so is the sum of a column with such a scale.
          const wanted = Float32Array.from(y.data, (_, n) => (isOther && n % columns === withLimit ? NaN
            : rounded[n % columns] * (1 + Math.floor(n / columns))));
          same(y.data, wanted, [type, form, limit, k]);
        }
      }
      assert(executable.memory.temporaries < depth * columns * 4, `${type} ${form}`);
      executable.dispose();
    }
  }
});

test('zero points that are small integers, large ones and fractions, with rounding to bf16', async () => {
  const depth = 64, columns = 96, toBf16 = (numbers) => Literal.from(numbers, `f32[${numbers.length}]`).convert('bf16').convert('f32').data;
  const rounded = (value) => toBf16([value])[0];
  for (const [type, from] of [['s4', -8], ['u4', 0]]) {
    const executable = await client.compile(client.parseHlo(`HloModule m
ENTRY e { x = bf16[1,${depth}] parameter(0)
    w = ${type}[${depth},${columns}] parameter(1)
    s = bf16[${columns}] parameter(2)
    z = bf16[${columns}] parameter(3)
    c = bf16[${depth},${columns}] convert(w)
    zeros = bf16[${depth},${columns}] broadcast(z), dimensions={1}
    g = bf16[${depth},${columns}] subtract(c, zeros)
    scales = bf16[${depth},${columns}] broadcast(s), dimensions={1}
    m = bf16[${depth},${columns}] multiply(g, scales)
    ROOT r = f32[1,${columns}] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`));
    const w = whole(depth * columns, from, from + 15, 3), s = whole(columns, 129, 255, 4).map((n) => n / 512);
    // One zero point decides for all: 112 is the last small one, from 248 on differences are rounded.
    for (const zero of [0, 3, 112, -112, 113, -113, 250, -255, 1000, 0.5, -7.75, 3 / 256]) {
      const z = new Float32Array(columns).fill(2).map((n, j) => (j % 5 === 1 ? zero : n)), k = 37;
      const x = Float32Array.from({ length: depth }, (_, i) => Number(i === k));
      const [y] = await executable.execute([
        new Literal(`f32[1,${depth}]`, x).convert('bf16'), new Literal(`f32[${depth},${columns}]`, w).convert(type),
        ...[s, z].map((list) => new Literal(`f32[${columns}]`, list).convert('bf16'))]);
      same(y.data, Float32Array.from({ length: columns }, (_, j) => rounded(rounded(w[k * columns + j] - z[j]) * s[j])), [type, zero]);
    }
    executable.dispose();
  }
});

test('infinities and NaNs in any place', async () => {
  const depth = 1100, columns = 70;
  for (const type of ['f16', 'f8e4m3fn', 'f8e5m2']) {
    for (const turned of [false, true]) {
      for (const vectors of [1, 3]) {
        const executable = await client.compile(client.parseHlo(text(type, vectors, depth, columns, { turned })));
        const dims = turned ? [columns, depth] : [depth, columns], x = whole(vectors * depth, 1, 3, 1);
        const most = type === 'f16' ? 65504 : type === 'f8e5m2' ? 57344 : 448;
        for (const [k, j, value] of [[0, 0, Infinity], [1099, 69, -Infinity], [1098, 3, NaN], [500, 64, -NaN], [7, 5, -most]]) {
          const w = whole(depth * columns, -7, 7, 2);
          w[turned ? j * depth + k : k * columns + j] = value;
          const matrix = new Literal(`f32[${dims}]`, w).convert(type);
          const [y] = await executable.execute([new Literal(`f32[${vectors},${depth}]`, x), matrix]);
          const numbers = matrix.convert('f32').data;
          same(y.data, expected(x, numbers, null, vectors, depth, columns, { turned, scale: 'none' }), [type, k, j, value]);
        }
        executable.dispose();
      }
    }
  }
});

test('all numbers of a type, times vectors of all magnitudes', async () => {
  // Loops read some types as numbers times a power of two, and vectors as divided by it, if that is exact.
  const depth = 48, columns = 272, { fround } = Math, halves = [5.9e-8, 6.1e-5, 0.1, 1 / 3, 65504, 2 ** -24, 2 ** -14, 0];
  for (const type of TYPES) {
    const bits = type.endsWith('4') ? 4 : 8, signed = type[0] === 's';
    const integers = Array.from({ length: 2 ** bits }, (_, i) => (signed ? i - 2 ** (bits - 1) : i));
    const bytes = type.startsWith('f8') && Array.from(new Literal(`${type}[256]`, Uint8Array.from(integers)).convert('f32').data);
    const all = bytes ? bytes.filter(Number.isFinite) : /^[su]/.test(type) ? integers : [...halves, ...halves.map((half) => -half)];
    const rows = Float32Array.from({ length: columns }, (_, j) => all[j % all.length]);
    for (const turned of [false, true]) {
      for (const vectors of [1, 3]) {
        const executable = await client.compile(client.parseHlo(text(type, vectors, depth, columns, { turned })));
        const w = new Float32Array(depth * columns), at = 37;
        for (let j = 0; j < columns; j++) w[turned ? j * depth + at : at * columns + j] = rows[j];
        const matrix = new Literal(`f32[${turned ? [columns, depth] : [depth, columns]}]`, w).convert(type), numbers = matrix.convert('f32').data;
        const exact = turned ? numbers.filter((_, i) => i % depth === at) : numbers.subarray(at * columns, (at + 1) * columns);
        for (const size of [1.7e38, 2 ** 17, 65535, 32769, 1.1, 2 ** -90 * 1.3, 2 ** -101 * 1.1, 2 ** -102 * 1.1, 2 ** -110 * 1.1, 1e-45, 0]) {
          const x = new Float32Array(vectors * depth);
          for (let i = 0; i < vectors; i++) x[i * depth + at] = size * (i - 1 || 1);
          const [y] = await executable.execute([new Literal(`f32[${vectors},${depth}]`, x), matrix]);
          const wanted = Float32Array.from(y.data, (_, i) => fround(x[Math.floor(i / columns) * depth + at] * exact[i % columns]));
          same(y.data, wanted, [type, turned, vectors, size]);
        }
        executable.dispose();
      }
    }
  }
});

/** Runs a program of x, w, and scalars that are 1. */
async function run(module, x, w, ones, wanted) {
  const executable = await client.compile(client.parseHlo(module));
  const [y] = await executable.execute([new Literal('f32[1,64]', x), new Literal('f32[80,64]', w).convert('s8'), ...ones]);
  assert.deepEqual(Array.from(y.data), Array.from(wanted));
  executable.dispose();
}

test('loops of many inputs, and of many operations after a transpose', async () => {
  const x = whole(64, -3, 3, 6), w = whole(80 * 64, -7, 7, 7);
  for (const count of [1, 30, 31, 32, 33, 47, 48, 64]) {
    const scalars = Array.from({ length: count }, (_, i) => `q${i} = f32[] parameter(${i + 2})
      b${i} = f32[80,64] broadcast(q${i}), dimensions={}
      m${i + 1} = f32[80,64] add(m${i}, b${i})`);
    await run(`HloModule m
ENTRY e { x = f32[1,64] parameter(0)
      w = s8[80,64] parameter(1)
      m0 = f32[80,64] convert(w)
      ${scalars.join('\n')}
      ROOT r = f32[1,80] dot(x, m${count}), lhs_contracting_dims={1}, rhs_contracting_dims={1} }`, x, w,
    Array(count).fill(1), expected(x, w.map((value) => value + count), null, 1, 64, 80, { scale: 'none', turned: true }));
  }
  for (const count of [1, 6, 7, 8, 9, 16]) {
    const steps = Array.from({ length: count }, (_, i) => `m${i + 1} = f32[64,80] add(m${i}, b)`);
    await run(`HloModule m
ENTRY e { x = f32[1,64] parameter(0)
      w = s8[80,64] parameter(1)
      s = f32[64] parameter(2)
      b = f32[64,80] broadcast(s), dimensions={0}
      t = s8[64,80] transpose(w), dimensions={1,0}
      m0 = f32[64,80] convert(t)
      ${steps.join('\n')}
      ROOT r = f32[1,80] dot(x, m${count}), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`, x, w,
    [new Float32Array(64).fill(1)], expected(x, w.map((value) => value + count), null, 1, 64, 80, { scale: 'none', turned: true }));
  }
});

/** Scales are converted in the loop that repeats them, if a loop nest has these positions; else before it. */
test('scales of narrow types, in blocks that divide the matrix or not', async () => {
  for (const scaleType of ['bf16', 'f16', 'f8e5m2']) {
    for (const [depth, columns, block] of [[96, 80, 64], [96, 80, 48], [100, 64, 16], [160, 48, 100], [320, 128, 320], [65, 128, 64]]) {
      const blocks = Math.ceil(depth / block), x = whole(3 * depth, -3, 3, 1), w = whole(depth * columns, -7, 7, 2), s = power(blocks * columns, 3);
      const executable = await client.compile(client.parseHlo(`HloModule m
ENTRY e { x = f32[3,${depth}] parameter(0)
      w = s8[${depth},${columns}] parameter(1)
      s = ${scaleType}[${blocks},${columns}] parameter(2)
      v = f32[${depth},${columns}] convert(w)
      b = ${scaleType}[${blocks},${block},${columns}] broadcast(s), dimensions={0,2}
      a = ${scaleType}[${blocks * block},${columns}] reshape(b)
      p = ${scaleType}[${depth},${columns}] slice(a), slice={[0:${depth}], [0:${columns}]}
      c = f32[${depth},${columns}] convert(p)
      m = f32[${depth},${columns}] multiply(v, c)
      ROOT r = f32[3,${columns}] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`));
      const [y] = await executable.execute([new Literal(`f32[3,${depth}]`, x), new Literal(`f32[${depth},${columns}]`, w).convert('s8'),
        new Literal(`f32[${blocks},${columns}]`, s).convert(scaleType)]);
      same(y.data, expected(x, w, s, 3, depth, columns, { scale: 'across', block }), [scaleType, depth, block]);
      executable.dispose();
    }
  }
});

const LAYERS = (type) => `HloModule m
body { s = (s32[], f32[1,96], ${type}[3,96,96]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[1,96] get-tuple-element(s), index=1
  w = ${type}[3,96,96] get-tuple-element(s), index=2
  one = s32[] constant(1)
  zero = s32[] constant(0)
  next = s32[] add(i, one)
  l = ${type}[1,96,96] dynamic-slice(w, i, zero, zero), dynamic_slice_sizes={1,96,96}
  m = ${type}[96,96] reshape(l)
  c = f32[96,96] convert(m)
  y = f32[1,96] dot(x, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[] constant(0.0078125)
  b = f32[1,96] broadcast(t), dimensions={}
  z = f32[1,96] multiply(y, b)
  ROOT r = (s32[], f32[1,96], ${type}[3,96,96]) tuple(next, z, w) }
condition { s = (s32[], f32[1,96], ${type}[3,96,96]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT p = pred[] compare(i, n), direction=LT }
ENTRY e { x = f32[1,96] parameter(0)
  w = ${type}[3,96,96] parameter(1)
  i = s32[] constant(0)
  s = (s32[], f32[1,96], ${type}[3,96,96]) tuple(i, x, w)
  loop = (s32[], f32[1,96], ${type}[3,96,96]) while(s), condition=condition, body=body
  ROOT y = f32[1,96] get-tuple-element(loop), index=1 }`;

test('slices of all layers\' weights are read in place', async () => {
  for (const type of ['f32', ...SIGNED]) {
    const module = client.parseHlo(LAYERS(type)), executable = await client.compile(module);
    const x = whole(96, -3, 3, 4), w = whole(3 * 96 * 96, -2, 2, 5);
    const [y] = await executable.execute([new Literal('f32[1,96]', x), new Literal('f32[3,96,96]', w).convert(type)]);
    let want = x;
    for (let layer = 0; layer < 3; layer++) {
      const product = expected(want, w.subarray(layer * 9216), null, 1, 96, 96, { scale: 'none' });
      want = Float32Array.from(product, (value) => value * 2 ** -7);
    }
    assert.deepEqual(Array.from(y.data), Array.from(want), type);
    assert(executable.memory.temporaries < 9216, `${type}: ${executable.memory.temporaries} bytes`);
    executable.dispose();
  }
});

test('a matrix of a type that products have no loop for is converted by generated code', async () => {
  const dot = (from, to) => `HloModule m\nENTRY e { x = ${to}[8,96] parameter(0)\n w = ${from}[96,96] parameter(1)
  c = ${to}[96,96] convert(w)\n ROOT y = ${to}[8,96] dot(x, c), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`;
  const text = (from, to) => client.passes(client.parseHlo(dot(from, to))).at(-1).text;
  for (const type of TYPES.filter((one) => !/^[su]4$/.test(one))) assert.doesNotMatch(text(type, 'f32'), / convert\(/, type);
  for (const [from, to] of [['s16', 'f32'], ['u16', 'f32'], ['f8e4m3', 'f16'], ['f8e3m4', 'bf16'], ['f8e4m3fnuz', 'f32'],
    ['s8', 'f64'], ['bf16', 'f64'], ['f32', 'f64'], ['s32', 'f64']]) {
    assert.match(text(from, to), / convert\(/, `${from} in ${to}`);
  }
});

/**
 * Numbers times scales plus biases (`+`), or less them (`-`), or taken from them (`<`), in blocks of 32 along the depth. In `t`, each
 * step is rounded to it.
 */
function affineText(type, vectors, depth, columns, { turned, sign, t, given }) {
  const dims = turned ? [columns, depth] : [depth, columns], few = turned ? [columns, depth / 32] : [depth / 32, columns];
  const split = turned ? [columns, depth / 32, 32] : [depth / 32, 32, columns], over = turned ? [0, 1] : [0, 2];
  const part = (name, i) => `${name}g = ${given}[${few}] parameter(${i})\n ${name} = ${t}[${few}] convert(${name}g)
    ${name}s = ${t}[${split}] broadcast(${name}), dimensions={${over}}`;
  return `HloModule m
ENTRY e { x = f32[${vectors},${depth}] parameter(0)
    w = ${type}[${dims}] parameter(1)
    ${part('s', 2)}
    ${part('b', 3)}
    c = ${t}[${dims}] convert(w)
    d = ${t}[${split}] reshape(c)
    p = ${t}[${split}] multiply(d, ss)
    q = ${t}[${split}] ${sign === '+' ? 'add(p, bs)' : sign === '-' ? 'subtract(p, bs)' : 'subtract(bs, p)'}
    m = ${t}[${dims}] reshape(q)
    y = ${t}[${vectors},${depth}] convert(x)
    ROOT r = f32[${vectors},${columns}] dot(y, m), lhs_contracting_dims={1}, rhs_contracting_dims={${turned ? 1 : 0}} }`;
}

/** Vectors with a single one: their products are elements of the dequantised matrix, which the evaluator computes, too. */
test('a number times its scale plus a bias is rounded as the program says', async () => {
  const RANGES = { u4: [0, 15], s4: [-8, 7], u8: [0, 255], s8: [-128, 127], u2: [0, 3] };
  const kinds = [[1, 128, 256], [5, 160, 70], [1, 128, 131]]; // vectors, depth, columns: whole steps, and rests
  const limits = { f32: [2 ** -127, Infinity, NaN], bf16: [2 ** -65, 2 ** 65, Infinity, NaN], f16: [2 ** -15, 2 ** -24, 100, 30000, Infinity, NaN] };
  let form = 0;
  for (const [type, [from, to]] of Object.entries(RANGES)) {
    for (const [t, given] of [['f32', 'f32'], ['f32', 'f16'], ['bf16', 'bf16'], ['f16', 'f16'], ['bf16', 'f32'], ['f16', 'f32']]) {
      for (const turned of [false, true]) {
        const [vectors, depth, columns] = kinds[++form % 3], dims = turned ? [columns, depth] : [depth, columns];
        const text = affineText(type, vectors, depth, columns, { turned, sign: '+-<'[(form >> 1) % 3], t, given });
        const executables = [await client.compile(client.parseHlo(text)), await client.compile(client.parseHlo(text), { optimize: false })];
        const few = turned ? [columns, depth / 32] : [depth / 32, columns], count = columns * depth / 32;
        const matrix = new Literal(`f32[${dims}]`, whole(depth * columns, from, to, form)).convert(type);
        const numbers = (seed) => whole(count, 129, 4099, form + seed).map((n, i) => (i % 3 ? n : -n) * 2 ** -14);
        for (const limit of [1, 0, ...limits[t]]) {
          const [s, b] = [numbers(2), numbers(3)], x = new Float32Array(vectors * depth);
          if (limit !== 1) (form % 2 ? s : b)[7] = limit;
          for (let i = 0; i < vectors; i++) x[i * depth + (i * 37 + form + 5) % depth] = i + 1;
          const args = [new Literal(`f32[${vectors},${depth}]`, x), matrix,
            new Literal(`f32[${few}]`, s).convert(given), new Literal(`f32[${few}]`, b).convert(given)];
          const [got, wanted] = await Promise.all(executables.map(async (executable) => (await executable.execute(args))[0].data));
          const withLimit = turned ? Math.floor(7 / (depth / 32)) : 7; // whose sums an infinity times zero makes NaN
          const isOther = (n) => !Number.isFinite(limit) && n % columns === withLimit, where = [type, t, given, turned, limit];
          assert.ok(!got.some((value, n) => isOther(n) && Number.isFinite(value)), JSON.stringify(where));
          same(got.filter((_, n) => !isOther(n)), wanted.filter((_, n) => !isOther(n)), where);
        }
        assert(executables[0].memory.temporaries < depth * columns * 4, `${type} ${t}`);
        executables.forEach((executable) => executable.dispose());
      }
    }
  }
});

test('zero points of floats', async () => {
  const depth = 128, columns = 256;
  for (const [t, type, turned] of ['f16', 'bf16'].flatMap((t) => ['u4', 's4', 'u8'].flatMap((type) => [[t, type, false], [t, type, true]]))) {
    const few = turned ? [columns, 4] : [4, columns], split = turned ? [columns, 4, 32] : [4, 32, columns], over = turned ? [0, 1] : [0, 2];
    const dims = turned ? [columns, depth] : [depth, columns];
    const text = `HloModule m
ENTRY e { x = f32[1,${depth}] parameter(0)
    w = ${type}[${dims}] parameter(1)
    s = ${t}[${few}] parameter(2)
    z = ${t}[${few}] parameter(3)
    c = ${t}[${dims}] convert(w)
    d = ${t}[${split}] reshape(c)
    zs = ${t}[${split}] broadcast(z), dimensions={${over}}
    g = ${t}[${split}] subtract(d, zs)
    ss = ${t}[${split}] broadcast(s), dimensions={${over}}
    p = ${t}[${split}] multiply(g, ss)
    m = ${t}[${dims}] reshape(p)
    y = ${t}[1,${depth}] convert(x)
    ROOT r = f32[1,${columns}] dot(y, m), lhs_contracting_dims={1}, rhs_contracting_dims={${turned ? 1 : 0}} }`;
    const executables = [await client.compile(client.parseHlo(text)), await client.compile(client.parseHlo(text), { optimize: false })];
    const matrix = new Literal(`f32[${dims}]`, whole(depth * columns, 0, 7, 3)).convert(type);
    // Whole zero points, and such that the difference is rounded to the type first, or that a product is subnormal in f16; or all are.
    for (const zero of [8, -128, 128, 129, 1025, 7.03125, 3.0078125, 0.00390625, 2 ** -24, 2 ** -40, Infinity, NaN, 'fractions']) {
      const z = whole(4 * columns, 0, 15, 1).map((n, i) => zero === 'fractions' ? n + (i % 7) / 128 : n), x = new Float32Array(depth);
      const at = turned ? 44 * 4 + 1 : columns + 44; // block 1 of column 44
      if (zero !== 'fractions') z[at] = zero;
      x[32 + 17] = 1;
      const s = whole(4 * columns, 129, 255, 2).map((n, i) => n * 2 ** (i % 2 ? -12 : -20));
      const args = [new Literal(`f32[1,${depth}]`, x), matrix,
        new Literal(`f32[${few}]`, s).convert(t), new Literal(`f32[${few}]`, z).convert(t)];
      const [got, wanted] = await Promise.all(executables.map(async (executable) => (await executable.execute(args))[0].data));
      const isOther = (n) => n === 44 && (zero === Infinity || Number.isNaN(zero));
      if (isOther(44)) assert(!Number.isFinite(got[44]));
      same(got.filter((_, n) => !isOther(n)), wanted.filter((_, n) => !isOther(n)), [t, type, turned, zero]);
    }
    executables.forEach((executable) => executable.dispose());
  }
});

/** The rewrite of transposes under element-wise operations follows as many as the stack has room for. */
test('long chains beside a transpose', async () => {
  for (const [length, folds] of [[10, true], [60, true], [70, false], [4000, false]]) {
    const lines = Array.from({ length }, (_, i) => `n${i + 1} = f32[64,80] ${i % 2 ? 'cosine' : 'sine'}(n${i})`);
    const source = `HloModule m
ENTRY e { a = f32[80,64] parameter(0)
  n0 = f32[64,80] parameter(1)
  x = f32[1,64] parameter(2)
  t = f32[64,80] transpose(a), dimensions={1,0}
  u = f32[80,64] transpose(n0), dimensions={1,0}
  n00 = f32[64,80] transpose(u), dimensions={1,0}
  ${lines.join('\n')}
  m = f32[64,80] multiply(t, n${length})
  ROOT r = f32[1,80] dot(x, m), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`.replace('(n0)\n  n2', '(n00)\n  n2').replace('sine(n0)', 'sine(n00)');
    const executable = await client.compile(client.parseHlo(source), { disable: ['simplify-algebra'] });
    const text = executable.toString();
    executable.dispose();
    assert.equal(/dot\([^)]*\), lhs_contracting_dims=\{1\}, rhs_contracting_dims=\{1\}/.test(text), folds, `${length}`);
  }
});
