/** Tests the synchronous methods: the same results and errors as the promises', and callbacks that return values. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';

import { Client, Literal } from '../../bindings/sync.mjs';

const SYNC = new URL('../../bindings/sync.mjs', import.meta.url).href;
const INDEX = new URL('../../bindings/index.mjs', import.meta.url).href;
const run = promisify(execFile);
const node = (script) => run(process.execPath, ['--input-type=module', '-e', script]);

const DOUBLE = 'HloModule double\nENTRY main {\n  x = f32[3] parameter(0)\n  ROOT y = f32[3] add(x, x)\n}';
const STABLEHLO = `module @double {
  func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
    %y = stablehlo.add %x, %x : tensor<3xf32>
    return %y : tensor<3xf32>
  }
}`;
const CALL = `HloModule call
ENTRY main {
  x = f32[3] parameter(0)
  ROOT y = f32[3] custom-call(x), custom_call_target="host"
}`;
const SUM = 'HloModule sum, replica_count=2\nadd { a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b) }\n' +
  'ENTRY main {\n  x = f32[3] parameter(0)\n  ROOT y = f32[3] all-reduce(x), replica_groups={}, to_apply=add\n}';
const endless = (threads) => `HloModule endless
condition { i = s32[] parameter(0)
  ROOT p = pred[] constant(true) }
body { i = s32[] parameter(0)
  one = s32[] constant(1)
  ROOT n = s32[] add(i, one) }
ENTRY main_${threads} { z = s32[] parameter(0)
  ROOT w = s32[] while(z), condition=condition, body=body }`;

for (const threads of [0, 2]) {
  describe(`${threads} threads`, () => {
    let client;
    before(() => { client = Client.createSync({ threads }); });
    after(() => client.dispose());
    const compiled = (text, options) => client.compileSync(client.loadSync(text), options);

    test('a program runs', () => {
      assert.equal(client.threads, threads);
      const double = compiled(STABLEHLO);
      assert.deepEqual(double.executeSync([[1, 2, 3]])[0].toArray(), [2, 4, 6]);
      const [kept] = double.executeSync([[1, 2, 3]], { device: true });
      const [again] = double.executeSync([kept], { device: true, donate: [0] });
      assert.ok(kept.disposed);
      assert.deepEqual(again.toLiteralSync().toArray(), [4, 8, 12]);
      const { outputs, events } = double.executeSync([[1, 2, 3]], { profile: true });
      assert.deepEqual(outputs[0].toArray(), [2, 4, 6]);
      assert.ok(events.length > 0);
    });

    test('long programs run, while promises of the same client wait', async () => {
      const product = compiled(`HloModule product
ENTRY main { a = f32[300,300] parameter(0)
  b = f32[300,300] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT c = f32[300,300] dot(b, a), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`);
      const ones = Literal.from(new Float32Array(90000).fill(1), 'f32[300,300]');
      const promise = product.execute([ones]);
      const [now] = product.executeSync([ones]);
      assert.equal(now.data[89999], 90000);
      assert.deepEqual((await promise)[0].data, now.data);
    });

    test('devices meet', () => {
      const results = compiled(SUM).executeReplicasSync([[[1, 2, 3]], [[10, 20, 30]]]);
      assert.deepEqual(results.map(([y]) => y.toArray()), [[11, 22, 33], [11, 22, 33]]);
      const executable = compiled(SUM);
      const launched = client.launchSync([0, 1].map((replica) => ({ executable, replica, arguments: [[replica, 1, 1]] })));
      assert.deepEqual(launched.map(([y]) => y.toArray()), [[1, 2, 2], [1, 2, 2]]);
    });

    test('a callback returns values, and runs programs itself', () => {
      const call = compiled(CALL), double = compiled(DOUBLE);
      client.registerCustomCall('host', ({ operands: [x] }) => double.executeSync([x])[0]);
      assert.deepEqual(call.executeSync([[1, 2, 3]])[0].toArray(), [2, 4, 6]);
      client.registerCustomCall('host', () => { throw new Error('the callback failed'); });
      assert.throws(() => call.executeSync([[1, 2, 3]]), ({ code, message, cause }) =>
        code === 'INTERNAL' && /the callback failed/.test(message) && cause.message === 'the callback failed');
    });

    test('what a run cannot wait for fails', async () => {
      const call = compiled(CALL);
      client.registerCustomCall('host', async ({ operands: [x] }) => x);
      assert.throws(() => call.executeSync([[1, 2, 3]]), { code: 'FAILED_PRECONDITION', message: /returned a promise/ });
      assert.deepEqual((await call.execute([[1, 2, 3]]))[0].toArray(), [1, 2, 3]);
      const feed = compiled('HloModule feed\nENTRY main {\n  t = token[] after-all()\n  i = (f32[3], token[]) infeed(t)\n' +
        '  ROOT x = f32[3] get-tuple-element(i), index=0\n}');
      assert.throws(() => feed.executeSync(), { code: 'FAILED_PRECONDITION', message: /no value is queued for the infeed/ });
      client.transferToInfeed(Literal.from([1, 2, 3], 'f32[3]'));
      assert.deepEqual(feed.executeSync()[0].toArray(), [1, 2, 3]);
      client.infeed([Literal.from([4, 5, 6], 'f32[3]')]);
      assert.deepEqual(feed.executeSync()[0].toArray(), [4, 5, 6]);
    });

    test('a deadlock is an error that says who waits', () => {
      const stuck = compiled(`HloModule stuck, replica_count=2
ENTRY main { x = f32[3] parameter(0)
  t = token[] after-all()
  r = (f32[3], u32[], token[]) recv(t), channel_id=1, frontend_attributes={_xla_send_recv_source_target_pairs={{0,1}}}
  d = (f32[3], token[]) recv-done(r), channel_id=1
  ROOT y = f32[3] get-tuple-element(d), index=0 }`);
      assert.throws(() => stuck.executeSync([[1, 2, 3]]), ({ code, waiting }) =>
        code === 'FAILED_PRECONDITION' && waiting.length >= 1);
    });

    test('timeoutMs ends runs and compilations', () => {
      const loop = compiled(endless(threads));
      assert.throws(() => loop.executeSync([0], { timeoutMs: 50 }), { code: 'DEADLINE_EXCEEDED' });
      assert.throws(() => compiled(DOUBLE, { timeoutMs: -1 }), { code: 'INVALID_ARGUMENT' });
      assert.throws(() => compiled(DOUBLE).executeSync([[1, 2, 3]], { signal: AbortSignal.abort() }), { code: 'CANCELLED' });
      assert.deepEqual(compiled(DOUBLE).executeSync([[1, 2, 3]])[0].toArray(), [2, 4, 6]);
    });

    test("a signal whose `aborted` is a getter ends a run", () => {
      const loop = compiled(endless(threads));
      let looks = 0;
      const signal = { get aborted() { return ++looks > 5; }, addEventListener() {}, removeEventListener() {} };
      assert.throws(() => loop.executeSync([0], { signal }), { code: 'CANCELLED' });
      assert.ok(looks > 5);
      assert.deepEqual(compiled(DOUBLE).executeSync([[1, 2, 3]])[0].toArray(), [2, 4, 6]);
    });

    test('wrong arguments get the same advice', () => {
      assert.throws(() => compiled(DOUBLE).executeSync([[1, 2]]), { code: 'INVALID_ARGUMENT', message: /argument 0 \(x\)/ });
      assert.throws(() => client.loadSync('HloModule x\nENTRY main { ROOT y = f32[] bad() }'), { code: /./, line: 2 });
    });
  });
}

test('memory that is exhausted is an error, and the client goes on', () => {
  for (const threads of [0, 1]) {
    const client = Client.createSync({ threads, maxMemory: 2 ** 26 });
    const large = client.compileSync(client.parseHlo('HloModule large\nENTRY main {\n  x = f32[] parameter(0)\n' +
      '  ROOT y = f32[100000000] broadcast(x), dimensions={}\n}'));
    assert.throws(() => large.executeSync([1], { device: true }), { code: 'RESOURCE_EXHAUSTED' });
    const double = client.compileSync(client.parseHlo(DOUBLE));
    assert.deepEqual(double.executeSync([[1, 2, 3]])[0].toArray(), [2, 4, 6]);
    client.dispose();
    assert.throws(() => double.executeSync([[1, 2, 3]]), { code: 'FAILED_PRECONDITION' });
  }
});

test('loadSync reads what load reads', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'xla-sync-'));
  const client = Client.createSync({ threads: 0 });
  try {
    const proto = await client.parseHlo(DOUBLE).toProto();
    await writeFile(join(folder, 'double.hlo'), DOUBLE);
    const sources = [DOUBLE, STABLEHLO, new TextEncoder().encode(STABLEHLO), proto, gzipSync(proto), gzipSync(STABLEHLO),
      join(folder, 'double.hlo'), pathToFileURL(join(folder, 'double.hlo'))];
    for (const source of sources) {
      const module = client.loadSync(source);
      assert.equal(String(module), String(await client.load(source)));
      assert.deepEqual(client.compileSync(module).executeSync([[1, 2, 3]])[0].toArray(), [2, 4, 6]);
    }
    for (const file of ['meshes/mesh.jax', 'own-drawings/digits.mlirbc']) {
      const url = new URL(`../guides/${file}`, import.meta.url);
      assert.equal(String(client.loadSync(url)), String(await client.load(url)));
    }
    assert.equal(String(client.parseHloProtoSync(proto)), String(client.loadSync(proto)));
    assert.throws(() => client.loadSync(join(folder, 'none.hlo')), { code: 'NOT_FOUND' });
    assert.throws(() => client.loadSync(gzipSync(Buffer.alloc(2 ** 20)), { maxBytes: 1000 }), { code: 'RESOURCE_EXHAUSTED' });
    assert.throws(() => client.loadSync('https://example.org/program'), { code: 'INVALID_ARGUMENT' });
  } finally {
    client.dispose();
    await rm(folder, { recursive: true });
  }
});

test('without xla-wasm/sync the error says what to import', async () => {
  const { stdout } = await node(`const { Client } = await import(${JSON.stringify(INDEX)});
    const tell = (body) => { try { body(); } catch ({ code, message }) { console.log(code, message); } };
    tell(() => Client.createSync({ threads: 0 }));
    const client = await Client.create({ threads: 0 });
    tell(() => client.parseStableHloSync('module {}'));
    await Client.prepareSync({ threads: 0 });
    console.log(Client.createSync({ threads: 0 }).threads);`);
  const lines = stdout.trim().split('\n');
  assert.match(lines[0], /^FAILED_PRECONDITION createSync: .*import from 'xla-wasm\/sync', or await Client\.prepareSync\(\) with the options/);
  assert.match(lines[1], /^FAILED_PRECONDITION parseStableHloSync: /);
  assert.equal(lines[2], '0');
});

test('many runs with threads post no messages that pile up, and a program that never waits ends', async () => {
  const { stdout } = await node(`const { Client } = await import(${JSON.stringify(SYNC)});
    const client = Client.createSync({ threads: 2 });
    const b = client.builder();
    let x = b.parameter(0, 'f32[400,400]');
    const e = client.compileSync(b.build(x.mul(x).dot(x)));
    const a = client.buffer(new Float32Array(160000).fill(0.5), 'f32[400,400]');
    for (let i = 0; i < 50; i++) e.executeSync([a], { device: true })[0].dispose();
    console.log(e.executeSync([a])[0].data[7]);`);
  assert.equal(stdout.trim(), '50');
});

test('a worker has a client of its own', async () => {
  const script = `import { parentPort } from 'node:worker_threads';
    import { Client } from ${JSON.stringify(SYNC)};
    const client = Client.createSync({ threads: 1 });
    parentPort.postMessage(client.compileSync(client.parseHlo(${JSON.stringify(DOUBLE)})).executeSync([[1, 2, 3]])[0].toArray());
    client.dispose();`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`));
  const answer = await new Promise((resolve, reject) => { worker.on('message', resolve).on('error', reject); });
  assert.deepEqual(answer, [2, 4, 6]);
  await worker.terminate();
});
