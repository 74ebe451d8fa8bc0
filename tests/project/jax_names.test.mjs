/**
 * Tests the table of JAX's names in docs/operations.md: both columns have the same values. JAX's are in
 * tests/guides/jax_names.json, which tests/guides/jax_names.py writes.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { Client, XlaBuilder } from '../../bindings/index.mjs';
import { OPERATIONS } from '../../bindings/builder/operations.mjs';

const read = (path) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
const [, text] = /## Names in JAX and NumPy\n([^]*?)\n## /.exec(await read('docs/operations.md'));
const rows = Array.from(text.matchAll(/^\| `(.*?)` \| `(.*)` \|$/gm), ([, jax, own]) => ({ jax, own }));
const { operands, values } = JSON.parse(await read('tests/guides/jax_names.json'));
const TYPES = { float32: 'f32', int32: 's32', bool: 'pred' };
const ARRAYS = { float32: Float32Array, int32: Int32Array, bool: Uint8Array };
const shapeOf = ({ shape, type }) => `${TYPES[type]}[${shape}]`;

test('jax_names.json has the rows of the table: tests/guides/jax_names.py writes it', () => {
  assert.ok(rows.length >= 40);
  assert.deepEqual(rows.map(({ jax }) => jax), Object.keys(values));
});

describe('each row has the values of JAX', () => {
  let client;
  before(async () => { client = await Client.create({ threads: 0 }); });
  after(() => client.dispose());

  for (const { jax, own } of rows) {
    test(`${jax} is ${own}`, async () => {
      for (const [, name] of own.matchAll(/\.(\w+)\(/g)) assert.ok(OPERATIONS[name] || typeof XlaBuilder.prototype[name] === 'function', name);
      const b = client.builder();
      const names = Object.keys(operands);
      const parameters = names.map((name, i) => b.parameter(i, shapeOf(operands[name]), name));
      const made = new Function('b', ...names, `return [${own}]`)(b, ...parameters);
      const leaves = made.flatMap((value) => (value.shape.isTuple ? [...value] : [value])).slice(-values[jax].length);
      const executable = await client.compile(b.build(b.tuple(leaves)));
      const results = await executable.execute(names.map((name) => ARRAYS[operands[name].type].from(operands[name].data, Number)));
      assert.equal(results.length, values[jax].length);
      results.forEach((result, i) => {
        const expected = values[jax][i];
        assert.equal(String(result.shape.withoutLayout()), shapeOf(expected));
        Array.from(result.data, Number).forEach((value, k) => {
          const wanted = Number(expected.data[k]);
          assert.ok(Math.abs(value - wanted) <= 2e-6 * Math.max(1, Math.abs(wanted)), `${result.data} and ${expected.data}`);
        });
      });
      executable.dispose();
    });
  }
});
