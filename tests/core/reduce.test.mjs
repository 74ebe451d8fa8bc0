/**
 * The reducer makes programs with a fault small. One fault is put into the code that the core generates: where it means
 * the maximum of f32 vectors, it gets the minimum. The others are those of shell commands.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { Client, Literal } from '../../bindings/index.mjs';
import { Differential } from '../reduce/check.mjs';
import { corner, Reduction } from '../reduce/reducer.mjs';
import { ROOT } from '../support/program.mjs';
import { output } from '../support/project.mjs';

const { Module } = WebAssembly;
const MAX = [0xfd, 0xe9, 0x01], MIN_OPCODE = 0xe8; // f32x4.max, f32x4.min

/** A compiler whose maxima are minima. */
function wrongModule(bytes) {
  const changed = new Uint8Array(bytes);
  for (let i = 0; i + MAX.length <= changed.length; i++) {
    if (MAX.every((byte, k) => changed[i + k] === byte)) changed[i + 1] = MIN_OPCODE;
  }
  return new Module(changed);
}

const PROGRAM = `HloModule program, replica_count=1
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b) }
body { t = (s32[], f32[6,40], f32[6]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  one = s32[] constant(1)
  next = s32[] add(i, one)
  x = f32[6,40] get-tuple-element(t), index=1
  y = f32[6,40] sine(x)
  z = f32[6,40] maximum(x, y)
  r = f32[6] get-tuple-element(t), index=2
  ROOT u = (s32[], f32[6,40], f32[6]) tuple(next, z, r) }
condition { t = (s32[], f32[6,40], f32[6]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  n = s32[] constant(12)
  ROOT c = pred[] compare(i, n), direction=LT }
ENTRY main {
  a = f32[6,8] parameter(0)
  b = f32[8,40] parameter(1)
  c = s32[9] parameter(2)
  p = f32[6,40] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  zero = f32[] constant(0)
  r = f32[6] reduce(p, zero), dimensions={1}, to_apply=sum
  start = s32[] constant(0)
  t = (s32[], f32[6,40], f32[6]) tuple(start, p, r)
  w = (s32[], f32[6,40], f32[6]) while(t), condition=condition, body=body
  v = f32[6,40] get-tuple-element(w), index=1
  k = f32[6] get-tuple-element(w), index=2
  d = s32[9] multiply(c, c)
  e = f32[6,40] exponential(v)
  ROOT out = (f32[6,40], s32[9], f32[6], f32[6,40]) tuple(e, d, k, p)
}`;

let client, folder;
before(async () => {
  client = await Client.create({ threads: 0 });
  folder = await mkdtemp(join(tmpdir(), 'xla-wasm-reduce-'));
});
after(async () => {
  WebAssembly.Module = Module;
  client.dispose();
  await rm(folder, { recursive: true });
});

test('a wrong instruction of generated code: one maximum of one element is left', async () => {
  const differential = new Differential();
  const first = { text: PROGRAM, args: new Map() };
  assert.equal(await differential.fault(first), undefined);
  WebAssembly.Module = wrongModule;
  try {
    assert.match(await differential.fault(first), /result 0, element \d+: /);
    const reduction = new Reduction(client, first, {
      check: async (candidate) => Boolean(await differential.fault(candidate)),
      evaluate: (candidate) => differential.evaluate(candidate),
    });
    const { text } = await reduction.run();
    assert.equal(text.match(/ maximum\(/g)?.length, 1, text);
    assert.ok(reduction.program.instructionCount <= 3, text);
    assert.doesNotMatch(text, /while|sine|dot|\[[^\]]*(6|40)/, text);
  } finally {
    WebAssembly.Module = Module;
    differential.dispose();
  }
});

test('an operation in a called computation keeps the call that the fault needs', async () => {
  const check = async ({ text }) => /while\(/.test(text) && /sine\(/.test(text);
  const reduction = new Reduction(client, { text: PROGRAM, args: new Map() }, { check });
  const { text } = await reduction.run();
  assert.ok(reduction.program.instructionCount <= 12, text);
  assert.doesNotMatch(text, /40|maximum|exponential/, text);
});

test('the arguments of parameters that stay are kept, cut to their new shapes', async () => {
  const value = Literal.from([[1, 2, 3], [4, 5, 6]], 'f32[2,3]');
  assert.deepEqual(corner(value, client.parseHlo('ENTRY e { x = f32[2,2] parameter(0) }').parameters[0].shape).toArray(),
    [[1, 2], [4, 5]]);
  const text = 'ENTRY e {\n x = f32[2,3] parameter(0)\n y = f32[2,3] negate(x)\n ROOT z = f32[2,3] cosine(y)\n}';
  const check = async (candidate) => / negate\(/.test(candidate.text) && candidate.args.get('x')[0].data[0] === 1;
  const reduction = new Reduction(client, { text, args: new Map([['x', [value]]]) }, { check });
  const reduced = await reduction.run();
  assert.doesNotMatch(reduced.text, /cosine|\[[^\]]*[23]/);
  assert.deepEqual(reduced.args.get('x')[0].toArray(), [[1]]);
});

test('make reduce, with a shell command as the check', async () => {
  const [module, result] = [join(folder, 'module.hlo'), join(folder, 'reduced.hlo')];
  await writeFile(module, PROGRAM);
  const said = await output(process.execPath,
    ['tests/reduce/reduce.mjs', module, '--check', 'grep -q " dot("', '--output', result], { cwd: ROOT });
  assert.match(said, /30 instructions became 3, after \d+ checks/);
  assert.match(await readFile(result, 'utf8'), / dot\(/);
});
