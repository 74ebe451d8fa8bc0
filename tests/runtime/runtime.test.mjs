/**
 * Runs: their arguments, results that do not depend on the number of threads, any number of replicas on any number of threads,
 * and programs that speak with the host. failures.test.mjs and out_of_memory.test.mjs have runs that fail.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { Client, XlaError } from '../../bindings/index.mjs';
import { compileText, fails, isUsable, LONG, MATRIX, onThreads, pause, ROUNDS, scalars, TIMEOUT } from '../support/runs.mjs';
import { startedClient } from '../support/started.mjs';

describe('wrong arguments', () => {
  onThreads([1], 'are refused before anything runs', async (client) => {
    const b = client.builder('pair');
    const x = b.parameter(0, 'f32[2]', 'x');
    const n = b.parameter(1, 's32[]', 'n');
    const executable = await client.compile(b.build(b.mul(x, b.convertElementType(n, 'f32'))),
      { replicas: 2 });
    const refused = (args, ...patterns) =>
      fails(executable.execute(args), 'INVALID_ARGUMENT', /^execute: /, ...patterns);
    await refused([[1, 2]], /needs an array of 2 arguments \(x: f32\[2\], n: s32\[\]\); got 1/);
    await refused([[1, 2], 1, 1], /got 3/);
    await refused(7, /got 7/);
    await refused([[1, 2, 3], 1], /argument 0 \(x\).*f32\[2\]/);
    await refused([[[1, 2]], 1], /argument 0 \(x\)/);
    await refused([new Float32Array(3), 1], /argument 0 \(x\).*f32\[2\].*Float32Array of 3/);
    await refused([[1, 2], 0.5], /argument 1 \(n\).*0\.5/);
    await refused([[1, 2], NaN], /argument 1 \(n\).*NaN/);
    await refused([[1, 2], 2 ** 31], /argument 1 \(n\).*2147483648/);
    await refused([[1, '2'], 1], /argument 0 \(x\).*"2"/);
    await refused([undefined, 1], /argument 0 \(x\).*undefined/);
    await refused([client.buffer([1, 2, 3], 'f32[3]'), 1], /argument 0 \(x\).*f32\[3\]/);
    await refused([client.buffer([1, 2], 's32[2]'), 1], /argument 0 \(x\).*s32\[2\]/);
    await fails(executable.executeReplicas([[[1, 2], 1]]), 'INVALID_ARGUMENT', /array of 2 arrays/);
    const [product] = await executable.execute([[1, 2], 3]);
    assert.deepEqual(product.toArray(), [3, 6]);
  });

  onThreads([1], 'what was disposed of, or belongs to another client', async (client) => {
    const b = client.builder('negative');
    const module = b.build(b.neg(b.parameter(0, 'f32[]', 'x')));
    const executable = await client.compile(module);
    const buffer = client.buffer(1, 'f32[]');
    const other = await Client.create({ threads: 0 });
    await fails(executable.execute([other.buffer(1, 'f32[]')]), 'INVALID_ARGUMENT', /another client/);
    await fails(other.compile(module), 'INVALID_ARGUMENT', /another client/);
    other.dispose();
    buffer.dispose();
    buffer.dispose();
    await fails(executable.execute([buffer]), 'FAILED_PRECONDITION', /Buffer was disposed/);
    executable.dispose();
    assert.ok(executable.disposed);
    await fails(executable.execute([1]), 'FAILED_PRECONDITION', /Executable was disposed/);
    module.dispose();
    await fails(client.compile(module), 'FAILED_PRECONDITION', /HloModule was disposed/);
    await isUsable(client);
  });

  onThreads([1], 'a Buffer that was given away', async (client) => {
    const b = client.builder('increment');
    const executable = await client.compile(
      b.build(b.add(b.parameter(0, 'f32[2]', 'x'), b.constant(1, 'f32[]'))));
    const buffer = client.buffer([1, 2], 'f32[2]');
    const [next] = await executable.execute([buffer], { device: true, donate: [0] });
    assert.deepEqual(next.toLiteral().toArray(), [2, 3]);
    assert.ok(buffer.disposed);
    await fails(executable.execute([buffer]), 'FAILED_PRECONDITION', /disposed/);
    await fails(executable.execute([next], { donate: [1] }), 'INVALID_ARGUMENT', /donate/);
  });

  test('options that make no sense', TIMEOUT, async () => {
    for (const options of [{ threads: NaN }, { threads: -1 }, { threads: 1.5 }, { threads: 1e9 },
      { replicas: 0 }, { replicas: NaN }, { replicas: '4' }, { replicas: 1e9 }]) {
      await fails(Client.create(options), 'INVALID_ARGUMENT', /client: (threads|replicas)/);
    }
    const client = await Client.create({ threads: 0 });
    const b = client.builder('identity');
    const module = b.build(b.parameter(0, 'f32[]', 'x'));
    for (const replicas of [0, -1, NaN, 2.5, '2', 1e9]) {
      await fails(client.compile(module, { replicas }), 'INVALID_ARGUMENT', /compile: replicas/);
    }
    client.dispose();
  });
});

/* ---- Threads and replicas ---- */

/** Programs whose work is shared out in different ways. Sizes are no multiples of any chunk. */
const PROGRAMS = {
  elementwise: (b, x, y) => b.sub(x, b.mul(b.tanh(y), b.constant(0.5, 'f32[]'))),
  dot: (b, x, y) =>
    b.dotGeneral(x, y, { lhsContractingDimensions: [1], rhsContractingDimensions: [1] }),
  rows: (b, x, y, add) => b.reduce(b.add(x, y), b.constant(0, 'f32[]'), add, [1]),
  columns: (b, x, y, add) => b.reduce(b.mul(x, y), b.constant(0, 'f32[]'), add, [0]),
  total: (b, x, y, add) => b.reduce(b.mul(x, y), b.constant(0, 'f32[]'), add, [0, 1]),
  'all-reduce': (b, x, y, add) => b.allReduce(b.mul(x, y), add),
  transpose: (b, x, y) => b.add(b.transpose(x, [1, 0]), b.transpose(y, [1, 0])),
  sort: (b, x, y, add, less) => b.sort([b.mul(x, y)], less, 1),
  'step of a network': (b, x, y, add) => {
    const contraction = { lhsContractingDimensions: [0], rhsContractingDimensions: [0] };
    const gradient = b.allReduce(b.dotGeneral(x, b.exp(y), contraction), add);
    const scale = b.reduce(gradient, b.constant(0, 'f32[]'), add, [1]);
    return b.div(gradient, scale, [0]);
  },
};
const ROWS = 403;
const COLUMNS = 131;

function runProgram(client, name, replicas) {
  const [add, less] = [scalars(client, 'add'), scalars(client, 'lt')];
  const b = client.builder(name.replaceAll(/\W/g, '_'));
  const x = b.parameter(0, `f32[${ROWS},${COLUMNS}]`, 'x');
  const y = b.parameter(1, `f32[${ROWS},${COLUMNS}]`, 'y');
  return client.compile(b.build(PROGRAMS[name](b, x, y, add, less)), { replicas });
}

describe('results are bit for bit the same on any number of threads, every time', () => {
  const wave = (f) => new Float32Array(ROWS * COLUMNS).map((_, i) => f(i));
  const args = [wave(Math.sin), wave(Math.cos)];
  const replicas = 3;
  const expected = new Map(); // by program: what the single-threaded build says
  const bits = ({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  for (const threads of [0, 1, 2, 3, 4]) {
    test(`${threads} threads`, { timeout: 120000 }, async () => {
      const client = await startedClient({ threads });
      assert.equal(client.threads, threads);
      for (const name of Object.keys(PROGRAMS)) {
        const executable = await runProgram(client, name, replicas);
        for (let round = 0; round < (threads > 1 ? 30 : 3); round++) {
          const results = await executable.executeReplicas(Array.from({ length: replicas }, () => [...args]));
          for (const [replica, [result]] of results.entries()) {
            if (!expected.has(name)) expected.set(name, bits(result));
            assert.ok(bits(result).equals(expected.get(name)),
              `${name}, replica ${replica}, round ${round}`);
          }
        }
        executable.dispose();
      }
      client.dispose();
    });
  }
});

describe('any number of replicas on any number of threads', () => {
  onThreads([1, 0, 2], '64 replicas', async (client) => {
    const executable = await compileText(client, ROUNDS, { replicas: 64 });
    const results = await executable.executeReplicas(
      Array.from({ length: 64 }, (_, replica) => [[replica, 1], 2]));
    for (const [sum] of results) assert.deepEqual(sum.toArray(), [64 * (63 * 32), 64 * 64]);
  });

  onThreads([2, 0], 'many runs at once', async (client) => {
    const executable = await compileText(client, ROUNDS, { replicas: 4 });
    const all = await Promise.all(Array.from({ length: 40 }, (_, i) => executable.execute([[i, 1], 3])));
    all.forEach(([sum], i) => assert.deepEqual(sum.toArray(), [i * 64, 64]));
  });

  onThreads([1, 0], 'a long run does not keep others waiting', async (client, threads) => {
    const long = await compileText(client, LONG);
    const controller = new AbortController();
    const cancelled = fails(long.execute([MATRIX], { signal: controller.signal }), 'CANCELLED');
    if (threads === 0) await isUsable(client); // between the slices of the long one
    controller.abort();
    await cancelled;
    await isUsable(client);
  });

  onThreads([1, 0], 'other events have their turn between runs that are short', async (client) => {
    const executable = await runProgram(client, 'step of a network', 1);
    const wave = new Float32Array(ROWS * COLUMNS).fill(0.5);
    let turns = 0, runs = 0;
    const timer = setInterval(() => turns++, 1);
    while (turns < 4 && runs < 100_000) {
      await executable.execute([wave, wave]);
      runs++;
    }
    clearInterval(timer);
    assert.ok(turns >= 4, `${turns} turns between ${runs} runs`);
  });

  onThreads([2, 0], 'profile: events of every replica, the all-reduce ends for all at once', async (client) => {
    const executable = await runProgram(client, 'step of a network', 4);
    const wave = new Float32Array(ROWS * COLUMNS).fill(0.5);
    const { outputs, events } = await executable.executeReplicas(
      Array.from({ length: 4 }, () => [wave, wave]), { profile: true });
    assert.equal(outputs.length, 4);
    const meetings = events.filter(({ category }) => category === 'collective');
    assert.deepEqual(meetings.map(({ replica }) => replica).sort(), [0, 1, 2, 3]);
    const latestArrival = Math.max(...meetings.map(({ startUs }) => startUs));
    for (const event of events) {
      assert.ok(event.endUs >= event.startUs && event.name && event.worker >= 0);
    }
    for (const { endUs } of meetings) assert.ok(endUs >= latestArrival);
    for (let replica = 0; replica < 4; replica++) {
      const own = events.filter((event) => event.replica === replica);
      assert.ok(own.some(({ name }) => name.startsWith('dot')), `replica ${replica}`);
    }
  });
});

/* ---- The host: feeds and custom calls; channels ---- */

describe('programs that speak with the host', () => {
  const ECHO = `HloModule echo
%body (s: (s32[], token[])) -> (s32[], token[]) {
  %s = (s32[], token[]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %t = token[] get-tuple-element(%s), index=1
  %in = ((f32[2], s32[]), token[]) infeed(%t)
  %data = (f32[2], s32[]) get-tuple-element(%in), index=0
  %t2 = token[] get-tuple-element(%in), index=1
  %v = f32[2] get-tuple-element(%data), index=0
  %k = s32[] get-tuple-element(%data), index=1
  %double = f32[2] add(%v, %v)
  %out = (s32[], f32[2]) tuple(%k, %double)
  %t3 = token[] outfeed(%out, %t2), outfeed_shape=(s32[], f32[2])
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  ROOT %r = (s32[], token[]) tuple(%next, %t3)
}
%more (s: (s32[], token[])) -> pred[] {
  %s = (s32[], token[]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %three = s32[] constant(3)
  ROOT %p = pred[] compare(%i, %three), direction=LT
}
ENTRY %main () -> s32[] {
  %zero = s32[] constant(0)
  %t = token[] after-all()
  %init = (s32[], token[]) tuple(%zero, %t)
  %w = (s32[], token[]) while(%init), condition=%more, body=%body
  ROOT %n = s32[] get-tuple-element(%w), index=0
}`;

  onThreads([2, 0], 'infeed and outfeed, in order, per replica, fed before and during the run', async (client) => {
    const executable = await compileText(client, ECHO, { replicas: 2 });
    const feed = (replica, i) =>
      client.transferToInfeed([[replica, i], 10 * replica + i], { replica });
    feed(0, 0);
    feed(1, 0);
    const run = executable.executeReplicas([[], []]);
    for (let i = 0; i < 3; i++) {
      for (const replica of [1, 0]) {
        const [k, double] = await client.transferFromOutfeed({ replica });
        assert.equal(k.toArray(), 10 * replica + i);
        assert.deepEqual(double.toArray(), [2 * replica, 2 * i]);
        if (i < 2) feed(replica, i + 1);
      }
    }
    assert.deepEqual((await run).map(([n]) => n.toArray()), [3, 3]);
  });

  onThreads([2, 0], 'an infeed value of a wrong shape fails the run', async (client) => {
    const executable = await compileText(client, ECHO);
    client.transferToInfeed([[1, 2, 3], 4]);
    await assert.rejects(executable.execute(), (error) =>
      error instanceof XlaError && /f32\[2\]/.test(error.message));
    await isUsable(client);
  });

  const custom = async (client, replicas = 1) => {
    const b = client.builder('custom');
    const x = b.parameter(0, 'f32[3]', 'x');
    return client.compile(
      b.build(b.customCall('twist', [x], '(f32[3], s32[])', { opaque: 'left\n"λ"' })), { replicas });
  };
  onThreads([2, 0], 'a custom call, at once or later', async (client) => {
    client.registerCustomCall('twist', async ({ operands, replica, backendConfig, resultShapes }) => {
      await pause(5);
      assert.equal(backendConfig, 'left\n"λ"');
      assert.deepEqual(resultShapes.map(String), ['f32[3]', 's32[]']);
      return [operands[0].data.toReversed?.() ?? [...operands[0].data].reverse(), replica];
    });
    const executable = await custom(client, 3);
    const results = await executable.executeReplicas([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]]);
    assert.deepEqual(results.map((outputs) => outputs.map((literal) => literal.toArray())),
      [[[3, 2, 1], 0], [[6, 5, 4], 1], [[9, 8, 7], 2]]);
  });

  onThreads([2, 0], 'a custom call that throws, gives nonsense, or is unknown', async (client) => {
    const executable = await custom(client);
    const refused = (pattern) => assert.rejects(executable.execute([[1, 2, 3]]), (error) => {
      assert.ok(error instanceof XlaError);
      assert.match(error.message, pattern);
      return true;
    });
    await refused(/twist/);
    client.registerCustomCall('twist', () => {
      throw new Error('no thread left');
    });
    await refused(/no thread left/);
    client.registerCustomCall('twist', () => [[1, 2], 3]);
    await refused(/f32\[3\]/);
    client.registerCustomCall('twist', () => 3);
    await refused(/2 values/);
    await isUsable(client);
  });

  const RING = `HloModule ring
ENTRY %main (v: f32[2]) -> f32[2] {
  %v = f32[2] parameter(0)
  %token = token[] after-all()
  %recv = (f32[2], u32[], token[]) recv(%token), channel_id=1, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2},{2,0}}}
  %send = (f32[2], u32[], token[]) send(%v, %token), channel_id=1, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},{1,2},{2,0}}}
  %sent = token[] send-done(%send), channel_id=1
  %done = (f32[2], token[]) recv-done(%recv), channel_id=1
  ROOT %got = f32[2] get-tuple-element(%done), index=0
}`;
  onThreads([1, 2, 0], 'send and recv around a ring of replicas', async (client) => {
    const executable = await compileText(client, RING, { replicas: 3 });
    for (let i = 0; i < 20; i++) {
      const results = await executable.executeReplicas([[[0, i]], [[10, i]], [[20, i]]]);
      assert.deepEqual(results.map(([got]) => got.toArray()), [[20, i], [0, i], [10, i]]);
    }
  });
});
