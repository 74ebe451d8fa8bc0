/**
 * `xla-wasm run --check` compares with the evaluator, and --bisect names the step that makes a difference: each step of
 * the compilation, when it is made wrong. A wrong rewrite turns additions of floats into subtractions; a wrong kernel
 * overwrites the first elements of its result.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { Comparison } from '../../bindings/cli/bisect.mjs';
import { randomLiteral, randomNumbers } from '../../bindings/cli/files.mjs';
import { faultyClient } from '../support/faulty.mjs';
import { run, ROOT } from '../support/program.mjs';

const SUM = `sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }`;

const LAYER = `${SUM}
ENTRY main {
  x = f32[9,40] parameter(0)
  w = f32[40,24] parameter(1)
  y = f32[9,24] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  one = f32[] constant(1)
  ones = f32[9,24] broadcast(one), dimensions={}
  z = f32[9,24] add(y, ones)
  e = f32[9,24] exponential(z)
  zero = f32[] constant(0)
  r = f32[9] reduce(e, zero), dimensions={1}, to_apply=sum
  q = f32[9,24] multiply(z, z)
  t = f32[9] reduce(q, zero), dimensions={1}, to_apply=sum
  dead = f32[9,24] cosine(q)
  ROOT out = (f32[9,24], f32[9], f32[9]) tuple(e, r, t)
}`;

const LOOP = `body { t = (s32[], f32[30,30], f32[30,30]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  a = f32[30,30] get-tuple-element(t), index=1
  x = f32[30,30] get-tuple-element(t), index=2
  fixed = f32[30,30] sine(a)
  y = f32[30,30] add(x, fixed)
  ROOT u = (s32[], f32[30,30], f32[30,30]) tuple(next, a, y) }
condition { t = (s32[], f32[30,30], f32[30,30]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }
ENTRY main {
  a = f32[30,30] parameter(0)
  zero = s32[] constant(0)
  t = (s32[], f32[30,30], f32[30,30]) tuple(zero, a, a)
  w = (s32[], f32[30,30], f32[30,30]) while(t), condition=condition, body=body
  ROOT y = f32[30,30] get-tuple-element(w), index=2
}`;

const SORT = `less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT }
ENTRY main {
  x = f32[6,80] parameter(0)
  y = f32[6,80] add(x, x)
  ROOT s = f32[6,80] sort(y), dimensions={1}, to_apply=less
}`;

const ALGEBRA = `ENTRY main {
  x = f32[40] parameter(0)
  y = f32[40] parameter(1)
  n = f32[40] negate(x)
  m = f32[40] negate(n)
  ROOT z = f32[40] add(m, y)
}`;

const CASES = [
  [LAYER, 'fuse-loops'], [LOOP, 'unroll-loops'], [ALGEBRA, 'simplify-algebra'],
  [SORT, 'kernel-sort'],
];

describe('bisect names the step', () => {
  let faulty;
  before(async () => { faulty = await faultyClient(); });
  after(() => faulty.client.dispose());

  for (const [text, step] of CASES) {
    test(step, async () => {
      const { client, put } = faulty, module = client.parseHlo(text), random = randomNumbers(1);
      const comparison = new Comparison(client, module, [module.parameters.map(({ shape }) => randomLiteral(shape, random))], {});
      assert.equal(await comparison.difference(), undefined);
      assert.deepEqual(await comparison.bisect(), ['The results agree with the evaluator.']);
      put(step);
      try {
        assert.match(await comparison.difference(), /^result \d, element \d+: /);
        const [first, ...more] = await comparison.bisect();
        assert.equal(first, `The difference goes without ${step}: --disable ${step}.`, more.join('\n'));
        assert.equal(await comparison.difference([step]), undefined);
      } finally {
        put('');
      }
      module.dispose();
    });
  }

  test('and the instruction, in a program with a token', async () => {
    const { client, put } = faulty, module = client.parseHlo(SORT.replace('ENTRY main {', 'ENTRY main {\n  t = token[] after-all()'));
    const comparison = new Comparison(client, module, [[randomLiteral(module.parameters[0].shape, randomNumbers(1))]], {});
    put('kernel-sort');
    try {
      const [, value] = await comparison.bisect();
      assert.equal(value, 'The first value that differs, when all are results, is s, of sort.');
    } finally {
      put('');
    }
    module.dispose();
  });

  test('and the step and its instruction, where a step that programs need is wrong', async () => {
    const { client, put } = faulty, module = client.parseHlo(LAYER), random = randomNumbers(1);
    const comparison = new Comparison(client, module, [module.parameters.map(({ shape }) => randomLiteral(shape, random))], {});
    assert.equal(await comparison.difference(), undefined); // asks the evaluator, which runs this rewrite too
    put('dead-code');
    try {
      const [first] = await comparison.bisect();
      assert.equal(first, 'The difference stays when all optional steps are left out.');
    } finally {
      put('');
    }
    module.dispose();
  });
});

describe('the command line', () => {
  let folder, file, hook;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'xla-wasm-bisect-'));
    [file, hook] = [join(folder, 'layer.hlo'), join(folder, 'hook.mjs')];
    await writeFile(file, LAYER);
    // The engine's f32x4.mul becomes f32x4.add.
    await writeFile(hook, `const { Module } = WebAssembly;
WebAssembly.Module = function (bytes) {
  const changed = new Uint8Array(bytes);
  for (let i = 0; i + 3 <= changed.length; i++) {
    if (changed[i] === 0xfd && changed[i + 1] === 0xe6 && changed[i + 2] === 1) changed[i + 1] = 0xe4;
  }
  return new Module(changed);
};`);
  });
  after(() => rm(folder, { recursive: true }));
  // The hook changes the code of this thread only.
  const command = (options, ...args) =>
    run(process.execPath, [...options, join(ROOT, 'bindings/cli/index.mjs'), 'run', file, '--random', '--threads', '0', ...args]);

  test('--check: the results agree', async () => {
    const { code, stdout, stderr } = await command([], '--check', '--json');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^\{"replica":0,.*\}\n$/);
    assert.match(stderr, /the results agree with the evaluator/);
  });

  test('--check and --bisect: wrong code', async () => {
    const checked = await command(['--import', hook], '--check');
    assert.equal(checked.code, 1);
    assert.match(checked.stderr, /^error: the results differ from the evaluator: result \d, element 0: /);
    const { code, stdout } = await command(['--import', hook], '--bisect');
    assert.equal(code, 1);
    assert.match(stdout, /^The difference goes without (?:fuse-loops|regions): --disable/m); // random values: a later stage may do, too
    assert.match(stdout, /goes without fuse-loops/);
    assert.match(stdout, /The first value that differs, when all are results, is \S+, of \w+\.\nIts steps: .*generated/);
  });
});
