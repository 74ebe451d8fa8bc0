/** Builds and runs small programs, for tests of the builder. */
import assert from 'node:assert/strict';

/** Results of a program, as nested arrays: results(client, (b, x, ...) => op, [value, shape], ...). */
export async function results(client, build, ...args) {
  const b = client.builder('test');
  const parameters = args.map(([, shape], i) => b.parameter(i, shape));
  const module = b.build(build(b, ...parameters));
  const executable = await client.compile(module);
  try {
    const outputs = await executable.execute(args.map(([value]) => value));
    const values = outputs.map((output) => output.toArray());
    return module.resultShape.isTuple ? values : values[0];
  } finally {
    executable.dispose();
    module.dispose();
  }
}

/** The text of a program. */
export function hloText(client, build, ...shapes) {
  const b = client.builder('test');
  const module = b.build(build(b, ...shapes.map((shape, i) => b.parameter(i, shape))));
  const hlo = module.toString();
  module.dispose();
  return hlo;
}

/** A computation of scalars: scalars(client, 'add') or scalars(client, (b, x, y) => ...). */
export function scalars(client, operation, elementType = 'f32', resultOf = (op) => op) {
  const b = client.builder(`scalar_${typeof operation === 'string' ? operation : 'body'}`);
  const [x, y] = ['x', 'y'].map((name, i) => b.parameter(i, `${elementType}[]`, name));
  return b.build(resultOf(typeof operation === 'string' ? b[operation](x, y) : operation(b, x, y)));
}

/** `body` throws an XlaError about a wrong argument. */
export const refuses = (body, pattern, operation) =>
  assert.throws(body, (error) => {
    assert.equal(error.name, 'XlaError');
    assert.equal(error.code, 'INVALID_ARGUMENT', error.message);
    assert.match(error.message, pattern);
    if (operation) assert.equal(error.operation, operation);
    return true;
  });
