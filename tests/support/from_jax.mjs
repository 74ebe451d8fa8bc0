/** Values that JAX made, as golden/gradients and golden/batches have them: a shape, and numbers as JSON holds them. */
import assert from 'node:assert/strict';

/** A number of JSON, in which infinities and NaN are strings. */
const number = (value) => (typeof value === 'string' ? Number(value.replace('inf', 'Infinity').replace('nan', 'NaN')) : value);

/** Nested arrays of the values that an argument of this shape has. */
export function argument(shape, { data }) {
  let at = 0;
  const next = () => number(data[at++]);
  const element = {
    pred: () => Boolean(next()), s64: () => BigInt(data[at++]), u64: () => BigInt(data[at++]),
    c64: () => [next(), next()], c128: () => [next(), next()],
  }[shape.elementType] ?? next;
  const build = (d) => (d === shape.rank ? element() : Array.from({ length: shape.dimensions[d] }, () => build(d + 1)));
  return build(0);
}

export const flat = (values) => (Array.isArray(values) ? values.flatMap(flat) : [values]);
const TOLERANCES = { f64: 1e-12, c128: 1e-12, f16: 2e-3, bf16: 1e-2, f32: 1e-5, c64: 1e-5 };

/** Compares shape and elements: integers exactly, floats with a tolerance relative to the largest number. */
export function assertClose(literal, { shape, data }, what) {
  const isComplex = literal.shape.elementType.startsWith('c');
  assert.deepEqual([...literal.shape.dimensions], isComplex ? shape.slice(0, -1) : shape, `${what}: shape`);
  const tolerance = TOLERANCES[literal.shape.elementType];
  const got = flat(literal.toArray());
  assert.equal(got.length, data.length, what);
  if (!tolerance) return assert.deepEqual(got.map(Number), data.map(Number), what);
  const wanted = data.map(number);
  const largest = Math.max(1e-30, ...wanted.filter(Number.isFinite).map(Math.abs));
  return wanted.forEach((value, i) => {
    const isSame = got[i] === value || Math.abs(got[i] - value) <= largest * tolerance || (isNaN(got[i]) && isNaN(value));
    assert.ok(isSame, `${what}, element ${i}: ${got[i]}; JAX: ${value}`);
  });
}
