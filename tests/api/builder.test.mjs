/**
 * The builder: every operation by its method. The values are those of XLA's operation semantics and
 * broadcasting pages, or can be worked out by hand.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import {
  Buffer, Client, Executable, HloModule, Layout, Literal, Shape, XlaBuilder, XlaOp,
} from '../../bindings/index.mjs';
import { disagreements, packageDeclarations } from '../../bindings/tools/declarations/generate.mjs';
import { hloText, refuses, results, scalars } from '../support/building.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 1 });
});
after(() => client.dispose());

const run = (...program) => results(client, ...program);
const text = (...program) => hloText(client, ...program);
const binary = (...body) => scalars(client, ...body);

describe('the declarations', async () => {
  const text = await packageDeclarations();
  test('have a sentence for each operation of the table', () => assert.deepEqual(disagreements(), []));
  for (const Class of [Buffer, Client, Executable, HloModule, Layout, Literal, Shape, XlaBuilder,
    XlaOp]) {
    test(`name the members of ${Class.name}, and nothing else`, () => {
      const from = text.search(new RegExp(`^export class ${Class.name}\\b`, 'm'));
      const body = text.slice(from, text.indexOf('\n}\n', from));
      const declared = new Set(Array.from(
        body.matchAll(/^ {2}(?:readonly |static )*(?!readonly|static|private)(\w+)[?]?[(<:]/gm),
        ([, name]) => name));
      declared.delete('constructor');
      const names = ({ prototype }) => Object.getOwnPropertyNames(prototype);
      const statics = Object.getOwnPropertyNames(Class)
        .filter((name) => !['length', 'name', 'prototype'].includes(name));
      for (const name of [...names(Class), ...statics]) {
        if (name !== 'constructor') assert.ok(declared.has(name), `${name} is not declared`);
        declared.delete(name);
      }
      // What is left are fields, which instances have.
      const source = String(Class);
      for (const name of declared) assert.match(source, new RegExp(`this\\.${name} =`), name);
    });
  }
});

describe('element-wise operations', () => {
  const float = [
    ['abs', -1.5, 1.5], ['cbrt', 27, 3], ['ceil', 1.2, 2], ['cos', 0, 1], ['cosh', 0, 1],
    ['erf', 0, 0], ['exp', 0, 1], ['expm1', 0, 0], ['floor', -1.2, -2], ['log', 1, 0],
    ['log1p', 0, 0], ['logistic', 0, 0.5], ['neg', 2, -2], ['round', 2.5, 3], ['round', -2.5, -3],
    ['roundNearestEven', 2.5, 2], ['rsqrt', 4, 0.5], ['sign', -7, -1], ['sin', 0, 0],
    ['sinh', 0, 0], ['sqrt', 9, 3], ['tan', 0, 0], ['tanh', 0, 0], ['isFinite', Infinity, false],
    ['isFinite', 1, true], ['real', 3, 3], ['imag', 3, 0], ['acos', 1, 0], ['acosh', 1, 0],
    ['asin', 0, 0], ['asinh', 0, 0], ['atanh', 0, 0], ['copy', 5, 5],
  ];
  for (const [method, x, want] of float) {
    test(`${method}(${x})`, async () => {
      assert.deepEqual(await run((b, p) => b[method](p), [[x], 'f32[1]']), [want]);
    });
  }
  test('integers and predicates', async () => {
    assert.deepEqual(await run((b, p) => b.clz(p), [[1, 0], 's32[2]']), [31, 32]);
    assert.deepEqual(await run((b, p) => b.populationCount(p), [[7, 255], 'u8[2]']), [3, 8]);
    assert.deepEqual(await run((b, p) => b.not(p), [[true, false], 'pred[2]']), [false, true]);
    assert.deepEqual(await run((b, p) => b.not(p), [[0], 's32[1]']), [-1]);
  });
  test('complex', async () => {
    const z = [[[3, -4]], 'c64[1]'];
    assert.deepEqual(await run((b, p) => b.conj(p), z), [[3, 4]]);
    assert.deepEqual(await run((b, p) => b.tuple([b.real(p), b.imag(p), b.abs(p)]), z),
      [[3], [-4], [5]]);
    assert.deepEqual(await run((b, x, y) => b.complex(x, y), [[1], 'f32[1]'], [[2], 'f32[1]']),
      [[1, 2]]);
  });

  const two = [
    ['add', 7, 3, 10], ['sub', 7, 3, 4], ['mul', 7, 3, 21], ['div', 7, 3, 2], ['rem', -7, 3, -1],
    ['mulhi', 2 ** 30, 8, 2],
    ['max', 7, 3, 7], ['min', 7, 3, 3], ['pow', 2, 5, 32], ['and', 6, 3, 2], ['or', 6, 3, 7],
    ['xor', 6, 3, 5], ['shiftLeft', 1, 4, 16], ['shiftRightArithmetic', -8, 1, -4],
    ['shiftRightLogical', -8, 1, 0x7ffffffc], ['eq', 3, 3, true], ['ne', 3, 3, false],
    ['ge', 3, 3, true], ['gt', 3, 3, false], ['le', 3, 3, true], ['lt', 2, 3, true],
    ['eqTotalOrder', 3, 3, true], ['ltTotalOrder', 2, 3, true],
  ];
  for (const [method, x, y, want] of two) {
    test(`${method}(${x}, ${y})`, async () => {
      const got = await run((b, p, q) => b[method](p, q), [[x], 's32[1]'], [[y], 's32[1]']);
      assert.deepEqual(got, [want]);
    });
  }
  test('atan2', async () => {
    const got = await run((b, p, q) => b.atan2(p, q), [[1], 'f32[1]'], [[1], 'f32[1]']);
    assert.ok(Math.abs(got[0] - Math.PI / 4) < 1e-6);
  });
  test('total order: -NaN < -Inf < -1 < -0 < +0 < 1 < +Inf < +NaN', async () => {
    const order = Uint32Array.of(
      0xffc00000, 0xff800000, 0xbf800000, 0x80000000, 0, 0x3f800000, 0x7f800000, 0x7fc00000);
    const values = new Float32Array(order.buffer);
    const neighbours = [[values.slice(0, 7), 'f32[7]'], [values.slice(1), 'f32[7]']];
    const all = new Array(7).fill(true);
    assert.deepEqual(await run((b, x, y) => b.ltTotalOrder(x, y), ...neighbours), all);
    assert.deepEqual(await run((b, x, y) => b.leTotalOrder(x, y), ...neighbours), all);
    assert.deepEqual(await run((b, x, y) => b.gtTotalOrder(y, x), ...neighbours), all);
    assert.deepEqual(await run((b, x, y) => b.geTotalOrder(y, x), ...neighbours), all);
    assert.deepEqual(await run((b, x, y) => b.neTotalOrder(x, y), ...neighbours), all);
    assert.deepEqual(await run((b, x) => b.eqTotalOrder(x, x), neighbours[1]), all);
  });
  test('compare', async () => {
    const [x, y] = [[[1, 2, NaN], 'f32[3]'], [[2, 2, NaN], 'f32[3]']];
    assert.deepEqual(await run((b, p, q) => b.compare(p, q, 'LE'), x, y), [true, true, false]);
    assert.deepEqual(
      await run((b, p, q) => b.compare(p, q, [], 'EQ', 'TOTALORDER'), x, y), [false, true, true]);
    assert.deepEqual(
      await run((b, p, q) => b.compare(p, q, [1], 'EQ'), [[[1], [2]], 's32[2,1]'], [[2], 's32[1]']),
      [[false], [true]]);
  });
  test('clamp, as in the example', async () => {
    const build = (b, x) => b.clamp(b.constant(0, 's32[]'), x, b.constant(6, 's32[]'));
    assert.deepEqual(await run(build, [[-1, 5, 9], 's32[3]']), [0, 5, 6]);
  });
  test('select, as in the examples', async () => {
    const [v1, v2] = [[[1, 2, 3, 4], 's32[4]'], [[100, 200, 300, 400], 's32[4]']];
    const build = (b, p, x, y) => b.select(p, x, y);
    assert.deepEqual(await run(build, [[true, false, false, true], 'pred[4]'], v1, v2),
      [1, 200, 300, 4]);
    assert.deepEqual(await run(build, [true, 'pred[]'], v1, v2), [1, 2, 3, 4]);
  });
  test('reducePrecision(operand, exponentBits, mantissaBits)', async () => {
    const build = (b, x) => b.reducePrecision(x, 5, 10);
    assert.deepEqual(await run(build, [[1 + 2 ** -12, 1e6], 'f32[2]']), [1, Infinity]);
  });
  test('map', async () => {
    const args = [[[1, 2], 'f32[2]'], [[3, 4], 'f32[2]']];
    assert.deepEqual(await run((b, x, y) => b.map([x, y], binary('sub')), ...args), [-2, -2]);
    assert.deepEqual(await run((b, x, y) => b.map([x, y], binary('mul'), [0]), ...args), [3, 8]);
  });
});

describe('broadcasting, as on its page', () => {
  const matrix = [[[1, 2, 3], [4, 5, 6]], 's32[2,3]'];
  const add = (dimensions) => (b, x, y) => b.add(x, y, dimensions);
  test('a scalar', async () => {
    assert.deepEqual(await run(add(), matrix, [7, 's32[]']), [[8, 9, 10], [11, 12, 13]]);
  });
  test('a vector along dimension 1', async () => {
    assert.deepEqual(await run(add([1]), matrix, [[7, 8, 9], 's32[3]']),
      [[8, 10, 12], [11, 13, 15]]);
  });
  test('a vector along dimension 0, and on the left', async () => {
    assert.deepEqual(await run(add([0]), [[7, 8], 's32[2]'], matrix), [[8, 9, 10], [12, 13, 14]]);
  });
  test('degenerate dimensions', async () => {
    assert.deepEqual(await run(add(), [[[1], [2]], 's32[2,1]'], matrix), [[2, 3, 4], [6, 7, 8]]);
    assert.deepEqual(await run(add(), [[[1], [2]], 's32[2,1]'], [[[1, 2, 3]], 's32[1,3]']),
      [[2, 3, 4], [3, 4, 5]]);
  });
  test('both: a vector of 4 and a 1x2 matrix', async () => {
    assert.deepEqual(await run(add([0]), [[1, 2, 3, 4], 's32[4]'], [[[5, 6]], 's32[1,2]']),
      [[6, 7], [7, 8], [8, 9], [9, 10]]);
  });
  const invalid = [
    ['f32[2,3]', 'f32[3]', undefined, /ranks/],
    ['f32[2,3]', 'f32[3]', [0], /f32\[2,3\].*f32\[3\]|f32\[3\].*f32\[2,3\]/],
    ['f32[7,2,5]', 'f32[7,2,6]', undefined, /f32\[7,2,5\]/],
    ['f32[2,3,4,5]', 'f32[4,3]', [2, 1], /increasing/],
    ['f32[2,3,4,5]', 'f32[3,3]', [1, 1], /increasing/],
    ['f32[2,3]', 's32[2,3]', undefined, /s32\[2,3\]/],
  ];
  for (const [lhs, rhs, dimensions, pattern] of invalid) {
    test(`refuses ${lhs} and ${rhs} by [${dimensions ?? ''}]`, () => {
      refuses(() => text(add(dimensions), lhs, rhs), pattern, 'add');
    });
  }
});

describe('element types', () => {
  test('convertElementType, as in the example', async () => {
    assert.deepEqual(await run((b, x) => b.convertElementType(x, 'f32'), [[0, 1, 2], 's32[3]']),
      [0, 1, 2]);
  });
  test('bitcastConvertType in both directions', async () => {
    const one = Float32Array.of(1);
    assert.deepEqual(await run((b, x) => b.bitcastConvertType(x, 'u32'), [one, 'f32[1]']),
      [0x3f800000]);
    assert.deepEqual(await run((b, x) => b.bitcastConvertType(x, 'u16'), [one, 'f32[1]']),
      [[0, 0x3f80]]);
    const halves = [[[0, 0x3f80]], 'u16[1,2]'];
    assert.deepEqual(await run((b, x) => b.bitcastConvertType(x, 'f32'), halves), [1]);
    refuses(() => text((b, x) => b.bitcastConvertType(x, 'f32'), 'u8[3]'),
      /bitcast-convert: operand u8\[3\] cannot become f32; its last dimension must be 4/);
  });
});

describe('data movement', () => {
  const b4x3 = [[[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]], 'f32[4,3]'];
  const cube = [10, 20, 30, 40].map((n) =>
    [[n, n + 1, n + 2], [n + 5, n + 6, n + 7]]);
  const v = [cube, 'f32[4,2,3]'];

  test('broadcast', async () => {
    assert.deepEqual(await run((b, x) => b.broadcast(x, [2, 3]), [2, 'f32[]']),
      [[2, 2, 2], [2, 2, 2]]);
    assert.deepEqual(await run((b, x) => b.broadcast(x, [2]), [[1, 2], 'f32[2]']),
      [[1, 2], [1, 2]]);
  });
  test('broadcastInDim', async () => {
    const x = [[1, 2], 's32[2]'];
    assert.deepEqual(await run((b, p) => b.broadcastInDim(p, [2, 2], [1]), x), [[1, 2], [1, 2]]);
    assert.deepEqual(await run((b, p) => b.broadcastInDim(p, [2, 2], [0]), x), [[1, 1], [2, 2]]);
    assert.deepEqual(
      await run((b, p) => b.broadcastInDim(p, [2, 3], [0, 1]), [[[1], [2]], 's32[2,1]']),
      [[1, 1, 1], [2, 2, 2]]);
    refuses(() => text((b, p) => b.broadcastInDim(p, [3, 2], [0]), 's32[2]'),
      /broadcast: operand s32\[2\] .* neither 1 nor 3/);
    refuses(() => text((b, p) => b.broadcastInDim(p, [2, 2], [0, 1]), 's32[2]'), /for rank 1/);
    refuses(() => text((b, p) => b.broadcastInDim(p, [2, 2], [2]), 's32[2]'), /no dimension/);
    refuses(() => text((b, p) => b.broadcastInDim(p, [2, 2], [1, 0]), 's32[2,2]'), /increasing/);
  });
  test('collapse, as in the example', async () => {
    assert.deepEqual(await run((b, x) => b.collapse(x, [0, 1, 2]), v), cube.flat(2));
    assert.deepEqual(await run((b, x) => b.collapse(x, [0, 1]), v), cube.flat());
    assert.deepEqual(
      await run((b, x) => b.collapse(x, [1, 2]), v), cube.map((rows) => rows.flat()));
    assert.deepEqual(await run((b, x) => b.collapse(x, [1]), v), cube);
    for (const dimensions of [[1, 0], [0, 2], [2, 3]]) {
      refuses(() => text((b, x) => b.collapse(x, dimensions), 'f32[4,2,3]'), /consecutive/);
    }
  });
  test('reshape with an order, as in the example', async () => {
    const reshape = (...args) => run((b, x) => b.reshape(x, ...args), v);
    assert.deepEqual(await reshape([0, 1, 2], [24]), cube.flat(2));
    assert.deepEqual(await reshape([8, 3]), cube.flat());
    const turned = [
      10, 20, 30, 40, 11, 21, 31, 41, 12, 22, 32, 42, 15, 25, 35, 45, 16, 26, 36, 46, 17, 27, 37,
      47,
    ];
    assert.deepEqual(await reshape([1, 2, 0], [24]), turned);
    assert.deepEqual((await reshape([1, 2, 0], [8, 3]))[1], [40, 11, 21]);
    assert.deepEqual((await reshape([1, 2, 0], [2, 6, 2]))[1][5], [37, 47]);
    assert.equal(await run((b, x) => b.reshape(x, [0, 1], []), [[[5]], 'f32[1,1]']), 5);
    assert.deepEqual(await run((b, x) => b.reshape(x, [], [1, 1]), [5, 'f32[]']), [[5]]);
    refuses(() => text((b, x) => b.reshape(x, [5]), 'f32[2,2]'), /f32\[2,2\]/, 'reshape');
  });
  test('concatInDim, as in the examples', async () => {
    const vectors = [[[2, 3], 's32[2]'], [[4, 5], 's32[2]'], [[6, 7], 's32[2]']];
    assert.deepEqual(await run((b, ...x) => b.concatInDim(x, 0), ...vectors), [2, 3, 4, 5, 6, 7]);
    const rows = [[[[1, 2], [3, 4], [5, 6]], 's32[3,2]'], [[[7, 8]], 's32[1,2]']];
    assert.deepEqual(await run((b, ...x) => b.concatInDim(x, 0), ...rows),
      [[1, 2], [3, 4], [5, 6], [7, 8]]);
  });
  test('slice, as in the examples', async () => {
    const a = [[0, 1, 2, 3, 4], 'f32[5]'];
    assert.deepEqual(await run((b, x) => b.slice(x, [2], [4]), a), [2, 3]);
    assert.deepEqual(await run((b, x) => b.slice(x, [2, 1], [4, 3]), b4x3), [[7, 8], [10, 11]]);
    assert.deepEqual(await run((b, x) => b.slice(x, [0], [5], [2]), a), [0, 2, 4]);
    refuses(() => text((b, x) => b.slice(x, [0, 0], [1, 1]), 'f32[5]'),
      /slice: startIndices has 2 entries; operand f32\[5\] has rank 1/);
  });
  test('sliceInDim', async () => {
    assert.deepEqual(await run((b, x) => b.sliceInDim(x, 0, 3, 2, 1), b4x3),
      [[0, 2], [3, 5], [6, 8], [9, 11]]);
    refuses(() => text((b, x) => b.sliceInDim(x, 0, 1, 1, 2), 'f32[4,3]'), /dimno 2 is no dim/);
  });
  test('dynamicSlice, as in the examples', async () => {
    const build = (b, x, ...start) => b.dynamicSlice(x, start, [2, 2]);
    const [two, one] = [[2, 's32[]'], [1, 's32[]']];
    assert.deepEqual(await run(build, b4x3, two, one), [[7, 8], [10, 11]]);
    // As older programs have it, with one vector of indices; and clamped to the bounds.
    assert.deepEqual(
      await run((b, x, s) => b.dynamicSlice(x, s, [2, 2]), b4x3, [[9, 9], 's32[2]']),
      [[7, 8], [10, 11]]);
  });
  test('dynamicUpdateSlice, as in the example', async () => {
    const update = [[[12, 13], [14, 15], [16, 17]], 'f32[3,2]'];
    const build = (b, x, u, s) => b.dynamicUpdateSlice(x, u, s);
    assert.deepEqual(await run(build, b4x3, update, [[1, 1], 's32[2]']),
      [[0, 1, 2], [3, 12, 13], [6, 14, 15], [9, 16, 17]]);
  });
  test('gather rows', async () => {
    const numbers = {
      offsetDims: [1], collapsedSliceDims: [0], startIndexMap: [0], indexVectorDim: 1,
    };
    const build = (b, x, i) => b.gather(x, i, numbers, [1, 3]);
    assert.deepEqual(await run(build, b4x3, [[3, 0], 's32[2]']), [[9, 10, 11], [0, 1, 2]]);
  });
  test('scatter-add rows', async () => {
    const numbers = {
      updateWindowDims: [1], insertedWindowDims: [0], scatterDimsToOperandDims: [0],
      indexVectorDim: 1,
    };
    const build = (b, x, i, u) => b.scatter(x, i, u, binary('add'), numbers, false, false);
    assert.deepEqual(
      await run(build, b4x3, [[1, 1], 's32[2]'], [[[1, 1, 1], [2, 2, 2]], 'f32[2,3]']),
      [[0, 1, 2], [6, 7, 8], [6, 7, 8], [9, 10, 11]]);
  });
  test('pad: low, high and interior, negative too', async () => {
    const x = [[1, 2, 3], 'f32[3]'];
    const pad = (config) => run((b, p) => b.pad(p, b.constant(0), config), x);
    assert.deepEqual(await pad([[1, 2, 1]]), [0, 1, 0, 2, 0, 3, 0, 0]);
    assert.deepEqual(await pad([[-1, 0]]), [2, 3]);
    assert.deepEqual(await pad({ dimensions: [{ edgePaddingHigh: 1, interiorPadding: 0 }] }),
      [1, 2, 3, 0]);
    assert.deepEqual(await pad([{ edgePaddingLow: 2 }]), [0, 0, 1, 2, 3]);
    assert.deepEqual(
      await run((b, p) => b.padInDim(p, b.constant(9), 1, 1, 0), [[[1], [2]], 'f32[2,1]']),
      [[9, 1], [9, 2]]);
    assert.equal(await run((b, p) => b.pad(p, b.constant(9), []), [4, 'f32[]']), 4);
  });
  test('rev and transpose', async () => {
    const x = [[[1, 2], [3, 4]], 'f32[2,2]'];
    assert.deepEqual(await run((b, p) => b.rev(p, [1]), x), [[2, 1], [4, 3]]);
    assert.deepEqual(await run((b, p) => b.rev(p, [0, 1]), x), [[4, 3], [2, 1]]);
    assert.deepEqual(await run((b, p) => b.transpose(p, [1, 0]), x), [[1, 3], [2, 4]]);
  });
});

describe('contractions, reductions, sorting', () => {
  const matrix = [[[1, 2, 3], [4, 5, 6]], 'f32[2,3]'];
  test('dot', async () => {
    const [x, y] = [[[1, 2, 3], 'f32[3]'], [[4, 5, 6], 'f32[3]']];
    assert.equal(await run((b, p, q) => b.dot(p, q), x, y), 32);
    assert.deepEqual(await run((b, p, q) => b.dot(p, q), matrix, x), [14, 32]);
    const square = [[[1, 0], [0, 1], [1, 1]], 'f32[3,2]'];
    assert.deepEqual(await run((b, p, q) => b.dot(p, q), matrix, square), [[4, 5], [10, 11]]);
    refuses(() => text((b, p) => b.dot(p, p), 'f32[2,2,2]'), /use dotGeneral/, 'dot');
    refuses(() => text((b, p, q) => b.dot(p, q), 'f32[2,3]', 'f32[2,3]'), /f32\[2,3\]/, 'dot');
  });
  test('dotGeneral, as in the examples', async () => {
    const numbers = { lhsContractingDimensions: [1], rhsContractingDimensions: [1] };
    assert.deepEqual(
      await run((b, p, q) => b.dotGeneral(p, q, numbers), matrix,
        [[[1, 1, 1], [2, 2, 2]], 'f32[2,3]']),
      [[6, 12], [15, 30]]);
    const batched = {
      lhsContractingDimensions: [2], rhsContractingDimensions: [1],
      lhsBatchDimensions: [0], rhsBatchDimensions: [0],
    };
    const lhs = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]];
    const unit = [[1, 0], [0, 1]];
    assert.deepEqual(
      await run((b, p, q) => b.dotGeneral(p, q, batched, { precision: 'highest' }),
        [lhs, 'f32[2,2,2]'], [[unit, unit], 'f32[2,2,2]']),
      lhs);
  });
  test('raggedDot: each group of rows has a matrix of its own', async () => {
    const numbers = {
      dotDimensionNumbers: { lhsContractingDimensions: [1], rhsContractingDimensions: [1] },
      lhsRaggedDimensions: [0],
      rhsGroupDimensions: [0],
    };
    const lhs = [[[1, 2], [3, 4], [5, 6]], 'f32[3,2]'];
    const rhs = [[[[1, 0], [0, 1]], [[0, 10], [10, 0]]], 'f32[2,2,2]'];
    const build = (b, p, q, sizes) => b.raggedDot(p, q, sizes, numbers);
    assert.deepEqual(await run(build, lhs, rhs, [[1, 2], 's32[2]']), [[1, 2], [40, 30], [60, 50]]);
  });
  test('scaledDot: each pair of elements has a scale', async () => {
    const numbers = { lhsContractingDimensions: [1], rhsContractingDimensions: [0] };
    const lhs = [[[1, 2, 3, 4]], 'f8e4m3fn[1,4]'];
    const rhs = [[[1], [1], [1], [1]], 'f8e4m3fn[4,1]'];
    const scale = [[[2, 0.5]], 'f8e8m0fnu[1,2]'];
    const one = [[[1]], 'f8e8m0fnu[1,1]'];
    const build = (b, p, q, s, t) =>
      b.scaledDot(p, q, s, t, numbers, { preferredElementType: 'f32' });
    assert.deepEqual(await run(build, lhs, rhs, scale, one), [[9.5]]);
    refuses(
      () => text((b, p, q, s, t) => b.scaledDot(p, q, s, t, numbers), 'f32[1,4]', 'f32[4,1]',
        'f32[1,3]', 'f32[1,1]'),
      /divisible by 3, the size of that dimension of lhs scale f32\[1,3\]/, 'scaled-dot');
  });
  test('preferredElementType', async () => {
    const [x, y] = [[[100, 100], 's8[2]'], [[100, 100], 's8[2]']];
    const build = (b, p, q) => b.dot(p, q, { preferredElementType: 's32' });
    assert.equal(await run(build, x, y), 20000);
  });
  test('reduce, as in the example', async () => {
    const cube = [new Array(4).fill([[1, 2, 3], [4, 5, 6]]), 'f32[4,2,3]'];
    const reduce = (dimensions) =>
      run((b, x) => b.reduce(x, b.constant(0), binary('add'), dimensions), cube);
    assert.deepEqual(await reduce([0]), [[4, 8, 12], [16, 20, 24]]);
    assert.deepEqual(await reduce([2]), [[6, 15], [6, 15], [6, 15], [6, 15]]);
    assert.deepEqual(await reduce([0, 1]), [20, 28, 36]);
    assert.equal(await reduce([0, 1, 2]), 84);
    assert.equal(
      await run((b, x) => b.reduceAll(x, b.constant(0), binary('add')), cube), 84);
  });
  test('reduce of two operands: the largest and where it is', async () => {
    const b = client.builder('argmax');
    const [max, at, value, index] = ['f32', 's32', 'f32', 's32'].map((type, i) =>
      b.parameter(i, `${type}[]`));
    const isNew = b.ge(value, max);
    const body = b.build(b.tuple([b.select(isNew, value, max), b.select(isNew, index, at)]));
    const build = (c, x) =>
      c.reduce([x, c.iota('s32', 4)], [c.constant(-Infinity), c.constant(0, 's32[]')], body, [0]);
    assert.deepEqual(await run(build, [[3, 9, 2, 5], 'f32[4]']), [9, 1]);
  });
  test('sort', async () => {
    const less = binary('lt');
    const x = [[[3, 1, 2], [9, 7, 8]], 'f32[2,3]'];
    assert.deepEqual(await run((b, p) => b.sort(p, less), x), [[1, 2, 3], [7, 8, 9]]);
    assert.deepEqual(await run((b, p) => b.sort([p], less, 0, true), x), x[0]);
  });
  test('sort of three operands, as in the example', async () => {
    const b = client.builder('first_less');
    const p = ['s32', 's32', 's32', 's32', 'f32', 'f32'].map((t, i) => b.parameter(i, `${t}[]`));
    const comparator = b.build(b.lt(p[0], p[1]));
    const operands = [[[3, 1], 's32[2]'], [[42, 50], 's32[2]'], [[-3, 1.5], 'f32[2]']];
    assert.deepEqual(await run((c, ...x) => c.sort(x, comparator, 0), ...operands),
      [[1, 3], [50, 42], [1.5, -3]]);
  });
  test('topK', async () => {
    const x = [[3, 9, 2, 5], 'f32[4]'];
    assert.deepEqual(await run((b, p) => b.topK(p, 2), x), [[9, 5], [1, 3]]);
  });
});

describe('windows', () => {
  test('reduceWindow, as in the example', async () => {
    const x = [[10000, 1000, 100, 10, 1], 'f32[5]'];
    const min = binary('min');
    const reduce = (padding, options) => run((b, p) =>
      b.reduceWindow(p, b.constant(3.4e38), min, [3], [2], padding, options), x);
    assert.deepEqual(await reduce('VALID'), [100, 1]);
    assert.deepEqual(await reduce('SAME'), [1000, 10, 1]);
    assert.deepEqual(await reduce([[1, 1]]), [1000, 10, 1]);
    assert.deepEqual(await reduce('VALID', { windowDilations: [2] }), [1]);
    assert.deepEqual(
      await run((b, p) => b.reduceWindowWithGeneralPadding(
        p, b.constant(0), binary('add'), [2], [1], [2], [1], [[0, 0]]), [[1, 2, 3], 'f32[3]']),
      [1, 2, 2, 3]);
    const refusesWindow = (strides, shape, pattern) => {
      const build = (b, p) => b.reduceWindow(p, b.constant(0), min, [2], strides, 'SAME');
      refuses(() => text(build, shape), pattern, 'reduce-window');
    };
    refusesWindow([1], 'f32[2,2]', /windowDimensions has 1 entries; operand .* has rank 2/);
    refusesWindow([1, 1], 'f32[2]', /windowStrides has 2 entries; the window has 1/);
  });
  test('selectAndScatter', async () => {
    // The source goes to the largest element of each window.
    const build = (b, x, source) => b.selectAndScatter(
      x, binary('ge'), [2], [2], 'VALID', source, b.constant(0), binary('add'));
    assert.deepEqual(await run(build, [[1, 5, 7, 2], 'f32[4]'], [[10, 20], 'f32[2]']),
      [0, 10, 20, 0]);
  });
  test('conv: default dimension numbers', async () => {
    const x = [[[[1, 2, 3, 4]]], 'f32[1,1,4]'];
    const kernel = [[[[1, 10, 100]]], 'f32[1,1,3]'];
    const conv = (padding, options) =>
      run((b, p, k) => b.conv(p, k, [1], padding, options), x, kernel);
    assert.deepEqual(await conv('VALID'), [[[321, 432]]]);
    assert.deepEqual(await conv('SAME'), [[[210, 321, 432, 43]]]);
    assert.deepEqual(await conv('VALID', { windowReversal: [true] }), [[[123, 234]]]);
    assert.deepEqual(await conv('VALID', { preferredElementType: 'f64' }), [[[321, 432]]]);
  });
  test('convolutions with dilations and dimension numbers', async () => {
    const x = [[[[1], [2], [3]]], 'f32[1,3,1]'];
    const kernel = [[[[1]], [[10]]], 'f32[2,1,1]'];
    const numbers = {
      inputBatchDimension: 0, inputFeatureDimension: 2, inputSpatialDimensions: [1],
      kernelInputFeatureDimension: 1, kernelOutputFeatureDimension: 2,
      kernelSpatialDimensions: [0],
      outputBatchDimension: 0, outputFeatureDimension: 2, outputSpatialDimensions: [1],
    };
    const flat = (value) => value.flat(2);
    const general = (...args) =>
      run((b, p, k) => b.convGeneralDilated(p, k, [1], ...args), x, kernel);
    assert.deepEqual(flat(await general([[0, 0]], [2], [1], numbers)), [1, 20, 2, 30]);
    assert.deepEqual(flat(await general([[0, 0]], [1], [2], 'b0f_0io->b0f')), [31]);
    assert.deepEqual(flat(await general('SAME', [1], [1], numbers)), [21, 32, 3]);
    assert.deepEqual(
      flat(await run((b, p, k) => b.convGeneral(p, k, [1], [[1, 0]], numbers), x, kernel)),
      [10, 21, 32]);
    assert.deepEqual(
      flat(await run((b, p, k) =>
        b.convWithGeneralDimensions(p, k, [2], 'VALID', numbers), x, kernel)),
      [21]);
    const nchw = [[[[1, 2, 3]]], 'f32[1,1,3]'];
    assert.deepEqual(
      flat(await run((b, p, k) => b.convWithGeneralPadding(p, k, [1], [[0, -1]], {
        rhsDilation: [1],
      }), nchw, [[[[1, 10]]], 'f32[1,1,2]'])),
      [21]);
    refuses(() => text((b, p, k) => b.convGeneral(p, k, [1], [[0, 0]], 'b0f'), x[1], kernel[1]),
      /dimensionNumbers must be of the form .*; got "b0f"/, 'convolution');
  });
});

describe('library operations', () => {
  test('cholesky and triangularSolve', async () => {
    const a = [[[4, 2], [2, 5]], 'f32[2,2]'];
    const lower = await run((b, p) => b.cholesky(p, true), a);
    assert.deepEqual([lower[0][0], ...lower[1]], [2, 1, 2]);
    const build = (b, l, y) => b.triangularSolve(l, y, true, true, false, 'NO_TRANSPOSE');
    assert.deepEqual(
      await run(build, [[[2, 0], [1, 2]], 'f32[2,2]'], [[[2], [5]], 'f32[2,1]']), [[1], [2]]);
  });
  test('fft', async () => {
    const x = [[1, 2, 3, 4], 'f32[4]'];
    assert.deepEqual(await run((b, p) => b.fft(p, 'RFFT', [4]), x), [[10, 0], [-2, 2], [-2, 0]]);
    assert.deepEqual(await run((b, p) => b.fft(b.fft(p, 'RFFT', [4]), 'irfft', [4]), x), x[0]);
  });
  test('batch normalisation', async () => {
    const x = [[[1], [3]], 'f32[2,1]'];
    const [scale, offset] = [[[1], 'f32[1]'], [[0], 'f32[1]']];
    assert.deepEqual(
      await run((b, p, s, o) => b.batchNormTraining(p, s, o, 0, 1), x, scale, offset),
      [[[-1], [1]], [2], [1]]);
    assert.deepEqual(
      await run((b, p, s, o, m, v) => b.batchNormInference(p, s, o, m, v, 0, 1),
        x, scale, offset, [[1], 'f32[1]'], [[4], 'f32[1]']),
      [[0], [1]]);
    const [gradOperand, gradScale, gradOffset] = await run(
      (b, p, s, m, v, g) => b.batchNormGrad(p, s, m, v, g, 0, 1),
      x, scale, [[2], 'f32[1]'], [[1], 'f32[1]'], [[[1], [1]], 'f32[2,1]']);
    assert.deepEqual([gradOperand, gradScale, gradOffset], [[[0], [0]], [0], [2]]);
  });
  test('random numbers', async () => {
    const uniform = await run((b) => b.rngUniform(b.constant(2), b.constant(3), 'f32[1000]'));
    assert.ok(uniform.every((value) => value >= 2 && value < 3));
    assert.ok(new Set(uniform).size > 900);
    const normal = await run((b) => b.rngNormal(b.constant(5), b.constant(2), 'f32[4000]'));
    const mean = normal.reduce((a, c) => a + c) / normal.length;
    assert.ok(Math.abs(mean - 5) < 0.2, `mean ${mean}`);
    for (const algorithm of ['RNG_DEFAULT', 'RNG_THREE_FRY', 'rng_philox']) {
      const [state, bits] = await run((b, s) => b.rngBitGenerator(algorithm, s, 'u32[4]'),
        [[1n, 2n], 'u64[2]']);
      assert.equal(state.length, 2);
      assert.equal(new Set(bits).size, 4);
    }
  });
});

describe('sources, tuples and control flow', () => {
  test('constants', async () => {
    assert.deepEqual(await run((b) => b.tuple([
      b.constant(1), b.constant(true), b.constant(2n), b.constant([[1, 2]], 's8[1,2]'),
      b.constant([1.5, -2]), b.constantR0(3, 's32'), b.constantR1([1, 2]), b.constantR1(3, 7, 'u8'),
      b.constantR2([[1], [2]], 's16'), b.constant(new Uint16Array([0x3c00]), 'f16[1]'),
    ])), [1, true, 2n, [[1, 2]], [1.5, -2], 3, [1, 2], [7, 7, 7], [[1], [2]], [1]]);
    assert.deepEqual(await run((b) => b.constant([1, [[2, 3]]], '(f32[], (s32[2]))')),
      [1, [[2, 3]]]);
    refuses(() => client.builder().constantR2([1]), /must be of rank 2/);
  });
  test('iota, as in the examples', async () => {
    const rows = await run((b) => b.iota('s32[4,8]', 0));
    assert.deepEqual(rows, [0, 1, 2, 3].map((i) => new Array(8).fill(i)));
    assert.deepEqual(await run((b) => b.iota('f32', 3)), [0, 1, 2]);
  });
  test('tuples', async () => {
    assert.equal(await run((b, t) => b.getTupleElement(t, 1), [[1, 5], '(f32[], s32[])']), 5);
    assert.deepEqual(await run((b, x) => b.tuple([x, b.tuple([]), b.tuple([x])]), [2, 'f32[]']),
      [2, [], [2]]);
    assert.deepEqual(await run((b) => b.tuple([])), []);
    refuses(() => text((b, t) => b.getTupleElement(t, 2), '(f32[], s32[])'), /2/,
      'get-tuple-element');
  });
  test('call', async () => {
    const build = (b, x, y) => b.call(binary('sub'), [x, y]);
    assert.equal(await run(build, [5, 'f32[]'], [3, 'f32[]']), 2);
    refuses(() => text((b, x) => b.call(binary('sub'), [x]), 'f32[]'), /call/, 'call');
  });
  const scalar = (name, operation) => {
    const b = client.builder(name);
    return b.build(operation(b, b.parameter(0, 'f32[]')));
  };
  test('conditional by predicate and by index', async () => {
    const [half, twice] = [
      scalar('half', (b, x) => b.mul(x, b.constant(0.5))),
      scalar('twice', (b, x) => b.mul(x, b.constant(2))),
    ];
    const pick = (b, p, x) => b.conditional(p, x, half, x, twice);
    assert.equal(await run(pick, [true, 'pred[]'], [8, 'f32[]']), 4);
    assert.equal(await run(pick, [false, 'pred[]'], [8, 'f32[]']), 16);
    const branch = (b, i, x) => b.conditional(i, [half, twice], [x, x]);
    const results = [];
    for (const index of [0, 1, 2, -1]) {
      results.push(await run(branch, [index, 's32[]'], [8, 'f32[]']));
    }
    assert.deepEqual(results, [4, 16, 16, 16]); // out of range: the last branch
  });
  test('scan', async () => {
    const step = () => {
      const b = client.builder('step');
      const [x, carry] = [b.parameter(0, 's32[]'), b.parameter(1, 's32[]')];
      const sum = b.add(x, carry);
      return b.build(b.tuple([sum, sum]));
    };
    const x = [[1, 2, 3], 's32[3]'];
    const init = [10, 's32[]'];
    const sums = (options) => run((b, p, c) => b.scan(p, c, step(), 0, options), x, init);
    assert.deepEqual(await sums(), [[11, 13, 16], 16]);
    assert.deepEqual(await sums({ isReverse: true }), [[16, 15, 13], 16]);
    assert.deepEqual(await sums({ isAssociative: true, scanDimensionSize: 3 }), [[11, 13, 16], 16]);
    refuses(() => text((b, p, c) => b.scan(p, c, step(), 1), 's32[3]', 's32[]'),
      /dimensions=\{1\} is out of range for input 0 of shape s32\[3\]/, 'scan');
    refuses(
      () => text((b, p, c) => b.scan(p, c, step(), 0, { scanDimensionSize: 4 }), 's32[3]', 's32[]'),
      /stated shape is \(s32\[4\], s32\[\]\)/, 'scan');
  });
  test('scan without inputs', async () => {
    const twice = () => {
      const b = client.builder('twice');
      const carry = b.parameter(0, 's32[2]');
      return b.build(b.tuple([carry, b.add(carry, carry)]));
    };
    const build = (b, c) => b.scan([], c, twice(), 1, { scanDimensionSize: 3 });
    assert.deepEqual(await run(build, [[1, 5], 's32[2]']), [[[1, 2, 4], [5, 10, 20]], [8, 40]]);
    refuses(() => text((b, c) => b.scan([], c, twice(), 0), 's32[2]'), /must be stated/, 'scan');
  });
  test('while, as in the example', async () => {
    const state = '(s32[], f32[10])';
    const condition = (() => {
      const b = client.builder('condition');
      return b.build(b.lt(b.getTupleElement(b.parameter(0, state), 0), b.constant(1000, 's32[]')));
    })();
    const body = (() => {
      const b = client.builder('body');
      const s = b.parameter(0, state);
      const next = b.add(b.getTupleElement(s, 0), b.constant(1, 's32[]'));
      const sum = b.add(b.getTupleElement(s, 1), b.constantR1(10, 1));
      return b.build(b.tuple([next, sum]));
    })();
    const build = (b) => b.while(condition, body,
      b.tuple([b.constant(0, 's32[]'), b.constantR1(10, 0)]));
    assert.deepEqual(await run(build), [1000, new Array(10).fill(1000)]);
  });
  test('optimizationBarrier', async () => {
    assert.equal(await run((b, x) => b.optimizationBarrier(x), [3, 'f32[]']), 3);
  });
  test('getDimensionSize', async () => {
    assert.equal(await run((b, x) => b.getDimensionSize(x, 1), [[[1, 2, 3]], 'f32[1,3]']), 3);
  });
});

describe('what they become in HLO', () => {
  const sized = (b, x) => b.setDimensionSize(x, b.constant(1, 's32[]'), 0);
  const rows = [
    ['infeed', (b) => b.infeed('f32[2]', 'c"\\d'), /infeed\(.*infeed_config="c\\"\\\\d"/],
    ['infeeds in order', (b) => b.add(b.infeed('f32[]'), b.infeed('f32[]')),
      /get-tuple-element\(infeed\S*\), index=1[^]*infeed\(get-tuple-element/],
    ['outfeed', (b, x) => b.outfeed(x, undefined, 'out'), /outfeed\(.*outfeed_shape=f32\[2,2\]/],
    ['send', (b, x) => b.send(x, 7), /send-done\(.*channel_id=7/],
    ['recv', (b) => b.recv('s32[3]', 9), /s32\[3\]\S* get-tuple-element\(recv-done/],
    ['sendToHost', (b, x) => b.sendToHost(x, b.createToken(), 1), /is_host_transfer=true/],
    ['recvFromHost', (b) => b.recvFromHost(b.createToken(), 'f32[]', 1), /recv-done\(/],
    ['afterAll', (b) => b.afterAll([b.createToken(), b.createToken()]), /after-all\(\S+, \S+\)/],
    ['customCall', (b, x) => b.customCall('f"g', [x], 'f32[3]', {
      ...{ opaque: 'o', hasSideEffect: true, operandShapesWithLayout: ['f32[2,2]{0,1}'] },
    }), /target="f\\"g", operand_layout_constraints=\{f32\[2,2\]\{0,1\}\}.*side_effect=true/],
    ['allReduce', (b, x) => b.allReduce(x, binary('add'), [[0, 1], [2, 3]], 5),
      /all-reduce\(.*channel_id=5, replica_groups=\{\{0,1\},\{2,3\}\}.*to_apply=scalar_add/],
    ['allReduce by name', (b, x) =>
      b.allReduce(x, binary('add'), {
        channelId: 3, useGlobalDeviceIds: true, replicaGroups: [[0, 1]],
      }),
    /channel_id=3, replica_groups=\{\{0,1\}\}, use_global_device_ids=true/],
    ['allReduce of a tuple', (b, x) => b.allReduce(b.tuple([x, x]), binary('add')),
      /\(f32\[2,2\]\S*, f32\[2,2\]\S*\) all-reduce\(/],
    ['crossReplicaSum', (b, x) => b.crossReplicaSum(x), /all-reduce\(.*to_apply=add/],
    ['crossReplicaSum of predicates', (b) => b.crossReplicaSum(b.constant([true])), / or\(/],
    ['allGather', (b, x) => b.allGather(x, 1, 4), /f32\[2,8\]\S* all-gather\(.*dimensions=\{1\}/],
    ['reduceScatter', (b, x) => b.reduceScatter(x, binary('add'), 0, 2),
      /f32\[1,2\]\S* reduce-scatter\(.*dimensions=\{0\}/],
    ['allToAll', (b, x) => b.allToAll(x, 0, 0, 2), /f32\[2,2\]\S* all-to-all\(.*dimensions=\{0\}/],
    ['allToAll elsewhere', (b, x) => b.allToAll(x, 1, 0, 2), /f32\[4,1\]\S* reshape\(transpose/],
    ['allToAllTuple', (b, x) => b.allToAllTuple([x, x], [[1, 0]]),
      /\(f32\[2,2\]\S*, f32\[2,2\]\S*\) all-to-all\(\S+, \S+\), replica_groups=\{\{1,0\}\}/],
    ['collectivePermute', (b, x) => b.collectivePermute(x, [[0, 1], [1, 0]]),
      /source_target_pairs=\{\{0,1\},\{1,0\}\}/],
    ['collectiveBroadcast', (b, x) => b.collectiveBroadcast(x, [[0, 1]]), /collective-broadcast\(/],
    ['replicaId', (b) => b.replicaId(), /u32\[\] replica-id\(\)/],
    ['partitionId', (b) => b.partitionId(), /u32\[\] partition-id\(\)/],
    ['setDimensionSize', (b, x) => b.setDimensionSize(x, b.constant(1, 's32[]'), 0),
      /f32\[<=2,2\]\S* set-dimension-size\(/],
    ['removeDynamicDimension', (b, x) => b.removeDynamicDimension(sized(b, x), 0),
      /ROOT \S+ = f32\[2,2\]\S* set-dimension-size\(set-dimension-size/],
    ['broadcast of a dynamic size', (b, x) => b.broadcast(sized(b, x), [3]),
      /f32\[3,<=2,2\]\S* broadcast\(/],
    ['broadcastInDim of a dynamic size', (b, x) =>
      b.broadcastInDim(sized(b, x), [2, 3, 2], [0, 2]), /f32\[<=2,3,2\]\S* broadcast\(/],
    ['reshape that merges a dynamic size', (b, x) => b.reshape(sized(b, x), [4]),
      /f32\[<=4\]\S* reshape\(/],
    ['reshape that splits a static dimension', (b, x) => b.reshape(sized(b, x), [2, 1, 2, 1]),
      /f32\[<=2,1,2,1\]\S* reshape\(/],
    ['bitcastConvertType of a dynamic size', (b, x) =>
      b.bitcastConvertType(sized(b, x), 's16'), /s16\[<=2,2,2\]\S* bitcast-convert\(/],
    ['stochasticConvertType', (b, x) =>
      b.stochasticConvertType(x, b.constant([[1, 2], [3, 4]], 'u32[2,2]'), 's8'),
    /s8\[2,2\]\S* stochastic-convert\(/],
    ['dynamicReshape', (b, x) =>
      b.dynamicReshape(x, [b.constant(4, 's32[]')], [4], [true]),
    /f32\[<=4\]\S* dynamic-reshape\(/],
    ['raggedAllToAll', (b, x) => {
      const sizes = b.constant([1, 1], 's32[2]');
      return b.raggedAllToAll(x, sizes, sizes, x, sizes, sizes, [[0, 1]]);
    }, /ragged-all-to-all\(/],
  ];
  for (const [name, build, pattern] of rows) {
    test(name, () => {
      const hlo = text(build, 'f32[2,2]');
      assert.match(hlo, pattern);
      const module = client.parseHlo(hlo);
      assert.equal(module.toString(), hlo);
      module.dispose();
    });
  }
});

test('names are made fit for HLO', () => {
  const b = client.builder('1 my comp!');
  assert.equal(b.name, '_1_my_comp_');
  const module = b.build(b.parameter(0, 'f32[]', 'größe'));
  assert.equal(module.name, '_1_my_comp_');
  assert.match(module.parameters[0].name, /^gr__e$/);
  const again = client.parseHlo(module.toString());
  assert.equal(again.toString(), module.toString());
});

test("powers of two of f8e8m0fnu, with the digits that XLA's parser needs of the least", () => {
  const b = client.builder('powers');
  const module = b.build(b.constant([2 ** -127, 2 ** -126, 0.25, 2 ** 127], 'f8e8m0fnu[4]'));
  assert.match(module.toString(), /constant\(\{5\.877471754111438e-39, 1e-38, 0\.2, 2e\+38\}\)/);
});
