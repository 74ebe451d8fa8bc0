/** Mistakes at the builder's methods: each is thrown at the call, names the operation and says what is wrong. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client } from '../../bindings/index.mjs';
import { hloText, refuses, scalars } from '../support/building.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 1 });
});
after(() => client.dispose());

const text = (...program) => hloText(client, ...program);
const binary = (...body) => scalars(client, ...body);

describe('mistakes', () => {
  const cases = [
    ['no operand', (b) => b.abs(), /abs: operand is missing; it must be an XlaOp/],
    ['a word for an operand', (b, x) => b.add(x, '1'),
      /add: rhs must be an XlaOp or a number; got "1"/],
    ['numbers for all operands', (b) => b.add(1, 2), /lhs is the number 1, whose type nothing says/],
    ['too many arguments', (b, x) => b.sub(x, x, [0], 1),
      /subtract: 4 arguments are more than the 3 there are: lhs, rhs, broadcastDimensions/],
    ['a fraction', (b, x) => b.broadcast(x, [1.5]), /broadcast: broadcastSizes must be an array/],
    ['NaN', (b, x) => b.getDimensionSize(x, NaN), /dimension must be an integer; got NaN/],
    ['NaN for a number', (b, x) => b.batchNormTraining(x, x, x, NaN, 0),
      /batch-norm-training: epsilon must be a finite number; got NaN/],
    ['an unknown word', (b, x) => b.fft(x, 'DFT', [2]), /fftType must be one of "FFT", "IFFT"/],
    ['an unknown option', (b, x) => b.dot(x, x, { presision: 'high' }),
      /dot: presision is not known here; did you mean precision\?/],
    ['an unknown field', (b, x) => b.dotGeneral(x, x, { lhsContractingDims: [0] }),
      /dimensionNumbers\.lhsContractingDims is not known here/],
    ['a missing field', (b, x) => b.gather(x, x, { offsetDims: [] }, [1]),
      /dimensionNumbers\.startIndexMap is missing/],
    ['no computation', (b, x) => b.reduce(x, x, 5, [0]), /computation must be a computation/],
    ['no element type', (b, x) => b.convertElementType(x, 'f31'), /newElementType must be an el/],
    ["another system's type", (b, x) => b.convertElementType(x, 'float'), /did you mean f32/],
    ['no shape', (b) => b.iota(4, 0), /iota: shape must be a shape.*got 4/],
    ['a bad shape', (b) => b.iota('f32[', 0), /"f32\["/],
    ['pairs that are none', (b, x) => b.collectivePermute(x, [[0, 1, 2]]), /array of pairs/],
    ['one operand for a list', (b, x) => b.tuple(x), /elements must be an array of XlaOps/],
    ['a split that does not divide', (b, x) => b.reduceScatter(x, binary('add'), 0, 3),
      /reduce-scatter: a dimension of 4 of operand f32\[4\] cannot be split into 3/],
    ['a dimension that is not there', (b, x) => b.allGather(x, 1, 2), /all-gather/],
    ['a parameter number', (b) => b.parameter(-1, 'f32[]'), /parameter: number must be an integer from 0 to 2147483647; got -1/],
    ['a parameter number twice', (b) => b.parameter(0, 'f32[]'), /parameter/],
  ];
  for (const [name, build, pattern] of cases) {
    test(name, () => refuses(() => text(build, 'f32[4]'), pattern));
  }
  test('an operand of another builder', () => {
    const [first, second] = [client.builder('one'), client.builder('two')];
    const x = first.parameter(0, 'f32[]');
    refuses(() => second.neg(x),
      /negate: operand is an XlaOp of builder "one"; .* its own builder, "two"/, 'negate');
    refuses(() => second.build(x), /root must be an XlaOp of this builder/);
  });
  test('a computation of another client', async () => {
    const other = await Client.create({ threads: 0 });
    const b = other.builder();
    const body = b.build(b.neg(b.parameter(0, 'f32[]')));
    refuses(() => text((c, x) => c.call(body, [x]), 'f32[]'), /belongs to another client/, 'call');
    other.dispose();
  });
  test('text that is no attribute', () => {
    const build = (b, x) => b.customCall('f', [x], 'f32[]', { apiVersion: '}' });
    assert.throws(() => text(build, 'f32[]'), (error) => {
      assert.equal(error.code, 'INVALID_ARGUMENT');
      assert.deepEqual([error.operation, error.line], ['custom-call', undefined]);
      return true;
    });
  });
  test('a mistake leaves the builder as it was', async () => {
    const b = client.builder();
    const x = b.parameter(0, 'f32[2]');
    refuses(() => b.add(x, b.constant([1, 2, 3])), /f32\[3\]/, 'add');
    const module = b.build(b.neg(x));
    const executable = await client.compile(module);
    assert.deepEqual((await executable.execute([[1, 2]]))[0].toArray(), [-1, -2]);
  });
  test('a built builder is closed', () => {
    const b = client.builder('done');
    const x = b.parameter(0, 'f32[]');
    b.build(x).dispose();
    const closed = { code: 'FAILED_PRECONDITION', message: /builder "done" was built already/ };
    assert.throws(() => b.neg(x), closed);
    assert.throws(() => b.build(), closed);
    assert.throws(() => b.parameter(1, 'f32[]'), closed);
  });
  test('nothing to build', () => refuses(() => client.builder().build(), /./));
  test('parameter numbers with a gap', () => {
    const b = client.builder();
    refuses(() => b.build(b.parameter(1, 'f32[]')), /parameter/);
  });
});
