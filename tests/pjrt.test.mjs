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

const CLI = fileURLToPath(new URL('../bindings/cli.mjs', import.meta.url));
const PYTHON = process.env.PYTHON ?? fileURLToPath(new URL('../build/venv/bin/python', import.meta.url));

const STEP = `HloModule step
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
ENTRY main { w = f32[3,2] parameter(0)
  x = f32[4,3] parameter(1)
  r = u32[] replica-id()
  f = f32[] convert(r)
  one = f32[] constant(1)
  scale = f32[] add(f, one)
  s = f32[4,3] broadcast(scale), dimensions={}
  own = f32[4,3] multiply(x, s)
  y = f32[4,2] dot(own, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[4,2] tanh(y)
  g = f32[3,2] dot(own, t), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  all = f32[3,2] all-reduce(g), replica_groups={}, to_apply=sum
  rate = f32[] constant(0.01)
  rates = f32[3,2] broadcast(rate), dimensions={}
  change = f32[3,2] multiply(all, rates)
  new = f32[3,2] subtract(w, change)
  ROOT out = (f32[3,2], u32[]) tuple(new, r) }
`;

function xlaWasm(args, python = PYTHON) {
  return new Promise((resolve) => {
    const env = { ...process.env, PYTHON: python };
    execFile(process.execPath, [CLI, ...args], { timeout: 120_000, env }, (error, stdout, stderr) =>
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

let folder, step;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'xla-wasm-pjrt-'));
  step = join(folder, 'step.hlo');
  await writeFile(step, STEP);
});
after(() => rm(folder, { recursive: true }));

const run = (...args) => ['run', step, '--random', '--on', 'pjrt', '--replicas', '8', '--threads', '0', '--json', ...args];

describe('on real XLA', { skip: !existsSync(PYTHON) && 'no Python with jax' }, () => {
  test('8 replicas on 8 devices of a process', { timeout: 120_000 }, async () => {
    const { code, stdout, stderr } = await xlaWasm(run('--check'));
    assert.equal(code, 0, stderr);
    assert.equal(stdout.trim().split('\n').length, 8);
    assert.match(stderr, /8 devices agree with the simulated run/);
  });

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
