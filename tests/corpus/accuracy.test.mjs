/**
 * Tests transcendental functions against correctly rounded results (tests/accuracy/README.md). For f16
 * and bf16 all values are tried against f64, whose own error is negligible there.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';
import { measure, readSweeps, runOperation, wanted } from '../accuracy/accuracy.mjs';
import { OF_CHLO, readPoints, worstAtExtremes, worstError } from '../accuracy/complex.mjs';
import { allowRelaxedSimd } from '../support/relaxed.mjs';
import { allowed, cases, keyOf, makeCase, measure as measureSum, PATHS, readTable } from '../accuracy/sums.mjs';

/** In units in the last place. The project promises 4; accuracy/README.md has the measured errors. */
const BOUND = { f32: 2.5, f64: 2.5, f16: 1, bf16: 1 };
const FORMATS = {
  f32: { mantissa: 23, least: -126 },
  f16: { mantissa: 10, least: -14 },
  bf16: { mantissa: 7, least: -126 },
};

const folder = new URL('../accuracy/', import.meta.url);
const sweeps = [];
for (const type of ['f32', 'f64']) {
  sweeps.push(...(await readSweeps(new URL(`${type}.bin`, folder), type)));
}

/** Without fused multiply-add, and with it. */
const FUSED = ['never', 'auto'];
const clients = {};
let client;
before(async () => {
  allowRelaxedSimd();
  for (const fusedMultiplyAdd of FUSED) clients[fusedMultiplyAdd] = await Client.create({ threads: 0, fusedMultiplyAdd });
  client = clients.never;
});
after(() => FUSED.forEach((fused) => clients[fused].dispose()));

for (const [type, fused] of ['f32', 'f64'].flatMap((one) => FUSED.map((how) => [one, how]))) {
  describe(`${type}, fused: ${fused}`, () => {
    for (const sweep of sweeps.filter((one) => one.type === type)) {
      test(sweep.name, async () => {
        const got = await runOperation(clients[fused], sweep.name, type, sweep.operands);
        const { worst, at, wrong } = measure(sweep, got);
        const points = [...wrong, at].map((i) =>
          `(${sweep.operands.map((x) => x[i])}) is ${got[i]}, should be ${sweep.results[i]}`);
        assert.equal(wrong.length, 0, points[0]);
        assert.ok(worst <= BOUND[type], `${worst} ulp: ${points.at(-1)}`);
      });
    }
  });
}

const double = new Float64Array(1), halves = new Uint32Array(double.buffer); // little-endian

/** Spacing of the format's numbers around a finite one. The bits of its exponent are read and written: this is called often. */
function unit({ mantissa, least }, value) {
  double[0] = value;
  const exponent = Math.max(((halves[1] >>> 20) & 0x7ff) - 1023, least);
  halves[0] = 0;
  halves[1] = (exponent - mantissa + 1023) << 20;
  return double[0];
}

/** Rounds to infinity, or so nearly that either will do. */
const overflows = (largest, want) => Math.abs(want) > largest;

for (const type of ['f16', 'bf16']) {
  describe(`${type}, all values`, () => {
    const bits = Uint16Array.from({ length: 1 << 16 }, (_, i) => i);
    const { read } = ELEMENT_TYPES.get(type);
    const values = Float64Array.from(bits, (_, i) => read(bits, i));
    const largest = values.reduce((most, x) => (Number.isFinite(x) ? Math.max(most, x) : most), 0);
    const unary = sweeps.filter((one) => one.type === 'f64' && one.operands.length === 1);
    for (const { name } of unary) {
      test(name, async () => {
        const got = await runOperation(client, name, type, [bits]);
        const truth = await runOperation(client, name, 'f64', [values]);
        for (const [i, exact] of truth.entries()) {
          const value = read(got, i);
          const want = wanted(name, type, exact);
          const isRight = overflows(largest, want) ? Math.abs(value) >= largest && value > 0 === want > 0
            : Number.isNaN(want) || want === 0 ? Object.is(value, want)
              : Math.abs(value - want) <= BOUND[type] * unit(FORMATS[type], want);
          if (!isRight) assert.fail(`(${values[i]}) is ${value}, should be ${want}`);
        }
      });
    }
  });
}

/** erf by its series, and far from 0 by the continued fraction of its complement. */
function erf(x) {
  const size = Math.abs(x);
  if (size < 2) {
    let [term, total] = [size, size];
    for (let n = 1; n < 60 && term !== 0; n++) {
      term *= (-size * size) / n;
      total += term / (2 * n + 1);
    }
    return (Math.sign(x) * total * 2) / Math.sqrt(Math.PI);
  }
  let below = 0;
  for (let k = 60; k > 0 && size < 6; k--) below = k / 2 / (size + below);
  return Math.sign(x) * (1 - Math.exp(-size * size) / Math.sqrt(Math.PI) / (size + below));
}

/** Those that are written out in generated code; the others' sweeps are in tests/native. */
const WRITTEN_OUT = {
  exponential: { function: Math.exp, bound: 1 },
  'exponential-minus-one': { function: Math.expm1, bound: 2 },
  log: { function: Math.log, bound: 1 },
  'log-plus-one': { function: Math.log1p, bound: 1 },
  logistic: { function: (x) => (x < 0 ? Math.exp(x) : 1) / (1 + Math.exp(-Math.abs(x))), bound: 2.5 },
  tanh: { function: Math.tanh, bound: 2.5 },
  erf: { function: erf, bound: 2.5 },
  asin: { function: Math.asin, bound: 2.5 },
  acos: { function: Math.acos, bound: 2.5 },
};
const OF_TWO = { atan2: { function: Math.atan2, bound: 2.5 }, remainder: { function: (x, y) => x % y, bound: 0 } };

describe('f32, a sweep over bit patterns', () => {
  const step = 6007; // prime: all kinds of last bits
  const operands = new Float32Array(
    Uint32Array.from({ length: Math.floor(2 ** 32 / step) }, (_, i) => i * step).buffer);
  // Any bits with any other; and with bits of nearly the same size
  const others = operands.map((_, i) => operands[(i * 7919) % operands.length]);
  const bits = new Uint32Array(operands.buffer);
  const near = new Float32Array(bits.map((b, i) => b + (((i * 40_503) % 4096) - 2048) * 4096).buffer);
  const CASES = [
    ...Object.entries(WRITTEN_OUT).map(([name, row]) => [name, row, []]),
    ...Object.entries(OF_TWO).flatMap(([name, row]) => [others, near].map((more) => [name, row, [more]])),
  ];
  for (const [[name, { function: exactly, bound }, more], fused] of CASES.flatMap((one) => FUSED.map((how) => [one, how]))) {
    test(`${name}, fused: ${fused}`, async () => {
      const got = await runOperation(clients[fused], name, 'f32', [operands, ...more]);
      let worst = 0;
      let at = 0;
      got.forEach((value, i) => {
        const want = wanted(name, 'f32', exactly(operands[i], ...more.map((list) => list[i])));
        const isSpecial = !Number.isFinite(value) || !Number.isFinite(Math.fround(want));
        const error = isSpecial
          ? Object.is(value, Math.fround(want)) ? 0 : Infinity
          : Math.abs(value - want) / unit(FORMATS.f32, want);
        if (error > worst) [worst, at] = [error, i];
      });
      assert.ok(worst <= bound, `${worst} ulp: (${[operands, ...more].map((list) => list[at])}) is ${got[at]}`);
    });
  }
});

describe('conversions from f32 to narrower floats, a sweep over bit patterns', () => {
  const operands = new Float32Array(
    Uint32Array.from({ length: 65_536 }, (_, i) => (i * 65_537 + (i & 3)) >>> 0).buffer);
  const WITHOUT = ['f4e2m1fn', 'f8e8m0fnu']; // no NaN; no sign
  for (const { name: type, kind, bits: size, Array: TypedArray, read } of ELEMENT_TYPES.values()) {
    if (kind !== 'float' || size >= 32 || WITHOUT.includes(type)) continue;
    test(type, async () => {
      const sign = 1 << (8 * TypedArray.BYTES_PER_ELEMENT - 1);
      const all = TypedArray.from({ length: sign }, (_, i) => i);
      const magnitudes = Float64Array.from(all, (_, i) => read(all, i));
      const special = magnitudes.findIndex((x) => !Number.isFinite(x)); // -1: none but -0
      const finite = special < 0 ? magnitudes : magnitudes.subarray(0, special);
      const past = special < 0 ? NaN : magnitudes[special];
      const nearest = (x) => { // the bits of a magnitude; of a tie, the even ones
        let [low, high] = [0, finite.length];
        while (high - low > 1) {
          const middle = (low + high) >> 1;
          if (finite[middle] <= x) low = middle;
          else high = middle;
        }
        const above = high < finite.length ? finite[high]
          : 2 * finite[low] - finite[low - 1]; // where overflow begins
        const [down, up] = [x - finite[low], above - x];
        return down < up || (down === up && low % 2 === 0) ? low : low + 1;
      };
      const got = await runOperation(client, 'convert', type, [operands], 'f32');
      operands.forEach((x, i) => {
        const bits = Number.isNaN(x) ? -1 : nearest(Math.abs(x));
        const size = bits < 0 ? NaN : bits < finite.length ? finite[bits] : past;
        const want = x < 0 || (Object.is(x, -0)) ? -size : size;
        const value = read(got, i);
        const same = want === 0 && special < 0 ? Object.is(value, 0) : Object.is(value, want);
        assert.ok(same, `${x} is ${value}, should be ${want}`);
      });
    });
  }
});

/* ---- Complex functions: units in the last place of the modulus ---- */

const COMPLEX_GOAL = { power: 8, else: 4 };

test('complex functions', { timeout: 60000 }, async (t) => {
  const client = await Client.create({ threads: 0 });
  for (const entry of await readPoints(new URL('complex.bin', folder))) {
    await t.test(`${entry.function} of ${entry.type}`, async () => {
      const { modulus, at } = await worstError(client, entry);
      const most = COMPLEX_GOAL[entry.function] ?? COMPLEX_GOAL.else;
      assert.ok(modulus <= most, `off by ${modulus} ulp at ${at}`);
    });
  }
  client.dispose();
});

/* Tiny and huge parts, in which intermediates overflow or cancel. Slopes are products of two functions. */
test('complex functions and their slopes at extremes', { timeout: 60000 }, async (t) => {
  const client = await Client.create({ threads: 0 });
  for (const entry of await readPoints(new URL('extremes.bin', folder))) {
    for (const isChlo of OF_CHLO.has(entry.function) ? [false, true] : [false]) {
      await t.test(`${isChlo ? 'chlo.' : ''}${entry.function} of ${entry.type}`, async () => {
        for (const [what, error, at] of await worstAtExtremes(client, entry, isChlo)) {
          assert.ok(error <= (what === 'value' ? 4 : 8), `${what}: off by ${error} ulp at ${at}`);
        }
      });
    }
  }
  client.dispose();
});

/* ---- Sums: units of roundoff, relative to the sum of absolute values ---- */

const LONG_SUMS = [
  { path: 'all of a vector', type: 'f32', numbers: 'equal', n: 2 ** 20 },
  { path: 'columns, 3', type: 'f32', numbers: 'equal', n: 2 ** 20 },
  { path: 'cumulative', type: 'f32', numbers: 'equal', n: 2 ** 20 },
];

test('sums', { timeout: 120_000 }, async (t) => {
  const table = await readTable();
  for (const { path, type, numbers, n } of [...cases(PATHS, 'test'), ...LONG_SUMS]) {
    const which = { path, type, numbers, n };
    await t.test(keyOf(which), async () => {
      const error = await measureSum(client, makeCase(path, type, numbers, n)), most = allowed(table, which);
      assert.ok(error <= most, `off by ${error} units of roundoff; ${most} are allowed`);
    });
  }
});
