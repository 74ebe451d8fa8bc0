/**
 * Factors of matrices of several blocks: that they are what they say, as vectors are defined up to a
 * factor, and the same bits for any number of threads. The golden corpus has small ones from XLA.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../bindings/index.mjs';

const TYPES = {
  f32: { letter: 's', real: 'f32', lanes: 1, bound: 2e-5 },
  f64: { letter: 'd', real: 'f64', lanes: 1, bound: 1e-12 },
  c64: { letter: 'c', real: 'f32', lanes: 2, bound: 2e-5 },
  c128: { letter: 'z', real: 'f64', lanes: 2, bound: 1e-12 },
};

const call = (type, routine, parameters, results, config) => `HloModule m
ENTRY main {
${parameters.map((dims, i) => `  p${i} = ${type}[${dims}] parameter(${i})`).join('\n')}
  ROOT r = (${results.join(', ')}) custom-call(${parameters.map((_, i) => `p${i}`).join(', ')}),
    custom_call_target="lapack_${TYPES[type].letter}${routine}_ffi", backend_config="${config}"
}
`;

/** Complex numbers as pairs, whatever the type: rows of [re, im]. */
function matrix(data, rows, columns, lanes, from = 0) {
  const at = (i, part) => (part < lanes ? data[(from + i) * lanes + part] : 0);
  return Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (__, j) =>
    [at(i * columns + j, 0), at(i * columns + j, 1)]));
}

const adjoint = (a) => a[0].map((_, j) => a.map((row) => [row[j][0], -row[j][1]]));

function product(a, b) {
  return a.map((row) => b[0].map((_, j) => {
    let re = 0;
    let im = 0;
    for (let k = 0; k < b.length; k++) {
      re += row[k][0] * b[k][j][0] - row[k][1] * b[k][j][1];
      im += row[k][0] * b[k][j][1] + row[k][1] * b[k][j][0];
    }
    return [re, im];
  }));
}

const scaleColumns = (a, by) => a.map((row) =>
  row.map(([re, im], j) => [re * (by[j] ?? 0), im * (by[j] ?? 0)]));

const identity = (n) => Array.from({ length: n }, (_, i) =>
  Array.from({ length: n }, (__, j) => [Number(i === j), 0]));

function assertNear(a, b, bound, what) {
  let most = 0;
  a.forEach((row, i) => row.forEach(([re, im], j) => {
    const error = Math.hypot(re - b[i][j][0], im - b[i][j][1]);
    most = error <= most ? most : error;
  }));
  assert.ok(most <= bound, `${what}: off by ${most}`);
}

function random(count, real) {
  let state = 1;
  return (real === 'f32' ? Float32Array : Float64Array).from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) | 0;
    return (state >> 8) / 2 ** 23;
  });
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

  for (const [type, { real, lanes, bound }] of Object.entries(TYPES)) {
    for (const n of [5, 75]) {
      test(`eigenvectors of ${type}[2,${n},${n}]`, async () => {
        const x = random(2 * n * n * lanes, real);
        const [vectors, values, info] = await run(
          call(type, lanes === 2 ? 'heevd' : 'syevd', [`2,${n},${n}`],
            [`${type}[2,${n},${n}]`, `${real}[2,${n}]`, 's32[2]'],
            '{mode = 86 : ui8, uplo = 76 : ui8}'), [x]);
        assert.deepEqual([...info], [0, 0]);
        for (const batch of [0, 1]) {
          const given = matrix(x, n, n, lanes, batch * n * n);
          const a = given.map((row, i) => row.map((_, j) =>
            i === j ? [given[i][i][0], 0] : i > j ? given[i][j] : [given[j][i][0], -given[j][i][1]]));
          const v = matrix(vectors, n, n, lanes, batch * n * n);
          const d = values.subarray(batch * n, (batch + 1) * n);
          assert.ok(d.every((value, i) => i === 0 || d[i - 1] <= value), 'ascending');
          assertNear(product(a, v), scaleColumns(v, d), bound * n, 'A V = V D');
          assertNear(product(adjoint(v), v), identity(n), bound, 'V^H V = 1');
        }
      });
    }
    for (const [m, n, mode] of [[70, 70, 'S'], [75, 40, 'A'], [40, 75, 'A'], [40, 75, 'S'], [6, 1, 'A']]) {
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
        const a = matrix(x, m, n, lanes);
        const l = matrix(left, m, u, lanes);
        const r = matrix(right, v, n, lanes);
        assertNear(product(scaleColumns(l, s).map((row) => row.slice(0, k)), r.slice(0, k)), a,
          bound * n, 'U S V^H = A');
        assertNear(product(adjoint(l), l), identity(u), bound, 'U^H U = 1');
        assertNear(product(r, adjoint(r)), identity(v), bound, 'V^H V = 1');
      });
    }
    test(`QR of ${type}[90,70]`, async () => {
      const [m, n] = [90, 70];
      const x = random(m * n * lanes, real);
      const [packed, tau] = await run(call(type, 'geqrf', [`${m},${n}`],
        [`${type}[${m},${n}]`, `${type}[${n}]`], '{}'), [x]);
      const orgqr = lanes === 2 ? 'ungqr' : 'orgqr';
      const text = call(type, orgqr, [`${m},${n}`, `${n}`], [`${type}[${m},${n}]`], '{}');
      const [data] = await run(text.replace(/\(([^(]*)\) custom/, '$1 custom'), [packed, tau]);
      const q = matrix(data, m, n, lanes);
      const upper = matrix(packed, m, n, lanes).slice(0, n)
        .map((row, i) => row.map((value, j) => (j < i ? [0, 0] : value)));
      assertNear(product(q, upper), matrix(x, m, n, lanes), bound, 'Q R = A');
      assertNear(product(adjoint(q), q), identity(n), bound, 'Q^H Q = 1');
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
    assertNear(product(adjoint(matrix(none[3], 3, 3, 1)), matrix(none[3], 3, 3, 1)), identity(3), 1e-6);
    const infinite = await run(svd, [Float32Array.of(1, 2, Infinity, 0, 0, 0)]);
    assert.ok(infinite[1].every(Number.isNaN));
  });
});
