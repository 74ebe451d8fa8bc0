/** `xla-wasm run --nans`: the instruction that makes the first NaN or infinity of a result. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { NanHunt } from '../../bindings/cli/nans.mjs';
import { Client } from '../../bindings/index.mjs';
import { run, ROOT } from '../support/program.mjs';

const HEAD = `HloModule m
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
`;
const entry = (lines) => `${HEAD}ENTRY main {\n  x = f32[3] parameter(0)\n  ${lines.join('\n  ')}\n}`;
const SOURCE = 'metadata={op_name="jit(f)/log" source_file="model.py" source_line=12}';

/** name: [program, arguments, the report of NaN, that of infinity] */
const CASES = {
  'no NaN': [entry(['ROOT y = f32[3] sine(x)']), [[1, 2, 3]]],
  'a logarithm, with its place': [entry([`y = f32[3] log(x), ${SOURCE}`, 'ROOT z = f32[3] sine(y)']), [[1, -2, 3]],
    [/^The first NaN is in y, of log, f32\[3\], element \[1\]: NaN \(jit\(f\)\/log, model\.py:12\)$/, /^ {2}x, of parameter, f32\[3\]: -2 there$/]],
  'a NaN that a select leaves out': [entry(['l = f32[3] log(x)', 'p = pred[3] compare(x, x), direction=NE', 's = f32[3] select(p, l, x)',
    'ROOT z = f32[3] sqrt(s)']), [[1, -2, 3]], [/^The first NaN is in z, of sqrt/]],
  'an infinity, then NaN': [entry(['e = f32[3] exponential(x)', 'd = f32[3] subtract(e, e)', 'ROOT z = f32[3] add(d, x)']), [[1, 2, 100]],
    [/in d, of subtract, f32\[3\], element \[2\]/, /e, of exponential, f32\[3\]: Infinity there/, /^The first infinity is in e, of exponential/,
      /x, of parameter, f32\[3\]: 100 there/]],
  'an infinity alone': [entry(['ROOT e = f32[3] exponential(x)']), [[1, 2, 100]], undefined, [/^The first infinity is in e/]],
  'an argument': [entry(['ROOT e = f32[3] exponential(x)']), [[1, NaN, 100]], [/^The first NaN is in argument 0, x, f32\[3\], element \[1\]/]],
  'a constant': [entry(['n = f32[] constant(nan)', 'f = f32[3] broadcast(n), dimensions={}', 'p = pred[3] compare(x, x), direction=EQ',
    'ROOT s = f32[3] select(p, f, x)']), [[1, 2, 3]], [/^The first NaN is in s, of select/]],
  'a reduction': [entry(['h = f32[3] multiply(x, x)', 'zero = f32[] constant(0)', 'ROOT r = f32[] reduce(h, zero), dimensions={0}, to_apply=sum']),
    [[1.8e19, -1.8e19, 0]], undefined, [/in r, of reduce, f32\[\]: Infinity/, /h, of multiply, f32\[3\]: 3.24e\+38, 3.24e\+38, 0/]],
  'a call': [`${HEAD}f { a = f32[3] parameter(0)
  l = f32[3] log(a)
  ROOT s = f32[3] sine(l) }
${entry(['y = f32[3] negate(x)', 'ROOT c = f32[3] call(y), to_apply=f']).replace(HEAD, '')}`, [[1, 2, 3]], [/^The first NaN is in the call c: l, of log, f32\[3\], element \[0\]/]],
  'a fusion of a tuple': [`${HEAD}f { t = (f32[3], f32[3]) parameter(0)
  a = f32[3] get-tuple-element(t), index=1
  ROOT l = f32[3] log(a) }
${entry(['n = f32[3] negate(x)', 't = (f32[3], f32[3]) tuple(x, n)', 'ROOT c = f32[3] fusion(t), kind=kLoop, calls=f']).replace(HEAD, '')}`, [[1, 2, 3]],
  [/^The first NaN is in the fusion c: l, of log/]],
  'a branch': [`${HEAD}f { a = f32[3] parameter(0)
  ROOT l = f32[3] log(a) }
g { a = f32[3] parameter(0)
  n = f32[3] negate(a)
  ROOT l = f32[3] sqrt(n) }
${entry(['i = s32[] constant(7)', 'ROOT c = f32[3] conditional(i, x, x), branch_computations={f, g}']).replace(HEAD, '')}`, [[1, 2, 3]],
  [/^The first NaN is in branch 1 of c: l, of sqrt/]],
  'an iteration of a loop': [`${HEAD}body { t = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  one = s32[] constant(1)
  n = s32[] add(i, one)
  x = f32[3] get-tuple-element(t), index=1
  h = f32[] constant(1)
  ones = f32[3] broadcast(h), dimensions={}
  y = f32[3] subtract(x, ones)
  q = f32[3] sqrt(y)
  ROOT u = (s32[], f32[3]) tuple(n, q) }
goes_on { t = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  n = s32[] constant(9)
  ROOT c = pred[] compare(i, n), direction=LT }
${entry(['z = s32[] constant(0)', 't = (s32[], f32[3]) tuple(z, x)', 'w = (s32[], f32[3]) while(t), condition=goes_on, body=body',
    'ROOT g = f32[3] get-tuple-element(w), index=1']).replace(HEAD, '')}`, [[1000, 1000, 5]], // 5 -> 2 -> 1 -> 0 -> sqrt(-1)
  [/^The first NaN is in iteration 3 of the loop w: q, of sqrt, f32\[3\], element \[2\]/, /y, of subtract, f32\[3\]: -1 there/]],
};

describe('the first NaN', () => {
  let client;
  before(async () => { client = await Client.create({ threads: 0 }); });
  after(() => client.dispose());

  for (const [name, [text, args, nan, infinity]] of Object.entries(CASES)) {
    test(name, async () => {
      const hunt = new NanHunt(client, client.parseHlo(text), { replicas: 1, partitions: 1 }, {});
      for (const [kind, wanted] of Object.entries({ NaN: nan, infinity })) {
        if (kind === 'infinity' && nan) continue;
        const lines = (await hunt.find(kind, [args]))?.lines;
        assert.equal(lines?.length === undefined, wanted === undefined, `${lines}`);
        wanted?.forEach((pattern, i) => assert.match(lines[i], pattern));
      }
    });
  }

  test('on one of several devices', async () => {
    const text = entry(['a = f32[3] all-reduce(x), replica_groups={}, to_apply=sum', 's = f32[3] subtract(x, a)',
      'ROOT l = f32[3] log(s)']).replace('HloModule m', 'HloModule m, replica_count=2');
    const hunt = new NanHunt(client, client.parseHlo(text), { replicas: 2, partitions: 1 }, {});
    const { lines } = await hunt.find('NaN', [[[1, 2, 3]], [[-1, -1, -1]]]);
    assert.match(lines[0], /^The first NaN is on device 1: l, of log, f32\[3\], element \[0\]/);
  });
});

test('the command line', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'xla-wasm-nans-'));
  try {
    const file = join(folder, 'm.hlo');
    await writeFile(file, CASES['a logarithm, with its place'][0]);
    const hunt = (value, ...more) =>
      run(process.execPath, [`${ROOT}bindings/cli/index.mjs`, 'run', file, '--input', `x=${value}`, '--nans', ...more]);
    const found = await hunt('[1, -2, 3]');
    assert.equal(found.code, 1);
    assert.match(found.stdout, /The first NaN is in y, of log/);
    assert.equal(found.stderr, 'error: a NaN in the results comes from y\n');
    const none = await hunt('[1, 2, 3]');
    assert.deepEqual([none.code, none.stderr], [0, 'no result has a NaN or an infinity\n']);
    assert.match((await hunt('[1, 2, 3]', '--on', 'pjrt')).stderr, /--nans looks at the values of a run here/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
