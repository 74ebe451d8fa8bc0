/**
 * Calls every function that the package exports with every kind of value for every argument. The functions
 * are found by inspection, so that new ones are tested too. The client goes on working, and its memory returns
 * to where it began.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { OPERATIONS } from '../../bindings/builder/operations.mjs';
import * as all from '../../bindings/index.mjs';
import * as stablehlo from '../../bindings/stablehlo/index.mjs';
import { packageDeclarations } from '../../bindings/tools/declarations/generate.mjs';
import * as train from '../../bindings/train/index.mjs';
import { ADD, attack, checkError, checkWords, hostile } from '../support/hostile.mjs';
import { sample } from '../support/sample.mjs';

/** Everything that is exported, by any entry of the package. */
const EXPORTS = { ...all, ...stablehlo, ...train };

const { Client, Literal, Shape } = all;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

const IDENTITY = 'module { func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> } }';

/** Arguments that are right, of those that have any: each is replaced in turn. Of records, each field too. */
const RIGHT = {
  'Client.create': () => [{ threads: 0, replicas: 1, maxMemory: 2 ** 26, fusedMultiplyAdd: 'never' }],
  'Client.builder': () => ['b'],
  'Client.load': () => [ADD, { arguments: [] }],
  'Client.parseHlo': () => [ADD],
  'Client.parseStableHlo': () => [IDENTITY, { arguments: ['f32[]'] }],
  'Client.parseHloProto': ({ module }) => [module.toProto()],
  'Client.compile': ({ module }) => [module, { replicas: 1, partitions: 1 }],
  'Client.passes': ({ module }) => [module, { replicas: 1, partitions: 1 }],
  'Client.gradient': ({ loss }) => [loss, { wrt: [0], of: 0, value: true, maxTrips: 1 }],
  'Client.vjp': ({ module }) => [module, { wrt: 'x', value: true, maxTrips: 1 }],
  'Client.jvp': ({ module }) => [module, { wrt: [0, 'y'] }],
  'Client.launch': ({ executable }) => [
    [{ executable, replica: 0, partition: 0, arguments: [[1, 2], [3, 4]], donate: [0] }],
    { device: false, profile: false, signal: undefined, seed: 1, timeoutMs: undefined }],
  'Client.vmap': ({ loss }) => [loss, { in: 0, out: 0, size: 2 }],
  'Client.jacobian': ({ loss }) => [loss, { wrt: [0], mode: 'forward', maxTrips: 1 }],
  'Client.hessian': ({ loss }) => [loss, { wrt: [0], of: 0, maxTrips: 1 }],
  'Client.buffer': () => [[1, 2], 'f32[2]'],
  'Client.registerCustomCall': () => ['t', () => 1],
  'Client.transferToInfeed': () => [[1], { replica: 0, partition: 0 }],
  'Client.infeed': () => [[[1]], { replica: 0, partition: 0 }],
  'Client.outfeed': () => [{ replica: 0, partition: 0 }],
  'Executable.execute': () => [[[1, 2], [3, 4]], { device: false, profile: false, signal: undefined, seed: 1, donate: [0] }],
  'Executable.executeReplicas': () => [[[[1, 2], [3, 4]]], { device: false, profile: false, donate: [1] }],
  'Layout.rowMajor': () => [2],
  'Layout.equals': () => [all.Layout.rowMajor(2)],
  'Literal.from': () => [[1, 2], 'f32[2]'],
  'Literal.tuple': () => [[Literal.from(1)]],
  'Literal.zeros': () => ['f32[2]'],
  'Literal.get': () => [0, 0],
  'Literal.convert': () => ['f64'],
  'Literal.transpose': () => [[0]],
  'Literal.inLayout': () => [all.Layout.rowMajor(1)],
  'Shape.array': () => ['f32', [2, 3], { layout: [0, 1], dynamicDimensions: [false, true] }],
  'Shape.tuple': () => [[Shape.parse('f32[]')]],
  'Shape.of': () => ['f32[2]'],
  'Shape.parse': () => ['f32[2]'],
  'Shape.withElementType': () => ['f32'],
  'Shape.withLayout': () => [[1, 0]],
  'Shape.compatible': () => ['f32[2]'],
  'Shape.accepts': () => ['f32[2]'],
  'Shape.equals': () => ['f32[2]'],
  'Shape.linearIndex': () => [[0, 0]],
  'Shape.multiIndex': () => [0],
  'XlaBuilder.parameter': () => [0, 'f32[2]', 'x'],
  'XlaBuilder.gradient': ({ op }) => [op, op, { maxTrips: 1 }],
  'XlaBuilder.function': () => [(b, x) => x, 'same'],
  'XlaBuilder.vmap': () => [(b, x) => x, { in: 0, out: 0, size: 2 }],
  'XlaBuilder.jacobian': () => [(b, x) => x, { wrt: 0, mode: 'forward', maxTrips: 1 }],
  'XlaBuilder.hessian': () => [(b, x) => x, { wrt: 0, maxTrips: 1 }],
  'XlaBuilder.build': ({ op }) => [op],
  'XlaBuilder.constant': () => [[1, 2], 'f32[2]'],
  'XlaBuilder.constantLiteral': () => [Literal.from([1, 2])],
  'XlaBuilder.createSubBuilder': () => ['inner'],
  profileTimes: ({ events }) => [events],
  toChromeTrace: ({ events }) => [events],
  readNpy: () => [all.writeNpy(Literal.from([1, 2])), { onProgress: () => {}, elementType: 'bf16' }],
  readNpz: () => [all.writeNpz({ a: Literal.from([1, 2]) }), { onProgress: () => {} }],
  readSafetensors: () => [all.writeSafetensors({ a: Literal.from([1, 2]) }, {}), { onProgress: () => {} }],
  loadWeights: () => [all.writeSafetensors({ a: Literal.from([1, 2]) }),
    { onProgress: () => {}, maxBytes: 1e6, map: (name, literal) => [name, literal] }],
  writeNpy: () => [Literal.from([1, 2])],
  writeNpz: () => [{ a: Literal.from([1, 2]) }],
  writeSafetensors: () => [{ a: Literal.from([1, 2]) }, { k: 'v' }],
  parseStableHlo: ({ client }) => [client, IDENTITY, {}],
  isBytecode: () => [new Uint8Array(4)],
  sgd: () => [{ learningRate: 0.1, momentum: 0.9, nesterov: true }],
  adam: () => [{ learningRate: 0.1, b1: 0.9, b2: 0.99, epsilon: 1e-8 }],
  adamw: () => [{ learningRate: 0.1, b1: 0.9, b2: 0.99, epsilon: 1e-8, weightDecay: 0.1 }],
  clipByNorm: ({ client }) => {
    const builder = client.builder('clip'); // its own, which is disposed at the end: each call adds to it
    return [builder, [builder.parameter(0, 'f32[2]')], 1];
  },
  trainStep: ({ client, loss }) => [client, loss, { wrt: 0, optimiser: train.sgd(), of: 0, maxNorm: 1, maxTrips: 1 }],
};

const DECLARED = await Promise.all(['stablehlo/index.d.ts', 'train/index.d.ts'].map((path) =>
  readFile(new URL(`../../bindings/${path}`, import.meta.url), 'utf8')));
const declared = [await packageDeclarations(), ...DECLARED].join('\n').replace(/\/\*.*?\*\//gs, '');

/** The names of a function's parameters, as they are declared. `name`: Class.method or function */
function parametersOf(name) {
  const [owner, method] = name.split('.');
  const text = method ? declared.slice(declared.search(new RegExp(`^export (class|interface) ${owner}\\b`, 'm'))) : declared;
  const head = new RegExp(`^${method ? '  (?:static )?' : 'export function '}${method ?? owner}(?:<.*?>)?\\(`, 'm').exec(text);
  assert.ok(head, `${name} is not declared`);
  const names = [];
  for (let at = head.index + head[0].length, depth = 0, isNext = true; depth >= 0; at++) {
    if (isNext && /\w/.test(text[at])) {
      names.push(/^\w+/.exec(text.slice(at))[0]);
      isNext = false;
    }
    if ('([{'.includes(text[at]) || /[^=]</.test(text.slice(at - 1, at + 1))) depth++;
    if (')]}'.includes(text[at]) || /[^=]>/.test(text.slice(at - 1, at + 1))) depth--;
    if (text[at] === ',' && depth === 0) isNext = true;
  }
  return names;
}

/** These wait for an outfeed, or dispose objects that the others need. */
const LEFT_OUT = new Set(['constructor', 'dispose', 'transferFromOutfeed']);

/** Each argument in turn replaced, or one of its fields; one more than there are; and none at all. */
function* replaced(args, values) {
  yield [{ what: 'no arguments' }, []];
  for (const [kind, value] of Object.entries(values)) {
    for (let i = 0; i <= args.length; i++) {
      yield [{ what: `${i}: ${kind}`, kind, value, i }, [...args.slice(0, i), value, ...args.slice(i + 1)]];
      const plain = args[i] !== null && typeof args[i] === 'object' && Object.getPrototypeOf(args[i]) === Object.prototype;
      for (const field of plain ? Object.keys(args[i]) : []) {
        yield [{ what: `${i}.${field}: ${kind}`, kind, value, i, field }, args.map((arg, k) => (k === i ? { ...arg, [field]: value } : arg))];
      }
    }
  }
}

const methodsOf = (target) => Object.getOwnPropertyNames(target).filter((name) =>
  !LEFT_OUT.has(name) && typeof Object.getOwnPropertyDescriptor(target, name).value === 'function');

describe('every exported function, asked in every way', () => {
  let client, other, values, things, turn = 0;
  /** A part of the values, for the next function another. */
  const valuesFor = (every) => Object.fromEntries(sample(Object.entries(values), every, turn++ % every));
  const letGo = (result) => {
    if (result && typeof result.dispose === 'function' && !Object.values(things).includes(result)) result.dispose();
    if (Array.isArray(result)) result.forEach(letGo);
  };
  before(async () => {
    [client, other] = [await Client.create({ threads: 0 }), await Client.create({ threads: 0 })];
    values = hostile(client, other);
    const module = client.parseHlo(ADD), executable = await client.compile(module), builder = client.builder('b');
    const loss = client.parseHlo('ENTRY main { x = f32[] parameter(0) ROOT y = f32[] multiply(x, x) }');
    const { events } = await executable.execute([[1, 2], [3, 4]], { profile: true });
    things = {
      client, module, loss, executable, events, builder, op: builder.parameter(0, 'f32[2]'), buffer: client.buffer([1, 2], 'f32[2]'),
      literal: Literal.from([[1, 2], [3, 4]]), shape: Shape.parse('f32[2,3]'), layout: all.Layout.rowMajor(2),
    };
  });
  after(() => {
    client.dispose();
    other.dispose();
  });

  const checkThatItWorks = async (name, before) => {
    const module = client.parseHlo(ADD), executable = await client.compile(module);
    assert.deepEqual((await executable.execute([[1, 2], [3, 4]]))[0].toArray(), [4, 6]);
    executable.dispose();
    module.dispose();
    for (let i = 0; i < 20 && client.heapInUse - before > 2000; i++) { // the collector frees unreachable objects
      collect();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    assert.ok(client.heapInUse - before <= 2000, `${name}: ${client.heapInUse - before} bytes stay`);
  };

  /** @param {(args: any[]) => any} call */
  async function ask(name, call) {
    const right = RIGHT[name]?.(things) ?? [];
    await checkThatItWorks(name, Infinity);
    const before = client.heapInUse;
    const asked = valuesFor(name === 'Client.create' ? 3 : 2); // each makes a client
    const names = parametersOf(name);
    for (const [{ what, kind, value, i, field }, args] of replaced(right, asked)) {
      const result = await attack(`${name}(${what})`, () => call(args));
      const argument = field ?? names[i];
      if (result instanceof all.XlaError && argument) checkWords(result, `${name}(${what})`, kind, argument, value);
      letGo(result);
    }
    letGo(right);
    await checkThatItWorks(name, before);
  }

  for (const [name, exported] of Object.entries(EXPORTS)) {
    if (typeof exported !== 'function') continue;
    if (!/^[A-Z]/.test(name)) {
      test(name, () => ask(name, (args) => exported(...args)));
      continue;
    }
    for (const method of methodsOf(exported)) {
      if (['length', 'name', 'prototype'].includes(method)) continue;
      test(`${name}.${method}`, () => ask(`${name}.${method}`, (args) => exported[method](...args)));
    }
    const isOperation = (method) => ['XlaBuilder', 'XlaOp'].includes(name) && Object.hasOwn(OPERATIONS, method);
    for (const method of methodsOf(exported.prototype).filter((own) => !isOperation(own))) {
      test(`${name}.${method}`, () => ask(`${name}.${method}`, (args) => {
        if (name === 'XlaBuilder') return onNewBuilder(method, args);
        const own = Object.values(things).find((thing) => thing instanceof exported);
        return own ? own[method](...args) : undefined;
      }));
    }
  }

  function onNewBuilder(method, args) {
    const builder = client.builder('b');
    try {
      const own = builder.parameter(9, 'f32[2]');
      return builder[method](...args.map((value) => (value === things.op ? own : value)));
    } finally {
      builder.dispose();
    }
  }

  const modules = []; // that rightFor() made
  /** Arguments of the right kinds, so that each check is reached; the core checks whether they fit together. */
  function rightFor(parameters, builder, x) {
    const inner = client.builder('inner');
    const sum = inner.build(inner.add(inner.parameter(0, 'f32[]'), inner.parameter(1, 'f32[]')));
    inner.dispose();
    modules.push(sum);
    const candidates = [x, [x], 0, [0], [[0, 0]], true, [true], 'f32', 'f32[2,2]', 1.5, 'x', 'add', sum, [sum], 'EQ', 'SAME',
      'default', 'FFT', 'RNG_THREE_FRY', 'NO_TRANSPOSE', {}];
    const context = { builder, operation: 'o', argument: 'a', adopt: () => undefined };
    const rightOf = (kind) => candidates.find((candidate) => {
      try {
        return kind(candidate, context) !== undefined;
      } catch {
        return false;
      }
    }) ?? recordOf(kind);
    const recordOf = ({ fields }) => fields && Object.fromEntries(Object.entries(fields).map(([name, kind]) => [name, rightOf(kind)]));
    return Object.values(parameters).map(rightOf);
  }

  /** An error of the caller's own function reaches the caller unchanged. */
  const attackWith = (value, what, call) => attack(what, typeof value !== 'function' ? call : () => {
    try {
      call();
    } catch (error) {
      if (error instanceof all.XlaError) throw error;
    }
  });

  /** The fields of an operation's records; each field is tested. */
  const fieldsOf = (kind) => kind.fields ?? kind.among?.map((one) => one.fields).find(Boolean) ?? {};

  for (const [method, row] of Object.entries(OPERATIONS)) {
    const rows = row.rows ?? [row];
    /* The first argument's name in every row: an argument of a wrong kind need not tell which row is meant. */
    const firstNames = `(${rows.map(({ parameters }) => Object.keys(parameters)[0]).join('|')})`;
    for (const { parameters } of rows) {
      const names = Object.keys(parameters);
      test(`operation ${method}(${names})`, async () => {
        await checkThatItWorks(method, Infinity);
        const before = client.heapInUse;
        const builder = client.builder('b'), x = builder.parameter(0, 'f32[2,2]');
        const right = rightFor(parameters, builder, x);
        for (const [kind, value] of Object.entries(valuesFor(3))) {
          for (let i = 0; i <= names.length; i++) {
            const what = `${method}(${i}: ${kind})`;
            const result = await attackWith(value, what, () => builder[method](...right.slice(0, i), value, ...right.slice(i + 1)));
            if (result instanceof all.XlaError && names[i] && (i === 0 || rows.length === 1)) {
              checkWords(result, what, kind, i === 0 ? firstNames : names[i], value);
            }
            for (const field of Object.keys(fieldsOf(parameters[names[i]] ?? {}))) {
              await attackWith(value, `${method}(${names[i]}.${field}: ${kind})`, () =>
                builder[method](...right.slice(0, i), { ...right[i], [field]: value }, ...right.slice(i + 1)));
            }
            if (kind.startsWith('many')) continue; // it takes long, and was read as it is here
            await attackWith(value, `${method}({${names[i]}: ${kind}})`, () => builder[method](x, { [names[i]]: value }));
          }
          await attackWith(value, `${method} of ${kind}`, () => x[method]?.(value));
        }
        builder.dispose();
        modules.splice(0).forEach((module) => module.dispose());
        await checkThatItWorks(method, before);
      });
    }
  }

  test('each row of the table names a function that exists', () => {
    for (const [name, row] of Object.entries(RIGHT)) assert.equal(typeof row, 'function', name);
    for (const name of Object.keys(RIGHT)) {
      const [Class, method] = name.split('.');
      const there = method ? EXPORTS[Class]?.[method] ?? EXPORTS[Class]?.prototype[method] : EXPORTS[Class];
      assert.equal(typeof there, 'function', `${name} is not there any more`);
    }
  });

  test('errors of options say which', () => {
    assert.throws(() => client.builder(5), (error) => checkError(error, 'builder') ?? true);
  });
});
