/** .npy files. The bytes below are NumPy's own, by numpy.save(). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { readNpy } from '../../bindings/formats/npy.mjs';
import { file, header } from '../support/npy.mjs';

const refuses = (body, pattern) =>
  assert.throws(body, (error) => error.code === 'INVALID_ARGUMENT' && pattern.test(error.message));

test('a file by NumPy: arange(6, dtype=float32).reshape(2, 3)', () => {
  const base64 =
    'k05VTVBZAQB2AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsIDMpLCB9' +
    'ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgIAoAAAAAAACAPwAA' +
    'AEAAAEBAAACAQAAAoEA=';
  const literal = readNpy(new Uint8Array(Buffer.from(base64, 'base64')));
  assert.equal(String(literal.shape), 'f32[2,3]');
  assert.deepEqual(literal.toArray(), [[0, 1, 2], [3, 4, 5]]);
});

describe('dtypes', () => {
  const rows = [
    ['|b1', 'pred', Uint8Array.of(1, 0), [true, false]],
    ['|i1', 's8', Int8Array.of(-1, 2), [-1, 2]],
    ['<i2', 's16', Int16Array.of(-1, 2), [-1, 2]],
    ['<i4', 's32', Int32Array.of(-1, 2), [-1, 2]],
    ['<i8', 's64', BigInt64Array.of(-1n, 2n), [-1n, 2n]],
    ['|u1', 'u8', Uint8Array.of(255, 2), [255, 2]],
    ['<u2', 'u16', Uint16Array.of(65535, 2), [65535, 2]],
    ['<u4', 'u32', Uint32Array.of(2 ** 32 - 1, 2), [2 ** 32 - 1, 2]],
    ['<u8', 'u64', BigUint64Array.of(2n ** 64n - 1n, 2n), [2n ** 64n - 1n, 2n]],
    ['<f2', 'f16', Uint16Array.of(0x3c00, 0xc000), [1, -2]],
    ['<f4', 'f32', Float32Array.of(1.5, -2), [1.5, -2]],
    ['<f8', 'f64', Float64Array.of(0.1, -2), [0.1, -2]],
    ['<c8', 'c64', Float32Array.of(1, 2, 3, 4), [[1, 2], [3, 4]]],
    ['<c16', 'c128', Float64Array.of(1, 2, 3, 4), [[1, 2], [3, 4]]],
  ];
  for (const [descr, type, data, want] of rows) {
    test(`${descr} is ${type}`, () => {
      const literal = readNpy(file(header(descr, '(2,)'), data));
      assert.equal(String(literal.shape), `${type}[2]`);
      assert.deepEqual(literal.toArray(), want);
    });
    if (descr[0] !== '<') continue;
    test(`>${descr.slice(1)}, byte-swapped`, () => {
      const lanes = descr.includes('c') ? 4 : 2;
      const size = data.byteLength / lanes;
      const swapped = new Uint8Array(data.buffer.slice(0));
      for (let i = 0; i < lanes; i++) swapped.subarray(i * size, (i + 1) * size).reverse();
      const literal = readNpy(file(header(descr.replace('<', '>'), '(2,)'), swapped));
      assert.deepEqual(literal.toArray(), want);
    });
  }
  test('raw bytes of NumPy take the wanted type', () => {
    const two = file(header('|V2', '(2,)'), Uint16Array.of(0x3f80, 0xc000));
    assert.deepEqual(readNpy(two, 'bf16').toArray(), [1, -2]);
    const one = file(header('|V1', '(2,)'), Uint8Array.of(0x38, 0xc0));
    assert.deepEqual(readNpy(one, 'f8e4m3fn').toArray(), [1, -2]);
    assert.deepEqual(readNpy(file(header('|V1', '(1,)'), Int8Array.of(-8)), 's4').toArray(), [-8]);
    assert.deepEqual(readNpy(file(header('|i1', '(1,)'), Int8Array.of(7)), 's4').toArray(), [7]);
    refuses(() => readNpy(file(header('|i1', '(1,)'), Int8Array.of(9)), 's4'), /cannot hold 9/);
  });
});

describe('orders and ranks', () => {
  test('Fortran order', () => {
    const data = Int32Array.of(1, 4, 2, 5, 3, 6);
    const literal = readNpy(file(header('<i4', '(2, 3)', 'True'), data));
    assert.deepEqual(literal.toArray(), [[1, 2, 3], [4, 5, 6]]);
    assert.deepEqual([...literal.data], [1, 2, 3, 4, 5, 6]);
  });
  test('a scalar', () => {
    assert.equal(readNpy(file(header('<f4', '()'), Float32Array.of(7))).toArray(), 7);
  });
  test('an empty array', () => {
    const literal = readNpy(file(header('<f4', '(0, 3)'), new Float32Array(0)));
    assert.equal(String(literal.shape), 'f32[0,3]');
  });
  test('versions 2 and 3', () => {
    for (const version of [2, 3]) {
      const literal = readNpy(file(header('<i4', '(1,)'), Int32Array.of(5), version));
      assert.deepEqual(literal.toArray(), [5]);
    }
  });
  test('bytes that start anywhere in their buffer', () => {
    const bytes = file(header('<f8', '(1,)'), Float64Array.of(2.5));
    const shifted = new Uint8Array(bytes.length + 3);
    shifted.set(bytes, 3);
    assert.deepEqual(readNpy(shifted.subarray(3)).toArray(), [2.5]);
  });
});

describe('bad files', () => {
  const good = file(header('<f4', '(2,)'), Float32Array.of(1, 2));
  const cases = {
    'is empty': [new Uint8Array(0), /no \.npy file/],
    'is something else': [new Uint8Array(100), /no \.npy file/],
    'has a version from the future': [good.map((b, i) => (i === 6 ? 9 : b)), /version 9/],
    'has no readable header': [file("{'descr': [('a', '<f4')]}", new Uint8Array(0)), /header/],
    'has a dtype unknown to XLA': [file(header('<U5', '(1,)'), new Uint8Array(20)), /"<U5"/],
    'has objects': [file(header('|O', '(1,)'), new Uint8Array(8)), /"\|O"/],
    'is cut off': [good.subarray(0, good.length - 1), /ends before its 2 elements/],
    'is cut off in the header': [good.subarray(0, 30), /header/],
    'has a bool that is none': [file(header('|b1', '(1,)'), Uint8Array.of(2)), /cannot hold 2/],
  };
  for (const [name, [bytes, pattern]] of Object.entries(cases)) {
    test(name, () => refuses(() => readNpy(bytes), pattern));
  }
});
