/** Tests the client: its life, its runs, and that a failed run leaves no trace. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { allowRelaxedSimd } from '../support/relaxed.mjs';

// The glue takes Worker from here: so that a test can end one.
const workerThreads = createRequire(import.meta.url)('node:worker_threads');
const workers = [];
workerThreads.Worker = class extends workerThreads.Worker {
  constructor(...args) {
    super(...args);
    workers.push(this);
  }
};

const { Client, Literal } = await import('../../bindings/index.mjs');
const { turnsDuring } = await import('../support/turns.mjs');
const INDEX = new URL('../../bindings/index.mjs', import.meta.url);

const AXPY = `HloModule axpy
ENTRY main {
  x = f32[2,3] parameter(0)
  v = f32[3] parameter(1)
  w = f32[2,3] broadcast(v), dimensions={1}
  ROOT sum = f32[2,3] add(x, w)
}`;
const AXPY_ARGS = [[[1, 2, 3], [4, 5, 6]], [7, 8, 9]];
const AXPY_RESULT = [[8, 10, 12], [11, 13, 15]];

/** Takes the sine of 64 numbers n times, one after the other. */
const sines = (n) => `HloModule sines
condition {
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(${n})
  ROOT more = pred[] compare(i, n), direction=LT
}
body {
  s = (s32[], f32[64]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[64] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[64] sine(x)
  ROOT next = (s32[], f32[64]) tuple(j, y)
}
ENTRY main {
  x = f32[64] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[64]) tuple(zero, x)
  last = (s32[], f32[64]) while(s), condition=condition, body=body
  ROOT y = f32[64] get-tuple-element(last), index=1
}`;
const FOREVER = 2_000_000_000;
const ONES = [new Float32Array(64).fill(1)];

/** Replicas add up their numbers, where p is true. */
const MAYBE_SUM = `HloModule maybe_sum, replica_count=2
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
yes { x = f32[] parameter(0)
  ROOT all = f32[] all-reduce(x), replica_groups={}, to_apply=add }
no { x = f32[] parameter(0)
  ROOT minus = f32[] negate(x) }
ENTRY main { p = pred[] parameter(0)
  x = f32[] parameter(1)
  ROOT r = f32[] conditional(p, x, x), true_computation=yes, false_computation=no }`;

const compile = async (client, hlo, options) => {
  const module = client.parseHlo(hlo);
  try {
    return await client.compile(module, options);
  } finally {
    module.dispose();
  }
};

const rejects = (promise, code, pattern = /./) =>
  assert.rejects(promise, (error) => {
    assert.equal(error.name, 'XlaError', error.stack);
    assert.equal(error.code, code, error.message);
    assert.match(error.message, pattern);
    return true;
  });

const throws = (body, code, pattern = /./) =>
  assert.throws(body, (error) => error.name === 'XlaError' && error.code === code &&
    pattern.test(error.message));

async function checkThatItWorks(client) {
  const executable = await compile(client, AXPY, { replicas: 1 });
  const [sum] = await executable.execute(AXPY_ARGS);
  assert.deepEqual(sum.toArray(), AXPY_RESULT);
  executable.dispose();
}

for (const threads of [0, 2]) {
  describe(`a client with ${threads} threads`, () => {
    let client;
    before(async () => {
      client = await Client.create({ threads });
    });
    after(() => client.dispose());

    test('has them', () => {
      assert.equal(client.threads, threads);
      assert.equal(client.replicas, 1);
      assert.equal(client.disposed, false);
    });

    test('runs a module', () => checkThatItWorks(client));

    test('describes a module', () => {
      const module = client.parseHlo(AXPY);
      assert.equal(module.name, 'axpy');
      assert.deepEqual(
        module.parameters.map(({ name, shape }) => `${name}: ${shape}`),
        ['x: f32[2,3]', 'v: f32[3]']);
      assert.equal(String(module.resultShape), 'f32[2,3]');
      assert.equal(module.replicaCount, undefined);
      assert.match(module.toString(), /^HloModule axpy/);
      module.dispose();
      assert.equal(module.disposed, true);
      module.dispose();
      throws(() => module.toString(), 'FAILED_PRECONDITION', /HloModule was disposed/);
    });

    test('an executable outlives its module, and shows what it became', async () => {
      const executable = await compile(client, AXPY);
      assert.match(executable.toString(), /HloModule axpy/);
      assert.ok(executable.thunks().length > 0);
      assert.equal(executable.replicas, 1);
      executable.dispose();
      await rejects(executable.execute(AXPY_ARGS), 'FAILED_PRECONDITION', /Executable was disp/);
    });

    test('shows what the passes do, the code, and where the memory is', async () => {
      const text = `HloModule m
f { x = f32[64,64] parameter(0)  y = f32[64,64] negate(x)  ROOT z = f32[64,64] negate(y) }
ENTRY e {
  p = f32[64,64] parameter(0)
  c = f32[64,64] call(p), to_apply=f
  d = f32[64,64] dot(c, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[64,64] exponential(d)
  ROOT r = f32[64,64] dot(e, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}`;
      const module = client.parseHlo(text);
      const passes = client.passes(module);
      assert.equal(passes[0].pass, 'dynamic-dimensions');
      assert.deepEqual(passes.slice(1, 3).map(({ pass }) => pass), ['inline-calls', 'simplify-algebra']);
      assert.match(passes[0].text, /call/);
      assert.doesNotMatch(passes[1].text, /call/);
      assert.ok(passes.some(({ pass, text: after }) => pass === 'fuse-loops' && /fusion/.test(after)));
      for (const { text: after } of passes) client.parseHlo(after).dispose();

      const executable = await client.compile(module);
      assert.equal(passes.at(-1).text, executable.toString());
      const code = executable.generatedCode();
      assert.ok(WebAssembly.validate(code));
      const { arenaBytes, buffers } = executable.memoryPlan();
      const own = buffers.filter(({ place }) => place === 'arena');
      assert.ok(own.length >= 1 && own.every(({ offset, bytes }) => offset + bytes <= arenaBytes));
      assert.ok(own.some(({ bytes }) => bytes === 64 * 64 * 4));
      assert.ok(buffers.every(({ first, last }) => first <= last));
      assert.ok(buffers.some(({ place }) => place === 'result0'));

      const simple = await client.compile(client.parseHlo('HloModule m\nENTRY e { ROOT c = f32[] constant(1) }'));
      assert.equal(simple.generatedCode(), null);
      assert.equal(simple.memoryPlan().arenaBytes, 0);
      throws(() => client.passes(text), 'INVALID_ARGUMENT', /module must be an HloModule/);
      throws(() => client.passes(module, { replicas: 0 }), 'INVALID_ARGUMENT', /replicas/);
    });

    test('leaves rewrites out that are named', async () => {
      const module = client.parseHlo(`HloModule m
ENTRY e {
  x = f32[64] parameter(0)
  n = f32[64] negate(x)
  ROOT r = f32[64] add(n, x)
}`);
      const fused = await client.compile(module);
      assert.match(fused.thunks(), /generated/);
      const apart = await client.compile(module, { disable: ['fuse-loops'] });
      assert.doesNotMatch(apart.thunks(), /generated/);
      const x = Float32Array.from({ length: 64 }, (_, i) => i / 3);
      for (const executable of [fused, apart, await client.compile(module, { disable: client.optionalPasses })]) {
        const [y] = await executable.execute([x]);
        assert.deepEqual(y.data, new Float32Array(64));
      }
      const without = client.passes(module, { disable: ['fuse-loops'] });
      assert.ok(!without.some(({ pass }) => pass === 'fuse-loops'));
      throws(() => client.passes(module, { disable: ['fuse-lops'] }), 'INVALID_ARGUMENT', /mean disable: fuse-loops/);
      throws(() => client.passes(module, { disable: ['inline-calls'] }), 'INVALID_ARGUMENT', /inline-calls is not known/);
      throws(() => client.passes(module, { disable: 'fuse-loops' }), 'INVALID_ARGUMENT', /an array of names/);
    });

    test('takes arguments of all kinds', async () => {
      const executable = await compile(client, AXPY);
      const x = client.buffer(Literal.from(AXPY_ARGS[0], 'f32[2,3]{0,1}'));
      for (const args of [
        [Float32Array.of(1, 2, 3, 4, 5, 6), Float64Array.of(7, 8, 9)],
        [Literal.from(AXPY_ARGS[0], 'f32[2,3]'), Int32Array.of(7, 8, 9)],
        [[Float32Array.of(1, 2, 3), [4, 5, 6]], client.buffer([7, 8, 9])],
        [x, [7, 8, 9]],
      ]) {
        assert.deepEqual((await executable.execute(args))[0].toArray(), AXPY_RESULT);
      }
      assert.deepEqual(x.toLiteral().toArray(), AXPY_ARGS[0]);
    });

    test('refuses arguments that do not fit, and says which', async () => {
      const executable = await compile(client, AXPY);
      const other = await Client.create({ threads: 0 });
      const cut = [[1, 2, 3], [4, 5]];
      const refused = [
        [[], /needs an array of 2 arguments \(x: f32\[2,3\], v: f32\[3\]\); got 0/],
        ['x', /needs an array of 2 arguments/],
        [[cut, [7, 8, 9]], /argument 0 \(x\): f32\[2,3\] at \[1\] needs 3 elements/],
        [[AXPY_ARGS[0], 5], /argument 1 \(v\): f32\[3\] needs an array of 3/],
        [[AXPY_ARGS[0], client.buffer([1, 2])], /argument 1 \(v\): .* a Buffer of f32\[2\]/],
        [[AXPY_ARGS[0], other.buffer([1, 2, 3])], /argument 1 \(v\): .* another client/],
        [[AXPY_ARGS[0], Literal.from([1, 2, 3], 's32[3]')], /argument 1 \(v\): .* s32\[3\]/],
      ];
      for (const [args, pattern] of refused) {
        await rejects(executable.execute(args), 'INVALID_ARGUMENT', pattern);
      }
      const gone = client.buffer([7, 8, 9]);
      gone.dispose();
      await rejects(executable.execute([AXPY_ARGS[0], gone]), 'FAILED_PRECONDITION', /disposed/);
      await rejects(executable.executeReplicas(AXPY_ARGS), 'INVALID_ARGUMENT', /one per replica/);
      assert.deepEqual((await executable.execute(AXPY_ARGS))[0].toArray(), AXPY_RESULT);
      other.dispose();
    });

    test('tuples go in and out, nested', async () => {
      const executable = await compile(client, `ENTRY main {
        t = (f32[], (s32[2], pred[])) parameter(0)
        x = f32[] get-tuple-element(t), index=0
        u = (s32[2], pred[]) get-tuple-element(t), index=1
        ROOT r = ((s32[2], pred[]), f32[]) tuple(u, x)
      }`);
      const swapped = [[[2, 3], true], 1];
      const results = await executable.execute([[1, [[2, 3], true]]]);
      assert.deepEqual(results.map((result) => result.toArray()), swapped);
      assert.equal(String(results[0].shape), '(s32[2], pred[])');
      const literal = Literal.from([1, [[2, 3], true]], '(f32[], (s32[2], pred[]))');
      assert.deepEqual((await executable.execute([literal])).map((r) => r.toArray()), swapped);
      const parts = [client.buffer(1, 'f32[]'), [client.buffer([2, 3], 's32[2]'), true]];
      const [[vector, flag], x] = await executable.execute([parts], { device: true });
      assert.deepEqual(
        [vector, flag, x].map((buffer) => buffer.toLiteral().toArray()), [[2, 3], true, 1]);
    });

    test('layouts of parameters and results are honoured', async () => {
      const executable = await compile(client, `HloModule turn,
          entry_computation_layout={(f32[2,3]{0,1})->f32[2,3]{0,1}}
        ENTRY main {
          x = f32[2,3]{0,1} parameter(0)
          ROOT y = f32[2,3]{0,1} negate(x)
        }`);
      assert.equal(String(executable.parameters[0].shape), 'f32[2,3]{0,1}');
      for (const x of [[[1, 2, 3], [4, 5, 6]], Float32Array.of(1, 4, 2, 5, 3, 6)]) {
        const [y] = await executable.execute([x]);
        assert.equal(String(y.shape), 'f32[2,3]{0,1}');
        assert.deepEqual([...y.data], [-1, -4, -2, -5, -3, -6]);
        assert.deepEqual(y.toArray(), [[-1, -2, -3], [-4, -5, -6]]);
      }
      const [onDevice] = await executable.execute([[[1, 2, 3], [4, 5, 6]]], { device: true });
      assert.equal(String(onDevice.shape), 'f32[2,3]');
      assert.deepEqual([...onDevice.view()], [-1, -2, -3, -4, -5, -6]);
    });

    test('buffers', async () => {
      const buffer = client.buffer([[1, 2], [3, 4]], 's16[2,2]');
      assert.equal(String(buffer.shape), 's16[2,2]');
      assert.deepEqual(buffer.toLiteral().toArray(), [[1, 2], [3, 4]]);
      assert.ok(buffer.view() instanceof Int16Array);
      buffer.view()[3] = 9;
      const copy = client.buffer(buffer);
      buffer.dispose();
      assert.deepEqual(copy.toLiteral().toArray(), [[1, 2], [3, 9]]);
      throws(() => buffer.toLiteral(), 'FAILED_PRECONDITION', /Buffer was disposed/);
      throws(() => client.buffer([1], '(f32[])'), 'INVALID_ARGUMENT', /array/);
      assert.equal(client.buffer([], 'f32[0,4]').view().length, 0);
      if (Symbol.dispose) copy[Symbol.dispose]();
      else copy.dispose();
      assert.equal(copy.disposed, true);
    });

    test('donated buffers are gone, others stay', async () => {
      const executable = await compile(client, `ENTRY main {
        a = f32[4] parameter(0)
        b = f32[4] parameter(1)
        ROOT c = f32[4] add(a, b)
      }`);
      const [a, b] = [client.buffer([1, 2, 3, 4]), client.buffer([10, 20, 30, 40])];
      await rejects(executable.execute([a, a], { donate: [0] }), 'INVALID_ARGUMENT', /only once/);
      await rejects(executable.execute([a, b], { donate: [2] }), 'INVALID_ARGUMENT', /parameter 2/);
      await rejects(executable.execute([a, b], { donate: [0, 0] }), 'INVALID_ARGUMENT', /different numbers/);
      const [c] = await executable.execute([a, b], { donate: [0] });
      assert.deepEqual(c.toArray(), [11, 22, 33, 44]);
      assert.deepEqual([a.disposed, b.disposed], [true, false]);
      assert.deepEqual(b.toLiteral().toArray(), [10, 20, 30, 40]);
      await rejects(executable.execute([a, b]), 'FAILED_PRECONDITION', /disposed/);
    });

    test('a buffer may be disposed while a run still uses it', async () => {
      const executable = await compile(client, sines(2000));
      const x = client.buffer(ONES[0]);
      const running = executable.execute([x]);
      x.dispose();
      executable.dispose();
      const [y] = await running;
      assert.equal(y.data[0], y.data[63]);
      assert.ok(y.data[0] > 0.03 && y.data[0] < 0.05); // sqrt(3 / n), nearly
    });

    test('many runs at once', async () => {
      const executable = await compile(client, AXPY);
      const runs = Array.from({ length: 50 }, (_, i) =>
        executable.execute([AXPY_ARGS[0], [i, i, i]]));
      (await Promise.all(runs)).forEach(([sum], i) => assert.equal(sum.get([0, 0]), 1 + i));
    });

    test('replicas', async () => {
      const executable = await compile(client, MAYBE_SUM);
      assert.equal(executable.replicas, 2); // as the text states
      const results = await executable.executeReplicas([[true, 1], [true, 2]]);
      assert.deepEqual(results.map(([x]) => x.toArray()), [3, 3]);
      const [sum] = await executable.execute([true, 5]);
      assert.equal(sum.toArray(), 10);
      const four = await compile(client, MAYBE_SUM, { replicas: 4 });
      assert.deepEqual(
        (await four.executeReplicas([1, 2, 3, 4].map((x) => [true, x]))).map(([x]) => x.toArray()),
        [10, 10, 10, 10]);
      const many = await compile(client, MAYBE_SUM, { replicas: 64 });
      assert.equal((await many.execute([true, 1]))[0].toArray(), 64);
    });

    test('a deadlock is reported, not waited for', async () => {
      const executable = await compile(client, MAYBE_SUM);
      await rejects(executable.executeReplicas([[true, 1], [false, 2]]), 'FAILED_PRECONDITION',
        /deadlock.*replica 0 waits at all-reduce.*for replica 1/);
      const results = await executable.executeReplicas([[false, 1], [false, 2]]);
      assert.deepEqual(results.map(([x]) => x.toArray()), [-1, -2]);
    });

    test('memory that is not there', async () => {
      await rejects(
        compile(client, 'ENTRY main { ROOT r = f32[3000000000] iota(), iota_dimension=0 }')
          .then((executable) => executable.execute()),
        'RESOURCE_EXHAUSTED');
      const small = new Float32Array(1);
      throws(() => client.buffer(small, 'f32[4000000000]'), 'INVALID_ARGUMENT');
      await checkThatItWorks(client);
    });

    test('cancelling', async () => {
      const executable = await compile(client, sines(FOREVER));
      const controller = new AbortController();
      const running = executable.execute(ONES, { signal: controller.signal });
      await sleep(30);
      const reason = new Error('enough');
      controller.abort(reason);
      await assert.rejects(running, { code: 'CANCELLED', cause: reason });
      await rejects(executable.execute(ONES, { signal: controller.signal }), 'CANCELLED');
      await checkThatItWorks(client);
      executable.dispose();
    });

    test('the host goes on while a program runs', async () => {
      const executable = await compile(client, sines(FOREVER));
      const controller = new AbortController();
      const turns = await turnsDuring(
        () => rejects(executable.execute(ONES, { signal: controller.signal }), 'CANCELLED'),
        (count) => { if (count === 20) controller.abort(); });
      assert.ok(turns >= 20, `${turns} turns`);
      executable.dispose();
    });

    test('a profile', async () => {
      const executable = await compile(client, MAYBE_SUM);
      const { outputs, events } = await executable.execute([true, 1], { profile: true });
      assert.equal(outputs[0].toArray(), 2);
      const meetings = events.filter(({ category }) => category === 'collective');
      assert.deepEqual(meetings.map(({ replica }) => replica).sort(), [0, 1]);
      for (const { startUs, endUs, name, worker } of events) {
        assert.ok(startUs <= endUs);
        assert.equal(typeof name, 'string');
        assert.ok(worker >= 0 && worker <= threads);
      }
    });

    test('infeed and outfeed', async () => {
      const executable = await compile(client, `ENTRY main {
        start = token[] after-all()
        in = (f32[2], token[]) infeed(start)
        x = f32[2] get-tuple-element(in), index=0
        t = token[] get-tuple-element(in), index=1
        y = f32[2] negate(x)
        ROOT out = token[] outfeed(y, t), outfeed_shape=f32[2]
      }`);
      const running = executable.execute();
      const out = client.transferFromOutfeed();
      await sleep(5);
      assert.throws(() => client.transferToInfeed(), { code: 'INVALID_ARGUMENT', message: /value must be .*; got undefined/ });
      client.transferToInfeed([1, 2]);
      assert.deepEqual((await out).toArray(), [-1, -2]);
      await running;
      client.transferToInfeed(Float32Array.of(3, 4));
      await executable.execute();
      assert.deepEqual((await client.transferFromOutfeed()).toArray(), [-3, -4]);
    });

    test('custom calls', async () => {
      const executable = await compile(client, `ENTRY main {
        x = f32[2] parameter(0)
        ROOT y = f32[3] custom-call(x), custom_call_target="grow", backend_config="by one"
      }`);
      await rejects(executable.execute([[1, 2]]), 'UNIMPLEMENTED', /nothing is registered.*"grow"/);
      client.registerCustomCall('grow', async (call) => {
        await sleep(1);
        assert.equal(String(call.resultShapes), 'f32[3]');
        assert.deepEqual([call.replica, call.backendConfig], [0, 'by one']);
        return [...call.operands[0].toArray(), 9];
      });
      assert.deepEqual((await executable.execute([[1, 2]]))[0].toArray(), [1, 2, 9]);
      client.registerCustomCall('grow', () => {
        throw new Error('not today');
      });
      await rejects(executable.execute([[1, 2]]), 'INTERNAL', /not today/);
      client.registerCustomCall('grow', () => [1]);
      await rejects(executable.execute([[1, 2]]), 'INVALID_ARGUMENT', /f32\[3\]/);
      throws(() => client.registerCustomCall('grow', 5), 'INVALID_ARGUMENT', /function/);
    });

    test('memory comes back', async () => {
      const other = await Client.create({ threads });
      const once = async () => {
        const executable = await compile(other, MAYBE_SUM, { replicas: 3 });
        const kept = await executable.executeReplicas([[true, 1], [true, 2], [true, 3]], {
          device: true,
        });
        assert.ok(other.memoryInUse > 0);
        kept.flat().forEach((buffer) => buffer.dispose());
        await rejects(executable.executeReplicas([[true, 1], [true, 2], [false, 3]]),
          'FAILED_PRECONDITION');
        executable.dispose();
        throws(() => other.parseHlo('garbage'), 'INVALID_ARGUMENT');
        const b = other.builder();
        b.add(b.parameter(0, 'f32[]'), b.constant(1));
        b.dispose();
      };
      // A thread may still be busy with a cancelled run.
      const settledHeap = async () => {
        const sizes = [];
        for (let i = 0; i < 20; i++) {
          sizes.push(other.heapInUse);
          await sleep(1);
        }
        return Math.min(...sizes);
      };
      for (let i = 0; i < 5; i++) await once();
      const before = await settledHeap();
      for (let i = 0; i < 200; i++) await once();
      const grown = (await settledHeap()) - before;
      assert.equal(other.memoryInUse, 0);
      // Queues of messages between threads take up to 2 KB; one block leaked each time, 3 or more.
      assert.ok(grown < (threads ? 200 * 16 : 1), `the heap grew by ${grown} bytes`);
      other.dispose();
    });

    test('dispose: pending runs reject, later calls throw', async () => {
      const other = await Client.create({ threads });
      const executable = await compile(other, sines(FOREVER));
      const buffer = other.buffer(ONES[0]);
      const running = executable.execute([buffer]);
      const fed = other.transferFromOutfeed();
      const rejected = Promise.all([
        rejects(running, 'CANCELLED', /disposed/), rejects(fed, 'CANCELLED', /disposed/),
      ]);
      await sleep(10);
      other.dispose();
      await rejected;
      other.dispose();
      assert.deepEqual([other.disposed, executable.disposed, buffer.disposed], [true, true, true]);
      throws(() => other.builder(), 'FAILED_PRECONDITION', /client was disposed/);
      throws(() => other.parseHlo(AXPY), 'FAILED_PRECONDITION');
      throws(() => other.buffer(1), 'FAILED_PRECONDITION');
      throws(() => other.memoryInUse, 'FAILED_PRECONDITION');
      throws(() => buffer.toLiteral(), 'FAILED_PRECONDITION');
      await rejects(executable.execute(ONES), 'FAILED_PRECONDITION');
      buffer.dispose();
      executable.dispose();
      await checkThatItWorks(client);
    });
  });
}

describe('options', () => {
  const wrong = [
    { replicas: 0 }, { replicas: 1.5 }, { replicas: NaN }, { replicas: '2' }, { threads: -1 },
    { threads: NaN }, { threads: 1e9 },
  ];
  for (const options of wrong) {
    const [[name, value]] = Object.entries(options);
    test(`${name}: ${value}`, () => rejects(Client.create(options), 'INVALID_ARGUMENT',
      new RegExp(`client: ${name} must be an integer`)));
  }
  test('of compile()', async () => {
    const client = await Client.create({ threads: 0, replicas: 3 });
    const module = client.parseHlo(AXPY);
    for (const replicas of [0, -1, 2.5, NaN, '1']) {
      await rejects(client.compile(module, { replicas }), 'INVALID_ARGUMENT', /compile: replicas/);
    }
    assert.equal((await client.compile(module)).replicas, 3);
    assert.equal((await client.compile(module, { replicas: 2 })).replicas, 2);
    await rejects(client.compile(AXPY), 'INVALID_ARGUMENT', /module must be an HloModule/);
    throws(() => client.parseHlo(5), 'INVALID_ARGUMENT', /text must be HLO text or its bytes; got 5/);
    const other = await Client.create({ threads: 0 });
    await rejects(other.compile(module), 'INVALID_ARGUMENT', /another client/);
    other.dispose();
    client.dispose();
  });
  test('threads by default: as many as the machine runs at once', async () => {
    const client = await Client.create();
    const os = await import('node:os');
    assert.equal(client.threads, os.availableParallelism());
    client.dispose();
  });
});

test('nothing is left among the globals', async () => {
  const before = Object.getOwnPropertyNames(globalThis).sort();
  const client = await Client.create({ threads: 1 });
  await checkThatItWorks(client);
  assert.deepEqual(Object.getOwnPropertyNames(globalThis).sort(), before);
  client.dispose();
});

test('results do not depend on the number of threads', async () => {
  const program = `HloModule sum
    add { a = f32[] parameter(0)
      b = f32[] parameter(1)
      ROOT c = f32[] add(a, b) }
    ENTRY main {
      x = f32[300,700] parameter(0)
      y = f32[700,200] parameter(1)
      d = f32[300,200] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
      e = f32[300,200] exponential(d)
      zero = f32[] constant(0)
      ROOT s = f32[200] reduce(e, zero), dimensions={0}, to_apply=add
    }`;
  const values = (n) => Float32Array.from({ length: n }, (_, i) => Math.sin(i * 1.7) * 0.1);
  const args = [values(300 * 700), values(700 * 200)];
  const bits = [];
  for (const threads of [0, 1, 2, 5]) {
    const client = await Client.create({ threads });
    const executable = await compile(client, program);
    const [sum] = await executable.execute(args);
    bits.push([...new Uint32Array(sum.data.buffer)]);
    client.dispose();
  }
  for (const other of bits) assert.deepEqual(other, bits[0]);
});

test('a worker that dies fails its run, and another takes its place', async () => {
  const first = workers.length;
  const client = await Client.create({ threads: 2 });
  const [forever, short] = [await compile(client, sines(FOREVER)), await compile(client, AXPY)];
  const long = await compile(client, sines(300000)); // too long for the host's thread
  for (let round = 0; round < 2; round++) {
    await long.execute(ONES); // there are workers again
    const running = forever.execute(ONES);
    const failed = rejects(running, 'INTERNAL', /worker/);
    await sleep(50);
    const alive = workers.slice(first).filter(({ threadId }) => threadId > 0);
    assert.equal(alive.length, 2);
    for (const worker of alive) await worker.terminate();
    await failed;
    for (let i = 0; i < 5; i++) {
      assert.deepEqual((await short.execute(AXPY_ARGS))[0].toArray(), AXPY_RESULT);
    }
  }
  for (let i = 0; i < 100 && workers.length - first < 6; i++) await sleep(10);
  assert.equal(workers.length - first, 6);
  client.dispose();
});

test('a worker that cannot start fails the client, with the reason', async () => {
  const RealWorker = workerThreads.Worker;
  workerThreads.Worker = class extends RealWorker {
    constructor(_url, options) {
      super(new URL('data:text/javascript,throw new Error("not here")'), options);
    }
  };
  try {
    const client = await Client.create({ threads: 2 });
    const waits = client.parseHlo('ENTRY main { t = token[] after-all() ROOT in = (f32[], token[]) infeed(t) }');
    const executable = await client.compile(waits);
    await rejects(executable.execute([]), 'UNAVAILABLE', /cannot start: not here/);
    await rejects(client.compile(waits), 'UNAVAILABLE', /cannot start: not here/);
  } finally {
    workerThreads.Worker = RealWorker;
  }
  const client = await Client.create({ threads: 2 });
  await checkThatItWorks(client);
  client.dispose();
});

describe('a process', () => {
  const run = (source, ...flags) =>
    promisify(execFile)(process.execPath, [...flags, '--input-type=module', '--eval', source], {
      timeout: 30_000,
    });
  for (const threads of [0, 2]) {
    test(`ends by itself, with ${threads} threads and without dispose()`, async () => {
      const { stdout } = await run(`
        import { Client } from '${INDEX}';
        const client = await Client.create({ threads: ${threads} });
        const b = client.builder();
        const executable = await client.compile(b.build(b.neg(b.parameter(0, 'f32[]'))));
        console.log((await executable.execute([3]))[0].toArray());`);
      assert.equal(stdout, '-3\n');
    });
  }
  test('collects unreachable handles', async () => {
    const { stdout } = await run(`
      import { setTimeout as sleep } from 'node:timers/promises';
      import { Client } from '${INDEX}';
      const client = await Client.create({ threads: 0 });
      for (let i = 0; i < 20; i++) client.buffer(new Float32Array(1000));
      const before = client.memoryInUse;
      for (let i = 0; i < 50 && client.memoryInUse > 0; i++) {
        globalThis.gc();
        await sleep(10);
      }
      console.log(before, client.memoryInUse);`, '--expose-gc');
    assert.equal(stdout, '80000 0\n');
  });
});

describe('fused multiply-add', () => {
  const DOT = `HloModule dot
ENTRY main {
  a = f32[70,300] parameter(0)
  b = f32[300,90] parameter(1)
  ROOT dot = f32[70,90] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}`;
  // Whose products need more bits than a float has.
  const floats = (count) => Float32Array.from({ length: count }, (_, i) => Math.sin(i * 1.7) / 3);
  const bits = ({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);

  async function dot(options) {
    const client = await Client.create(options);
    const exe = await client.compile(client.parseHlo(DOT));
    const [result] = await exe.execute([floats(70 * 300), floats(300 * 90)]);
    const copy = Buffer.from(bits(result));
    client.dispose();
    return copy;
  }

  test('gives the same bits on any number of threads', async () => {
    const auto = await dot({ threads: 0 });
    assert.deepEqual(await dot({ threads: 1, fusedMultiplyAdd: 'auto' }), auto);
    assert.deepEqual(await dot({ threads: 3 }), auto);
  });

  test("'never' rounds products, and adds 64 of them one after the other", async () => {
    const never = await dot({ threads: 0, fusedMultiplyAdd: 'never' });
    assert.deepEqual(await dot({ threads: 2, fusedMultiplyAdd: 'never' }), never);
    const a = floats(70 * 300);
    const b = floats(300 * 90);
    let sum = 0; // of row 1, column 2
    for (let first = 0; first < 300; first += 64) {
      let block = 0;
      for (let k = first; k < Math.min(first + 64, 300); k++) block = Math.fround(block + Math.fround(a[300 + k] * b[k * 90 + 2]));
      sum = Math.fround(sum + block);
    }
    assert.equal(never.readFloatLE(4 * (90 + 2)), sum);
  });

  test('is used inside of functions, but not for a product and a sum of the program', async () => {
    allowRelaxedSimd();
    const [a, b, c] = [1, 2, 3].map((k) => floats(3000).map((x) => x * k));
    const results = {};
    for (const fusedMultiplyAdd of ['never', 'auto']) {
      const client = await Client.create({ threads: 0, fusedMultiplyAdd });
      const exe = await client.compile(client.parseHlo(`HloModule functions
ENTRY main {
  a = f32[3000] parameter(0)
  b = f32[3000] parameter(1)
  c = f32[3000] parameter(2)
  ab = f32[3000] multiply(a, b)
  sum = f32[3000] add(ab, c)
  exp = f32[3000] exponential(c)
  ROOT both = (f32[3000], f32[3000]) tuple(sum, exp)
}`));
      results[fusedMultiplyAdd] = (await exe.execute([a, b, c])).map(({ data }) => Float32Array.from(data));
      client.dispose();
    }
    const { never, auto } = results;
    const twice = a.map((x, i) => Math.fround(Math.fround(x * b[i]) + c[i]));
    assert.deepEqual(never[0], twice);
    assert.deepEqual(auto[0], twice);
    assert.ok(auto[1].some((x, i) => x !== never[1][i]));
    for (const got of [never[1], auto[1]]) {
      got.forEach((x, i) => assert.ok(Math.abs(x / Math.exp(c[i]) - 1) < 2 ** -23, `exp(${c[i]}) is ${x}`));
    }
  });

  test('is asked for by its name', async () => {
    await assert.rejects(Client.create({ fusedMultiplyAdd: true }), /fusedMultiplyAdd must be/);
  });
});
