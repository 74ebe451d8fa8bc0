/** Tests literals: element types, conversions from and to JavaScript values, layouts, text. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { Literal } from '../../bindings/values/literal.mjs';
import { Layout } from '../../bindings/values/shape.mjs';
import { ELEMENT_TYPES } from '../../bindings/values/types.mjs';

const refuses = (body, pattern) =>
  assert.throws(body, (error) => error.code === 'INVALID_ARGUMENT' && pattern.test(error.message));

describe('every element type', () => {
  // [element type, natural array, values that it has, values that it has not]
  const rows = [
    ['pred', Uint8Array, [true, false], [2, 0.5, 'true', null]],
    ['s2', Int8Array, [-2, 1], [2, -3, NaN]],
    ['s4', Int8Array, [-8, 7, 0], [8, -9, 1.5]],
    ['s8', Int8Array, [-128, 127], [128, -129]],
    ['s16', Int16Array, [-32768, 32767], [32768]],
    ['s32', Int32Array, [-(2 ** 31), 2 ** 31 - 1], [2 ** 31, 0.5, NaN, Infinity, '1']],
    ['s64', BigInt64Array, [-(2n ** 63n), 2n ** 63n - 1n], [2n ** 63n, 0.5]],
    ['u2', Uint8Array, [0, 3], [4, -1]],
    ['u4', Uint8Array, [0, 15], [16]],
    ['u8', Uint8Array, [0, 255], [256, -1]],
    ['u16', Uint16Array, [0, 65535], [65536]],
    ['u32', Uint32Array, [0, 2 ** 32 - 1], [2 ** 32, -1]],
    ['u64', BigUint64Array, [0n, 2n ** 64n - 1n], [-1n, 2n ** 64n]],
    ['f16', Uint16Array, [1.5, -65504, Infinity, NaN, -0], ['1', true]],
    ['bf16', Uint16Array, [1.5, 2 ** 120, -Infinity], [null]],
    ['f8e5m2', Uint8Array, [57344, -Infinity, 2 ** -16], [[]]],
    ['f8e4m3', Uint8Array, [240, Infinity], [{}]],
    ['f8e3m4', Uint8Array, [15.5, -Infinity], ['']],
    ['f8e4m3fn', Uint8Array, [448, NaN, 2 ** -9], [undefined]],
    ['f8e4m3b11fnuz', Uint8Array, [30, NaN], ['0']],
    ['f8e5m2fnuz', Uint8Array, [57344, NaN], ['0']],
    ['f8e4m3fnuz', Uint8Array, [240, NaN], ['0']],
    ['f8e8m0fnu', Uint8Array, [2 ** -127, 1, 2 ** 127, NaN], ['1']],
    ['f4e2m1fn', Uint8Array, [0.5, -6, -0], ['1']],
    ['f32', Float32Array, [0.5, -0, Infinity], ['0.5', [1, 2]]],
    ['f64', Float64Array, [0.1, Number.MAX_VALUE, NaN], [true]],
    ['c64', Float32Array, [[0.5, -1], [0, NaN]], ['i', [1, 'i']]],
    ['c128', Float64Array, [[0.1, 0.2]], [true]],
  ];
  test('is in the table', () => {
    assert.deepEqual(rows.map((row) => row[0]), [...ELEMENT_TYPES.keys()]);
  });
  for (const [type, natural, values, others] of rows) {
    test(type, () => {
      const literal = Literal.from(values, `${type}[${values.length}]`);
      assert.ok(literal.data instanceof natural);
      assert.deepEqual(literal.toArray(), values);
      assert.deepEqual(Literal.from(literal.data, literal.shape).toArray(), values);
      for (const value of others) refuses(() => Literal.from([value], `${type}[1]`), /cannot hold/);
    });
  }
});

describe('narrow floats', () => {
  const bits = (type, value) => Literal.from(value, `${type}[]`).data[0];
  test('round to nearest, ties to even', () => {
    assert.equal(bits('f16', 1 + 2 ** -11), 0x3c00); // half way, down to even
    assert.equal(bits('f16', 1 + 3 * 2 ** -11), 0x3c02); // half way, up to even
    assert.equal(bits('f16', 65519.99), 0x7bff);
    assert.equal(bits('f16', 65520), 0x7c00);
    assert.equal(bits('f16', 2 ** -25), 0);
    assert.equal(bits('f16', 2 ** -25 * 1.0001), 1);
    assert.equal(bits('bf16', 1 + 2 ** -8), 0x3f80);
    assert.equal(bits('bf16', 1 + 2 ** -8 + 2 ** -40), 0x3f81); // rounded once, not through f32
    assert.equal(bits('f8e4m3fn', 464), 0x7e);
  });
  test("overflow to the format's own value", () => {
    assert.equal(bits('f8e5m2', 1e9), 0x7c);
    assert.equal(bits('f8e4m3fn', 465), 0x7f);
    assert.equal(bits('f8e4m3fn', -Infinity), 0x7f);
    assert.equal(bits('f8e4m3fnuz', Infinity), 0x80);
  });
  test('the formats without negative zero have none', () => {
    assert.equal(bits('f8e5m2fnuz', -0), 0);
    assert.equal(bits('f8e5m2', -0), 0x80);
  });
});

describe('values become literals', () => {
  const list = (value, shape) => Array.from(Literal.from(value, shape).data);
  test('an array that is part of itself is refused', () => {
    const endless = [];
    endless.push(endless);
    refuses(() => Literal.from(endless), /nested deeper than 64 levels/);
  });
  test('nested arrays', () => {
    assert.deepEqual(list([[1, 2, 3], [4, 5, 6]], 'f32[2,3]'), [1, 2, 3, 4, 5, 6]);
    assert.deepEqual(list([[], []], 'f32[2,0]'), []);
    assert.deepEqual(list(7, 's8[]'), [7]);
  });
  test('typed arrays, at any level', () => {
    assert.deepEqual(list(Float32Array.of(1, 2, 3, 4), 'f32[2,2]'), [1, 2, 3, 4]);
    assert.deepEqual(list([Int8Array.of(1, 2), [3, 4]], 'f32[2,2]'), [1, 2, 3, 4]);
    assert.deepEqual(list(Uint8ClampedArray.of(9), 'u8[1]'), [9]);
    assert.deepEqual(list(Uint16Array.of(0x3c00), 'f16[1]'), [0x3c00]); // bits
    assert.deepEqual(list(Int16Array.of(1), 'f16[1]'), [0x3c00]); // a value
    assert.deepEqual(list(Float32Array.of(1, 2, 3, 4), 'c64[2]'), [1, 2, 3, 4]); // pairs
    assert.deepEqual(list(Float64Array.of(1, 2), 'c64[2]'), [1, 0, 2, 0]); // real numbers
    assert.deepEqual(list(Buffer.from([1, 2]), 'u8[2]'), [1, 2]);
    assert.deepEqual(list(BigInt64Array.of(1n), 's32[1]'), [1]);
  });
  test('complex numbers', () => {
    assert.deepEqual(list([[[1, 2], [3, 4]]], 'c64[1,2]'), [1, 2, 3, 4]);
    assert.deepEqual(list(5, 'c128[]'), [5, 0]);
  });
  test('tuples', () => {
    const tuple = Literal.from([1, [[2, 3], []]], '(f32[], (s32[2], f32[0]))');
    assert.deepEqual(tuple.toArray(), [1, [[2, 3], []]]);
    assert.equal(tuple.elements[1].shape.toString(), '(s32[2], f32[0])');
    assert.deepEqual(tuple.leaves().map((leaf) => leaf.shape.toString()),
      ['f32[]', 's32[2]', 'f32[0]']);
  });
  test('without a shape', () => {
    const shapes = [
      [1, 'f32[]'], [true, 'pred[]'], [1n, 's64[]'], [[[1, 2]], 'f32[1,2]'],
      [Int16Array.of(1), 's16[1]'], [[Uint8Array.of(1, 2)], 'u8[1,2]'], [[], 'f32[0]'],
    ];
    for (const [value, shape] of shapes) {
      assert.equal(Literal.from(value).shape.toString(), shape);
    }
    refuses(() => Literal.from('x'), /the value must be a number, .*; got "x"/);
    refuses(() => Literal.from([[1], [2, 3]]), /f32\[2,1\] at \[1\] needs 1 elements/);
  });
  test('mistakes say where', () => {
    refuses(() => Literal.from([[1, 2], [3]], 'f32[2,2]'),
      /f32\[2,2\] at \[1\] needs 2 elements in dimension 1; got 1/);
    refuses(() => Literal.from([1, 2], 'f32[2,2]'), /at \[0\] needs an array of 2 .* got 1/);
    refuses(() => Literal.from([[1, 2.5]], 's32[1,2]'), /at \[0\]\[1\] cannot hold 2.5/);
    refuses(() => Literal.from(1, 'f32[2]'), /needs an array of 2/);
    refuses(() => Literal.from([1], 'f32[]'), /cannot hold \[1\]/);
    refuses(() => Literal.from(new Float32Array(5), 'f32[2,2]'), /needs 4 entries/);
    refuses(() => Literal.from(Int8Array.of(9), 's4[1]'), /cannot hold 9, which is entry 0/);
    refuses(() => Literal.from(Uint8Array.of(2), 'pred[1]'), /cannot hold 2/);
    refuses(() => Literal.from(new DataView(new ArrayBuffer(4)), 'f32[1]'), /DataView/);
    refuses(() => Literal.from([1], '(f32[], f32[])'), /needs an array of 2/);
    refuses(() => Literal.from(Literal.from(1), 's32[]'), /does not fit a literal of f32\[\]/);
    refuses(() => new Literal('f32[2]', new Float64Array(2)), /needs a Float32Array/);
    refuses(() => new Literal('f32[2]', new Float32Array(3)), /needs 2 entries; got 3/);
    refuses(() => Literal.from([], 'f32[9007199254740991,4]'), /too large|needs/);
  });
});

describe('packed bytes', () => {
  // XLA:CPU's own bytes of these arrays: jax.Array.unsafe_buffer_pointer()
  const rows = [
    ['s4[5]', [-8, -7, -1, 0, 7], [0x98, 0x0f, 0x07]], ['u4[3]', [1, 2, 15], [0x21, 0x0f]], ['s2[5]', [-2, -1, 0, 1, -2], [0x4e, 0x02]],
    ['u2[4]', [0, 1, 2, 3], [0xe4]], ['f4e2m1fn[3]', [0.5, -6, 1], [0xf1, 0x02]], ['s4[]', -1, [0x0f]], ['u2[0]', [], []],
  ];
  for (const [shape, values, bytes] of rows) {
    test(shape, () => {
      assert.deepEqual([...Literal.from(values, shape).packed], bytes);
      const literal = Literal.fromPacked(Uint8Array.from(bytes), shape);
      assert.deepEqual([...literal.packed], bytes);
      assert.deepEqual(literal.toArray(), values);
      assert.deepEqual(literal, Literal.from(values, shape));
      assert.equal(literal.data, literal.data); // made once
      assert.deepEqual([...literal.packed], bytes);
    });
  }

  test('changes of the elements count', () => {
    const literal = Literal.fromPacked(Uint8Array.of(0x21), 'u4[2]');
    literal.data[0] = 5;
    assert.deepEqual([...literal.packed], [0x25]);
    assert.deepEqual(literal.toArray(), [5, 2]);
  });

  test('in a layout, the bytes are in its order', () => {
    const literal = Literal.fromPacked(Uint8Array.of(0x21, 0x43), 'u4[2,2]{0,1}');
    assert.deepEqual(literal.toArray(), [[1, 3], [2, 4]]);
    assert.deepEqual([...literal.inLayout(null).packed], [0x31, 0x42]);
  });

  test('of other types, the elements as they are', () => {
    assert.deepEqual([...Literal.from([1, -1], 's16[2]').packed], [1, 0, 255, 255]);
    assert.equal(Literal.tuple([]).packed, null);
  });

  test('mistakes', () => {
    refuses(() => Literal.fromPacked(new Uint8Array(2), 's4[5]'), /s4\[5\] needs a Uint8Array of 3 packed bytes; got .* of 2/);
    refuses(() => Literal.fromPacked(new Int8Array(3), 's4[5]'), /bytes must be a Uint8Array/);
    refuses(() => Literal.fromPacked(Uint8Array.of(0, 0, 16), 's4[5]'), /upper 4 bits must be 0/);
    refuses(() => Literal.fromPacked(new Uint8Array(5), 's8[5]'), /s8\[5\] has no elements of 4 or 2 bits/);
    refuses(() => Literal.fromPacked(new Uint8Array(1), '(s4[2])'), /no elements of 4 or 2 bits/);
  });
});

describe('layouts', () => {
  const literal = Literal.from([[1, 2, 3], [4, 5, 6]], 'f32[2,3]');
  test('column-major', () => {
    const column = literal.inLayout([0, 1]);
    assert.deepEqual([...column.data], [1, 4, 2, 5, 3, 6]);
    assert.equal(column.shape.toString(), 'f32[2,3]{0,1}');
    assert.deepEqual(column.toArray(), literal.toArray());
    assert.equal(column.get([1, 0]), 4);
    assert.deepEqual([...column.inLayout(null).data], [1, 2, 3, 4, 5, 6]);
  });
  test('padded', () => {
    const pad = (paddingValue) =>
      [...literal.inLayout(
        new Layout({ minorToMajor: [0, 1], paddedDimensions: [3, 5], paddingValue })).data];
    assert.deepEqual(pad('ZERO_PAD'), [1, 4, 0, 2, 5, 0, 3, 6, 0, 0, 0, 0, 0, 0, 0]);
    assert.deepEqual(pad('ONE_PAD'), [1, 4, 1, 2, 5, 1, 3, 6, 1, 1, 1, 1, 1, 1, 1]);
    assert.equal(pad('LOWEST_PAD')[2], -Infinity);
    assert.equal(pad('HIGHEST_PAD')[2], Infinity);
  });
  test('values given by layout', () => {
    assert.deepEqual([...Literal.from([[1, 2, 3], [4, 5, 6]], 'f32[2,3]{0,1}').data],
      [1, 4, 2, 5, 3, 6]);
    assert.deepEqual(Literal.from(Float32Array.of(1, 4, 2, 5, 3, 6), 'f32[2,3]{0,1}').toArray(),
      [[1, 2, 3], [4, 5, 6]]);
    assert.deepEqual([...Literal.from(literal, 'f32[2,3]{0,1}').data], [1, 4, 2, 5, 3, 6]);
  });
  test('complex numbers stay pairs', () => {
    const pairs = Literal.from([[[1, 2], [3, 4]], [[5, 6], [7, 8]]], 'c64[2,2]').inLayout([0, 1]);
    assert.deepEqual([...pairs.data], [1, 2, 5, 6, 3, 4, 7, 8]);
  });
});

test('text', () => {
  const text = (value, shape) => Literal.from(value, shape).toString();
  assert.equal(text(0.1, 'f32[]'), 'f32[] 0.1');
  assert.equal(text([NaN, -Infinity, -0, 1e30], 'f32[4]'), 'f32[4] {nan, -inf, -0, 1e+30}');
  assert.equal(text([[1, 2], [3, 4]], 's32[2,2]'), 's32[2,2] {\n  {1, 2},\n  {3, 4}\n}');
  assert.equal(text([true, false], 'pred[2]'), 'pred[2] {true, false}');
  assert.equal(text([1.1, 2], 'c64[]'), 'c64[] (1.1, 2)');
  assert.equal(text([2n ** 63n - 1n], 's64[1]'), 's64[1] {9223372036854775807}');
});
