/** `xla-wasm run --on pjrt`: the same modules on real XLA. Skipped where no Python with jax is. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Client, Literal, writeNpy } from '../../bindings/index.mjs';
import { buildTraining } from '../../demo/train/model.mjs';

const CLI = fileURLToPath(new URL('../../bindings/cli/index.mjs', import.meta.url));
const PYTHON = process.env.PYTHON ?? fileURLToPath(new URL('../../build/venv/bin/python', import.meta.url));

/** A pipeline of four stages: each works on the previous stage's value of the step before. */
const PIPELINE = `HloModule pipeline, num_partitions=4
condition { state = (s32[], f32[8,8], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  n = s32[] constant(6)
  ROOT more = pred[] compare(i, n), direction=LT }
body { state = (s32[], f32[8,8], f32[8,8]) parameter(0)
  i = s32[] get-tuple-element(state), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[8,8] get-tuple-element(state), index=1
  w = f32[8,8] get-tuple-element(state), index=2
  product = f32[8,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  y = f32[8,8] tanh(product)
  sent = f32[8,8] collective-permute(y), channel_id=1, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}
  ROOT out = (s32[], f32[8,8], f32[8,8]) tuple(next, sent, w) }
ENTRY main { w = f32[8,8] parameter(0)
  x = f32[8,8] parameter(1)
  zero = s32[] constant(0)
  start = (s32[], f32[8,8], f32[8,8]) tuple(zero, x, w)
  end = (s32[], f32[8,8], f32[8,8]) while(start), condition=condition, body=body
  ROOT y = f32[8,8] get-tuple-element(end), index=1 }
`;

/** jit(shard_map(...)): each device's part of a matrix times its part of another, added up. */
const MAPPED = `module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @mesh = <["i"=2, "j"=2]>
  func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x6xf32>) -> tensor<4x6xf32> {
    %0 = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{"i"}, {"j"}]>, <@mesh, [{"j"}, {}]>]
      out_shardings=[<@mesh, [{"i"}, {}]>] manual_axes={"i", "j"} (%x: tensor<2x4xf32>, %y: tensor<4x6xf32>) {
      %1 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
      %2 = "stablehlo.all_reduce"(%1) ({
        ^bb0(%p: tensor<f32>, %q: tensor<f32>): %s = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) {replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<2x6xf32>) -> tensor<2x6xf32>
      sdy.return %2 : tensor<2x6xf32>
    } : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    return %0 : tensor<4x6xf32> } }
`;

/** The main job's training step, three times, and the images of each of eight replicas. */
async function writeTraining() {
  const [count, shard, replicas, steps] = [256, 8, 8, 3];
  const client = await Client.create({ threads: 0 });
  await writeFile(join(folder, 'training.hlo'), String(buildTraining(client, { count, shard, replicas, steps })));
  client.dispose();
  for (let replica = 0; replica < replicas; replica++) {
    const order = Int32Array.from({ length: steps * shard }, (_, i) => (replica * steps * shard + i) % count);
    const npy = writeNpy(Literal.from(order, `s32[${steps},${shard}]`));
    await writeFile(join(folder, `order.${replica}.npy`), npy);
  }
}

function xlaWasm(args, python = PYTHON) {
  return new Promise((resolve) => {
    const env = { ...process.env, PYTHON: python };
    execFile(process.execPath, [CLI, ...args], { timeout: 120_000, env, maxBuffer: 2 ** 28 }, (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }));
  });
}

async function freePort() {
  const server = createServer().listen(0, 'localhost');
  await new Promise((resolve) => { server.on('listening', resolve); });
  const { port } = server.address();
  await new Promise((resolve) => { server.close(resolve); });
  return port;
}

let folder;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'xla-wasm-pjrt-'));
  await writeTraining();
});
after(() => rm(folder, { recursive: true }));

const elsewhere = (file, ...args) => ['run', file, '--random', '--on', 'pjrt', '--threads', '0', '--json', ...args];
const run = (...args) => elsewhere(join(folder, 'training.hlo'), '--input', `order=${join(folder, 'order.{replica}.npy')}`,
  '--input', 'learning_rate=0.1', '--replicas', '8', ...args);

describe('on real XLA', { skip: !existsSync(PYTHON) && 'no Python with jax' }, () => {
  test('8 replicas on 8 devices of a process', { timeout: 120_000 }, async () => {
    const { code, stdout, stderr } = await xlaWasm(run('--check'));
    assert.equal(code, 0, stderr);
    assert.equal(stdout.trim().split('\n').length, 8);
    assert.match(stderr, /8 devices agree with the simulated run/);
  });

  for (const [name, text] of Object.entries({ 'pipeline.hlo': PIPELINE, 'mapped.mlir': MAPPED })) {
    test(`4 partitions: ${name}`, { timeout: 120_000 }, async () => {
      const file = join(folder, name);
      await writeFile(file, text);
      const { code, stdout, stderr } = await xlaWasm(elsewhere(file, '--check'));
      assert.equal(code, 0, stderr);
      assert.equal(JSON.parse(stdout.trim().split('\n')[3]).partition, 3);
      assert.match(stderr, /4 devices agree with the simulated run/);
    });
  }

  test('on 2 processes of 4', { timeout: 120_000 }, async () => {
    const where = ['--check', '--coordinator', `localhost:${await freePort()}`, '--processes', '2'];
    const both = await Promise.all([0, 1].map((i) => xlaWasm(run(...where, '--process', String(i)))));
    for (const [i, { code, stdout, stderr }] of both.entries()) {
      assert.equal(code, 0, stderr);
      const numbers = stdout.trim().split('\n').map((line) => JSON.parse(line).replica);
      assert.deepEqual(numbers, [0, 1, 2, 3].map((n) => n + 4 * i));
      assert.match(stderr, /4 devices agree/);
    }
  });
});

test('without Python, one line says so', async () => {
  const { code, stderr } = await xlaWasm(run(), join('/no', 'python'));
  assert.equal(code, 1);
  assert.match(stderr, /^error: --on pjrt needs Python with jax; \/no\/python: ENOENT[^\n]*\n$/);
});
