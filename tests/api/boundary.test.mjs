/**
 * Calls every public method with invalid values. Each call must fail at once with an XlaError of a
 * fitting code, and the client must go on working.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { OPERATIONS } from '../../bindings/builder/operations.mjs';
import {
  Buffer, Client, Executable, HloModule, Layout, Literal, readNpy, readNpz, readSafetensors, Shape, writeNpy, writeNpz,
  writeSafetensors, XlaBuilder, XlaError, XlaOp,
} from '../../bindings/index.mjs';
import { ADD, attack, attackAll, checkError, detached, disposed, hostile, trap, TRAPS } from '../support/hostile.mjs';

for (const threads of [0, 1]) {
  describe(`whatever is passed, with ${threads} threads`, () => {
    let client, other, values;
    before(async () => {
      client = await Client.create({ threads });
      other = await Client.create({ threads: 0 });
      values = hostile(client, other);
    });
    after(() => {
      client.dispose();
      other.dispose();
    });
    const checkThatItWorks = async () => {
      const executable = await client.compile(client.parseHlo(ADD));
      assert.deepEqual((await executable.execute([[1, 2], [3, 4]]))[0].toArray(), [4, 6]);
      executable.dispose();
    };

    test('to a client', async () => {
      const module = client.parseHlo(ADD);
      await attackAll('create', values, [{ threads: 0 }], async (args) => {
        (await Client.create({ threads: 0, ...(args[0] === undefined ? { threads: 0 } : null) }))
          .dispose();
        const made = await Client.create(...args);
        made.dispose();
      });
      await attackAll('builder', values, ['b'], (args) => client.builder(...args));
      await attackAll('parseHlo', values, [ADD], (args) => client.parseHlo(...args));
      await attackAll('parseHloProto', values, [new Uint8Array(8)],
        (args) => client.parseHloProto(...args));
      await attackAll('compile', values, [module, {}], (args) => client.compile(...args));
      await attackAll('passes', values, [module, {}], (args) => client.passes(...args));
      await attackAll('compile replicas', values, [2],
        ([replicas]) => client.compile(module, { replicas }));
      await attackAll('buffer', values, [[1, 2], 'f32[2]'], (args) => client.buffer(...args));
      await attackAll('registerCustomCall', values, ['t', () => 1],
        (args) => client.registerCustomCall(...args));
      await attackAll('transferToInfeed', values, [[1], {}],
        (args) => client.transferToInfeed(...args));
      await attackAll('transferFromOutfeed replica', values, [1], async ([replica]) => {
        client.transferFromOutfeed({ replica }).catch((error) => checkError(error, 'outfeed'));
      });
      for (const options of [null, 5, 'x', Symbol('s'), [], { replicas: 1 }]) {
        checkError(await client.transferFromOutfeed(options).catch((error) => error), 'outfeed');
      }
      await checkThatItWorks();
    });

    test('to an executable', async () => {
      const executable = await client.compile(client.parseHlo(ADD));
      const args = [[1, 2], [3, 4]];
      await attackAll('execute', values, [args, {}], (all) => executable.execute(...all));
      await attackAll('argument', values, args, (all) => executable.execute(all));
      await attackAll('element', values, [1, 2], (all) => executable.execute([all, args[1]]));
      await attackAll('executeReplicas', values, [[args], {}],
        (all) => executable.executeReplicas(...all));
      await attackAll('arguments of a replica', values, [args],
        (all) => executable.executeReplicas(all));
      for (const option of ['device', 'donate', 'profile', 'signal', 'seed']) {
        await attackAll(option, values, [undefined],
          ([value]) => executable.execute(args, { [option]: value }));
      }
      await attackAll('donate', values, [0], ([number]) => executable.execute(args, {
        donate: [number] }));
      await checkThatItWorks();
      assert.deepEqual((await executable.execute(args))[0].toArray(), [4, 6]);
    });

    test('to a builder', async () => {
      for (const method of ['parameter', 'constant', 'constantLiteral', 'constantR0', 'constantR1',
        'constantR2', 'constantR3', 'constantR4', 'createSubBuilder', 'build']) {
        await attackAll(method, values, method === 'parameter' ? [0, 'f32[2]', 'x'] : [1, undefined],
          (args) => client.builder('b')[method](...args));
      }
    });

    test('calls of disposed objects', async () => {
      const executable = disposed(await client.compile(client.parseHlo(ADD)));
      for (const call of [
        () => executable.execute([[1, 2], [3, 4]]), () => executable.toString(),
        () => executable.thunks(), () => executable.memoryPlan(),
        () => executable.generatedCode(), () => values.disposed_buffer.toLiteral(),
        () => values.disposed_buffer.view(), () => values.disposed_module.toString(),
        () => values.disposed_module.parameters, () => client.compile(values.disposed_module),
      ]) {
        assert.equal((await attack('disposed', call)).code, 'FAILED_PRECONDITION');
      }
      executable.dispose();
    });
  });
}

describe('whatever is passed to the operation', () => {
  let client, values;
  before(async () => {
    client = await Client.create({ threads: 0 });
    values = hostile(client, await Client.create({ threads: 0 }));
  });
  after(() => client.dispose());

  for (const method of Object.keys(OPERATIONS)) {
    test(method, async () => {
      const b = client.builder('b');
      const x = b.parameter(0, 'f32[2,2]');
      await attackAll(method, values, new Array(5).fill(x), (args) => b[method](...args));
      for (const count of [0, 1, 2, 3, 4, 9]) {
        await attack(method, () => b[method](...new Array(count).fill(x)));
      }
      assert.equal(String(b.add(x, x).shape), 'f32[2,2]');
      b.dispose();
    });
  }
});

describe('values on the host', () => {
  let client, other, values;
  before(async () => {
    [client, other] = [await Client.create({ threads: 0 }), await Client.create({ threads: 0 })];
    values = hostile(client, other);
  });
  after(() => {
    client.dispose();
    other.dispose();
  });

  test('shapes and layouts', async () => {
    const shape = Shape.parse('f32[2,3]');
    await attackAll('Shape.array', values, ['f32', [2], {}], (args) => Shape.array(...args));
    await attackAll('layout', values, [0], ([layout]) => Shape.array('f32', [2], { layout }));
    await attackAll('dynamic', values, [0], ([dynamicDimensions]) =>
      Shape.array('f32', [2], { dynamicDimensions }));
    for (const method of ['parse', 'of', 'tuple']) {
      await attackAll(method, values, [0], (args) => Shape[method](...args));
    }
    for (const method of ['withElementType', 'withLayout', 'compatible', 'accepts', 'equals',
      'linearIndex', 'multiIndex']) {
      await attackAll(method, values, [0], (args) => shape[method](...args));
    }
    await attackAll('new Shape', values, [0, 0], (args) => new Shape(...args));
    await attackAll('new Layout', values, [{}], (args) => new Layout(...args));
    for (const field of ['minorToMajor', 'paddedDimensions', 'paddingValue']) {
      await attackAll(field, values, [0], ([value]) =>
        new Layout({ minorToMajor: [0], [field]: value }));
    }
    await attackAll('rowMajor', values, [0], (args) => Layout.rowMajor(...args));
    await attackAll('equals', values, [0], (args) => Layout.rowMajor(2).equals(...args));
  });

  test('literals', async () => {
    const literal = Literal.from([[1, 2], [3, 4]]);
    await attackAll('new Literal', values, ['f32[4]', new Float32Array(4)],
      (args) => new Literal(...args));
    await attackAll('new Literal', values, ['(f32[4], s32[])', [literal]],
      (args) => new Literal(...args));
    for (const shape of [undefined, 'f32[2]', 'f32[2,2]{0,1}', 's4[2]', 'c64[]', 'pred[3]', 'bf16[1]',
      '(f32[2], s32[])', '()', 'token[]', 'f32[0]']) {
      await attackAll(`from ${shape}`, values, [0], ([value]) => Literal.from(value, shape));
      await attackAll(`from list ${shape}`, values, [1, 2], (list) => Literal.from(list, shape));
    }
    await attackAll('shape', values, ['f32[2]'], ([shape]) => Literal.from([1, 2], shape));
    await attackAll('tuple', values, [0], (args) => Literal.tuple(...args));
    await attackAll('fromPacked', values, [new Uint8Array(1), 's4[2]'], (args) => Literal.fromPacked(...args));
    await attackAll('zeros', values, [0], (args) => Literal.zeros(...args));
    await attackAll('get', values, [[0, 0]], (args) => literal.get(...args));
    await attackAll('get', values, [0, 0], (index) => literal.get(index));
    await attackAll('inLayout', values, [0], (args) => literal.inLayout(...args));
  });

  test('files of arrays', async () => {
    const named = { x: Literal.from([1, 2]) };
    for (const read of [readNpy, readNpz, readSafetensors]) {
      await attackAll(read.name || 'read', values, [new Uint8Array(8), {}], (args) => read(...args));
    }
    await attackAll('maxBytes', values, [1], ([maxBytes]) => readNpz(new Uint8Array(8), { maxBytes }));
    for (const write of [writeNpz, writeSafetensors]) {
      await attackAll('write', values, [named], (args) => write(...args));
      await attackAll('write x', values, [named.x], ([x]) => write({ x }));
    }
    await attackAll('writeNpy', values, [named.x], (args) => writeNpy(...args));
  });

  test('methods without their object', async () => {
    const classes = { Buffer, Client, Executable, HloModule, Layout, Literal, Shape, XlaBuilder };
    for (const [name, { prototype }] of Object.entries(classes)) {
      for (const method of Object.getOwnPropertyNames(prototype)) {
        const { value } = Object.getOwnPropertyDescriptor(prototype, method);
        if (method === 'constructor' || typeof value !== 'function') continue;
        try {
          await value.call(undefined);
        } catch (error) {
          assert.ok(error instanceof XlaError, `${name}.${method}: ${error.stack}`);
        }
      }
    }
  });

  test('classes without a public constructor say how they are made', () => {
    const refused = (body, pattern) => assert.throws(body, (error) =>
      error instanceof XlaError && error.code === 'FAILED_PRECONDITION' && pattern.test(error.message));
    refused(() => new Client(), /await Client\.create\(\)/);
    refused(() => new XlaOp(), /methods of a builder/);
    refused(() => new XlaOp(client.builder(), 1e6, Shape.parse('f32[]')), /methods of a builder/);
    refused(() => new Shape({ elementType: 'f32', dimensions: [-1] }), /Shape\.parse/);
    for (const Class of [Buffer, Executable, HloModule, XlaBuilder]) {
      refused(() => new Class(undefined, 1, { parameters: [] }), /client/i);
    }
  });
});

describe('failures let go', () => {
  let client;
  before(async () => {
    client = await Client.create({ threads: 1 });
  });
  after(() => client.dispose());
  const refused = (promise, code, pattern) => assert.rejects(promise, (error) => {
    assert.ok(error instanceof XlaError, error?.stack);
    assert.equal(error.code, code, error.stack);
    assert.match(error.message, pattern);
    return true;
  });

  const CALL = `ENTRY main {
    x = f32[2] parameter(0)
    ROOT y = f32[3] custom-call(x), custom_call_target="f"
  }`;
  const thrown = {
    'an Error': [new Error('not today'), 'INTERNAL', /not today/],
    'a message that throws': [{ get message() { return trap(); } }, 'INTERNAL', /an object/],
    'an Error whose message throws': [
      Object.defineProperty(new Error(), 'message', { get: trap }), 'INTERNAL', /an Error/],
    'words that throw': [{ toString: trap }, 'INTERNAL', /an object/],
    'a Proxy of traps': [new Proxy({}, TRAPS), 'INTERNAL', /cannot be looked at/],
    'a symbol': [Symbol('s'), 'INTERNAL', /Symbol\(s\)/],
    nothing: [undefined, 'INTERNAL', /undefined/],
    'an XlaError': [new XlaError('RESOURCE_EXHAUSTED', 'no room'), 'RESOURCE_EXHAUSTED', /no room/],
    'a code that is none': [new XlaError('EIEIO', 'odd'), 'INTERNAL', /odd/],
    'a long message': [new Error('x'.repeat(1e6)), 'INTERNAL', /xxx/],
  };
  for (const [what, [value, code, pattern]] of Object.entries(thrown)) {
    test(`a callback throws ${what}`, async () => {
      const executable = await client.compile(client.parseHlo(CALL));
      for (const callback of [() => { throw value; }, async () => { throw value; }]) {
        client.registerCustomCall('f', callback);
        await refused(executable.execute([[1, 2]]), code, pattern);
      }
      client.registerCustomCall('f', () => [1, 2, 3]);
      assert.deepEqual((await executable.execute([[1, 2]]))[0].toArray(), [1, 2, 3]);
    });
  }
  test('a callback returns what does not fit', async () => {
    const executable = await client.compile(client.parseHlo(CALL));
    for (const result of [undefined, 5, [1], 'abc', [[1, 2, 3]], new Map(),
      new Float64Array(2), detached(new Float32Array(3)), Symbol('s')]) {
      client.registerCustomCall('f', () => result);
      await refused(executable.execute([[1, 2]]), 'INVALID_ARGUMENT', /custom-call/);
    }
  });
  test('a target without a registered callback', async () => {
    const executable = await client.compile(client.parseHlo(CALL.replace('"f"', '"nobody"')));
    await refused(executable.execute([[1, 2]]), 'UNIMPLEMENTED', /"nobody"/);
  });

  test('wrong options leak no run', async () => {
    const executable = await client.compile(client.parseHlo(ADD));
    const before = client.heapInUse;
    for (let i = 0; i < 20; i++) {
      for (const options of [{ signal: {} }, { signal: 5 }, { donate: 5 }, { donate: [0.5] },
        { donate: {} }, { device: 'yes' }, { device: true, thread: 1 }, null, { donate: [9] }]) {
        await refused(executable.execute([[1, 2], [3, 4]], options), 'INVALID_ARGUMENT', /execute/);
      }
    }
    assert.equal(client.memoryInUse, 0);
    assert.ok(client.heapInUse - before < 1000, `${client.heapInUse - before} bytes`);
  });
  test('unknown options have a nearest name', async () => {
    const module = client.parseHlo(ADD);
    await refused(Client.create({ thread: 1 }), 'INVALID_ARGUMENT', /did you mean threads\?/);
    await refused(Client.create({ maxmemory: 1 }), 'INVALID_ARGUMENT', /did you mean maxMemory\?/);
    await refused(client.compile(module, { replica: 2 }), 'INVALID_ARGUMENT', /mean replicas\?/);
    await refused(client.compile(module, { colour: 2 }), 'INVALID_ARGUMENT', /there are replicas/);
    await refused(client.transferFromOutfeed({ replicas: 0 }), 'INVALID_ARGUMENT', /mean replica\?/);
  });
  test('element types have a nearest name', () => {
    const meant = {
      'float32[2]': 'f32', 'F32[2]': 'f32', 'int64[]': 's64', 'i8[3]': 's8', 'bool[]': 'pred',
      'BF16[2]': 'bf16', 'double[2]': 'f64', 'uint8[]': 'u8', 'complex64[1]': 'c64',
      'float8_e4m3fn[2]': 'f8e4m3fn',
    };
    for (const [text, type] of Object.entries(meant)) {
      assert.throws(() => Shape.parse(text), new RegExp(`did you mean ${type}\\[\\d*\\]\\?`));
      assert.throws(() => Shape.array(text.split('[')[0]), new RegExp(`did you mean ${type}\\?`));
    }
  });
  test('more replicas than there can be, in the text', async () => {
    const text = (count) => `HloModule m, replica_count=${count}\nENTRY e { ROOT r = u32[] replica-id() }`;
    await refused(client.compile(client.parseHlo(text(4097))), 'INVALID_ARGUMENT', /4096/);
    (await client.compile(client.parseHlo(text(4096)))).dispose();
  });

  test('one AbortSignal for many runs: no warning, and it cancels them all', async () => {
    const warnings = [];
    const listen = (warning) => warnings.push(warning);
    process.on('warning', listen);
    const controller = new AbortController();
    const executable = await client.compile(client.parseHlo(CALL));
    const pending = [];
    client.registerCustomCall('f', () => new Promise((resolve) => pending.push(resolve)));
    const runs = Array.from({ length: 40 }, () =>
      executable.execute([[1, 2]], { signal: controller.signal }));
    const ends = Promise.allSettled(runs);
    controller.abort();
    for (const { reason } of await ends) assert.equal(reason.code, 'CANCELLED');
    pending.forEach((resolve) => resolve([1, 2, 3]));
    await new Promise((resolve) => setTimeout(resolve, 10));
    process.off('warning', listen);
    assert.deepEqual(warnings, []);
    assert.equal(client.memoryInUse, 0);
  });

  test('signals that throw leak no run', async () => {
    const executable = await client.compile(client.parseHlo(ADD));
    const [buffer, controller] = [client.buffer([1, 2]), new AbortController()];
    const methods = { addEventListener: () => {}, removeEventListener: () => {} };
    const execute = (signal) => executable.execute([buffer, buffer], { signal });
    await execute(controller.signal);
    const before = client.heapInUse;
    for (let i = 0; i < 20; i++) {
      for (const signal of [
        { aborted: false, ...methods, addEventListener: trap }, { aborted: false, ...methods, removeEventListener: trap },
        { aborted: true, ...methods, get reason() { return trap(); } },
        { ...methods, count: 0, get aborted() { return this.count++ > 0 && trap(); } },
        { ...methods, count: 0, get aborted() { return this.count++ > 1 && trap(); } },
      ]) await refused(execute(signal), 'INVALID_ARGUMENT', /execute: .*the value defends itself/);
    }
    assert.ok(client.heapInUse - before < 1000, `${client.heapInUse - before} bytes`);
    const firing = { ...methods, aborted: false, addEventListener(name, listener) {
      this.aborted = true;
      listener();
    } };
    await refused(execute(firing), 'CANCELLED', /./);
    assert.deepEqual((await execute({ ...methods, aborted: false, addEventListener(name, listener) {
      this.listener = listener;
    }, removeEventListener() {
      this.listener(); // when the run is over
    } }))[0].toArray(), [2, 4]);
    buffer.dispose();
    assert.equal(client.memoryInUse, 0);
  });

  test('infeed sources that throw in every way, and then are asked no more', { timeout: 20000 }, async () => {
    const executable = await client.compile(client.parseHlo(`ENTRY e { t = token[] after-all()
      i = (f32[2], token[]) infeed(t)
      ROOT x = f32[2] get-tuple-element(i), index=0 }`));
    for (const next of [trap, async () => trap(), () => null, () => undefined, () => ({ get done() { return trap(); } }),
      () => ({ done: false, get value() { return trap(); } })]) {
      client.infeed({ [Symbol.iterator]: () => ({ next }) });
      await refused(executable.execute([]), 'INTERNAL', /defends itself|done/);
      const run = executable.execute([]);
      client.transferToInfeed([1, 2]);
      assert.deepEqual((await run)[0].toArray(), [1, 2]);
    }
  });

  test('a client that is disposed', async () => {
    const gone = await Client.create({ threads: 0 });
    const waiting = gone.transferFromOutfeed();
    gone.dispose();
    await refused(waiting, 'CANCELLED', /disposed/);
    await refused(gone.transferFromOutfeed(), 'FAILED_PRECONDITION', /disposed/);
    for (const call of [
      () => gone.transferToInfeed([1]), () => gone.registerCustomCall('t', () => 1),
      () => gone.builder(), () => gone.parseHlo(ADD), () => gone.buffer([1]),
      () => gone.memoryInUse,
    ]) {
      assert.throws(call, { name: 'XlaError', code: 'FAILED_PRECONDITION' });
    }
  });

  test('values that dispose the object that they are passed to', async () => {
    const executable = await client.compile(client.parseHlo(ADD));
    const args = [[1, 2], [3, 4]];
    const sly = (effect) => new Proxy([1, 2], { get(target, name) {
      if (name === '0') effect();
      return target[name];
    } });
    const buffer = client.buffer([5, 6]);
    await refused(executable.execute([buffer, sly(() => buffer.dispose())]),
      'FAILED_PRECONDITION', /Buffer was disposed/);
    const controller = new AbortController();
    await refused(executable.execute([args[0], sly(() => controller.abort())],
      { signal: controller.signal }), 'CANCELLED', /./);
    await refused(executable.execute([args[0], sly(() => executable.dispose())]),
      'FAILED_PRECONDITION', /Executable was disposed/);
    const b = client.builder();
    const x = b.parameter(0, 'f32[2]');
    assert.throws(() => b.broadcast(x, sly(() => b.dispose())), { code: 'FAILED_PRECONDITION' });
    const gone = await Client.create({ threads: 0 });
    const last = await gone.compile(gone.parseHlo(ADD));
    await refused(last.execute([args[0], sly(() => gone.dispose())]), 'FAILED_PRECONDITION', /./);
  });
});
