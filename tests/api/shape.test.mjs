/** Tests shapes: text, sizes, comparisons, layouts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { Layout, Shape } from '../../bindings/values/shape.mjs';

const refuses = (body, pattern) =>
  assert.throws(body, (error) => error.code === 'INVALID_ARGUMENT' && pattern.test(error.message));

describe('shapes in text', () => {
  const same = [
    'f32[2,3]', 'f32[]', 'pred[0]', 's4[7]', 'bf16[2,3]{0,1}', 'token[]', '()', 'f32[<=5,3]',
    '(f32[2], (s32[], pred[<=4,2]), token[])', 'f8e4m3b11fnuz[1]', 'opaque[]',
  ];
  for (const text of same) {
    test(text, () => assert.equal(Shape.parse(text).toString(), text));
  }

  test('the default layout goes unsaid, tiling and memory space are dropped', () => {
    assert.equal(String(Shape.parse(' f32[2, 3]{1,0} ')), 'f32[2,3]');
    assert.equal(String(Shape.parse('f32[2,3]{0,1:T(8,128)S(1)}')), 'f32[2,3]{0,1}');
    assert.equal(String(Shape.parse('f32[]{}')), 'f32[]');
    assert.equal(String(Shape.parse('s32[]{:S(5)}')), 's32[]');
  });

  const wrong = {
    '': /the end should be an element type/,
    'f33[2]': /"f33\[2\]" is no element type/,
    'f32[2': /the end should be ","/,
    'f32[2] x': /"x" does not belong there/,
    'f32[-1]': /"-1\]" should be a number/,
    'f32[2]{0,1}': /layout \{0,1\} has 2 dimensions; f32\[2\] has 1/,
    'f32[2,3]{0,0}': /minorToMajor must be an array that names each dimension once/,
    'token[3]': /token has no dimensions/,
    '(f32[2]': /the end should be ","/,
    'tuple[]': /is no element type/,
  };
  for (const [text, pattern] of Object.entries(wrong)) {
    test(`refuses "${text}"`, () => refuses(() => Shape.parse(text), pattern));
  }
  test('refuses values that are not text', () => {
    for (const value of [5, null, undefined, {}, ['f32', []]]) {
      refuses(() => Shape.of(value), /shape must be a Shape or a string/);
    }
  });
  test('refuses a rank beyond the core\'s', () => {
    refuses(() => Shape.array('f32', new Array(65).fill(1)), /rank 65/);
    assert.equal(Shape.array('f32', new Array(64).fill(1)).rank, 64);
  });
});

test('sizes', () => {
  const shape = Shape.of('(f32[2,3], (s4[5], c128[2]), token[])');
  assert.equal(shape.byteSize, 24 + 3 + 32);
  assert.deepEqual(shape.leaves().map(String), ['f32[2,3]', 's4[5]', 'c128[2]', 'token[]']);
  assert.equal(Shape.of('f32[4,0]').elementCount, 0);
  assert.equal(Shape.of('f32[]').elementCount, 1);
});

test('compatible ignores layout and dynamic dimensions, equals does not', () => {
  const [plain, column, dynamic] = ['f32[2,3]', 'f32[2,3]{0,1}', 'f32[<=2,3]'].map(Shape.parse);
  assert.ok(plain.compatible(column) && plain.compatible(dynamic));
  assert.ok(plain.equals(Shape.parse('f32[2,3]{1,0}')));
  assert.ok(!plain.equals(column) && !plain.equals(dynamic));
  assert.ok(!plain.compatible(Shape.parse('f32[3,2]')));
  assert.ok(!Shape.parse('(f32[])').compatible(Shape.parse('(f32[], f32[])')));
  assert.ok(plain.withElementType('s8').compatible(Shape.parse('s8[2,3]')));
});

// The examples of XLA's page on shapes and layout: [2 x 3], a b c / d e f.
describe('layouts', () => {
  const order = (shape) =>
    Array.from({ length: shape.linearSize }, (_, i) => {
      const [row, column] = shape.multiIndex(i);
      return row < 2 && column < 3 ? 'abcdef'[row * 3 + column] : '0';
    }).join(' ');
  const shape = Shape.parse('f32[2,3]');

  test('minor to major 1, 0 is row-major', () => {
    assert.equal(order(shape.withLayout([1, 0])), 'a b c d e f');
    assert.equal(order(shape), 'a b c d e f');
  });
  test('minor to major 0, 1 is column-major', () => {
    assert.equal(order(shape.withLayout([0, 1])), 'a d b e c f');
  });
  test('padded to 3 x 5', () => {
    const padded = shape.withLayout(
      new Layout({ minorToMajor: [0, 1], paddedDimensions: [3, 5] }));
    assert.equal(order(padded), 'a d 0 b e 0 c f 0 0 0 0 0 0 0');
    assert.equal(padded.elementCount, 6);
  });
  test('linear and multi-dimensional indices are each other\'s inverse', () => {
    const layout = new Layout({ minorToMajor: [1, 2, 0], paddedDimensions: [2, 5, 4] });
    const cube = Shape.parse('s32[2,3,4]').withLayout(layout);
    const seen = new Set();
    for (let i = 0; i < 2; i++) {
      for (let j = 0; j < 3; j++) {
        for (let k = 0; k < 4; k++) {
          const linear = cube.linearIndex([i, j, k]);
          assert.equal(linear, j + 5 * k + 20 * i);
          assert.deepEqual(cube.multiIndex(linear), [i, j, k]);
          seen.add(linear);
        }
      }
    }
    assert.equal(seen.size, 24);
  });
  test('refuses indices out of bounds and lists that do not fit', () => {
    refuses(() => shape.linearIndex([0]), /must be an array of 2 indices into f32\[2,3\]; got \[0\]/);
    refuses(() => shape.linearIndex([0, 3]), /multiIndex\[1\] must be an integer from 0 to 2, in dimension 1 of f32\[2,3\]; got 3/);
    refuses(() => shape.linearIndex([0, -1]), /in dimension 1 of .*; got -1/);
    refuses(() => shape.multiIndex(6), /linearIndex must be an integer from 0 to 5, .*; got 6/);
    refuses(() => shape.multiIndex(NaN), /linearIndex must be .*; got NaN/);
    refuses(() => shape.withLayout([0]), /has 1 dimensions; f32\[2,3\] has 2/);
    refuses(() => new Layout({}), /minorToMajor must name each dimension once/);
    refuses(() => new Layout({ minorToMajor: [0, 2] }), /minorToMajor/);
    refuses(() => new Layout({ minorToMajor: [0], paddedDimensions: [1, 2] }), /2 entries for 1/);
    refuses(() => new Layout({ minorToMajor: [0], paddingValue: 'TWO' }), /paddingValue/);
    refuses(
      () => shape.withLayout(new Layout({ minorToMajor: [0, 1], paddedDimensions: [2, 2] })),
      /padded dimension 1 of layout is 2, less than the 3 elements/,
    );
    refuses(() => Shape.parse('()').withLayout([]), /is no array/);
  });
});
