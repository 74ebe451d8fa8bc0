/**
 * Values of another realm (Jest's sandbox, an iframe), whose Array, Object and Float32Array are others; and
 * objects of another copy of the package, which a program gets that has it installed twice, or that bundles it
 * here and imports it there.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { createContext, runInContext } from 'node:vm';

import { Client, Layout, Literal, Shape, writeNpz } from '../../bindings/index.mjs';
import * as other from '../../build/node/index.mjs';
import { ADD } from '../support/hostile.mjs';
import { ROOT } from '../support/program.mjs';

const realm = createContext({});
const there = (text) => runInContext(`(${text})`, realm);

let client, add;
before(async () => {
  client = await Client.create({ threads: 0 });
  add = await client.compile(client.parseHlo(ADD));
});
after(() => client.dispose());

describe('values of another realm', () => {
  for (const args of ['[[1, 2], [3, 4]]', '[new Float32Array([1, 2]), new Float64Array([3, 4])]', '{ x: [1, 2], y: [3, 4] }']) {
    test(`arguments ${args}`, async () => {
      assert.deepEqual((await add.execute(there(args), there('{ device: false, donate: [] }')))[0].toArray(), [4, 6]);
      const entry = there('(executable, args) => [{ executable, arguments: args }]')(add, there(args));
      assert.deepEqual((await client.launch(entry))[0][0].toArray(), [4, 6]);
    });
  }

  test('complex numbers of a dynamic size', async () => {
    const executable = await client.compile(client.parseHlo(
      'ENTRY m { x = c64[<=4] parameter(0)\n ROOT r = c64[<=4] negate(x) }'));
    const [y] = await executable.execute([there('new Float32Array([1, 2, 3, 4])')]);
    assert.deepEqual(y.toArray(), [[-1, -2], [-3, -4]]);
  });

  test('shapes, layouts, literals, files', async () => {
    assert.equal(String(Shape.array('f32', there('[2, 3]'), there('{ layout: [0, 1] }'))), 'f32[2,3]{0,1}');
    assert.equal(String(new Layout(there('{ minorToMajor: [0, 1] }'))), '{0,1}');
    assert.equal(String(Literal.from(there('new BigInt64Array([1n])'))), 's64[1] {1}');
    assert.ok(writeNpz(there('(a) => ({ a })')(Literal.from([1]))).length > 0);
    const { href } = pathToFileURL(`${ROOT}tests/golden/vhlo/everything.vhlo`);
    const url = there('class URL { constructor(href) { this.href = href; } }');
    assert.ok((await client.load(new url(href))).parameters.length); // as jsdom has its own
  });

  test('what the host answers', async () => {
    client.registerCustomCall('f', there('async ({ operands: [x] }) => [x.data[0] + 1, 5]'));
    client.infeed(there('(function* () { yield [1, 2]; })()'));
    const executable = await client.compile(client.parseHlo(`ENTRY m { t = token[] after-all()
      i = (f32[2], token[]) infeed(t)
      x = f32[2] get-tuple-element(i), index=0
      ROOT r = f32[2] custom-call(x), custom_call_target="f" }`));
    assert.deepEqual((await executable.execute([]))[0].toArray(), [2, 5]);
  });

  test('functions of a builder', () => {
    const b = client.builder(), x = b.parameter(0, 'f32[2,3]');
    assert.equal(String(b.reduce(x, 0, there('(b, x, y) => b.add(x, y)'), there('[1]')).shape), 'f32[2]');
    assert.equal(String(x.broadcast(there('[4]')).shape), 'f32[4,2,3]');
  });
});

describe('objects of another copy', () => {
  const isAnother = { code: 'INVALID_ARGUMENT', message: /of another copy of xla-wasm/ };
  test('the message says that they are', async () => {
    assert.notEqual(other.Client, Client);
    const literal = other.Literal.from([1, 2]), shape = other.Shape.parse('f32[2]');
    const another = await other.Client.create({ threads: 0 }), module = another.parseHlo(ADD);
    const executable = await another.compile(module), buffer = another.buffer([1, 2]), b = another.builder();
    const x = b.parameter(0, 'f32[2]');
    for (const call of [
      () => Literal.from(literal), () => Literal.from(literal, 'f32[2]'), () => Literal.zeros(shape), () => client.buffer(buffer),
      () => client.compile(module), () => add.execute([literal, [3, 4]]), () => add.execute([[3, 4], buffer]),
      () => client.launch([{ executable }]), () => client.builder().parameter(0, shape), () => client.builder().neg(x),
      () => new Literal('(f32[2])', [literal]), () => Literal.tuple([literal]),
    ]) await assert.rejects(async () => call(), isAnother, String(call));
    another.dispose();
  });

  test('and nothing of our own ones', async () => {
    class Shape {} // the caller's own
    for (const call of [() => Literal.from(add), () => client.compile(Literal.from(1)), () => Literal.zeros(new Shape()),
      () => client.compile(Buffer.from('x'))]) {
      await assert.rejects(async () => call(), (error) => error.code === 'INVALID_ARGUMENT' && !/copy/.test(error.message), String(call));
    }
  });
});
