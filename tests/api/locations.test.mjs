/** Places in the source: instructions keep them, and errors of runs, profiles and traces name them. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { Client, toChromeTrace } from '../../bindings/index.mjs';

let client;
before(async () => {
  client = await Client.create({ threads: 0 });
});
after(() => client.dispose());

const HERE = /locations\.test\.mjs/;
/** The line of this file from which it is called. */
const line = () => Number(/locations\.test\.mjs:(\d+)/.exec(new Error().stack.split('\n')[2])[1]);

describe('a builder with { locations: true }', () => {
  test('gives each instruction the place of its call, also in functions', () => {
    const b = client.builder('places', { locations: true });
    const x = b.parameter(0, 'f32[2]', 'x');
    const at = line();
    const y = b.tanh(x); // at + 1
    const z = b.map([y], (_, e) => e.mul(e), [0]); // at + 2, its body too
    const text = b.build(z).toString();
    assert.match(text, new RegExp(`tanh\\(.*metadata=\\{op_name="places/tanh" source_file="[^"]*locations\\.test\\.mjs" source_line=${at + 1}\\}`));
    assert.match(text, new RegExp(`multiply\\(.*source_file="[^"]*locations\\.test\\.mjs" source_line=${at + 2}\\}`));
    assert.match(text, new RegExp(`map\\(.*source_line=${at + 2}\\}`));
  });

  test('without it there is none, and other options are refused', () => {
    const b = client.builder('plain');
    assert.doesNotMatch(b.build(b.tanh(b.parameter(0, 'f32[2]'))).toString(), /metadata/);
    assert.throws(() => client.builder('b', { location: true }), /did you mean locations\?/);
    assert.throws(() => client.builder('b', { locations: 1 }), /locations must be true or false/);
  });

  test('the program is the same but for that', () => {
    const textOf = (options) => {
      const b = client.builder('same', options);
      return b.build(b.dot(b.parameter(0, 'f32[2,3]'), b.parameter(1, 'f32[3]')).exp()).toString();
    };
    assert.equal(textOf({ locations: true }).replace(/, metadata=\{[^}]*\}/g, ''), textOf());
  });

  test('profiles and traces name the places', async () => {
    const b = client.builder('profiled', { locations: true });
    const x = b.parameter(0, 'f32[64,64]', 'x');
    const at = line();
    const executable = await client.compile(b.build(b.cholesky(b.dot(x, x)))); // at + 1
    const { events } = await executable.execute([Float32Array.from({ length: 4096 }, (_, i) => (i % 65 ? 0 : 1))], { profile: true });
    const placed = events.filter(({ source }) => source);
    assert.ok(placed.length, JSON.stringify(events));
    for (const { source, opName } of placed) {
      assert.match(source, new RegExp(`locations\\.test\\.mjs:${at + 1}$`));
      assert.match(opName, /^profiled\/(dot|cholesky)$/);
    }
    const { traceEvents } = toChromeTrace(events);
    assert.ok(traceEvents.some(({ args }) => HERE.test(args?.source) && /^profiled\//.test(args?.opName)));
  });
});

describe('errors of runs', () => {
  const TEXT = (metadata) => `HloModule diverged, replica_count=2
add { a = u32[] parameter(0)
  b = u32[] parameter(1)
  ROOT c = u32[] add(a, b) }
yes { a = u32[] parameter(0)
  ROOT met = u32[] all-reduce(a), to_apply=add, metadata={${metadata}} }
no { ROOT a = u32[] parameter(0) }
ENTRY e {
  i = u32[] replica-id()
  zero = u32[] constant(0)
  first = pred[] compare(i, zero), direction=EQ
  ROOT r = u32[] conditional(first, i, i), true_computation=yes, false_computation=no
}`;
  const failure = async (module) => (await client.compile(module)).execute([]).then(() => assert.fail('it ends'), (error) => error);

  for (const [metadata, words, fields] of [
    ['op_name="jit(step)/psum" source_file="/home/me/train.py" source_line=12', / \(jit\(step\)\/psum, \/home\/me\/train\.py:12\)/,
      { opName: 'jit(step)/psum', sourceFile: '/home/me/train.py', sourceLine: 12 }],
    ['op_name="jit(step)/psum"', / \(jit\(step\)\/psum\)/, { opName: 'jit(step)/psum' }],
    ['op_type="x" source_file="a.py" source_line=3', / \(a\.py:3\)/, { sourceFile: 'a.py', sourceLine: 3 }],
    ['op_name="a \\"source_file=\\" } b" source_line=3', / \(a \\"source_file=\\" \} b\)/, { opName: 'a \\"source_file=\\" } b', sourceLine: 3 }],
    [`op_name="${'long/'.repeat(1000)}"`, /\(long\//, {}],
    ['op_type="x"', /on line 6\./, {}],
  ]) {
    test(`a deadlock: ${metadata.slice(0, 60)}`, async () => {
      const error = await failure(client.parseHlo(TEXT(metadata)));
      assert.match(error.message, words);
      const [{ opName, sourceFile, sourceLine }] = error.waiting;
      for (const [name, value] of Object.entries(fields)) assert.equal({ opName, sourceFile, sourceLine }[name], value);
    });
  }

  const META = 'metadata={op_name="jit(f)/call" source_file="f.py" source_line=9}';
  const HOSTED = (target) => `HloModule hosted\nENTRY e {\n  x = f32[2] parameter(0)\n  ROOT y = f32[2] custom-call(x), custom_call_target="${target}", ${META}\n}`;
  for (const [target, callback, words] of [
    ['unknown', undefined, /nothing is registered/],
    ['throws', () => { throw new Error('mine'); }, /mine/],
    ['wrong', () => [1, 2, 3], /needs 2 elements/],
  ]) {
    test(`a host callback: ${target}`, async () => {
      if (callback) client.registerCustomCall(target, callback);
      const executable = await client.compile(client.parseHlo(HOSTED(target)));
      const error = await executable.execute([[1, 2]]).then(() => assert.fail('it ends'), (thrown) => thrown);
      assert.match(error.message, words);
      assert.match(error.message, / \(jit\(f\)\/call, f\.py:9\)/);
      assert.match(error.cause.message, words);
    });
  }

  test('a collective in which devices of one launch do not fit', async () => {
    const text = (size) => `HloModule part\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }
ENTRY e { x = f32[${size}] parameter(0)\n ROOT met = f32[${size}] all-reduce(x), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=add, ${META}\n}`;
    const entries = await Promise.all([2, 3].map(async (size, replica) => ({
      executable: await client.compile(client.parseHlo(text(size)), { replicas: 2 }), replica, arguments: [new Float32Array(size)],
    })));
    const error = await client.launch(entries).then(() => assert.fail('it ends'), (thrown) => thrown);
    assert.match(error.message, / \(jit\(f\)\/call, f\.py:9\)/);
  });

  test('of a builder, with the line of the call', async () => {
    const b = client.builder('meeting', { locations: true });
    const i = b.replicaId();
    let at;
    const result = b.conditional(b.eq(i, 0), i, (inner, x) => {
      at = line();
      return inner.allReduce(x, 'add'); // at + 1
    }, i, (_, x) => x);
    const executable = await client.compile(b.build(result), { replicas: 2 });
    const error = await executable.execute([]).catch((thrown) => thrown);
    assert.match(error.message, new RegExp(`\\(trueComputation/all-reduce, \\S*locations\\.test\\.mjs:${at + 1}\\)`));
    assert.equal(error.waiting[0].sourceLine, at + 1);
  });

  test('of StableHLO, with the place that JAX has written', async () => {
    const module = await client.load(`#file = loc("model.py":7:3)
module attributes { mhlo.num_replicas = 2 : i32 } {
  func.func @main() -> tensor<ui32> {
    %i = stablehlo.replica_id : tensor<ui32>
    %zero = stablehlo.constant dense<0> : tensor<ui32>
    %first = stablehlo.compare EQ, %i, %zero : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %r = "stablehlo.if"(%first) ({
      %m = "stablehlo.all_reduce"(%i) ({
        ^bb0(%a: tensor<ui32>, %b: tensor<ui32>):
          %c = stablehlo.add %a, %b : tensor<ui32>
          stablehlo.return %c : tensor<ui32>
      }) { replica_groups = dense<[[0, 1]]> : tensor<1x2xi64> } : (tensor<ui32>) -> tensor<ui32> loc("jit(f)/psum"(#file))
      stablehlo.return %m : tensor<ui32>
    }, {
      stablehlo.return %i : tensor<ui32>
    }) : (tensor<i1>) -> tensor<ui32>
    return %r : tensor<ui32>
  }
}`);
    const error = await failure(module);
    assert.match(error.message, / \(jit\(f\)\/psum, model\.py:7\)/);
  });
});
