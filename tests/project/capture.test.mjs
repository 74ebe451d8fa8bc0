/**
 * The pytest plugin that captures programs (tests/capture): five jitted functions are captured with real JAX, and run here
 * with the results that it wrote. Needs the environment of `make golden`, with pytest.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { readRecords } from '../support/captured.mjs';
import { lines, ROOT, run } from '../support/program.mjs';

const PYTHON = process.env.PYTHON ?? join(ROOT, 'build/venv/bin/python');

function hasPytest() {
  try {
    execFileSync(PYTHON, ['-c', 'import jax, pytest'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const skip = existsSync(PYTHON) && hasPytest() ? false : 'needs jax and pytest: make build/venv/stamp';

describe('five jitted functions', { skip }, () => {
  let folder;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'xla-wasm-capture-'));
    const { code, stdout } = await run(PYTHON, ['-m', 'pytest', '-q', '-p', 'no:cacheprovider', '-p', 'capture_programs', '--capture-to', folder,
      'tests/capture/test_five.py'], { seconds: 300, env: { ...process.env, PYTHONPATH: join(ROOT, 'tests/capture') } });
    assert.equal(code, 0, stdout);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  test('each is captured with its operands and results', async () => {
    const records = await readRecords(pathToFileURL(`${folder}/`));
    const of = (name) => records.filter((record) => record.test.includes(name) && /affine|lambda/.test(record.name))
      .map(({ args, outs }) => [args, outs].map((list) => list.map(({ dtype, shape }) => `${dtype}[${shape}]`).join(' ')));
    const [affine] = records.filter(({ name }) => /affine/.test(name));
    assert.ok(affine.seconds > 0 && affine.versions.jax && affine.spread[0] > 0 && affine.spread[0] < 1e-5, JSON.stringify(affine.spread));
    assert.deepEqual(of('product'), [['float32[2,3] float32[3,4] float32[]', 'float32[2,4]']]);
    assert.deepEqual(of('numbers_of_python'), [['int32[] float32[]', 'float32[]']]);
    assert.deepEqual(of('bfloat16'), [['bfloat16[5]', 'bfloat16[5] bfloat16[]']]);
    assert.deepEqual(of('complex64'), [['complex64[5]', 'complex64[5] float32[]']]);
    assert.deepEqual(of('random_key'), [['uint32[2]', 'float32[3]']]);
    assert.deepEqual(of('donated'), [['float32[4]', 'float32[4]']]);
    const [donated] = records.filter((record) => record.test.includes('donated') && /lambda/.test(record.name));
    assert.deepEqual(Array.from(new Float32Array(new Uint8Array(Buffer.from(donated.args[0].data, 'base64')).buffer)), [1, 1, 1, 1]);
  });

  test('a script: programs that differ in numbers only are one, and the count is of what is written', async () => {
    const script = join(folder, 'script.py'), to = join(folder, 'of-a-script');
    await writeFile(script, 'import jax\nimport numpy as np\nfor n in (1.5, 2.5):\n  jax.jit(lambda x: x * n)(np.ones(3, np.float32))\n');
    const { code, stderr } = await run(PYTHON, [join(ROOT, 'tests/capture/capture_programs.py'), to, script], { seconds: 300 });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /captured 2 programs, written 1; left out: 1 differ in numbers only/);
    assert.equal((await readRecords(pathToFileURL(`${to}/`))).length, 1);
  });

  test('a script on four devices, with its slopes: whole arrays, and each agrees', async () => {
    const script = join(folder, 'devices.py'), to = join(folder, 'of-devices');
    await writeFile(script, `import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((2, 2), ('a', 'b'), axis_types=(AxisType.Auto,) * 2)
x = np.linspace(-1, 2, 32, dtype=np.float32).reshape(4, 8)
jax.jit(jax.shard_map(lambda x: jax.lax.psum(jnp.sin(x) * jax.lax.axis_index('a'), 'a'), mesh=mesh, in_specs=P('a', 'b'), out_specs=P(None, 'b')))(x)
jax.pmap(lambda x: x - jax.lax.pmean(x * x, 'i'), axis_name='i')(x)
jax.jit(lambda y: jnp.exp(y @ y.T))(jax.device_put(x, NamedSharding(mesh, P('a', 'b'))))
jax.jit(lambda x, n: jax.lax.fori_loop(0, n, lambda i, y: jnp.cos(y) * i, x))(x, 3)
`);
    const { code, stderr } = await run(PYTHON, [join(ROOT, 'tests/capture/capture_programs.py'), '--slopes', '1', to, script],
      { seconds: 300, env: { ...process.env, XLA_FLAGS: '--xla_force_host_platform_device_count=4' } });
    assert.equal(code, 0, stderr);
    assert.match(stderr, /captured 4 programs, written 4, with 7 products of slopes; left out: none/);
    const records = await readRecords(pathToFileURL(`${to}/`));
    assert.deepEqual(records.map(({ devices, derived, outs }) => `${derived?.mode ?? 'program'} ${devices} ${outs[0].shape}`).sort(), [
      'jvp 1 4,8', 'jvp 4 2,8', 'jvp 4 4,4', 'jvp 4 4,8', 'program 1 4,8', 'program 4 2,8', 'program 4 4,4', 'program 4 4,8',
        ...Array(3).fill('vjp 4 4,8')]);
    const { code: failed, stdout } = await run(process.execPath, ['tests/support/jax_suite.mjs', to], { seconds: 300 });
    assert.equal(failed, 0, stdout);
    assert.match(stdout, /^22 of 22 agree$/m);
  });

  test('make jax-suite runs them', async () => {
    const { code, stdout } = await run(process.execPath, ['tests/support/jax_suite.mjs', folder], { seconds: 300 });
    const [, agree, count] = /^(\d+) of (\d+) agree$/.exec(lines(stdout).at(-1)) ?? [];
    assert.equal(code, 0, stdout);
    assert.ok(Number(count) >= 12 && agree === count, stdout);
  });
});
