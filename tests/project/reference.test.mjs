/**
 * The examples of the API reference and of the pages of operations: each method has one that runs, or a reason for
 * having none; results are real XLA's (tests/guides/examples.json), or what the example says.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { inspect } from 'node:util';

import * as xla from '../../bindings/sync.mjs';
import * as train from '../../bindings/train/index.mjs';
import { EXAMPLES as OF_OPERATIONS } from '../../demo/playground/examples.mjs';
import { classExamples } from '../../demo/reference/class_examples.mjs';
import { apiDeclarations } from '../../demo/reference/declarations.mjs';
import { EXAMPLES, WITHOUT } from '../../demo/reference/examples.mjs';
import { operationsReference, stableHloNames } from '../../demo/reference/operations_data.mjs';
import { plain, runExample } from '../guides/examples.mjs';

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;
const expected = JSON.parse(await readFile(new URL('../guides/examples.json', import.meta.url), 'utf8'));

/** XLA:CPU does not run these through StableHLO; the specification names the function. Devices get that of replica 0. */
const BY_DEFINITION = { acos: Math.acos, acosh: Math.acosh, asin: Math.asin, asinh: Math.asinh, atanh: Math.atanh, cosh: Math.cosh, sinh: Math.sinh,
  mulhi: (x, y) => Number((BigInt(x) * BigInt(y)) >> 32n), collectiveBroadcast: (x) => x };

let client;
before(async () => { client = await xla.Client.create({ threads: 0 }); });
after(() => client.dispose());

const assertNear = (actual, wanted, words) => {
  const [x, y] = [Number(actual), Number(wanted)];
  assert.ok(Object.is(x, y) || Math.abs(x - y) <= 1e-6 * Math.max(1, Math.abs(y)), `${words}: ${actual}, XLA has ${wanted}`);
};

describe('examples of operations', () => {
  test('every method of XlaBuilder has one, or a reason', () => {
    const methods = Object.getOwnPropertyNames(xla.XlaBuilder.prototype).filter((name) => name !== 'constructor');
    const known = new Set([...EXAMPLES.map(({ method }) => method), ...Object.keys(WITHOUT)]);
    assert.deepEqual(methods.filter((name) => !known.has(name)), [], 'add a row to demo/reference/examples.mjs, and run tests/guides/examples.mjs');
    assert.deepEqual(EXAMPLES.filter(({ method }) => !methods.includes(method)).map(({ method }) => method), []);
  });
  for (const example of EXAMPLES) {
    test(example.method, async () => {
      const { args, results, printed } = await runExample(example, client);
      assert.ok(printed.length >= results.length, 'it prints nothing');
      const said = results.map((list) => list.map(plain));
      const definition = BY_DEFINITION[example.method];
      if (definition) {
        for (const [{ data }] of said) data.forEach((value, i) => assertNear(value, definition(...args[0].map((list) => Math.fround(list[i]))),
          example.method));
        return;
      }
      const wanted = expected[example.method];
      assert.ok(wanted, `real XLA was not asked: node tests/guides/examples.mjs ${example.method}`);
      assert.deepEqual(said.map((list) => list.map(({ shape }) => shape)), wanted.map((list) => list.map(({ shape }) => shape)));
      said.forEach((list, r) => list.forEach(({ data }, k) => data.forEach((value, i) => assertNear(value, wanted[r][k].data[i], example.method))));
    });
  }
});

const compact = (text) => text.replaceAll(/\[\s+|\s+\]/g, (bracket) => bracket.trim()).replaceAll(/\s+/g, ' ');

describe('examples of classes and functions', () => {
  test('every method and property of a class that users meet has one', async () => {
    const names = new Set(classExamples().map(([name]) => name));
    const missing = (await apiDeclarations()).filter(({ kind, name }) => kind === 'class' && !/^Xla/.test(name)).flatMap(({ name, members }) =>
      members.map((member) => `${name}.${member.name === 'constructor' ? 'new' : member.name}`)).filter((name) => !names.has(name));
    assert.deepEqual(missing, ['Client.disposed']); // Client.dispose shows it
  });
  for (const [name, code] of classExamples()) {
    test(name, async () => {
      const lines = [];
      const body = code.replace(/^import (\{[^}]*\}) from '([^']+)';$/gm, (_, names, from) => `const ${names} = modules['${from}'];`);
      const log = (...values) => lines.push(values.map((value) => (typeof value === 'string' ? value : inspect(value))).join(' '));
      await new AsyncFunction('modules', 'console', body)({ 'xla-wasm': xla, 'xla-wasm/sync': xla, 'xla-wasm/train': train }, { log });
      const promises = Array.from(code.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm), ([, said]) => said);
      assert.ok(promises.length, 'it says nothing');
      promises.forEach((said) => assert.ok(compact(lines.join('\n')).includes(said), `${said} in ${compact(lines.join('\n'))}`));
    });
  }
});

describe('pages of operations', () => {
  test('each operation has sentences, an example, rules; and StableHLO’s name where there is one', async () => {
    const operations = await operationsReference();
    const examples = new Set(OF_OPERATIONS.flatMap(([, list]) => list.map(({ operation }) => operation)));
    assert.deepEqual(operations.filter(({ name }) => !examples.has(name)).map(({ name }) => name), []);
    assert.deepEqual(operations.filter(({ text }) => text.length < 20).map(({ name }) => name), []);
    assert.deepEqual(operations.filter(({ rules }) => !rules.length).map(({ name }) => name), []);
    for (const { rules } of operations) for (const { message } of rules) assert.match(message, /\w/);
    const without = operations.filter(({ stablehlo }) => !stablehlo.length).map(({ name }) => name);
    assert.ok(without.length <= 21 && !without.includes('add'), `${without}`);
    assert.deepEqual(stableHloNames('dot'), ['stablehlo.dot_general', 'stablehlo.dot']);
  });
});
