/** Memory of runs: what does not fit, or fits no more, is an error of that call; all of it comes back. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { Core } from '../../bindings/host/core.mjs';
import { Client } from '../../bindings/index.mjs';
import { ADD, compileText, fails, isUsable, onThreads, pause, scalars, SKIP, TIMEOUT } from '../support/runs.mjs';
import { startedClient, threadsOf } from '../support/started.mjs';

describe('memory that does not fit', () => {
  const broadcast = (client, dimensions, outputs = (b, x) => x) => {
    const b = client.builder('large');
    const x = b.broadcast(b.parameter(0, 'f32[]', 'x'), dimensions);
    return client.compile(b.build(outputs(b, x)));
  };
  onThreads([2, 0], 'a result', async (client) => {
    await fails((async () => (await broadcast(client, [2 ** 30, 4])).execute([1]))(),
      'RESOURCE_EXHAUSTED', /17179869184 bytes/);
    await isUsable(client);
  });
  onThreads([2], 'the sum of many results', async (client) => {
    const before = client.memoryInUse;
    const executable = await broadcast(client, [2 ** 28], (b, x) =>
      b.tuple([x, b.neg(x), b.abs(x), b.sign(x), b.floor(x)]));
    await fails(executable.execute([1]), 'RESOURCE_EXHAUSTED', /1073741824 bytes/);
    executable.dispose();
    assert.equal(client.memoryInUse, before);
    await isUsable(client);
  });
  onThreads([2], 'temporaries', async (client) => {
    const b = client.builder('temporary');
    const x = b.iota('f32[131072,16384]', 0);
    const pair = b.dot(b.sort([x], scalars(client, 'lt'), 0), b.iota('f32[16384]', 0));
    await fails((async () => (await client.compile(b.build(pair))).execute([]))(),
      'RESOURCE_EXHAUSTED', /bytes/);
    await isUsable(client);
  });
});

/** Takes all memory; `free(bytes)` gives some back. */
class Filler {
  #buffers = [];

  constructor(client) {
    for (let bytes = 2 ** 20; bytes >= 2 ** 10; bytes /= 4) {
      try {
        for (;;) this.#buffers.push(client.buffer(new Uint8Array(bytes), `u8[${bytes}]`));
      } catch (error) {
        assert.equal(error.code, 'RESOURCE_EXHAUSTED', error.stack);
      }
    }
  }

  /** Frees about `bytes` bytes, in the smallest pieces. Returns false if none are left. */
  free(bytes) {
    while (bytes > 0 && this.#buffers.length) {
      const buffer = this.#buffers.pop();
      bytes -= buffer.shape.elementCount;
      buffer.dispose();
    }
    return this.#buffers.length > 0;
  }
}

describe('memory that runs out', () => {
  // Opens many rendezvous, deep in a loop; sorts; has fusions, a computation to apply, a message.
  const text = `HloModule all
${ADD}
%odd (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  %m = f32[] multiply(%x, %y)
  ROOT %s = f32[] maximum(%m, %x)
}
%less (x: f32[], y: f32[]) -> pred[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = pred[] compare(%x, %y), direction=LT
}
%body (s: (s32[], f32[300,100])) -> (s32[], f32[300,100]) {
  %s = (s32[], f32[300,100]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %v = f32[300,100] get-tuple-element(%s), index=1
  %a = f32[300,100] all-reduce(%v), replica_groups={{0,1},{2,3}}, to_apply=%odd
  %b = f32[300,100] all-reduce(%a), replica_groups={{0,2},{1,3}}, to_apply=%add
  %c = f32[300,100] tanh(%b)
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  ROOT %t = (s32[], f32[300,100]) tuple(%next, %c)
}
%more (s: (s32[], f32[300,100])) -> pred[] {
  %s = (s32[], f32[300,100]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %n = s32[] constant(2)
  ROOT %p = pred[] compare(%i, %n), direction=LT
}
ENTRY %main (v: f32[300,100]) -> f32[300,100] {
  %v = f32[300,100] parameter(0)
  %zero = s32[] constant(0)
  %t = (s32[], f32[300,100]) tuple(%zero, %v)
  %w = (s32[], f32[300,100]) while(%t), condition=%more, body=%body
  %r = f32[300,100] get-tuple-element(%w), index=1
  %s = f32[300,100] sort(%r), dimensions={1}, to_apply=%less
  %token = token[] after-all()
  %send = (f32[300,100], u32[], token[]) send(%s, %token), channel_id=7
  %sent = token[] send-done(%send), channel_id=7
  %recv = (f32[300,100], u32[], token[]) recv(%sent), channel_id=7
  %received = (f32[300,100], token[]) recv-done(%recv), channel_id=7
  ROOT %result = f32[300,100] get-tuple-element(%received), index=0
}`;
  const V = new Float32Array(30000).map((_, i) => Math.sin(i));

  for (const threads of [2, 1, 0]) {
    test(`fails that call only, wherever it was, ${threads} threads`, TIMEOUT, async () => {
      const client = await startedClient({ threads, maxMemory: 2 ** 25 });
      const outcomes = new Map();
      const round = async () => {
        const executable = await compileText(client, text, { replicas: 4 });
        try {
          const [result] = await executable.execute([V]);
          return result.data;
        } finally {
          executable.dispose();
        }
      };
      const expected = await round();
      await round();
      const [use, heap] = [client.memoryInUse, client.heapInUse];
      const filler = new Filler(client);
      for (let free = 0; filler.free(free); free = 1000) {
        const before = [client.memoryInUse, client.heapInUse];
        let outcome = 'OK';
        try {
          assert.deepEqual(await round(), expected);
        } catch (error) {
          assert.equal(error.code, 'RESOURCE_EXHAUSTED', error.stack);
          outcome = error.message;
        }
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
        assert.deepEqual([client.memoryInUse, client.heapInUse], before, outcome);
        if (outcomes.get('OK') > 5) break;
      }
      while (filler.free(1e9));
      /* Compiling failed, and runs did, at several places; at how many depends on how threads meet. */
      const places = [...outcomes.keys()].filter((message) => /do not fit/.test(message));
      assert.ok(outcomes.get('OK') > 5 && [...outcomes.keys()].some((outcome) => /^out of memory: buffers hold/.test(outcome)) &&
        places.length > 1, JSON.stringify([...outcomes]));
      assert.equal(client.memoryInUse, use);
      assert.ok(client.heapInUse <= heap, `heap: ${heap} before, ${client.heapInUse} after`);
      await isUsable(client);
      client.dispose();
    });
  }
});

describe('memory comes back', () => {
  const program = (client, i) => {
    const add = client.parseHlo(`HloModule add${i % 3}\nENTRY ${ADD}`);
    const less = scalars(client, 'lt');
    const b = client.builder(`p${i}`);
    const x = b.parameter(0, 'f32[64,64]', 'x');
    const y = b.reduce(b.exp(b.dot(x, x)), b.constant(0, 'f32[]'), add, [1]);
    const sorted = b.sort([b.add(x, y, [0])], less, 0);
    const module = b.build(b.tuple([b.allReduce(y, add), sorted]));
    add.dispose();
    less.dispose();
    return module;
  };
  const X = new Float32Array(64 * 64).map((_, i) => Math.sin(i));
  for (const threads of [2, 0]) {
    test(`after 200 compilations and runs, ${threads} threads`, TIMEOUT, async () => {
      const core = await Core.create(threads);
      await threadsOf(core);
      const client = new Client(core, 1);
      const round = async (i) => {
        const module = program(client, i);
        const executable = await client.compile(module, { replicas: 1 + (i % 4) });
        module.dispose();
        await executable.execute([X]);
        const [sum, sorted] = await executable.execute([X], { device: true });
        sum.dispose();
        sorted.dispose();
        executable.dispose();
        if (i % 10 === 0) assert.throws(() => client.parseHlo('HloModule'), { name: 'XlaError' });
        if (i % 10 === 5) {
          const deadlock = await compileText(client, SKIP, { replicas: 4 });
          await fails(deadlock.execute([[1, 2]]), 'FAILED_PRECONDITION');
          deadlock.dispose();
        }
      };
      for (let i = 0; i < 20; i++) await round(i);
      await pause(20);
      const use = core.call('xla_memory_in_use');
      const heap = core.call('xla_heap_in_use');
      const reserved = core.heap.length;
      for (let i = 0; i < 200; i++) await round(i);
      await pause(20);
      assert.equal(core.call('xla_memory_in_use'), use);
      assert.equal(use, 0);
      const after = core.call('xla_heap_in_use');
      assert.ok(after <= heap * 1.01, `heap: ${heap} before, ${after} after`);
      assert.ok(core.heap.length <= reserved * 1.01, `memory grew: ${reserved}, ${core.heap.length}`);
      client.dispose();
    });

    test(`after 500 runs of one executable, ${threads} threads`, TIMEOUT, async () => {
      const core = await Core.create(threads);
      await threadsOf(core);
      const client = new Client(core, 1);
      const executable = await client.compile(program(client, 0), { replicas: 3 });
      for (let i = 0; i < 20; i++) await executable.execute([X]);
      const [use, heap] = ['xla_memory_in_use', 'xla_heap_in_use'].map((name) => core.call(name));
      for (let i = 0; i < 500; i++) await executable.execute([X], { profile: i % 7 === 0 });
      assert.equal(core.call('xla_memory_in_use'), use);
      const after = core.call('xla_heap_in_use');
      assert.ok(after <= heap * 1.01, `heap: ${heap} before, ${after} after`);
      client.dispose();
    });
  }
});
