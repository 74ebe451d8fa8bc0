/**
 * The functions beside XLA's operations (bindings/builder/functions) against JAX's results, from tests/golden/functions.py: as a
 * builder's methods, and those whose first argument is an operand as methods of it. Also b.function().
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { functionsBeside } from '../../bindings/builder/functions/index.mjs';
import { OPERATIONS } from '../../bindings/builder/operations.mjs';
import { Client, Literal } from '../../bindings/index.mjs';

const cases = JSON.parse(await readFile(new URL('../golden/functions.json', import.meta.url)));
const ULPS = { f32: 2 ** -23, f64: 2 ** -52, f16: 2 ** -10, bf16: 2 ** -7, c64: 2 ** -23 };

let client;
before(async () => (client = await Client.create({ threads: 0 })));
after(() => client.dispose());

const isBig = (shape) => /^[su]64/.test(shape);
const number = (value) => (typeof value === 'string' ? Number(value.replace('inf', 'Infinity')) : value);

/** Nests a list of values as a shape says; complex numbers and booleans are values. */
function literalOf({ shape, data }) {
  const values = data.map((value) => (isBig(shape) ? BigInt(value) : number(value)));
  const dimensions = shape.match(/\[(.*)\]/)[1].split(',').filter(Boolean).map(Number);
  const leaves = shape.startsWith('c') ? Array.from({ length: values.length / 2 }, (_, i) => values.slice(2 * i, 2 * i + 2)) : values;
  const nested = dimensions.reduceRight((list, size, d) => (d === 0 && list.length === size ? list
    : Array.from({ length: list.length / size }, (_, i) => list.slice(i * size, (i + 1) * size))), leaves);
  return Literal.from(dimensions.length ? nested : leaves[0], shape);
}

const flat = (literal) => [literal.toArray()].flat(Infinity).map((value) => (value === true ? 1 : value === false ? 0 : value));

function agree(got, wanted, what) {
  assert.equal(String(got.shape.withLayout(null)), wanted.shape, what);
  const [type] = wanted.shape.split('[');
  const [values, right] = [flat(got), wanted.data.map((value) => number(value))];
  const largest = Math.max(...right.map((value) => (Number.isFinite(Number(value)) ? Math.abs(Number(value)) : 0)), 2 ** -40);
  right.forEach((value, i) => {
    const other = Number(values[i]);
    const isSame = Object.is(other, Number(value)) || other === Number(value);
    const distance = Math.abs(other - Number(value));
    assert.ok(isSame || (ULPS[type] && distance <= 16 * ULPS[type] * largest), `${what}: element ${i} is ${other}, JAX's ${value}`);
  });
}

async function evaluated({ method, arguments: list }, asMethod) {
  const b = client.builder(method);
  const inputs = [];
  const operand = (one) => {
    inputs.push(literalOf(one));
    return b.parameter(inputs.length - 1, one.shape);
  };
  const values = list.map((one) => (one.op ? operand(one.op) : one.ops ? one.ops.map(operand) : one.value));
  const result = asMethod ? values[0][method](...values.slice(1)) : b[method](...values);
  const executable = await client.compile(b.build(result));
  const results = await executable.execute(inputs);
  executable.dispose();
  return results;
}

test('crossEntropy: negative labels count from the end, others out of range give NaN, of every type', async () => {
  const logits = [[1, 2, 4], [1, 2, 4], [1, 2, 4], [1, 2, 4]];
  const last = Math.log(Math.exp(1) + Math.exp(2) + Math.exp(4)) - 4;
  for (const [type, labels, wanted] of [
    ['s32', [-1, 2, 3, -4], [last, last, NaN, NaN]], ['s8', [-1, 2, 127, -128], [last, last, NaN, NaN]],
    ['u8', [2, 3, 255, 0], [last, NaN, NaN, last + 3]], ['u32', [2, 3, 2 ** 32 - 1, 0], [last, NaN, NaN, last + 3]],
    ['s64', [-1, 2, 2 ** 33, -4], [last, last, NaN, NaN]],
  ]) {
    const b = client.builder('loss');
    const loss = b.crossEntropy(b.constant(logits, 'f32[4,3]'), b.constant(labels, `${type}[4]`));
    const [{ data }] = await (await client.compile(b.build(loss))).execute([]);
    wanted.forEach((value, i) => assert.ok(Object.is(value, data[i]) || Math.abs(value - data[i]) < 1e-6,
      `${type} ${labels[i]}: ${data[i]}, not ${value}`));
  }
});

test('each function beside the operations has cases', () => {
  const methods = new Set(cases.map(({ method }) => method));
  assert.deepEqual(Object.keys(functionsBeside(OPERATIONS)).filter((name) => !methods.has(name)), []);
});

describe('functions beside the operations agree with JAX', () => {
  for (const method of new Set(cases.map((one) => one.method))) {
    test(method, async () => {
      for (const one of cases.filter((other) => other.method === method)) {
        const what = `${method}(${one.arguments.map((a) => a.op?.shape ?? JSON.stringify(a.ops?.map(({ shape }) => shape) ?? a.value)).join(', ')})`;
        const wanted = [one.wanted].flat();
        for (const asMethod of one.arguments[0].op ? [false, true] : [false]) {
          const results = await evaluated(one, asMethod);
          assert.equal(results.length, wanted.length, what);
          results.forEach((result, i) => agree(result, wanted[i], what));
        }
      }
    });
  }
});

test('a loss of these functions has a gradient', async () => {
  const b = client.builder('loss');
  const [x, w, labels] = [b.parameter(0, 'f32[3,4]'), b.parameter(1, 'f32[4,5]'), b.parameter(2, 's32[3]')];
  const loss = b.mean(b.crossEntropy(b.layerNorm(b.gelu(b.matmul(x, w))), labels));
  const executable = await client.compile(b.build(b.gradient(loss, w)));
  const xs = Float32Array.from({ length: 12 }, (_, i) => Math.sin(i)), ws = Float32Array.from({ length: 20 }, (_, i) => Math.cos(3 * i));
  const [gradient] = await executable.execute([xs, ws, [1, 0, 4]]);
  const lossOf = (weights) => {
    let total = 0;
    for (let r = 0; r < 3; r++) {
      const h = Array.from({ length: 5 }, (_, c) => [0, 1, 2, 3].reduce((sum, k) => sum + xs[4 * r + k] * weights[5 * k + c], 0));
      const g = h.map((v) => 0.5 * v * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3))));
      const mean = g.reduce((a, v) => a + v) / 5, variance = g.reduce((a, v) => a + (v - mean) ** 2, 0) / 5;
      const n = g.map((v) => (v - mean) / Math.sqrt(variance + 1e-6));
      total += Math.log(n.reduce((a, v) => a + Math.exp(v), 0)) - n[[1, 0, 4][r]];
    }
    return total / 3;
  };
  gradient.data.forEach((value, i) => {
    const moved = (by) => Float64Array.from(ws, (v, k) => (k === i ? v + by : v));
    const slope = (lossOf(moved(1e-5)) - lossOf(moved(-1e-5))) / 2e-5;
    assert.ok(Math.abs(value - slope) < 1e-4, `element ${i}: ${value}, by differences ${slope}`);
  });
  executable.dispose();
});

describe('b.function', () => {
  test('names a computation that is traced once for each list of shapes', async () => {
    const b = client.builder('twice');
    let traced = 0;
    const scale = b.constantR0(3, 'f32');
    const layer = b.function(function layer(inner, x, y) {
      traced++;
      return inner.add(inner.mul(x, scale), y);
    });
    const [x, y] = [b.parameter(0, 'f32[2]'), b.parameter(1, 'f32[3]')];
    const twice = layer(layer(x, x), x);
    const module = b.build(b.tuple([twice, layer(y, y)]));
    assert.equal(traced, 2);
    assert.equal(module.toString().match(/^%?layer.*\{$/gm).length, 2);
    const executable = await client.compile(module);
    const [first, second] = await executable.execute([[1, 2], [1, 1, 1]]);
    assert.deepEqual([first.toArray(), second.toArray()], [[13, 26], [4, 4, 4]]);
    executable.dispose();
  });

  test('several results are elements of a tuple, and values from outside are captured', async () => {
    const b = client.builder('both');
    const [x, w] = [b.parameter(0, 'f32[2]'), b.parameter(1, 'f32[2]')];
    const both = b.function((inner, v) => [inner.add(v, w), inner.mul(v, w)], 'both');
    const [s, p] = both(x);
    const executable = await client.compile(b.build(b.sub(s, p)));
    const [result] = await executable.execute([[1, 2], [10, 20]]);
    assert.deepEqual(result.toArray(), [1, -18]);
    executable.dispose();
  });

  test('values that are no function or no operand are refused', () => {
    const b = client.builder('wrong');
    assert.throws(() => b.function(3), /function: fn must be a function .*; got 3/);
    assert.throws(() => b.function((inner, x) => x)(3), /function: argument 0 must be an XlaOp of this builder; got 3/);
    assert.throws(() => b.function(() => 3)(), /must return an XlaOp/);
  });
});

describe('errors name the function, what came and the rule', () => {
  for (const [what, use, wanted] of [
    ['an axis that is not there', (b, x) => b.softmax(x, 2), /softmax: axis 2 is none of an array of rank 2; axes go from -2 to 1/],
    ['an axis twice', (b, x) => b.sum(x, [1, -1]), /sum: axis 1 is stated twice/],
    ['integers for floats', (b, x) => b.gelu(b.convertElementType(x, 's32')), /gelu: operand is s32\[2,3\].*; it must be an array of floats/],
    ['labels of another shape', (b, x) => b.crossEntropy(x, b.constant([1, 2, 3], 's32[3]')), /crossEntropy: labels are s32\[3\].*dimensions \[2\]/],
    ['sizes that do not divide', (b, x) => b.split(x, 2, 1), /split: axis 1 of f32\[2,3\].* does not divide into 2 equal parts/],
    ['shapes that differ', (b, x) => b.stack([x, b.transpose(x, [1, 0])]), /stack: arrays are .*; they must have one shape/],
    ['a label of two sizes', (b, x) => b.einsum('ij,ji->i', [x, x]), /einsum: "ij,ji->i" of .*: "j" is of size 3 and of 2/],
    ['an unknown label', (b, x) => b.einsum('ij->ik', [x]), /einsum: .*: the result's "k" is in no operand/],
    ['a scalar product', (b, x) => b.matmul(x, b.constantR0(1, 'f32')), /matmul: .*; neither may be a scalar: use mul/],
    ['no key', (b, x) => b.uniform(x, 'f32[2]'), /uniform: key is f32\[2,3\].*; it must be u32\[2\]/],
    ['shapes that do not broadcast', (b, x) => b.where(b.gt(x, 0), x, b.constant([1, 2], 'f32[2]')), /where: shapes .* do not broadcast together/],
    ['a rate above 1', (b, x) => b.dropout(x, b.key(0), 2), /dropout: rate is 2; it must be from 0 to 1/],
  ]) {
    test(what, () => {
      const b = client.builder('wrong');
      assert.throws(() => use(b, b.parameter(0, 'f32[2,3]')), { code: 'INVALID_ARGUMENT', message: wanted });
    });
  }
});
