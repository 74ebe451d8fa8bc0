/**
 * The smallest program of old faults that no other test of `make check` sees: `make old-faults` (tests/mutants) puts them
 * back. Expected values follow the specification.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';

import { shown } from '../../bindings/cli/terminal.mjs';
import { Client } from '../../bindings/index.mjs';

let client;
before(async () => { client = await Client.create({ threads: 0 }); });
after(() => client.dispose());

const compile = async (text) => client.compile(await client.load(text));
const reducer = (name, operation, type) =>
  `${name} { a = ${type}[] parameter(0)\n b = ${type}[] parameter(1)\n ROOT r = ${type}[] ${operation}(a, b) }\n`;

for (const columns of [11, 12, 13, 16, 23, 24]) {
  test(`maxima along rows of ${columns}, beside what they read`, async () => {
    const rows = 1089, shape = `f32[${rows},${columns}]`;
    const executable = await compile(`HloModule m\n${reducer('max', 'maximum', 'f32')}ENTRY e {
      p = pred[${rows},${columns}] parameter(0)\n x = ${shape} parameter(1)\n low = f32[] constant(-5)
      lows = ${shape} broadcast(low), dimensions={}\n s = ${shape} select(p, x, lows)\n i = f32[] constant(-inf)
      m = f32[${rows}] reduce(s, i), dimensions={1}, to_apply=max\n b = ${shape} broadcast(m), dimensions={0}
      ROOT y = ${shape} subtract(s, b) }`);
    const all = Array.from({ length: rows * columns }, (_, i) => [Number(i % 3 > 0), (i * 37) % 101]);
    const [{ data }] = await executable.execute([Uint8Array.from(all, ([p]) => p), Float32Array.from(all, ([, x]) => x)]);
    const kept = all.map(([p, x]) => (p ? x : -5));
    const wanted = kept.map((x, i) => {
      const begin = i - i % columns;
      return x - Math.max(...kept.slice(begin, begin + columns));
    });
    assert.deepEqual(Array.from(data), wanted);
    executable.dispose();
  });
}

for (const type of ['f32', 'f64', 's32']) {
  test(`9 and 16 sums of one array of ${type}`, async () => {
    for (const count of [9, 16]) {
      const sums = Array.from({ length: count },
        (_, k) => ` c${k} = ${type}[] constant(${k + 1})\n b${k} = ${type}[20] broadcast(c${k}), dimensions={}
 m${k} = ${type}[20] multiply(x, b${k})\n sum${k} = ${type}[] reduce(m${k}, z), dimensions={0}, to_apply=add`);
      const names = sums.map((_, k) => `sum${k}`).join(', ');
      const executable = await compile(`HloModule m\n${reducer('add', 'add', type)}ENTRY e { x = ${type}[20] parameter(0)\n z = ${type}[] constant(0)
${sums.join('\n')}\n ROOT t = (${new Array(count).fill(`${type}[]`)}) tuple(${names}) }`);
      const results = await executable.execute([Array.from({ length: 20 }, (_, i) => i)]);
      assert.deepEqual(results.map((result) => Number(result.data[0])), sums.map((_, k) => 190 * (k + 1)));
      executable.dispose();
    }
  });
}

for (const type of ['bf16', 'f16', 's8']) {
  test(`a product in ${type} of 16,385 columns`, async () => {
    const [rows, columns] = [21, 16385];
    const executable = await compile(`HloModule m\nENTRY e { x = ${type}[${rows},1] parameter(0)\n w = ${type}[1,${columns}] parameter(1)
      ROOT y = ${type}[${rows},${columns}] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} }`);
    const x = Array.from({ length: rows }, (_, i) => [i % 4]), w = [Array.from({ length: columns }, (_, j) => j % 5)];
    const [y] = await executable.execute([x, w]);
    assert.deepEqual(y.toArray(), x.map(([a]) => w[0].map((b) => a * b)));
    executable.dispose();
  });
}

test('a sum of 2^31 elements is one loop, without temporaries', async () => {
  const n = 2 ** 31, executable = await compile(`HloModule m\n${reducer('add', 'add', 'f32')}ENTRY e { x = f32[1] parameter(0)
    a = f32[1,${n}] broadcast(x), dimensions={0}\n s = f32[1,${n}] multiply(a, a)\n z = f32[] constant(0)
    ROOT r = f32[1] reduce(s, z), dimensions={1}, to_apply=add }`);
  assert.ok(executable.memory.temporaries < 2 ** 20, `${executable.memory.temporaries}`);
  assert.doesNotMatch(executable.thunks(), /^ *eval /m);
  executable.dispose();
});

test("results of StableHLO are row-major, even LAPACK's", async () => {
  const layouts = 'operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>]';
  const executable = await compile(`func.func public @main(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>) {
    %0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%x) {mhlo.backend_config = {}, ${layouts}} : (tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<2xf32>)
    return %0#0, %0#1 : tensor<3x2xf32>, tensor<2xf32> }`);
  const [q] = await executable.execute([[[1, 2], [3, 4], [5, 7]]]);
  assert.equal(String(q.shape), 'f32[3,2]');
  assert.ok(Math.abs(q.data[2] - 3 / (1 + Math.sqrt(35))) < 1e-5, `${q.data}`);
  executable.dispose();
});

test('a deadlock of many devices is told in few words', async () => {
  const module = client.parseHlo(`HloModule m\n${reducer('add', 'add', 'f32')}wait { x = f32[] parameter(0)\n ROOT r = f32[] all-reduce(x), replica_groups={}, to_apply=add }
go { ROOT x = f32[] parameter(0) }\nENTRY e { p = f32[] parameter(0)\n id = u32[] replica-id()\n zero = u32[] constant(0)
 c = pred[] compare(id, zero), direction=EQ\n ROOT y = f32[] conditional(c, p, p), true_computation=go, false_computation=wait }`);
  const executable = await client.compile(module, { replicas: 256 });
  await assert.rejects(executable.execute([1]), (error) => {
    assert.match(error.message, /replica 1 waits at all-reduce r/);
    assert.match(error.message, /; and 247 more at r/);
    assert.equal(error.waiting.length, 255);
    return true;
  });
  executable.dispose();
});

test('control characters are escaped on a terminal, and only there', () => {
  const text = 'a\x1b[2J\x9b31m\u202eb';
  assert.equal(shown({ isTTY: true }, text), 'a\\u001b[2J\\u009b31m\\u202eb');
  assert.equal(shown({ isTTY: false }, text), text);
});

test('compressed data become no more than they may', async () => {
  const bomb = gzipSync(Buffer.concat([Buffer.from('HloModule m\n'), Buffer.alloc(4e6, 32)]));
  await assert.rejects(client.load(bomb), { code: 'RESOURCE_EXHAUSTED' });
});
