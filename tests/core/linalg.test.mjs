/**
 * Tests factors of matrices of several blocks by their defining equations, since vectors are defined
 * only up to a factor, and for equal bits with any number of threads. The golden corpus has small ones
 * from XLA.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { assertNear, Matrix } from '../support/matrix.mjs';
import { around } from '../support/parts.mjs';
import { sample } from '../support/sample.mjs';

/** Sizes around vectors, packed panels, blocks and pieces that threads share: tests/project/thresholds.md. */
const THRESHOLDS = around(8, 16, 32, 64).filter((n) => n < 70);
/** Sizes around those of factors: a strip, blocks of XLA's, rows together, the largest one that is LU's by vectors. */
const OF_FACTORS = [95, 96, 97, 127, 128, 129, 192, 239, 240, 241, 256, 399, 400, 401];

const TYPES = {
  f32: { letter: 's', real: 'f32', lanes: 1, bound: 2e-5 },
  f64: { letter: 'd', real: 'f64', lanes: 1, bound: 1e-12 },
  c64: { letter: 'c', real: 'f32', lanes: 2, bound: 2e-5 },
  c128: { letter: 'z', real: 'f64', lanes: 2, bound: 1e-12 },
};

/** Of long matrices, every other one: those of f32 and c128, or of the other types. */
const long = (sizes, type) => sample(sizes, 2, ['f32', 'c128'].includes(type) ? 0 : 1);

const call = (type, routine, parameters, results, config) => `HloModule m
ENTRY main {
${parameters.map((dims, i) => `  p${i} = ${type}[${dims}] parameter(${i})`).join('\n')}
  ROOT r = (${results.join(', ')}) custom-call(${parameters.map((_, i) => `p${i}`).join(', ')}),
    custom_call_target="lapack_${TYPES[type].letter}${routine}_ffi", backend_config="${config}"
}
`;

/* The first numbers of one sequence: a sequence of `count` numbers is made once. */
const sequences = new Map();
function random(count, real) {
  const key = `${count} ${real}`;
  if (!sequences.has(key)) {
    const numbers = new (real === 'f32' ? Float32Array : Float64Array)(count);
    for (let i = 0, state = 1; i < count; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) | 0;
      numbers[i] = (state >> 8) / 2 ** 23;
    }
    sequences.set(key, numbers);
  }
  return sequences.get(key).slice();
}

describe('linear algebra in blocks', () => {
  const clients = [];
  before(async () => {
    for (const threads of [0, 3]) clients.push(await Client.create({ threads }));
  });
  after(() => clients.forEach((client) => client.dispose()));

  async function run(text, args) {
    const results = [];
    for (const client of clients) {
      const executable = await client.compile(client.parseHlo(text));
      results.push((await executable.execute(args)).map((leaf) => leaf.data));
      executable.dispose();
    }
    assert.deepEqual(results[0], results[1]);
    return results[0];
  }

  const large = 'f32[300,300]';
  for (const [routine, results, config] of [
    ['syevd', [large, 'f32[300]', 's32[]'], '{mode = 86 : ui8, uplo = 76 : ui8}'],
    ['gesdd', [large, 'f32[300]', large, large, 's32[]'], '{mode = 65 : ui8}'],
    ['getrf', [large, 's32[300]', 's32[]'], ''],
    ['geqrf', [large, 'f32[300]'], ''],
    ['potrf', [large, 's32[]'], '{uplo = 76 : ui8}'],
  ]) {
    test(`${routine} of one matrix that threads share`, async () => {
      const x = random(300 * 300, 'f32');
      for (let i = 0; i < 300; i++) x[301 * i] += 100;
      const leaves = await run(call('f32', routine, ['300,300'], results, config), [x]);
      assert.ok(leaves[0].every(Number.isFinite));
    });
  }

  /* M v, or M^H v, of vectors [real parts, imaginary parts], where M's parts are at(i, j, part). Equations of factors are tested on a vector. */
  function applied(rows, columns, at, [x, y], isAdjoint) {
    const sums = [0, 1].map(() => new Float64Array(isAdjoint ? columns : rows));
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        const re = at(i, j, 0), im = isAdjoint ? -at(i, j, 1) : at(i, j, 1);
        const [to, from] = isAdjoint ? [j, i] : [i, j];
        sums[0][to] += re * x[from] - im * y[from];
        sums[1][to] += re * y[from] + im * x[from];
      }
    }
    return sums;
  }

  for (const [type, { real, lanes, bound }] of Object.entries(TYPES)) {
    // The last ones' columns are so long that they go by rows, some in a turn; three have squares of about m.
    const square = THRESHOLDS.map((n) => [n, n]), high = THRESHOLDS.map((n) => [n, 5]), wide = THRESHOLDS.map((n) => [5, n]);
    for (const [m, n] of [[450, 450], [300, 130], [130, 300], ...long([[40000, 40], [150000, 3]], type), ...square, ...high, ...wide,
      ...OF_FACTORS.map((n) => [n, n])]) {
      const k = Math.min(m, n), shape = `${type}[${m},${n}]`;
      const x = random(m * n * lanes, real);
      const of = (data) => (i, j, part) => (part < lanes ? data[(i * n + j) * lanes + part] : 0);
      const vector = [(i) => Math.sin(i + 1), (i) => Math.cos(3 * i)].map((part) => Float64Array.from({ length: n }, (_, i) => part(i)));
      const assertSame = (left, right, size) => left[0].forEach((re, i) => {
        const near = Math.hypot(re - right[0][i], left[1][i] - right[1][i]) <= bound * size;
        if (!near) assert.fail(`row ${i}: ${re}, ${left[1][i]} is not ${right[0][i]}, ${right[1][i]}`);
      });
      test(`L U of ${shape}`, async () => {
        const [lu, pivots, info] = await run(call(type, 'getrf', [`${m},${n}`],
          [shape, `s32[${k}]`, 's32[]'], ''), [x]);
        assert.equal(info[0], 0);
        const at = of(lu);
        const upper = applied(k, n, (i, j, part) => (j >= i ? at(i, j, part) : 0), vector);
        const made = applied(m, k, (i, j, part) => (j < i ? at(i, j, part) : Number(i === j && part === 0)), upper);
        const wanted = applied(m, n, of(x), vector);
        for (const part of wanted) pivots.forEach((p, i) => ([part[i], part[p - 1]] = [part[p - 1], part[i]]));
        assertSame(made, wanted, n);
        for (let i = 0; i < m; i++) {
          for (let j = 0; j < Math.min(i, k); j++) {
            if (Math.abs(at(i, j, 0)) + Math.abs(at(i, j, 1)) > lanes * 1.001) assert.fail('pivots are the largest');
          }
        }
      });
      test(`R^H R of ${shape}`, async () => {
        const [qr] = await run(call(type, 'geqrf', [`${m},${n}`], [shape, `${type}[${k}]`], ''), [x]);
        const at = of(qr), upper = (i, j, part) => (j >= i ? at(i, j, part) : 0);
        assertSame(applied(k, n, upper, applied(k, n, upper, vector), true),
          applied(m, n, of(x), applied(m, n, of(x), vector), true), n > 3 ? n * Math.sqrt(m) : m);
      });
      if (m !== n) continue;
      test(`L L^H of ${shape}`, async () => {
        const a = x.slice();
        for (let i = 0; i < n; i++) a[i * (n + 1) * lanes] += n;
        const [l, info] = await run(call(type, 'potrf', [`${n},${n}`], [shape, 's32[]'],
          '{uplo = 76 : ui8}'), [a]);
        assert.equal(info[0], 0);
        const at = of(l), given = of(a), lower = (i, j, part) => (j <= i ? at(i, j, part) : 0);
        const whole = (i, j, part) => (part && j >= i ? (i === j ? 0 : -given(j, i, 1)) : given(Math.max(i, j), Math.min(i, j), part));
        assertSame(applied(n, n, lower, applied(n, n, lower, vector, true)),
          applied(n, n, whole, vector), 2 * n);
      });
    }
  }

  const below = (a, k) => a.where((i, j) => j < i - k);
  const upTo = (a, k) => a.where((i, j) => j >= i - k);

  for (const [type, { real, lanes, bound }] of Object.entries(TYPES)) {
    for (const [n, repeats] of [...[5, 75, ...THRESHOLDS].map((n) => [n, 1]), [100, 5], [160, 5]]) {
      test(`eigenvectors of ${type}[2,${n},${n}]${repeats > 1 ? ' without full rank' : ''}`, async () => {
        const x = random(2 * n * n * lanes, real), row = n * lanes;
        if (repeats > 1) { // A + A^H, where A has groups of equal rows: sums of some random rows
          const sums = x.map((_, at) => {
            let sum = 0;
            for (let i = 0; i <= Math.floor(at / row) % n; i += repeats) sum += x[i * row + (at % row)] / 8;
            return sum;
          });
          x.forEach((_, at) => {
            const i = Math.floor(at / row) % n, j = Math.floor((at % row) / lanes), part = at % lanes;
            x[at] = sums[at] + (part ? -1 : 1) * sums[j * row + i * lanes + part];
          });
        }
        const [vectors, values, info] = await run(
          call(type, lanes === 2 ? 'heevd' : 'syevd', [`2,${n},${n}`],
            [`${type}[2,${n},${n}]`, `${real}[2,${n}]`, 's32[2]'],
            '{mode = 86 : ui8, uplo = 76 : ui8}'), [x]);
        assert.deepEqual([...info], [0, 0]);
        for (const batch of [0, 1]) {
          const lower = Matrix.from(x, n, n, lanes, batch * n * n), upper = lower.adjoint;
          const a = Matrix.of(n, n, (i, j, part) => (i === j && part ? 0 : (i < j ? upper : lower).at(i, j, part)));
          const v = Matrix.from(vectors, n, n, lanes, batch * n * n);
          const d = values.subarray(batch * n, (batch + 1) * n);
          assert.ok(d.every((value, i) => i === 0 || d[i - 1] <= value), 'ascending');
          assertNear(a.times(v), v.scaleColumns(d), bound * n, 'A V = V D');
          assertNear(v.adjoint.times(v), Matrix.identity(n), bound, 'V^H V = 1');
        }
      });
    }
    // The last ones' rotations are applied some columns after the others, or their columns go by slices.
    for (const [m, n, mode] of [
      ...THRESHOLDS.map((n) => [n, n, 'S']), [70, 70, 'S'], [75, 40, 'A'], [40, 75, 'A'], [40, 75, 'S'], [6, 1, 'A'],
        ...long([[6000, 60, 'S'], [150000, 3, 'S']], type),
    ]) {
      const k = Math.min(m, n);
      const [u, v] = mode === 'A' ? [m, n] : [k, k];
      test(`singular vectors of ${type}[${m},${n}], ${mode}`, async () => {
        const x = random(m * n * lanes, real);
        const [, s, left, right, info] = await run(
          call(type, 'gesdd', [`${m},${n}`], [`${type}[${m},${n}]`, `${real}[${k}]`,
            `${type}[${m},${u}]`, `${type}[${v},${n}]`, 's32[]'],
          `{mode = ${mode.charCodeAt(0)} : ui8}`), [x]);
        assert.equal(info[0], 0);
        assert.ok(s.every((value, i) => value >= 0 && (i === 0 || s[i - 1] >= value)), 'descending');
        const a = Matrix.from(x, m, n, lanes);
        const l = Matrix.from(left, m, u, lanes);
        const r = Matrix.from(right, v, n, lanes);
        assertNear(l.scaleColumns(s).leading(m, k).times(r.leading(k, n)), a, bound * n, 'U S V^H = A');
        assertNear(l.adjoint.times(l), Matrix.identity(u), bound, 'U^H U = 1');
        assertNear(r.times(r.adjoint), Matrix.identity(v), bound, 'V^H V = 1');
      });
    }
    test(`singular vectors of ${type}[90,90] that is of rank 1, or a few numbers`, async () => {
      const n = 90;
      const some = random(2 * n, real);
      const sparse = new (real === 'f32' ? Float32Array : Float64Array)(n * n * lanes);
      for (let i = 0; i < n; i++) sparse[(i * n + (i * 7 + 1) % n) * lanes] = i % 3 ? 0 : i + 1;
      for (const x of [sparse, sparse.map((_, i) => (i % lanes ? 0
        : some[Math.floor(i / lanes / n)] * some[n + Math.floor(i / lanes) % n]))]) {
        const [, s, left, right, info] = await run(call(type, 'gesdd', [`${n},${n}`], [`${type}[${n},${n}]`,
          `${real}[${n}]`, `${type}[${n},${n}]`, `${type}[${n},${n}]`, 's32[]'], '{mode = 65 : ui8}'), [x]);
        assert.equal(info[0], 0);
        const l = Matrix.from(left, n, n, lanes);
        const r = Matrix.from(right, n, n, lanes);
        assertNear(l.scaleColumns(s).times(r), Matrix.from(x, n, n, lanes), bound * n, 'U S V^H = A');
        assertNear(l.adjoint.times(l), Matrix.identity(n), bound, 'U^H U = 1');
      }
    });
    test(`QR of ${type}[90,70]`, async () => {
      const [m, n] = [90, 70];
      const x = random(m * n * lanes, real);
      const [packed, tau] = await run(call(type, 'geqrf', [`${m},${n}`],
        [`${type}[${m},${n}]`, `${type}[${n}]`], '{}'), [x]);
      const orgqr = lanes === 2 ? 'ungqr' : 'orgqr';
      const text = call(type, orgqr, [`${m},${n}`, `${n}`], [`${type}[${m},${n}]`], '{}');
      const [data] = await run(text.replace(/\(([^(]*)\) custom/, '$1 custom'), [packed, tau]);
      const q = Matrix.from(data, m, n, lanes);
      const upper = upTo(Matrix.from(packed, m, n, lanes).leading(n, n), 0);
      assertNear(q.times(upper), Matrix.from(x, m, n, lanes), bound, 'Q R = A');
      assertNear(q.adjoint.times(q), Matrix.identity(n), bound, 'Q^H Q = 1');
    });
  }

  for (const [type, { real, lanes, bound }] of Object.entries(TYPES)) {
    const values = lanes === 2 ? (n) => [`${type}[${n}]`] : (n) => [`${type}[${n}]`, `${type}[${n}]`];
    const wide = real === 'f32' ? 'c64' : 'c128';
    for (const n of [1, 2, 40, 90, ...THRESHOLDS]) {
      test(`Hessenberg and Schur form, and eigenvectors, of ${type}[${n},${n}]`, async () => {
        const x = random(n * n * lanes, real);
        const a = Matrix.from(x, n, n, lanes);
        const square = `${type}[${n},${n}]`;
        const [h] = await run(call(type, 'gehrd', [`${n},${n}`], [square, `${type}[${n - 1}]`, 's32[]'],
          `{low = 1 : i32, high = ${n} : i32}`), [x]);
        assert.ok(h.every(Number.isFinite));
        const [tData, zData, ...rest] = await run(call(type, 'gees', [`${n},${n}`],
          [square, square, ...values(n), 's32[]', 's32[]'], '{mode = 86 : ui8, sort = 78 : ui8}'), [x]);
        assert.equal(rest.at(-1)[0], 0);
        const t = Matrix.from(tData, n, n, lanes);
        const z = Matrix.from(zData, n, n, lanes);
        assertNear(z.adjoint.times(z), Matrix.identity(n), bound, 'Z^H Z = 1');
        assertNear(z.times(t).times(z.adjoint), a, bound * n, 'Z T Z^H = A');
        assertNear(below(t, lanes === 2 ? 0 : 1), new Matrix(n, n), 0, 'T is (nearly) triangular');
        const hessenberg = upTo(Matrix.from(h, n, n, lanes), 1);
        assert.ok(Math.hypot(...hessenberg.trace.map((part, i) => part - a.trace[i])) <= bound * n, 'trace of H');
        assert.ok(Math.abs(hessenberg.norm - a.norm) < bound * n, 'norm of H');
        const vectors = `${wide}[${n},${n}]`;
        const leaves = await run(call(type, 'geev', [`${n},${n}`], [...values(n), vectors, vectors, 's32[]'],
          '{compute_left = 86 : ui8, compute_right = 86 : ui8}'), [x]);
        const w = (i, part) => (lanes === 2 ? leaves[0][2 * i + part] : leaves[part][i]);
        const [l, r] = [leaves.at(-3), leaves.at(-2)].map((data) => Matrix.from(data, n, n, 2));
        const diagonal = Matrix.of(n, n, (i, j, part) => (i === j ? w(i, part) : 0));
        assertNear(a.times(r), r.times(diagonal), bound * n, 'A R = R W');
        assertNear(l.adjoint.times(a), diagonal.times(l.adjoint), bound * n, 'L^H A = W L^H');
        for (const v of [l, r]) {
          for (let j = 0; j < n; j++) assert.ok(Math.abs(Matrix.of(n, 1, (i, _, part) => v.at(i, j, part)).norm - 1) < bound, 'of length 1');
        }
      });
    }
    test(`a tridiagonal system of ${type}`, async () => {
      const [n, m] = [300, 3];
      const [dl, d, du] = [0, 1, 2].map((k) => random(n * lanes * (k + 1), real).subarray(n * lanes * k));
      const b = random(n * m * lanes, real);
      const line = `${type}[${n}]`;
      const leaves = await run(call(type, 'gtsv', [`${n}`, `${n}`, `${n}`, `${n},${m}`],
        [line, line, line, `${type}[${n},${m}]`, 's32[]'], '{}'), [dl, d, du, b]);
      assert.equal(leaves[4][0], 0);
      const diagonals = [dl, d, du].map((data) => Matrix.from(data, n, 1, lanes)); // below, on and above the main one
      const full = Matrix.of(n, n, (i, j, part) => diagonals[j - i + 1]?.at(i, 0, part) ?? 0);
      const x = Matrix.from(leaves[3], n, m, lanes);
      const size = Math.max(...x.parts.flatMap((part) => [...part].map(Math.abs)));
      assertNear(full.times(x), Matrix.from(b, n, m, lanes), bound * n * Math.max(size, 1), 'T X = B');
    });
    test(`which of some tridiagonal systems of ${type} are singular`, async () => {
      const batch = 5;
      const [below, d, above, b] = [0, 1, 2, 3].map((k) =>
        random(batch * 3 * lanes * (k + 1), real).subarray(batch * 3 * lanes * k));
      below.fill(0, 3 * lanes, 6 * lanes);
      d.fill(0, 4 * lanes, 5 * lanes); // the second of the second, below which is nothing
      const line = `${type}[${batch},3]`;
      const leaves = await run(call(type, 'gtsv', Array(3).fill(`${batch},3`).concat(`${batch},3,1`),
        [line, line, line, `${type}[${batch},3,1]`, `s32[${batch}]`], '{}'), [below, d, above, b]);
      assert.deepEqual([...leaves[4]], [0, 2, 0, 0, 0]);
    });
    for (const [m, n] of [[70, 50], [50, 70], [110, 100], ...long([[150000, 3]], type), ...THRESHOLDS.map((n) => [n, n])]) {
      test(`QR with pivoting of ${type}[${m},${n}], and products with its Q`, async () => {
        const k = Math.min(m, n);
        const x = random(m * n * lanes, real);
        const chosen = new Int32Array(n);
        chosen[n - 1] = 1;
        const geqp3 = call(type, 'geqp3', [`${m},${n}`, `${n}`],
          [`${type}[${m},${n}]`, `s32[${n}]`, `${type}[${k}]`], '{}').replace(/p1 = \w+/, 'p1 = s32');
        const [packed, order, tau] = await run(geqp3, [x, chosen]);
        const size = m > 1000 ? Math.sqrt(m) : 1; // of the numbers of R: a column's norm
        assert.equal(order[0], n, 'the chosen column comes first');
        assert.deepEqual([...order].sort((p, q) => p - q), Array.from({ length: n }, (_, i) => i + 1));
        const upper = upTo(Matrix.from(packed, m, n, lanes), 0);
        const sizes = Array.from({ length: k }, (_, i) => Math.hypot(upper.at(i, i, 0), upper.at(i, i, 1)));
        assert.ok(sizes.every((size, i) => i < 2 || sizes[i - 1] >= size * (1 - 1e-4)), 'descending');
        const a = Matrix.from(x, m, n, lanes), permuted = Matrix.of(m, n, (i, j, part) => a.at(i, order[j] - 1, part));
        const name = lanes === 2 ? 'unmqr' : 'ormqr';
        const reflectors = new packed.constructor(m * k * lanes);
        for (let i = 0; i < m; i++) {
          reflectors.set(packed.subarray(i * n * lanes, (i * n + k) * lanes), i * k * lanes);
        }
        const times = async (c, rows, columns, left, transpose) => {
          const text = call(type, name, [`${m},${k}`, `${k}`, `${rows},${columns}`], [`${type}[${rows},${columns}]`],
            `{left = ${left}, transpose = ${transpose}}`);
          const data = c.data(packed.constructor, lanes);
          const [result] = await run(text.replace(/\(([^(]*)\) custom/, '$1 custom'), [reflectors, tau, data]);
          return Matrix.from(result, rows, columns, lanes);
        };
        assertNear(await times(upper, m, n, true, false), permuted, bound * n * size, 'Q R = A P');
        assertNear(await times(permuted, m, n, true, true), upper, bound * n * size, 'Q^H A P = R');
        assertNear(await times(upper.adjoint, n, m, false, true), permuted.adjoint, bound * n * size, 'R^H Q^H = (A P)^H');
      });
    }
    test(`QR of long columns of ${type} whose squares overflow or vanish`, async () => {
      const [m, n, exponent] = [150000, 2, real === 'f32' ? 100 : 900];
      const x = random(m * n * lanes, real);
      for (const routine of ['geqrf', 'geqp3']) {
        const order = routine === 'geqp3';
        const text = call(type, routine, order ? [`${m},${n}`, `${n}`] : [`${m},${n}`],
          [`${type}[${m},${n}]`, ...(order ? [`s32[${n}]`] : []), `${type}[${n}]`], '').replace(/p1 = \w+/, 'p1 = s32');
        const qr = async (data) => (await run(text, order ? [data, new Int32Array(n)] : [data]))[0].slice(0, n * n * lanes);
        const wanted = await qr(x), largest = Math.max(...wanted.map(Math.abs));
        for (const scale of [2 ** exponent, 2 ** -exponent]) {
          const made = await qr(x.map((value) => value * scale));
          wanted.forEach((value, i) => {
            const by = i / lanes < n || i / lanes >= n + 1 ? scale : 1; // elements below the diagonal are V's
            assert.ok(Math.abs(made[i] / by - value) <= bound * largest, `${routine}: ${made[i]} is not ${value * by}`);
          });
        }
      }
    });
    for (const uplo of ['L', 'U']) {
      test(`tridiagonal form of ${type}[80,80], ${uplo}`, async () => {
        const n = 80;
        const x = random(n * n * lanes, real);
        for (let i = 0; i < n; i++) if (lanes === 2) x[2 * i * (n + 1) + 1] = 0;
        const [, d, e] = await run(call(type, lanes === 2 ? 'hetrd' : 'sytrd', [`${n},${n}`],
          [`${type}[${n},${n}]`, `${real}[${n}]`, `${real}[${n - 1}]`, `${type}[${n - 1}]`, 's32[]'],
          `{uplo = ${uplo.charCodeAt(0)} : ui8}`), [x]);
        const tridiagonal = new x.constructor(n * n * lanes);
        for (let i = 0; i < n; i++) {
          tridiagonal[i * (n + 1) * lanes] = d[i];
          if (i > 0) tridiagonal[(i * (n + 1) - 1) * lanes] = tridiagonal[((i - 1) * (n + 1) + 1) * lanes] = e[i - 1];
        }
        const eigenvalues = async (y, from) => (await run(call(type, lanes === 2 ? 'heevd' : 'syevd', [`${n},${n}`],
          [`${type}[${n},${n}]`, `${real}[${n}]`, 's32[]'],
          `{mode = 86 : ui8, uplo = ${from.charCodeAt(0)} : ui8}`), [y]))[1];
        const [wanted, got] = [await eigenvalues(x, uplo), await eigenvalues(tridiagonal, 'L')];
        wanted.forEach((value, i) => assert.ok(Math.abs(value - got[i]) < bound * n, `${value}, not ${got[i]}`));
      });
    }
  }

  test('eigenvalues and eigenvectors of general matrices that are zero, defective, triangular, or not finite', async () => {
    const n = 4;
    const text = call('f64', 'geev', ['4,4'], ['f64[4]', 'f64[4]', 'c128[4,4]', 'c128[4,4]', 's32[]'],
      '{compute_left = 78 : ui8, compute_right = 86 : ui8}');
    const zeros = await run(text, [new Float64Array(n * n)]);
    assert.deepEqual([...zeros[0]], [0, 0, 0, 0]);
    assertNear(Matrix.from(zeros[3], n, n, 2), Matrix.identity(n), 0, 'of zeros');
    const jordan = await run(text, [Float64Array.from({ length: 16 }, (_, i) => (i % 5 === 1 ? 1 : i % 5 === 0 ? 2 : 0))]);
    assert.deepEqual([...jordan[0]], [2, 2, 2, 2]);
    assert.ok(jordan[3].every(Number.isFinite));
    const nan = await run(text, [new Float64Array(n * n).fill(NaN)]);
    assert.ok([0, 1, 3].every((k) => nan[k].every(Number.isNaN)));
    const huge = await run(text, [Float64Array.from({ length: 16 }, (_, i) => (i % 5 === 0 ? 1e300 * (i + 1) : 0))]);
    assert.deepEqual([...huge[0]].map((x) => Math.round(x / 1e300)).sort((x, y) => x - y), [1, 6, 11, 16]);
  });

  /* A call whose results are all used, and the same call with only some used. */
  for (const [routine, results, config, m, n] of [
    ['syevd', ['f32[70,70]', 'f32[70]', 's32[]'], '{mode = 86 : ui8}', 70, 70],
    ['gesdd', ['f32[80,40]', 'f32[40]', 'f32[80,80]', 'f32[40,40]', 's32[]'], '{mode = 65 : ui8}', 80, 40],
    ['gesdd', ['f32[40,80]', 'f32[40]', 'f32[40,40]', 'f32[40,80]', 's32[]'], '{mode = 83 : ui8}', 40, 80],
  ]) {
    test(`vectors of ${routine} of ${m}x${n} without a user change nothing`, async () => {
      const x = random(m * n, 'f32');
      const text = call('f32', routine, [`${m},${n}`], results, config);
      const all = await run(text, [x]);
      for (const used of [[1], [1, 2], [1, results.length - 2], [0, 1]]) {
        const elements = used.map((i, k) => `  e${k} = ${results[i]} get-tuple-element(r), index=${i}\n`).join('');
        const root = `ROOT t = (${used.map((i) => results[i]).join(', ')}) tuple(${used.map((_, k) => `e${k}`).join(', ')})`;
        const some = await run(text.replace('ROOT ', '').replace(/\}\n$/, `${elements}  ${root}\n}\n`), [x]);
        assert.deepEqual(some, used.map((i) => all[i]), `of results ${used}`);
      }
    });
  }

  test('eigenvalues and singular values of matrices that are zero, or not finite', async () => {
    const eigen = call('f64', 'syevd', ['3,3'], ['f64[3,3]', 'f64[3]', 's32[]'], '{mode = 86 : ui8}');
    const zeros = await run(eigen, [new Float64Array(9)]);
    assert.deepEqual([...zeros[0]], [1, 0, 0, 0, 1, 0, 0, 0, 1]);
    assert.deepEqual([...zeros[1]], [0, 0, 0]);
    const huge = await run(eigen, [Float64Array.of(2e300, 0, 0, 1e300, 2e300, 0, 0, 0, 1e-300)]);
    assert.ok(Math.abs(huge[1][2] / 3e300 - 1) < 1e-14, String(huge[1]));
    const nan = await run(eigen, [new Float64Array(9).fill(NaN)]);
    assert.ok(nan[0].every(Number.isNaN) && nan[1].every(Number.isNaN));
    const svd = call('f32', 'gesdd', ['2,3'],
      ['f32[2,3]', 'f32[2]', 'f32[2,2]', 'f32[3,3]', 's32[]'], '{mode = 65 : ui8}');
    const none = await run(svd, [new Float32Array(6)]);
    assert.deepEqual([...none[1]], [0, 0]);
    const vectors = Matrix.from(none[3], 3, 3, 1);
    assertNear(vectors.adjoint.times(vectors), Matrix.identity(3), 1e-6, 'V^H V = 1');
    const infinite = await run(svd, [Float32Array.of(1, 2, Infinity, 0, 0, 0)]);
    assert.ok(infinite[1].every(Number.isNaN));
  });
});

describe('batches of small matrices', () => {
  const N = 5;
  const BATCH = 11; // which is no multiple of the lanes
  const SIZE = N * N;
  let client;
  before(async () => {
    client = await Client.create({ threads: 0 });
  });
  after(() => client.dispose());

  const operation = (type, batch, text) => `HloModule m
ENTRY main {
  a = ${type}[${batch},${N},${N}] parameter(0)
  b = ${type}[${batch},${N},3] parameter(1)
  c = ${type}[${batch},3,${N}] parameter(2)
  ROOT r = ${text}
}`;
  const triangular = (right, rest) => (type, batch) => operation(type, batch,
    `${type}[${batch},${right === 'b' ? `${N},3` : `3,${N}`}] triangular-solve(a, ${right}), ${rest}`);
  const lapack = (routine, right, results, config) => (type, batch) => operation(type, batch,
    `(${[right ? `${type}[${batch},${N},3]` : `${type}[${batch},${N},${N}]`,
      ...results.map((result) => `s32[${batch}${result}]`)].join(', ')}) custom-call(a${right ? ', b' : ''}),
      custom_call_target="lapack_${TYPES[type].letter}${routine}_ffi", backend_config="${config}"`);
  const ROUTINES = {
    'cholesky of the lower': (type, batch) =>
      operation(type, batch, `${type}[${batch},${N},${N}] cholesky(a), lower=true`),
    'cholesky of the upper': (type, batch) =>
      operation(type, batch, `${type}[${batch},${N},${N}] cholesky(a)`),
    'potrf of the lower': lapack('potrf', false, [''], '{uplo = 76 : ui8}'),
    'potrf of the upper': lapack('potrf', false, [''], '{uplo = 85 : ui8}'),
    getrf: lapack('getrf', false, [`,${N}`, ''], ''),
    trsm: lapack('trsm', true, [], '{diag = 78 : ui8, side = 76 : ui8, trans_x = 84 : ui8, uplo = 76 : ui8}'),
    'a lower system': triangular('b', 'left_side=true, lower=true, transpose_a=NO_TRANSPOSE'),
    'an upper system': triangular('b', 'left_side=true, transpose_a=NO_TRANSPOSE'),
    'a transposed system': triangular('b', 'left_side=true, transpose_a=TRANSPOSE, lower=true'),
    'a unit system from the right': triangular('c', 'lower=true, unit_diagonal=true, transpose_a=NO_TRANSPOSE'),
    'a transposed system from the right': triangular('c', 'transpose_a=TRANSPOSE'),
  };

  /** Each matrix' results, of matrices in this order: all leaves after each other. */
  async function run(text, order, operands) {
    const pick = (from, size) => from.constructor.from(order.flatMap((i) => [...from.subarray(i * size, (i + 1) * size)]));
    const executable = await client.compile(client.parseHlo(text));
    const result = await executable.execute(operands.map((x) => pick(x, x.length / BATCH)));
    executable.dispose();
    const leaves = result.shape ? [result] : result;
    return order.map((_, k) => leaves.flatMap(({ data }) => {
      const size = data.length / order.length;
      return [...data.subarray(k * size, (k + 1) * size)];
    }));
  }

  for (const [name, program] of Object.entries(ROUTINES)) {
    for (const type of ['f32', 'f64']) {
      test(`${name} of ${type}: neither by its neighbours nor otherwise than alone`, async () => {
        const a = random(BATCH * SIZE, type);
        for (let i = 0; i < BATCH * SIZE; i++) if (i % SIZE % (N + 1) === 0) a[i] += 6;
        a.fill(0, SIZE, 2 * SIZE); // of no rank
        a[3 * SIZE + N + 1] = NaN;
        a[4 * SIZE + 2 * N + 2] = -9; // not positive
        a[5 * SIZE] = Infinity;
        const operands = [a, random(BATCH * N * 3, type), random(BATCH * 3 * N, type)];
        const order = [...Array(BATCH).keys()];
        const together = await run(program(type, BATCH), order, operands);
        const turned = await run(program(type, BATCH), order.toReversed(), operands);
        assert.deepEqual(turned.toReversed(), together);
        for (const i of order) {
          const [alone] = await run(program(type, 1), [i], operands);
          /* XLA solves one singular system by blocks, many by substitution. */
          if (name.includes('system') && alone.some(Number.isNaN)) continue;
          const far = alone.map((x, k) => (Object.is(x, together[i][k]) ? 0 : Math.abs(x - together[i][k])));
          assert.ok(Math.max(...far) <= TYPES[type].bound, `matrix ${i}: ${alone} alone, ${together[i]} in a batch`);
        }
      });
    }
  }
});

/** ORDER LAPACK: the core's table of routines: [name, operands, [results and their types, of real and of complex numbers]]. */
const LAPACK_ROWS = [...(await readFile(new URL('../../src/hlo/ir/lapack_calls.def', import.meta.url), 'utf8'))
  .matchAll(/^LAPACK\(\w+, \w+, "([^"|]+)[^"]*", "([^"]+)", "([^"]+)", "([^"]+)", (?:"([^"]+)"|NULL), (?:"([^"]+)"|NULL)\)/gm)]
  .map(([, name, operands, results, types, ofComplex, complexTypes]) =>
    [name, operands, [[results, types], [ofComplex ?? results, complexTypes ?? types]]]);

describe('a routine of one type, called with numbers of another,', () => {
  let client;
  before(async () => { client = await Client.create({ threads: 2 }); });
  after(() => client.dispose());

  const N = 8;
  const REALS = { f32: 'f32', f64: 'f64', c64: 'f32', c128: 'f64' };
  const size = (letter) => (letter === 'p' ? N - 1 : N);
  const arrayOf = (type, letters) => `${type}[${letters === '-' ? '' : [...letters].map(size)}]`;
  const typeOf = (kind, type) =>
    ({ n: type, r: REALS[type], c: REALS[type] === 'f32' ? 'c64' : 'c128', i: 's32' })[kind];

  /** Shapes as the letter has them or as the type has them, and types likewise. */
  function* programs(name, operands, results, letter, type) {
    for (const [shapes] of results) {
      for (const [, types] of results) {
        const leaves = shapes.split(' ').map((letters, i) => arrayOf(typeOf(types[i] ?? 'i', type), letters));
        const shape = leaves.length === 1 ? leaves[0] : `(${leaves.join(', ')})`;
        const parameters = operands.split(' ').map((letters, i) => arrayOf(type, letters) + ` parameter(${i})`);
        yield `HloModule m
ENTRY main {
${parameters.map((text, i) => `  p${i} = ${text}`).join('\n')}
  ROOT r = ${shape} custom-call(${parameters.map((_, i) => `p${i}`)}),
    custom_call_target="lapack_${letter}${name}_ffi", backend_config="{mode = 86 : ui8, sort = 78 : ui8}"
}`;
      }
    }
  }

  test('the table is read', () => assert.ok(LAPACK_ROWS.length > 10));

  for (const [name, operands, results] of LAPACK_ROWS.filter(([row]) => row !== 'tridiagonal_solve_perturbed')) {
    test(`is refused, and harms nothing: ${name}`, async () => {
      for (const [type, { letter }] of Object.entries(TYPES)) {
        const wrong = type.startsWith('c') ? ['s', 'd'] : ['c', 'z'];
        for (const other of wrong) {
          for (const text of programs(name, operands, results, other, type)) {
            const run = async () => {
              const executable = await client.compile(client.parseHlo(text));
              const lanes = type.startsWith('c') ? 2 : 1;
              const List = REALS[type] === 'f32' ? Float32Array : Float64Array;
              await executable.execute(operands.split(' ').map((letters) =>
                List.from({ length: lanes * [...letters].reduce((n, one) => n * size(one), 1) }, (_, i) => Math.sin(i * i))));
            };
            await assert.rejects(run, { code: /^(UNIMPLEMENTED|INVALID_ARGUMENT)$/ }, `${letter} as ${other}: ${text}`);
          }
        }
      }
    });
  }
});
